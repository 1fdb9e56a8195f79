//! With which template and tile a group's kernel is made.
//!
//! Each template has a folder: its parameters, which bodies it takes, and what its kernels need and can do ([`Rules`]). What
//! its kernels cost stands in the folder of the same name of the search, what they are in that of the code generator.

pub mod attention;
pub mod block;
pub mod contraction;
pub mod opaque;
pub mod pointwise;
pub mod product_work;
pub mod row;
pub mod rules;
pub mod staged;
pub mod text;
pub mod weight_stationary;

use serde::{Deserialize, Serialize};

use crate::template::attention::parameters::KeyBlocks;
use crate::template::contraction::shape::ContractionShape;
use crate::template::pointwise::Pointwise;
use crate::template::row::RowThreads;
use crate::template::rules::Rules;

/// The kernel of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Template {
    /// A thread computes whole elements, reductions one after another.
    Pointwise(Pointwise),
    /// Threads share rows: reductions across lanes, later stages along the row.
    Row(RowThreads),
    /// A warp a row, row after row, as [`Template::Row`]. What reductions read along rows and reduction is resident: it stays
    /// in shared memory for the whole launch.
    WeightStationary,
    /// Blocked matrix product through shared memory.
    Contraction(ContractionShape),
    /// Staged values one after another into shared memory, then the group's stages; each phase by its own
    /// [`Method`](crate::template::staged::phase::Method).
    Staged,
    /// A weighted sum whose weights are a softmax, as one reduction over blocks of keys; see [`crate::template::attention`].
    Attention(KeyBlocks),
    /// What a procedure computes, a row a block; see [`crate::template::opaque`].
    Opaque,
}

impl Template {
    /// What the template's kernels need and can do.
    pub fn rules(&self) -> &dyn Rules {
        match self {
            Self::Pointwise(own) => own,
            Self::Row(own) => own,
            Self::WeightStationary => &WeightStationary,
            Self::Contraction(own) => own,
            Self::Staged => &Staged,
            Self::Attention(own) => own,
            Self::Opaque => &Opaque,
        }
    }
}

/// The staged template, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Staged;

/// The template of procedures, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct Opaque;

/// The weight-stationary template, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct WeightStationary;
