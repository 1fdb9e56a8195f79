//! Which elements of a matrix the registers of a warp's lanes hold, for products of tensor cores.

use crate::shared_memory::WARP as LANES;
use crate::tensor_core::sum::{FactorFormat, SumFormat, TensorCore, Term};

/// Lanes of a group, which together hold consecutive elements of a row or of a column.
const MEMBERS: usize = 4;
/// Rows of the left factor and of the sums that groups hold in one register.
const GROUPS: usize = LANES / MEMBERS;
/// Rows of the left factor and of the sums.
pub const ROWS: usize = 16;
/// Columns of the right factor and of the sums.
pub const COLUMNS: usize = 8;
/// The largest depth of a product.
const MOST_DEPTH: usize = 16;
/// The registers of a fragment are at most so many in each lane.
pub const MOST_REGISTERS: usize = 4;

/// The words that one register holds in each lane.
pub type RegisterWords = [u32; LANES];

/// A product of matrices that one instruction of a warp adds to sums: `m16n8` with a depth, of PTX's `mma`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentKind {
    /// The columns of the left factor and the rows of the right one: 4, 8 or 16.
    pub depth: usize,
    /// The type of the elements of both factors.
    pub factors: FactorFormat,
    /// The type of the sums.
    pub sums: SumFormat,
}

/// A matrix of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatrixOperand {
    /// The left factor, `A`: [`ROWS`] by the depth.
    Left,
    /// The right factor, `B`: the depth by [`COLUMNS`].
    Right,
    /// The sums before and after, `C` and `D`: [`ROWS`] by [`COLUMNS`].
    Sums,
}

/// An element of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// From 0 at the top.
    pub row: usize,
    /// From 0 at the left.
    pub column: usize,
}

impl FragmentKind {
    /// The product of factors of 16 bits, summed in singles: `m16n8k16`. Elements of BF16 lie where those of FP16 do.
    pub const HALVES: Self = Self { depth: MOST_DEPTH, factors: FactorFormat::Half, sums: SumFormat::Single };

    /// Elements of a matrix that one register holds in a lane, the first in the lowest bits.
    pub fn parts(self, operand: MatrixOperand) -> usize {
        match (operand, self.sums) {
            (MatrixOperand::Left | MatrixOperand::Right, _) => self.factors.elements_of_register(),
            (MatrixOperand::Sums, SumFormat::Half) => 2,
            (MatrixOperand::Sums, SumFormat::Single) => 1,
        }
    }

    /// Registers of a lane that hold a matrix.
    pub fn registers(self, operand: MatrixOperand) -> usize {
        let [rows, columns] = self.extents(operand);
        rows * columns / (LANES * self.parts(operand))
    }

    /// Rows and columns of a matrix.
    pub fn extents(self, operand: MatrixOperand) -> [usize; 2] {
        match operand {
            MatrixOperand::Left => [ROWS, self.depth],
            MatrixOperand::Right => [self.depth, COLUMNS],
            MatrixOperand::Sums => [ROWS, COLUMNS],
        }
    }

    /// The element that part `part` of register `register` holds in lane `lane` (PTX ISA, Matrix Fragments for mma.m16n8k4,
    /// mma.m16n8k8 and mma.m16n8k16).
    pub fn position(self, operand: MatrixOperand, lane: usize, register: usize, part: usize) -> Position {
        let (group, member) = (lane / MEMBERS, lane % MEMBERS);
        let parts = self.parts(operand);
        let along = member * parts + part;
        match (operand, self.sums) {
            (MatrixOperand::Left, _) => {
                Position { row: group + GROUPS * (register % 2), column: along + MEMBERS * parts * (register / 2) }
            }
            (MatrixOperand::Right, _) => Position { row: along + MEMBERS * parts * register, column: group },
            (MatrixOperand::Sums, SumFormat::Half) => Position { row: group + GROUPS * register, column: along },
            (MatrixOperand::Sums, SumFormat::Single) => {
                Position { row: group + GROUPS * (register / 2), column: 2 * member + register % 2 }
            }
        }
    }

    /// Calls `visit` for each element of a matrix, with its position, its lane, its register and its lowest bit there.
    fn each(self, operand: MatrixOperand, mut visit: impl FnMut(Position, usize, usize, usize)) {
        let parts = self.parts(operand);
        for lane in 0..LANES {
            for register in 0..self.registers(operand) {
                for part in 0..parts {
                    visit(self.position(operand, lane, register, part), lane, register, part * 32 / parts);
                }
            }
        }
    }

    /// The sums plus the product of both factors, as `core` computes them. Each slice has [`FragmentKind::registers`] registers;
    /// those of the result beyond are zero.
    pub fn multiply_add(
        self,
        core: TensorCore,
        left: &[RegisterWords],
        right: &[RegisterWords],
        sums: &[RegisterWords],
    ) -> [RegisterWords; MOST_REGISTERS] {
        let (mut rows, mut columns) = ([[Term::ZERO; MOST_DEPTH]; ROWS], [[Term::ZERO; MOST_DEPTH]; COLUMNS]);
        self.each(MatrixOperand::Left, |at, lane, register, bit| {
            rows[at.row][at.column] = self.factors.decode(left[register][lane] >> bit);
        });
        self.each(MatrixOperand::Right, |at, lane, register, bit| {
            columns[at.column][at.row] = self.factors.decode(right[register][lane] >> bit);
        });
        let mut results = [[0; LANES]; MOST_REGISTERS];
        let width = 32 / self.parts(MatrixOperand::Sums);
        self.each(MatrixOperand::Sums, |at, lane, register, bit| {
            let old = sums[register][lane] >> bit & (u32::MAX >> (32 - width));
            let (left, right) = (&rows[at.row][..self.depth], &columns[at.column][..self.depth]);
            results[register][lane] |= core.dot(self.factors, self.sums, left, right, old) << bit;
        });
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FragmentKind; 5] = [
        FragmentKind { depth: 16, factors: FactorFormat::Half, sums: SumFormat::Single },
        FragmentKind { depth: 16, factors: FactorFormat::BFloat16, sums: SumFormat::Half },
        FragmentKind { depth: 8, factors: FactorFormat::Half, sums: SumFormat::Half },
        FragmentKind { depth: 8, factors: FactorFormat::TensorFloat32, sums: SumFormat::Single },
        FragmentKind { depth: 4, factors: FactorFormat::TensorFloat32, sums: SumFormat::Single },
    ];

    #[test]
    fn every_element_is_held_once() {
        for kind in KINDS {
            for operand in [MatrixOperand::Left, MatrixOperand::Right, MatrixOperand::Sums] {
                let [rows, columns] = kind.extents(operand);
                let mut held = vec![0; rows * columns];
                kind.each(operand, |at, _, _, _| held[at.row * columns + at.column] += 1);
                assert!(held.iter().all(|count| *count == 1), "{kind:?} {operand:?}");
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_documentation() {
        let [kind, .., third, fourth, _] = KINDS;
        let at = |row, column| Position { row, column };
        assert_eq!(kind.position(MatrixOperand::Left, 6, 1, 1), at(9, 5));
        assert_eq!(kind.position(MatrixOperand::Left, 31, 2, 0), at(7, 14));
        assert_eq!(kind.position(MatrixOperand::Right, 9, 1, 1), at(11, 2));
        assert_eq!(kind.position(MatrixOperand::Sums, 5, 3, 0), at(9, 3));
        assert_eq!(third.position(MatrixOperand::Sums, 5, 1, 1), at(9, 3));
        assert_eq!(fourth.position(MatrixOperand::Left, 6, 2, 0), at(1, 6));
        assert_eq!(fourth.position(MatrixOperand::Right, 6, 1, 0), at(6, 1));
    }
}
