//! What no tensor expression says: statements whose values a procedure computes from what an expression gives.
//!
//! An [`Opaque`] statement is an *access expression* and a [`Procedure`]. The expression says which elements are written and
//! what is read for them; its body is the value that the procedure takes at one point. Regions, dependencies, memory and the
//! checks of indices are derived from the expression like any other's. What a procedure makes of the values stands in one
//! file a procedure here, and in one a layer elsewhere: what it costs, and its kernel.

pub mod sort;
pub mod suppress;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::arena::Arena;
use crate::expr::{Axis, AxisId, AxisKind, Index, TensorExpr, substitute};
use crate::text::reader::{Parsed, Reader, Word};
use crate::types::ElementType;
use sort::Direction;

/// How the elements of a row are computed from the body's values of that row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Procedure {
    /// The places of the row's values in their stable order: [`sort::places`].
    Sort(Direction),
    /// Whether each place stays when those before it that stay suppress it: [`suppress::staying`].
    Suppress {
        /// Most places of a row that stay.
        most: u64,
    },
}

impl Procedure {
    /// The element type of what is computed.
    pub fn element(self) -> ElementType {
        match self {
            Self::Sort(_) => ElementType::I64,
            Self::Suppress { .. } => ElementType::Bool,
        }
    }
}

/// A procedure over what an expression gives.
///
/// The parallel axes of the expression are those of the rows, then one of the places of a row; its one reduced axis has the
/// extent of a row. It has neither reducer nor epilogue, and the procedure's element type.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Opaque {
    /// What computes the values.
    pub procedure: Procedure,
    /// What is read and written, and the value that the procedure takes at a point.
    pub access: TensorExpr,
}

type Check = Result<(), &'static str>;

impl Procedure {
    /// Most places of a row.
    pub fn longest_row(self) -> usize {
        match self {
            Self::Sort(_) => sort::LONGEST_ROW,
            Self::Suppress { .. } => suppress::LONGEST_ROW,
        }
    }

    /// Whether an expression is one that the procedure takes.
    pub fn check(self, access: &TensorExpr) -> Check {
        let body = access.check_access()?;
        let parallel: Vec<AxisId> = access.parallel().collect();
        let reduced: Vec<AxisId> = access.reduced().collect();
        let (Some(&places), &[each]) = (parallel.last(), &*reduced) else {
            return Err("a procedure takes rows and one axis along them");
        };
        let extent = |axis: AxisId| access.axes[axis].extent;
        require(extent(places) == extent(each), "a row has another extent than its places")?;
        require(extent(each) <= self.longest_row(), "a row is too long")?;
        require(access.element == self.element(), "a procedure gives another type")?;
        match self {
            Self::Sort(_) => {
                let mut own = true;
                access.visit_indices(&mut |index| index.visit(&mut |axis| own &= axis != places, &mut |_| {}));
                require(own, "the key of a value depends on its place in the order")
            }
            Self::Suppress { .. } => require(body == ElementType::Bool, "what suppresses is no truth value"),
        }
    }
}

impl Opaque {
    /// The number of places of a row.
    pub fn row(access: &TensorExpr) -> usize {
        access.reduced().map(|axis| access.axes[axis].extent).product()
    }

    /// The expression of the body's values along whole rows, `[rows…, row]`. Each place of a row is `along` of the new
    /// last axis. It stands in place of the axis of the places or the reduced one as [`Along`] says.
    pub fn values(access: &TensorExpr, along: Along) -> TensorExpr {
        let mut axes: Arena<AxisId, Axis> = Arena::new();
        let rows = access.parallel().count() - 1;
        let mut replacement: Vec<Index> = Vec::with_capacity(rows + 2);
        match along {
            Along::Each | Along::Both => {
                replacement.extend(access.axes.values().take(rows).map(|axis| Index::axis(axes.push(*axis))));
            }
            Along::Places { mut row, .. } => {
                for axis in access.axes.values().take(rows).rev() {
                    let extent = axis.extent.max(1);
                    replacement.insert(0, Index::constant((row % extent) as i64));
                    row /= extent;
                }
            }
        }
        let last = axes.push(Axis { extent: Self::row(access), kind: AxisKind::Parallel });
        let last = Index::axis(last);
        replacement.extend(match along {
            Along::Each => [Index::constant(0), last],
            Along::Both => [last.clone(), last],
            Along::Places { each, .. } => [last, Index::constant(each as i64)],
        });
        let element = access.body_element();
        TensorExpr { element, ..substitute::replace_axes(access, &axes, &replacement) }
    }
}

/// Along which axis of an access expression values are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// The reduced axis, of all rows; the body names no place.
    Each,
    /// Both axes at once: each place with itself, of all rows.
    Both,
    /// The places, in one row, the reduced axis standing still.
    Places {
        /// The row, counted in row-major order.
        row: usize,
        /// Where the reduced axis stands.
        each: usize,
    },
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sort(direction) => write!(f, "sort {}", direction.word()),
            Self::Suppress { most } => write!(f, "suppress {most}"),
        }
    }
}

impl Procedure {
    /// Reads what a procedure prints as.
    pub fn read(reader: &mut Reader<'_>) -> Parsed<Self> {
        if reader.eat_word("sort") {
            return reader.named("`ascending` or `descending`").map(Self::Sort);
        }
        reader.keyword("suppress")?;
        Ok(Self::Suppress { most: reader.integer("how many places stay")? })
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.procedure, self.access)
    }
}

fn require(holds: bool, otherwise: &'static str) -> Check {
    if holds { Ok(()) } else { Err(otherwise) }
}
