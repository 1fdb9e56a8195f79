//! What a caller can say about an import.

use std::collections::BTreeMap;

use warpweave_graph::{Shape, Tensor};

use super::fixed::Constant;

/// What a caller can say about an import.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportOptions {
    /// Shapes of inputs by name, which must agree with what the model says. Where no input has the name, the one extent of a
    /// named dimension.
    pub shapes: BTreeMap<String, Shape>,
    /// Extents of named dimensions.
    pub dimensions: BTreeMap<String, usize>,
    /// Shapes of the arrays that inputs will be given. They decide the extents that nothing else decides.
    pub arrays: BTreeMap<String, Shape>,
    /// Inputs by name that are fixed at compile time: they become constants of the graph. Operators that need to know an
    /// operand, such as a shape, can then be compiled.
    pub constants: BTreeMap<String, Constant>,
    /// The extent of first dimensions of inputs that are otherwise unknown.
    pub batch: Option<usize>,
    /// Sizes above which a model is refused.
    pub limits: Limits,
}

impl ImportOptions {
    /// The same with the shapes of what inputs are fixed to among the shapes.
    pub(super) fn with_shapes_of(&self, fixed: &BTreeMap<String, Tensor>) -> Self {
        let mut options = self.clone();
        for (name, value) in fixed {
            options.shapes.entry(name.clone()).or_insert_with(|| value.shape().clone());
        }
        options
    }
}

/// Sizes above which a model is refused before anything of that size is allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the model file.
    pub file_bytes: u64,
    /// Nodes, functions and control flow expanded.
    pub nodes: usize,
    /// Depth to which functions may use functions.
    pub function_depth: usize,
    /// Depth to which graphs inside nodes are expanded.
    pub graph_depth: usize,
    /// Iterations of any one loop.
    pub trips: u64,
    /// Function calls, those inside functions too.
    pub function_calls: usize,
    /// Bytes of all names, functions expanded.
    pub name_bytes: u64,
    /// Bytes of all constants in the model together.
    pub weight_bytes: u64,
    /// Bytes of any one value.
    pub value_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 1 << 32,
            nodes: 1 << 18,
            function_depth: 32,
            graph_depth: 32,
            trips: 1 << 16,
            function_calls: 1 << 16,
            name_bytes: 1 << 26,
            weight_bytes: 1 << 36,
            value_bytes: 1 << 38,
        }
    }
}
