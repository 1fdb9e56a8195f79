//! What follows from a kernel, each found once, when it is first asked for.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use crate::body::GroupBody;
use crate::template::contraction::Contraction;
use crate::template::staged::{self, StagedBox};

/// What is known of a kernel so far. It is no part of the kernel's value: kernels with the same body and parameters are equal.
#[derive(Clone, Default)]
pub(super) struct Geometry {
    /// Shared by all kernels of a body.
    contraction: Arc<OnceLock<Option<Contraction>>>,
    boxes: Arc<OnceLock<Option<Vec<StagedBox>>>>,
}

impl Geometry {
    /// What stays known of the body under other parameters.
    pub(super) fn of_body(&self) -> Self {
        Self { contraction: Arc::clone(&self.contraction), boxes: Arc::default() }
    }

    /// The contraction that the body is on processors, if it is one.
    pub(super) fn contraction(&self, body: &GroupBody) -> Option<&Contraction> {
        self.contraction.get_or_init(|| Contraction::of(body)).as_ref()
    }

    /// The box of every staged value; `None` if some tile's box would lie outside its value.
    pub(super) fn boxes(&self, body: &GroupBody, tile: &[usize]) -> Option<&[StagedBox]> {
        self.boxes.get_or_init(|| staged::boxes(body, tile)).as_deref()
    }
}

impl PartialEq for Geometry {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Geometry {}

impl Hash for Geometry {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}
