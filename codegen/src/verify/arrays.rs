//! Register arrays are indexed so that they live in registers.

use std::collections::HashMap;

use crate::kernel_ir::effects::{Control, Parts, Written};
use crate::kernel_ir::{ArrayId, BinaryOp, Block, Constant, Expression, Function, LocalId, Place};

use super::problem::{Problem, Report};

pub(super) fn check(kernel: &Function, report: &mut Report<'_>) {
    for (id, _) in kernel.arrays.iter().filter(|(_, array)| array.length == 0) {
        report.add(&[], Problem::EmptyArray(id));
    }
    let mut checker = Checker { kernel, path: Vec::new(), variables: HashMap::new(), guards: 0, report };
    checker.block(&kernel.body);
}

/// Lowest and highest value.
type Interval = (i64, i64);

struct Checker<'a, 'r> {
    kernel: &'a Function,
    path: Vec<u32>,
    /// The ranges of the variables of the enclosing unrolled loops.
    variables: HashMap<LocalId, Interval>,
    /// Enclosing conditions that depend on those variables, which may keep an index in bounds.
    guards: usize,
    report: &'a mut Report<'r>,
}

impl Checker<'_, '_> {
    fn block(&mut self, block: &Block) {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            let parts = statement.parts();
            if let Some(Written { place: Place::Element(array, index), elements, .. }) = parts.place {
                self.index(*array, index, elements);
            }
            for read in &parts.reads {
                self.expression(read.expression);
            }
            self.blocks(statement.effects().control, &parts);
            self.path.pop();
        }
    }

    fn blocks(&mut self, control: Control, parts: &Parts<&Place, &Expression, &Block>) {
        let mut outer = None;
        let mut guarded = false;
        match control {
            Control::Count { variable, extent: Some(extent), unroll: true } => {
                outer = Some((variable, self.variables.insert(variable, (0, i64::from(extent) - 1))));
            }
            Control::Branch => guarded = parts.reads.iter().any(|read| self.depends(read.expression)),
            Control::Count { .. }
            | Control::Next
            | Control::Repeat
            | Control::Leave
            | Control::Select
            | Control::Call { .. }
            | Control::Dispatch => {}
        }
        self.guards += usize::from(guarded);
        for (number, inner) in parts.blocks.iter().enumerate() {
            self.path.push(number as u32);
            self.block(inner);
            self.path.pop();
        }
        self.guards -= usize::from(guarded);
        match outer {
            Some((variable, Some(range))) => self.variables.insert(variable, range),
            Some((variable, None)) => self.variables.remove(&variable),
            None => None,
        };
    }

    fn expression(&mut self, expression: &Expression) {
        if let Expression::Element(array, index) = expression {
            self.index(*array, index, 1);
        }
        for child in expression.children() {
            self.expression(child);
        }
    }

    fn index(&mut self, array: ArrayId, index: &Expression, elements: u32) {
        if !self.is_static(index) {
            self.report.add(&self.path, Problem::DynamicIndex(array));
            return;
        }
        // An empty range means that the statement is never reached.
        if self.guards > 0 || self.variables.values().any(|(lowest, highest)| lowest > highest) {
            return;
        }
        let length = self.kernel.arrays[array].length;
        if let Some((lowest, first)) = self.range(index) {
            let highest = first + i64::from(elements) - 1;
            if lowest < 0 || highest >= i64::from(length) {
                self.report.add(&self.path, Problem::ArrayBounds { array, lowest, highest, length });
            }
        }
    }

    fn is_static(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Constant(_) => true,
            Expression::Local(local) => self.variables.contains_key(local),
            Expression::Unary(..) | Expression::Binary(..) | Expression::Select(..) | Expression::Cast(..) => {
                expression.children().into_iter().all(|child| self.is_static(child))
            }
            Expression::Element(..)
            | Expression::Builtin(_)
            | Expression::Operand(_)
            | Expression::Tile
            | Expression::FusedMultiplyAdd(..)
            | Expression::FastDivide(..) => false,
        }
    }

    fn depends(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Local(local) => self.variables.contains_key(local),
            _ => expression.children().into_iter().any(|child| self.depends(child)),
        }
    }

    fn range(&self, expression: &Expression) -> Option<Interval> {
        match expression {
            Expression::Constant(Constant::I32(value)) => Some((i64::from(*value), i64::from(*value))),
            Expression::Local(local) => self.variables.get(local).copied(),
            Expression::Binary(op, x, y) => {
                let (x, y) = (self.range(x)?, self.range(y)?);
                match op {
                    BinaryOp::Add => Some((x.0.checked_add(y.0)?, x.1.checked_add(y.1)?)),
                    BinaryOp::Subtract => Some((x.0.checked_sub(y.1)?, x.1.checked_sub(y.0)?)),
                    BinaryOp::Multiply => corners(x, y, i64::checked_mul),
                    BinaryOp::Divide if y.0 > 0 => corners(x, y, i64::checked_div),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn corners(x: Interval, y: Interval, op: impl Fn(i64, i64) -> Option<i64>) -> Option<Interval> {
    let values = [op(x.0, y.0)?, op(x.0, y.1)?, op(x.1, y.0)?, op(x.1, y.1)?];
    Some((values.into_iter().min()?, values.into_iter().max()?))
}
