//! What the statements of a text may name.

use warpweave_graph::text::reader::{Parsed, Reader};

use crate::kernel_ir::{ArrayId, Function, LocalId, SharedId};

/// What statements may name.
pub(super) struct Scope<'k> {
    pub kernel: &'k Function,
    pub kernels: usize,
}

impl Scope<'_> {
    pub fn local(&self, reader: &mut Reader<'_>) -> Parsed<LocalId> {
        reader.id("a declared variable", self.kernel.locals.len())
    }

    pub fn array(&self, reader: &mut Reader<'_>) -> Parsed<ArrayId> {
        reader.id("a declared register array", self.kernel.arrays.len())
    }

    pub fn shared(&self, reader: &mut Reader<'_>) -> Parsed<SharedId> {
        reader.id("a declared shared array", self.kernel.shared.len())
    }
}
