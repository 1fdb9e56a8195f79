//! What follows a contraction's sums as a chain of operations.

use warpweave_graph::ElementType;

use super::access::Access;
use super::slices::{Operation, Program};
use crate::host::memory::Memory;
use crate::host::vector::chain::{self, Laid, Operand};

/// Operations on sums, one after another.
#[derive(Clone, Debug)]
pub(super) struct Chain(chain::Chain<Access>);

/// Rows of sums, the point of the first, and the axes of rows and of columns.
pub(super) struct Sheet<'s> {
    pub(super) point: &'s [i64],
    pub(super) axis: usize,
    pub(super) row_axis: Option<usize>,
    pub(super) sums: chain::Sheet<'s>,
}

impl Chain {
    /// That of a program; `None` if it is none of singles.
    pub(super) fn new(program: &Program) -> Option<Self> {
        let (mut links, mut value) = (chain::Chain::default(), None);
        let operations = program.operations();
        for (slot, operation) in operations.iter().enumerate() {
            match operation {
                Operation::One(_) | Operation::Read(_) => {}
                Operation::Sums if value.is_none() => value = Some(slot),
                Operation::Binary(op, left, right) => {
                    let other = match value? {
                        value if value == *left && value != *right => *right,
                        value if value == *right && value != *left => *left,
                        _ => return None,
                    };
                    links.operate(*op, operand(&operations[other])?)?;
                    value = Some(slot);
                }
                Operation::Store(stored, access) if Some(*stored) == value && is_single(access) => {
                    links.store(access.clone());
                }
                _ => return None,
            }
        }
        links.finished().map(Self)
    }

    /// Whether all that it reads along an axis lies side by side, or is one element.
    pub(super) fn reads_along(&self, axis: usize) -> bool {
        self.0.operands().all(|access| (0..=1).contains(&access.position.along(axis)))
    }

    /// Computes and stores rows of neighbouring elements; whether it has. Nothing is stored if it has not.
    pub(super) fn run(&self, sheet: &Sheet, memory: &Memory) -> bool {
        self.0.run(&sheet.sums, memory, |access| sheet.lie(access, memory))
    }
}

fn is_single(access: &Access) -> bool {
    access.element == ElementType::F32 && access.conditions.is_empty()
}

/// What an operation takes beside the value.
fn operand(other: &Operation) -> Option<Operand<Access>> {
    match other {
        Operation::One(one) => Some(Operand::One(*one)),
        Operation::Read(access) if is_single(access) => Some(Operand::Singles(access.clone())),
        _ => None,
    }
}

impl Sheet<'_> {
    fn lie(&self, access: &Access, memory: &Memory) -> Laid {
        Laid {
            space: access.space,
            byte: access.byte(access.position.at(self.point), memory),
            step: access.position.along(self.axis),
            row_step: self.row_axis.map_or(0, |axis| access.position.along(axis)),
        }
    }
}
