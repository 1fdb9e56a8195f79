//! Tensors whose elements are indices, and elements that lie outside the dimensions that they index.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expr::{IndirectIndex, TensorExpr};
use crate::program::{TensorId, TensorProgram};
use crate::typed_id;

typed_id!(
    /// An index check of a plan.
    IndexCheckId, "i"
);

/// A tensor whose elements name places of a dimension. All of them that are used are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct IndexCheck {
    pub tensor: TensorId,
    /// The extent of the dimension: values from `-extent` to `extent - 1` name a place.
    pub extent: i64,
}

/// An element that names no place.
///
/// In their order the first of several comes first: by tensor, which what is computed from it follows, then by element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
#[error("{} holds {}, which is no index from {} to {}", check.tensor, found, -check.extent, check.extent - 1)]
pub struct IndexFault {
    /// The tensor and the dimension.
    pub check: IndexCheck,
    /// What was found in it.
    pub found: FaultyIndex,
}

/// An element that names no place, and its value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FaultyIndex {
    /// Which element.
    pub element: FaultyElement,
    pub value: i64,
}

/// Which element of a tensor names no place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultyElement {
    /// The one of this number in row-major order.
    Element(usize),
    /// One with which the tensor is padded.
    Padding,
}

impl fmt::Display for FaultyIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            FaultyElement::Element(number) => write!(f, "{} in element {number}", self.value),
            FaultyElement::Padding => write!(f, "{} in its padding", self.value),
        }
    }
}

impl IndexCheck {
    /// The checks of a program, each once, in order.
    pub fn of(program: &TensorProgram) -> Vec<Self> {
        let checks = program.statements.values().flat_map(|statement| match statement.definition.expr() {
            Some(expr) => {
                let check = |place: IndirectIndex| Self {
                    tensor: statement.operands[expr.reads[place.read].operand],
                    extent: place.extent,
                };
                expr.indirect_indices().into_iter().map(check).collect()
            }
            None => Vec::new(),
        });
        checks.collect::<BTreeSet<Self>>().into_iter().collect()
    }
}

impl TensorExpr {
    /// The places that reads name, each once.
    pub fn indirect_indices(&self) -> BTreeSet<IndirectIndex> {
        let mut found = BTreeSet::new();
        self.visit_indices(&mut |index| found.extend(index.indirect_indices()));
        found
    }
}
