//! Tensors that are named by patterns.

use std::collections::BTreeSet;

use warpweave_graph::TensorProgram;
use warpweave_graph::program::TensorId;
use wildmatch::WildMatch;

/// Patterns that name tensors of a model: by a tensor's name, or by that of a node whose results it is among. In a pattern `*`
/// stands for any characters and `?` for one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KeepList {
    patterns: Vec<WildMatch>,
}

impl KeepList {
    /// A list of patterns.
    pub fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { patterns: patterns.into_iter().map(|pattern| WildMatch::new(pattern.as_ref())).collect() }
    }

    /// The patterns of a text, one a line. Lines that are empty or begin with `# ` are none.
    pub fn lines(text: &str) -> impl Iterator<Item = &str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "#" && !line.starts_with("# "))
    }

    /// The list with more patterns.
    pub fn with(&self, patterns: &[impl AsRef<str>]) -> Self {
        let Self { patterns: more } = Self::new(patterns);
        Self { patterns: [self.patterns.clone(), more].concat() }
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The tensors of a program that any pattern names.
    pub fn tensors(&self, program: &TensorProgram) -> BTreeSet<TensorId> {
        self.patterns.iter().flat_map(|pattern| named(pattern, program)).collect()
    }

    /// The first pattern that names no tensor of any of these programs.
    pub fn without_tensor<'p>(&self, programs: impl Iterator<Item = &'p TensorProgram> + Clone) -> Option<String> {
        let names_none = |pattern: &&WildMatch| programs.clone().all(|program| named(pattern, program).is_empty());
        self.patterns.iter().find(names_none).map(ToString::to_string)
    }
}

/// The tensors of a program that a pattern names.
fn named(pattern: &WildMatch, program: &TensorProgram) -> BTreeSet<TensorId> {
    let matches = |name: &str| !name.is_empty() && pattern.matches(name);
    let is_named = |tensor: &TensorId| {
        let nodes = program.producer(*tensor).map(|statement| program.origins(statement));
        let mut nodes = nodes.into_iter().flatten().filter_map(|&node| program.names.origins.get(node));
        program.tensor_name(*tensor).is_some_and(matches)
            || nodes.any(|node| matches(&node.name) || matches(&node.result))
    };
    program.tensors.ids().filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use warpweave_graph::lower;
    use warpweave_graph::text::{Tensors, parse};

    use super::*;

    #[test]
    fn patterns_name_tensors_and_results_of_nodes() {
        let text = "graph \"\"\nv0 \"x\": f32[4] = input\nv1 \"layer0/a\": f32[4] = Sin \"layer0/sin\" (v0)\n\
                    v2 \"y\": f32[4] = Cos \"layer1/cos\" (v1)\ninput v0\noutput v2\n";
        let program = lower(&parse(text, &Tensors::new()).expect("a graph"));
        let names = |pattern: &str| {
            let tensors = KeepList::new([pattern]).tensors(&program);
            tensors.into_iter().filter_map(|tensor| program.tensor_name(tensor)).collect::<Vec<_>>().join(" ")
        };
        for (pattern, expected) in [
            ("x", "x"),
            ("layer0/*", "layer0/a"),
            ("layer?/*", "layer0/a y"),
            ("layer1/cos", "y"),
            ("*", "x layer0/a y"),
            ("layer", ""),
        ] {
            assert_eq!(names(pattern), expected, "{pattern}");
        }
        let list = KeepList::new(KeepList::lines("# a list\n\nx\n  layer9/* \n#\n"));
        assert_eq!(list.without_tensor([&program].into_iter()).as_deref(), Some("layer9/*"));
    }
}
