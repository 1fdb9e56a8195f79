//! An expression while parts of it become reads of tensors.

use std::collections::BTreeMap;

use super::rebuild::Rebuild;
use crate::arena::{Arena, Id};
use crate::expr::{
    AxisId, ExprBuilder, Guard, Index, Literal, Range, Read, ReadId, Scalar, TensorExpr, merge_operands,
};
use crate::program::{Statement, TensorId};
use crate::types::TensorType;

/// An expression, none of whose indices reads, that is rewritten over tensors of the new program.
pub(crate) struct Rewritten<'s> {
    pub(crate) statement: &'s Statement,
    pub(crate) expr: TensorExpr,
    pub(crate) operands: Vec<TensorId>,
}

impl<'s> Rewritten<'s> {
    /// The expression of a statement as it is.
    pub(crate) fn new(builder: &Rebuild, statement: &'s Statement, expr: &TensorExpr) -> Self {
        let operands = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
        Self { statement, expr: expr.clone(), operands }
    }

    /// A scalar that differs along these axes, as an expression over them. What it reads is one of `tensors`, which stand for the
    /// operands; none of its reads has a guard.
    pub(crate) fn alone(&self, scalar: &Scalar, axes: &[AxisId], tensors: &[TensorId]) -> (TensorExpr, Vec<TensorId>) {
        let mut expr = ExprBuilder::new();
        let extents: Vec<usize> = axes.iter().map(|axis| self.expr.axes[*axis].extent).collect();
        let moved = expr.parallels(&extents);
        let place = |axis: AxisId| {
            let place = axes.iter().position(|other| *other == axis).expect("an axis of the scalar");
            Index::axis(moved[place])
        };
        let range = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] as i64 - 1 };
        let (mut operands, mut reads) = (Vec::new(), BTreeMap::new());
        for id in self.expr.reads_of(scalar) {
            let Read { operand, index, .. } = &self.expr.reads[id];
            let index = index.iter().map(|index| index.substitute(&place, &|read| read, &range)).collect();
            operands.push(tensors[*operand]);
            let operand = expr.operand(&self.expr.operands[*operand]);
            reads.insert(id, expr.read(operand, index));
        }
        let element = self.expr.element_of(scalar);
        let body = scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(id) => reads[id].clone(),
            other => other.clone(),
        });
        merge_operands(&expr.map(element, body), &operands)
    }

    /// A read of a tensor, of this type and of the new program, that differs along these axes.
    pub(crate) fn read(&mut self, tensor: TensorId, ty: TensorType, axes: &[AxisId]) -> Scalar {
        let index = axes.iter().map(|axis| Index::axis(*axis)).collect();
        let (operand, fill) = (self.operands.len(), Literal::new(ty.element, 0.0));
        self.operands.push(tensor);
        self.expr.operands.push(ty);
        Scalar::Read(self.expr.reads.push(Read { operand, index, guard: Guard::always(), fill }))
    }

    /// The statement with this body and epilogue; as it is if they are its own.
    pub(crate) fn define(mut self, builder: &mut Rebuild, body: Scalar, epilogue: Option<Scalar>) {
        if body == self.expr.body && epilogue == self.expr.epilogue {
            builder.keep(self.statement);
            return;
        }
        (self.expr.body, self.expr.epilogue) = (body, epilogue);
        let (expr, operands) = merge_operands(&without_unused_reads(&self.expr), &self.operands);
        builder.define(self.statement, self.statement.origins.clone(), expr, &operands);
    }
}

/// The expression without the reads that its scalars no longer hold.
fn without_unused_reads(expr: &TensorExpr) -> TensorExpr {
    let mut used = expr.reads_of(&expr.body);
    used.extend(expr.epilogue.iter().flat_map(|epilogue| expr.reads_of(epilogue)));
    let reads: Arena<ReadId, Read> = used.iter().map(|read| expr.reads[*read].clone()).collect();
    let place = |read: &ReadId| used.iter().position(|other| other == read).expect("a read that is used");
    let renamed = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => Scalar::Read(ReadId::from_index(place(read))),
            other => other.clone(),
        })
    };
    TensorExpr { body: renamed(&expr.body), epilogue: expr.epilogue.as_ref().map(renamed), reads, ..expr.clone() }
}
