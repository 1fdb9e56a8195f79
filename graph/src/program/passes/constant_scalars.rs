//! What expressions compute of constants alone is computed while compiling.
//!
//! Both biases of a recurrent layer are added in every step otherwise, and loaded in each.

use std::collections::{BTreeSet, HashMap};

use super::rewriting::rebuild::Rebuild;
use super::rewriting::rewritten::Rewritten;
use crate::expr::{AxisId, BinaryOp, Read, Scalar, TensorExpr};
use crate::passes::constant_folding::evaluate_expression;
use crate::program::{Statement, TensorId, TensorProgram};
use crate::types::ElementType;

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

impl Folding<'_> {
    fn rewrite(&mut self, statement: &Statement, expr: &TensorExpr) {
        if statement.operands.iter().all(|&operand| self.program.foldable(operand).is_none()) {
            self.builder.keep(statement);
            return;
        }
        let mut own = Rewritten::new(&self.builder, statement, expr);
        // What is reduced stays a product of factors that other steps of a recurrence share.
        let body = match expr.reducer {
            Some(_) => expr.body.clone(),
            None => self.folded(&mut own, &expr.body),
        };
        let epilogue = expr.epilogue.as_ref().map(|epilogue| self.folded(&mut own, epilogue));
        own.define(&mut self.builder, body, epilogue);
    }

    /// The scalar with reads of constants in place of what is computed of them.
    fn folded(&mut self, own: &mut Rewritten, scalar: &Scalar) -> Scalar {
        match self.constant(own, scalar) {
            Some(read) => read,
            None if is_sum(scalar) => self.folded_sum(own, scalar),
            None => scalar.map_parts(&mut |part| self.folded(own, part)),
        }
    }

    /// A sum whose constant addends are one, where there are several.
    fn folded_sum(&mut self, own: &mut Rewritten, scalar: &Scalar) -> Scalar {
        let mut parts = Vec::new();
        addends(scalar, &mut parts);
        let (constants, others): (Vec<&Scalar>, Vec<&Scalar>) =
            parts.into_iter().partition(|part| self.axes(own, part).is_some());
        let add = |total: Scalar, part: Scalar| total.binary(BinaryOp::Add, part);
        let sum = if constants.len() > 1 { constants.into_iter().cloned().reduce(add) } else { None };
        let Some(known) = sum.and_then(|sum| self.constant(own, &sum)) else {
            return self.folded_addends(own, scalar);
        };
        let others = others.into_iter().map(|part| self.folded(own, part)).collect::<Vec<_>>();
        others.into_iter().chain([known]).reduce(add).expect("a sum has addends")
    }

    /// A sum of the same shape over folded addends.
    fn folded_addends(&mut self, own: &mut Rewritten, scalar: &Scalar) -> Scalar {
        match is_sum(scalar) {
            true => scalar.map_parts(&mut |part| self.folded_addends(own, part)),
            false => self.folded(own, scalar),
        }
    }

    /// A read of the constant that a scalar is, unless it is read or written as it is.
    fn constant(&mut self, own: &mut Rewritten, scalar: &Scalar) -> Option<Scalar> {
        let axes = self.axes(own, scalar).filter(|_| scalar.operations() > 0)?;
        let key = own.alone(scalar, &axes, &own.statement.operands);
        let elements = |tensor: &TensorId| self.program.tensors[*tensor].ty.shape.elements();
        if key.0.output().shape.checked_elements()? > key.1.iter().map(elements).sum() {
            return None;
        }
        let tensor = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let tensor = self.builder.constant(evaluate_expression(self.program, &key.0, &key.1)?);
                self.known.insert(key, tensor);
                tensor
            }
        };
        Some(own.read(tensor, self.builder.ty(tensor).clone(), &axes))
    }

    /// The axes along which a scalar differs that is computed of constants of singles alone.
    fn axes(&self, own: &Rewritten, scalar: &Scalar) -> Option<Vec<AxisId>> {
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
        Some(axes.into_iter().collect())
    }
}

/// What a scalar adds, in order; the scalar itself if it is no sum.
fn addends<'s>(scalar: &'s Scalar, parts: &mut Vec<&'s Scalar>) {
    match scalar {
        Scalar::Binary(BinaryOp::Add, left, right) => [left, right].into_iter().for_each(|part| addends(part, parts)),
        other => parts.push(other),
    }
}

fn is_sum(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Binary(BinaryOp::Add, ..))
}
