//! Rotary position embedding, as the operators of both domains share it.

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::movement;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::TensorType;

/// Which elements of a head are the two coordinates that are turned together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairs {
    /// Those of the first half and those of the second.
    Halves,
    /// Neighbours.
    Interleaved,
}

/// Appends the rotation of `data`, `[N, heads, length, width]`. Pair `p` of the first `turned` elements of a head is
/// turned by an angle. The angle's cosine and sine are at `[N, length, p]`, or at `[1, length, p]` for the whole batch.
pub fn rotate(
    program: &mut ProgramBuilder,
    data: TensorId,
    (cosines, sines): (TensorId, TensorId),
    turned: usize,
    pairs: Pairs,
) -> TensorId {
    let ty = program.ty(data).clone();
    let half = turned / 2;
    let whole = ty.shape.to_vec();
    // Coordinates as a dimension of 2 of their own, so that both are one expression.
    let (split, place): ([usize; 5], [usize; 2]) = match pairs {
        Pairs::Halves => ([whole[0], whole[1], whole[2], 2, half], [3, 4]),
        Pairs::Interleaved => ([whole[0], whole[1], whole[2], half, 2], [4, 3]),
    };
    let [coordinate, pair] = place;
    let first = movement::slice(program, data, &[0; 4], &[1; 4], &[whole[0], whole[1], whole[2], turned]);
    let first = movement::reshape(program, first, &split.into());
    let split_ty: TensorType = program.ty(first).clone();
    let table = program.ty(cosines).clone();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&split);
    let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
    let operand = expr.operand(&split_ty);
    let mut at = |which: i64| {
        let mut index = own.clone();
        index[coordinate] = Index::constant(which);
        expr.read(operand, index)
    };
    let (x, y) = (at(0), at(1));
    let batch = if table.shape[0] == 1 { Index::constant(0) } else { own[0].clone() };
    let angle = vec![batch, own[2].clone(), own[pair].clone()];
    let [cosine, sine] = [expr.operand(&table), expr.operand(&table)].map(|operand| expr.read(operand, angle.clone()));
    let product = |a: &Scalar, b: &Scalar| a.clone().binary(BinaryOp::Multiply, b.clone());
    let real = product(&cosine, &x).binary(BinaryOp::Subtract, product(&sine, &y));
    let imaginary = product(&sine, &x).binary(BinaryOp::Add, product(&cosine, &y));
    let guard = expr.guard(crate::expr::Guard::always(), own[coordinate].clone(), 0, 1);
    let body = Scalar::Holds(guard).select(real, imaginary);
    let rotated = program.compute(expr.map(ty.element, body), &[first, cosines, sines]);
    let rotated = movement::reshape(program, rotated, &[whole[0], whole[1], whole[2], turned].into());
    if turned == whole[3] {
        return rotated;
    }
    let rest = [whole[0], whole[1], whole[2], whole[3] - turned];
    let rest = movement::slice(program, data, &[0, 0, 0, turned as i64], &[1; 4], &rest);
    program.concat(3, &[rotated, rest])
}
