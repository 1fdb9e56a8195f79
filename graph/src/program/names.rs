//! What a program's parts are called in the model, for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Statement, StatementId, TensorId, TensorProgram};
use crate::arena::Arena;
use crate::legible::legible;
use crate::typed_id;

typed_id!(
    /// A node of the model that statements come from.
    OriginId, "n"
);

/// The nodes of the model that a statement comes from.
pub type Origins = BTreeSet<OriginId>;

/// What statements of a training step are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// They compute what the model says.
    #[default]
    Forward,
    /// They compute the loss of what the model gives.
    Loss,
    /// They compute gradients.
    Backward,
    /// They compute what states become.
    Optimizer,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Loss, Self::Backward, Self::Optimizer];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Loss => "loss",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer",
        }
    }
}

/// A node of the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// What its statements are for; a node of a model stands here twice where its gradients are computed, too.
    #[serde(default)]
    pub phase: Phase,
    pub operator: String,
    /// The node's name; may be empty.
    pub name: String,
    /// The name of the node's first output; empty if it has none.
    pub result: String,
}

/// The names of a program's parts in the model. Nothing but messages and text depends on them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Names {
    /// The model's nodes, which statements name as their origins.
    pub origins: Arena<OriginId, Origin>,
    /// The names of tensors that are values of the model.
    pub tensors: BTreeMap<TensorId, String>,
    /// The names of outputs, by position.
    pub outputs: BTreeMap<usize, String>,
}

impl Origin {
    /// The node as messages name it, such as ``head (Conv)``; by its result if it has no name.
    pub fn shown(&self) -> String {
        let name = if self.name.is_empty() { &self.result } else { &self.name };
        match self.phase {
            Phase::Forward => format!("{name} ({})", self.operator),
            phase => format!("{name} ({}, {})", self.operator, phase.name()),
        }
    }

    /// The node as pictures and tables name it, such as ``Conv "head"``.
    fn label(&self) -> String {
        let name = if self.name.is_empty() { &self.result } else { &self.name };
        let operator = legible(&self.operator);
        if name.is_empty() { operator.to_string() } else { format!("{operator} \"{}\"", legible(name)) }
    }

    /// Whether a person means the node by this name: its own, or its result's.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.result == name
    }
}

impl Names {
    /// Nodes as pictures and tables name them, such as ``Conv "head" + Relu "head/relu"``; of many the first ones. Empty where
    /// nothing is known of any.
    pub fn label(&self, origins: &Origins) -> String {
        const SHOWN: usize = 3;
        let known: Vec<&Origin> = origins.iter().filter_map(|&origin| self.origins.get(origin)).collect();
        let mut label = known.iter().take(SHOWN).map(|origin| origin.label()).collect::<Vec<String>>().join(" + ");
        if known.len() > SHOWN {
            label.push_str(&format!(" + {} more", known.len() - SHOWN));
        }
        label
    }

    /// The first node that has a name, and how many others there are, in at most so many characters. Of a longer name the end is
    /// kept, which tells it from others. Empty where nothing is known of any.
    pub fn label_within(&self, origins: &Origins, characters: usize) -> String {
        let known: Vec<&Origin> = origins.iter().filter_map(|&origin| self.origins.get(origin)).collect();
        let Some(first) = known.iter().find(|origin| !origin.name.is_empty()).or(known.first()) else {
            return String::new();
        };
        let name = legible(if first.name.is_empty() { &first.result } else { &first.name });
        let operator = legible(&first.operator);
        let more = if known.len() > 1 { format!(" +{}", known.len() - 1) } else { String::new() };
        let taken = operator.chars().count() + 1 + more.chars().count();
        let room = characters.saturating_sub(taken);
        let length = name.chars().count();
        let name: String = match length > room {
            true => ['…'].into_iter().chain(name.chars().skip(length + 1 - room.max(1))).collect(),
            false => name.into_owned(),
        };
        let label = format!("{operator} {name}");
        label
            .trim_end()
            .chars()
            .take(characters.saturating_sub(more.len()))
            .chain(more.chars())
            .take(characters)
            .collect()
    }

    /// An id with the nodes behind it: ``o7 (Conv "head")``, or the id alone where nothing is known of them.
    pub fn labelled(&self, id: impl fmt::Display, origins: &Origins) -> String {
        match self.label(origins) {
            label if label.is_empty() => id.to_string(),
            label => format!("{id} ({label})"),
        }
    }

    /// What statements of these origins are for: the last phase of any, for statements of two are there for the later one.
    pub fn phase(&self, origins: &Origins) -> Phase {
        let known = origins.iter().filter_map(|&origin| self.origins.get(origin));
        known.map(|origin| origin.phase).max().unwrap_or_default()
    }

    /// A statement's nodes as messages name them, in their order.
    pub fn nodes(&self, statement: &Statement) -> Vec<String> {
        statement.origins.iter().filter_map(|&origin| self.origins.get(origin)).map(Origin::shown).collect()
    }
}

impl TensorProgram {
    /// The nodes of the model that a statement comes from.
    pub fn origins(&self, statement: StatementId) -> &Origins {
        &self.statements[statement].origins
    }

    /// The nodes of the model that any of these statements comes from.
    pub fn origins_of<'s>(&self, statements: impl IntoIterator<Item = &'s StatementId>) -> Origins {
        statements.into_iter().flat_map(|&statement| self.origins(statement)).copied().collect()
    }

    /// The name of a tensor in the model: its own, or that of the result of the last node that its statement comes from.
    pub fn tensor_name(&self, tensor: TensorId) -> Option<&str> {
        let own = self.names.tensors.get(&tensor).map(String::as_str);
        own.or_else(|| self.result_name(tensor)).filter(|name| !name.is_empty())
    }

    fn result_name(&self, tensor: TensorId) -> Option<&str> {
        let last = self.origins(self.producer(tensor)?).last()?;
        Some(&self.names.origins.get(*last)?.result)
    }

    /// A tensor as messages name it: ``t5 `hidden` `` where the model names it.
    pub fn shown(&self, tensor: TensorId) -> String {
        match self.tensor_name(tensor) {
            Some(name) => format!("{tensor} `{}`", legible(name)),
            None => tensor.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_the_ends_of_names() {
        let origin = |operator: &str, name: &str| Origin {
            phase: Phase::Forward,
            operator: operator.to_owned(),
            name: name.to_owned(),
            result: "y".to_owned(),
        };
        let mut names = Names::default();
        let ids: Vec<OriginId> = [origin("Relu", ""), origin("MatMul", "/layer.0/query/MatMul"), origin("Add", "/a")]
            .into_iter()
            .map(|origin| names.origins.push(origin))
            .collect();
        let all: Origins = ids.iter().copied().collect();
        let cases = [
            (&all, 60, "MatMul /layer.0/query/MatMul +2"),
            (&all, 24, "MatMul …query/MatMul +2"),
            (&all, 8, "MatMu +2"),
            (&Origins::from([ids[0]]), 24, "Relu y"),
            (&Origins::new(), 24, ""),
        ];
        for (origins, characters, label) in cases {
            let found = names.label_within(origins, characters);
            assert_eq!(found, label);
            assert!(found.chars().count() <= characters);
        }
    }
}
