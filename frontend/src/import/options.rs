//! What a caller can say about an import.

use std::collections::BTreeMap;

use warpweave_graph::{ElementType, Shape, Tensor, TensorType};

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
    /// Which initializers that stand among the inputs remain inputs, with a default. Those that `arrays` names do, too.
    pub overridable: Overridable,
    /// Which initializers a training step may change: they are variables of the graph, where no operator needs to know them.
    pub variables: Variables,
    /// The extent of first dimensions of inputs that are otherwise unknown.
    pub batch: Option<usize>,
    /// Sizes above which a model is refused.
    pub limits: Limits,
}

/// Which initializers that stand among a model's inputs remain inputs, as far as no operator needs to know them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Overridable {
    /// Those of a model that lists some of its initializers and not all, or all where these are at most eight of 1,024 elements
    /// at most. Old exporters list all that a model has, and such weights are constants.
    #[default]
    Declared,
    None,
    /// Those whose names fit.
    Matching(NameFilter),
}

/// Which initializers a training step may change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Variables {
    /// None: all are constants.
    #[default]
    None,
    /// Those of singles and doubles that are no scalars and whose names fit.
    Floating(NameFilter),
}

/// Which names fit; patterns may hold `*` for any text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameFilter {
    /// One of these must fit, unless there are none.
    pub included: Vec<String>,
    /// None of these may fit.
    pub excluded: Vec<String>,
}

impl Variables {
    /// Whether an initializer is a variable.
    pub(super) fn holds(&self, name: &str, ty: &TensorType) -> bool {
        match self {
            Self::None => false,
            Self::Floating(filter) => Self::could_hold(ty) && filter.fits(name),
        }
    }

    /// Whether an initializer of a type could be a variable.
    pub fn could_hold(ty: &TensorType) -> bool {
        let floating = matches!(ty.element, ElementType::F32 | ElementType::F64);
        floating && !ty.shape.is_empty() && ty.shape.elements() > 0
    }
}

impl NameFilter {
    /// Whether a name fits.
    pub fn fits(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, name));
        (self.included.is_empty() || any(&self.included)) && !any(&self.excluded)
    }

    /// The first pattern that fits none of these names.
    pub fn idle<'f>(&'f self, names: &[&str]) -> Option<&'f str> {
        let patterns = self.included.iter().chain(&self.excluded).map(String::as_str);
        patterns.into_iter().find(|pattern| !names.iter().any(|name| fits(pattern, name)))
    }
}

/// Whether a pattern, in which `*` stands for any text, is a name.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    if !tail.contains('*') {
        return rest.ends_with(tail);
    }
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| fits(tail, &rest[at..]))
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
