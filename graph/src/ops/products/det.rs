//! `Det`: determinants of small matrices.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// The determinant of every matrix of the last two dimensions, expanded along rows: of at most 5 rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Det;

/// Most rows of a matrix, whose determinant has as many products as rows have permutations.
const MOST_ROWS: usize = 5;

impl Operator for Det {
    const NAME: &'static str = "Det";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let batch = match &*data.shape {
            [batch @ .., rows, columns] if rows == columns && *rows <= MOST_ROWS => batch,
            [.., rows, columns] if rows == columns => {
                let reason = format!("determinants of more than {MOST_ROWS} rows are not supported, {data} has {rows}");
                return Err(InferError::Unsupported(reason));
            }
            _ => return Err(InferError::Mismatch(format!("{data} is no square matrix"))),
        };
        Ok(vec![TensorType { element: data.element, shape: Shape::from(batch) }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let rows = data.shape[data.shape.len() - 1];
        let mut expr = ExprBuilder::new();
        let batch = expr.parallels(&data.shape[..data.shape.len() - 2]);
        let operand = expr.operand(data);
        let mut entry = |row: usize, column: usize| {
            let place = [row, column].map(|at| Index::constant(at as i64));
            expr.read(operand, batch.iter().map(|&axis| Index::axis(axis)).chain(place).collect())
        };
        let entries: Vec<Vec<Scalar>> =
            (0..rows).map(|row| (0..rows).map(|column| entry(row, column)).collect()).collect();
        let columns: Vec<usize> = (0..rows).collect();
        let body = expanded(&entries, &columns, &|value| Scalar::literal(data.element, value));
        vec![program.compute(expr.map(data.element, body), &[inputs[0].expect("inference found the input")])]
    }
}

/// The determinant of the last rows, as many as there are columns, in those columns.
fn expanded(entries: &[Vec<Scalar>], columns: &[usize], literal: &impl Fn(f64) -> Scalar) -> Scalar {
    let row = entries.len() - columns.len();
    let term = |(at, &column): (usize, &usize)| {
        let others: Vec<usize> = columns.iter().copied().filter(|other| *other != column).collect();
        let entry = entries[row][column].clone();
        let product = match others.is_empty() {
            true => entry,
            false => entry.binary(BinaryOp::Multiply, expanded(entries, &others, literal)),
        };
        (at, product)
    };
    let terms = columns.iter().enumerate().map(term);
    let sum = terms.fold(None, |sum: Option<Scalar>, (at, product)| match sum {
        None => Some(product),
        Some(sum) => Some(sum.binary(if at % 2 == 0 { BinaryOp::Add } else { BinaryOp::Subtract }, product)),
    });
    sum.unwrap_or_else(|| literal(1.0))
}
