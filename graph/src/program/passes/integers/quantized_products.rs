//! Sums of products of dequantised factors, computed in integers.
//!
//! `Σ (a − z) s · (b − y) t` is `s · t · Σ (a − z)(b − y)` where the scales do not vary along the sum. The right side sums
//! integers of 32 bits exactly, and reads bytes where the left side reads singles.

use std::collections::BTreeMap;

use crate::arena::{Arena, Id};
use crate::expr::{AxisKind, BinaryOp, Guard, Index, Literal, Read, ReadId, Reducer, Scalar, TensorExpr};
use crate::passes::constant_folding::evaluate_expression;
use crate::program::passes::rewriting::rebuild::{Rebuild, union};
use crate::program::{Definition, Statement, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// The program with products of dequantised bytes in integers, where no sum leaves 32 bits; small constants that are
/// dequantised for other readers are computed now.
///
/// What was a sum of rounded products becomes one that is rounded once; otherwise values are unchanged.
pub fn quantized_products(program: &TensorProgram) -> TensorProgram {
    let factors = dequantized(program);
    if factors.is_empty() {
        return program.clone();
    }
    let products: BTreeMap<TensorId, Product> = program
        .statements
        .values()
        .filter_map(|statement| Some((statement.output, Product::of(&factors, statement)?)))
        .collect();
    let mut rewriting =
        Rewriting { program, factors: &factors, centered: BTreeMap::new(), builder: Rebuild::new(program) };
    for statement in program.statements.values() {
        match products.get(&statement.output) {
            Some(product) => rewriting.multiply(statement, product),
            None => rewriting.keep(statement),
        }
    }
    rewriting.builder.finish(program).pruned()
}

/// A tensor of dequantised integers: the statement, and the parts of its expression.
struct Dequantized<'p> {
    statement: &'p Statement,
    expr: &'p TensorExpr,
    /// The integer less its zero point.
    centered: &'p Scalar,
    scale: ReadId,
    /// The largest magnitude of the former.
    magnitude: u64,
}

/// Every dequantised tensor of bytes.
fn dequantized(program: &TensorProgram) -> BTreeMap<TensorId, Dequantized<'_>> {
    let found = program.statements.values().filter_map(|statement| {
        let Definition::Compute(expr) = &statement.definition else { return None };
        let Scalar::Binary(BinaryOp::Multiply, single, scale) = &expr.body else { return None };
        let (Scalar::Cast(ElementType::F32, centered), Scalar::Read(scale)) = (&**single, &**scale) else {
            return None;
        };
        let of_singles = expr.operands[expr.reads[*scale].operand].element == ElementType::F32;
        let plain = expr.reads.values().all(|read| read.guard.is_always() && read.index.iter().all(Index::is_affine));
        if expr.reducer.is_some() || expr.element != ElementType::F32 || !of_singles || !plain {
            return None;
        }
        let magnitude = magnitude(program, statement, expr, centered)?;
        Some((statement.output, Dequantized { statement, expr, centered, scale: *scale, magnitude }))
    });
    found.collect()
}

/// The largest magnitude of a byte less its zero point, or of a byte.
fn magnitude(program: &TensorProgram, statement: &Statement, expr: &TensorExpr, centered: &Scalar) -> Option<u64> {
    let byte = |scalar: &Scalar| {
        let Scalar::Cast(ElementType::I32, value) = scalar else { return None };
        let Scalar::Read(read) = **value else { return None };
        let read = &expr.reads[read];
        let element = expr.operands[read.operand].element;
        let largest = match element {
            ElementType::I8 => 128,
            ElementType::U8 => 255,
            _ => return None,
        };
        Some((largest, statement.operands[read.operand]))
    };
    match centered {
        Scalar::Binary(BinaryOp::Subtract, value, zero) => {
            let (largest, _) = byte(value)?;
            let (_, zero) = byte(zero)?;
            let is_zero = |tensor: &Tensor| tensor.bytes().iter().all(|&byte| byte == 0);
            Some(if program.foldable(zero).is_some_and(is_zero) { largest } else { 255 })
        }
        value => byte(value).map(|(largest, _)| largest),
    }
}

/// A sum of products of two dequantised factors.
struct Product {
    reads: [ReadId; 2],
    factors: [TensorId; 2],
}

impl Product {
    fn of(factors: &BTreeMap<TensorId, Dequantized<'_>>, statement: &Statement) -> Option<Self> {
        let Definition::Compute(expr) = &statement.definition else { return None };
        let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return None };
        let (Scalar::Read(left), Scalar::Read(right)) = (&**left, &**right) else { return None };
        if expr.reducer != Some(Reducer::Sum) || expr.body_element() != ElementType::F32 {
            return None;
        }
        let reads = [*left, *right];
        let tensors = reads.map(|read| statement.operands[expr.reads[read].operand]);
        let length: u64 = expr.reduced().map(|axis| expr.axes[axis].extent as u64).product();
        let [first, second] = [factors.get(&tensors[0])?, factors.get(&tensors[1])?];
        let largest = u128::from(first.magnitude) * u128::from(second.magnitude) * u128::from(length);
        let is_factor = |read: &Read| tensors.contains(&statement.operands[read.operand]);
        let apart = expr.reads.iter().all(|(id, read)| !is_factor(read) || reads.contains(&id));
        let follow = [(first, reads[0]), (second, reads[1])].into_iter().all(|(factor, read)| {
            let read = &expr.reads[read];
            let free = read.index.iter().all(Index::is_free_of_reads);
            let zero = read.guard.is_always() || read.fill == Literal::new(ElementType::F32, 0.0);
            free && zero && scale_index(factor, expr, read).is_some()
        });
        (largest < 1 << 31 && apart && follow).then_some(Self { reads, factors: tensors })
    }
}

/// Where a product reads the scale of a factor: at the factor's place, which must be the same along the sum.
fn scale_index(factor: &Dequantized<'_>, expr: &TensorExpr, read: &Read) -> Option<Vec<Index>> {
    let place = |index: &Index| match (index.as_axis(), index.as_constant()) {
        (Some(axis), _) => {
            let moved = read.index.get(axis.index())?;
            let mut parallel = true;
            moved.visit(&mut |axis| parallel &= expr.axes[axis].kind == AxisKind::Parallel, &mut |_| {});
            parallel.then(|| moved.clone())
        }
        (None, Some(_)) => Some(index.clone()),
        (None, None) => None,
    };
    factor.expr.reads[factor.scale].index.iter().map(place).collect()
}

/// A program whose products are being rewritten.
struct Rewriting<'p> {
    program: &'p TensorProgram,
    factors: &'p BTreeMap<TensorId, Dequantized<'p>>,
    /// The integers less their zero points, of the factors that have been met.
    centered: BTreeMap<TensorId, TensorId>,
    builder: Rebuild,
}

impl Rewriting<'_> {
    fn keep(&mut self, statement: &Statement) {
        let folded = self.factors.contains_key(&statement.output).then(|| self.constant(statement)).flatten();
        match folded {
            Some(value) => {
                let tensor = self.builder.constant(value);
                self.builder.replace(statement.output, tensor);
            }
            None => _ = self.builder.keep(statement),
        }
    }

    /// What a statement over constants computes, if it is small.
    fn constant(&self, statement: &Statement) -> Option<Tensor> {
        evaluate_expression(self.program, statement.definition.expr()?, &statement.operands)
    }

    /// The factor's integers less their zero points.
    fn centered(&mut self, factor: TensorId) -> TensorId {
        if let Some(&known) = self.centered.get(&factor) {
            return known;
        }
        let Dequantized { statement, expr, centered, .. } = &self.factors[&factor];
        let mut kept = Selection::default();
        let body = kept.scalar(expr, centered);
        let operands: Vec<TensorId> =
            kept.operands.iter().map(|&operand| self.builder.map(statement.operands[operand])).collect();
        let expr = TensorExpr {
            axes: expr.axes.clone(),
            operands: kept.operands.iter().map(|&operand| expr.operands[operand].clone()).collect(),
            reads: kept.reads,
            body,
            reducer: None,
            epilogue: None,
            element: ElementType::I32,
        };
        let tensor = self.builder.compute(statement.origins.clone(), expr, &operands);
        self.centered.insert(factor, tensor);
        tensor
    }

    fn multiply(&mut self, statement: &Statement, product: &Product) {
        let Definition::Compute(old) = &statement.definition else { unreachable!("products are computed") };
        let mut expr = old.clone();
        let mut operands: Vec<TensorId> = statement.operands.iter().map(|&operand| self.builder.map(operand)).collect();
        let mut scaled = Scalar::Reduced.cast(ElementType::I32, ElementType::F32);
        for (&read, &factor) in product.reads.iter().zip(&product.factors) {
            let centered = self.centered(factor);
            let own = &self.factors[&factor];
            let index = scale_index(own, old, &old.reads[read]).expect("products were found by it");
            let operand = expr.reads[read].operand;
            expr.operands[operand] = TensorType { element: ElementType::I32, ..expr.operands[operand].clone() };
            expr.reads[read].fill = Literal::new(ElementType::I32, 0.0);
            operands[operand] = centered;
            let scale = own.expr.reads[own.scale].operand;
            expr.operands.push(own.expr.operands[scale].clone());
            operands.push(self.builder.map(own.statement.operands[scale]));
            let scale = Read {
                operand: operands.len() - 1,
                index,
                guard: Guard::always(),
                fill: Literal::new(ElementType::F32, 0.0),
            };
            scaled = scaled.binary(BinaryOp::Multiply, Scalar::Read(expr.reads.push(scale)));
        }
        let after = expr.epilogue.take().unwrap_or(Scalar::Reduced);
        let epilogue = after.map_leaves(&mut |leaf| match leaf {
            Scalar::Reduced => scaled.clone(),
            other => other.clone(),
        });
        expr.epilogue = Some(epilogue);
        let factors = product.factors.map(|factor| self.factors[&factor].statement);
        let origins = union([statement].into_iter().chain(factors));
        self.builder.define(statement, origins, expr, &operands);
    }
}

/// The reads and operands that a part of an expression needs.
#[derive(Default)]
struct Selection {
    reads: Arena<ReadId, Read>,
    /// Positions among the whole's operands.
    operands: Vec<usize>,
}

impl Selection {
    fn scalar(&mut self, expr: &TensorExpr, part: &Scalar) -> Scalar {
        part.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => {
                let read = &expr.reads[*read];
                let known = self.operands.iter().position(|&operand| operand == read.operand);
                let operand = known.unwrap_or_else(|| {
                    self.operands.push(read.operand);
                    self.operands.len() - 1
                });
                Scalar::Read(self.reads.push(Read { operand, ..read.clone() }))
            }
            other => other.clone(),
        })
    }
}
