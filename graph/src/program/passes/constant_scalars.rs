//! What expressions compute of constants alone is computed while compiling.
//!
//! Both biases of a recurrent layer are added in every step otherwise, and loaded in each.

use std::collections::{BTreeSet, HashMap};

use super::invariants::without_unused_reads;
use super::rebuild::Rebuild;
use crate::arena::Id;
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Range, Read, ReadId, Scalar, TensorExpr, merge_operands};
use crate::passes::constant_folding::evaluate_constants;
use crate::program::{ProgramBuilder, Statement, TensorId, TensorProgram};
use crate::tensor::Tensor;
use crate::types::ElementType;

/// Most bytes of a constant that takes the place of what is computed of others.
const MOST_BYTES: usize = 1 << 20;

/// The program in which scalars over constants of singles are constants, where these are no larger than what they take the
/// place of. Constants among the addends of a sum are added first; what a reduction combines stays as it is.
pub fn fold_constant_scalars(program: &TensorProgram) -> TensorProgram {
    let mut folding = Folding { program, builder: Rebuild::new(program), known: HashMap::new() };
    for statement in program.statements.values() {
        match statement.definition.expr().filter(|expr| expr.indirect_indices().is_empty()) {
            Some(expr) => folding.rewrite(statement, expr),
            None => _ = folding.builder.keep(statement),
        }
    }
    folding.builder.finish(program).pruned()
}

struct Folding<'p> {
    program: &'p TensorProgram,
    builder: Rebuild,
    /// The new constants, by their expressions over tensors of the old program.
    known: HashMap<(TensorExpr, Vec<TensorId>), TensorId>,
}

/// An expression that is rewritten.
struct Rewritten<'s> {
    statement: &'s Statement,
    expr: TensorExpr,
    /// Of the new program.
    operands: Vec<TensorId>,
}

/// What a scalar is a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A sum, whose addends have been looked at.
    Sum,
    /// Something else, or nothing.
    Other,
}

impl Folding<'_> {
    fn rewrite(&mut self, statement: &Statement, expr: &TensorExpr) {
        if statement.operands.iter().all(|&operand| self.program.foldable(operand).is_none()) {
            self.builder.keep(statement);
            return;
        }
        let operands = statement.operands.iter().map(|&operand| self.builder.map(operand)).collect();
        let mut own = Rewritten { statement, expr: expr.clone(), operands };
        // What is reduced stays a product of factors that other steps of a recurrence share.
        let body = match expr.reducer {
            Some(_) => expr.body.clone(),
            None => self.folded(&mut own, &expr.body, Within::Other),
        };
        let epilogue = expr.epilogue.as_ref().map(|epilogue| self.folded(&mut own, epilogue, Within::Other));
        if body == expr.body && epilogue == expr.epilogue {
            self.builder.keep(statement);
            return;
        }
        (own.expr.body, own.expr.epilogue) = (body, epilogue);
        let (expr, operands) = merge_operands(&without_unused_reads(&own.expr), &own.operands);
        self.builder.define(statement, statement.origins.clone(), expr, &operands);
    }

    /// The scalar with reads of constants in place of what is computed of them.
    fn folded(&mut self, own: &mut Rewritten, scalar: &Scalar, within: Within) -> Scalar {
        if let Some(read) = self.constant(own, scalar) {
            return read;
        }
        let is_sum = matches!(scalar, Scalar::Binary(BinaryOp::Add, ..));
        if is_sum
            && within == Within::Other
            && let Some(sum) = self.folded_sum(own, scalar)
        {
            return sum;
        }
        let within = if is_sum { Within::Sum } else { Within::Other };
        let mut folded = |part: &Scalar| self.folded(own, part, within);
        match scalar {
            Scalar::Unary(op, part) => folded(part).unary(*op),
            Scalar::Binary(op, left, right) => folded(left).binary(*op, folded(right)),
            Scalar::Select(condition, then, otherwise) => folded(condition).select(folded(then), folded(otherwise)),
            Scalar::Cast(element, part) => Scalar::Cast(*element, Box::new(folded(part))),
            Scalar::Literal(_) | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => {
                scalar.clone()
            }
        }
    }

    /// A sum whose constant addends, of which there are several, are one.
    fn folded_sum(&mut self, own: &mut Rewritten, scalar: &Scalar) -> Option<Scalar> {
        let mut parts = Vec::new();
        addends(scalar, &mut parts);
        let (constants, others): (Vec<&Scalar>, Vec<&Scalar>) =
            parts.into_iter().partition(|part| self.axes(own, part).is_some());
        let add = |total: Scalar, part: Scalar| total.binary(BinaryOp::Add, part);
        let sum = constants.into_iter().cloned().reduce(add).filter(|sum| matches!(sum, Scalar::Binary(..)))?;
        let known = self.constant(own, &sum)?;
        let others = others.into_iter().map(|part| self.folded(own, part, Within::Other)).collect::<Vec<_>>();
        Some(others.into_iter().chain([known]).reduce(add).expect("a sum has addends"))
    }

    /// A read of the constant that a scalar is, unless it is read or written as it is.
    fn constant(&mut self, own: &mut Rewritten, scalar: &Scalar) -> Option<Scalar> {
        let axes = self.axes(own, scalar).filter(|_| scalar.operations() > 0)?;
        let (expr, operands) = alone(own, scalar, &axes);
        let elements = |tensor: &TensorId| self.program.tensors[*tensor].ty.shape.elements();
        let output = expr.output();
        let most = operands.iter().map(elements).sum::<usize>().min(MOST_BYTES / output.element.bytes());
        if output.shape.checked_elements()? > most {
            return None;
        }
        let key = (expr, operands);
        let tensor = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let tensor = self.builder.constant(self.value(&key.0, &key.1)?);
                self.known.insert(key, tensor);
                tensor
            }
        };
        let like = own.expr.reads_of(scalar).into_iter().next()?;
        let index = axes.into_iter().map(Index::axis).collect();
        let read = Read { operand: own.operands.len(), index, ..own.expr.reads[like].clone() };
        own.operands.push(tensor);
        own.expr.operands.push(self.builder.ty(tensor).clone());
        Some(Scalar::Read(own.expr.reads.push(read)))
    }

    /// The axes along which a scalar differs that is computed of constants of singles alone.
    fn axes(&self, own: &Rewritten, scalar: &Scalar) -> Option<BTreeSet<AxisId>> {
        let mut is_known = true;
        scalar.visit(&mut |part| is_known &= !matches!(part, Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced));
        let reads = own.expr.reads_of(scalar);
        if !is_known || reads.is_empty() || own.expr.element_of(scalar) != ElementType::F32 {
            return None;
        }
        let mut axes = BTreeSet::new();
        for read in reads {
            let Read { operand, index, guard, .. } = &own.expr.reads[read];
            let tensor = own.statement.operands.get(*operand)?;
            let is_single = own.expr.operands[*operand].element == ElementType::F32;
            if !guard.is_always() || !is_single || self.program.foldable(*tensor).is_none() {
                return None;
            }
            index.iter().for_each(|index| index.visit(&mut |axis| _ = axes.insert(axis), &mut |_| {}));
        }
        Some(axes)
    }

    fn value(&self, expr: &TensorExpr, operands: &[TensorId]) -> Option<Tensor> {
        let mut program = ProgramBuilder::new();
        let constant = |tensor: &TensorId| Some(program.constant(self.program.foldable(*tensor)?.clone()));
        let operands = operands.iter().map(constant).collect::<Option<Vec<_>>>()?;
        let output = program.compute(expr.clone(), &operands);
        evaluate_constants(&program.finish(vec![output]))?.pop()
    }
}

/// What a scalar adds, in order; the scalar itself if it is no sum.
fn addends<'s>(scalar: &'s Scalar, parts: &mut Vec<&'s Scalar>) {
    match scalar {
        Scalar::Binary(BinaryOp::Add, left, right) => [left, right].into_iter().for_each(|part| addends(part, parts)),
        other => parts.push(other),
    }
}

/// A scalar that differs along these axes, as an expression over them, and tensors of the old program.
fn alone(own: &Rewritten, scalar: &Scalar, axes: &BTreeSet<AxisId>) -> (TensorExpr, Vec<TensorId>) {
    let mut expr = ExprBuilder::new();
    let extents: Vec<usize> = axes.iter().map(|axis| own.expr.axes[*axis].extent).collect();
    let moved = expr.parallels(&extents);
    let moved = |axis: AxisId| {
        let place = axes.iter().position(|other| *other == axis).expect("an axis of the scalar");
        Index::axis(moved[place])
    };
    let range = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] as i64 - 1 };
    let mut operands = Vec::new();
    let mut read = |id: ReadId| {
        let Read { operand, index, .. } = &own.expr.reads[id];
        operands.push(own.statement.operands[*operand]);
        let index: Vec<Index> = index.iter().map(|index| index.substitute(&moved, &|read| read, &range)).collect();
        let operand = expr.operand(&own.expr.operands[*operand]);
        expr.read(operand, index)
    };
    let body = scalar.map_leaves(&mut |leaf| match leaf {
        Scalar::Read(id) => read(*id),
        other => other.clone(),
    });
    merge_operands(&expr.map(ElementType::F32, body), &operands)
}
