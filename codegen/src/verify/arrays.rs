//! Register arrays are indexed so that they live in registers.

use std::collections::HashMap;

use crate::kernel_ir::{
    ArrayId, BinaryOp, Block, Body, Constant, Expression, Kernel, LocalId, Location, Place, Statement, Width,
};

use super::{Problem, Violation};

pub(super) fn check(body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    let mut checker = Checker { body, kernel, path: Vec::new(), variables: HashMap::new(), guards: 0, violations };
    checker.block(&kernel.body);
}

/// Lowest and highest value.
type Interval = (i64, i64);

struct Checker<'a> {
    body: Body,
    kernel: &'a Kernel,
    path: Vec<u32>,
    /// The ranges of the variables of the enclosing unrolled loops.
    variables: HashMap<LocalId, Interval>,
    /// Enclosing conditions that depend on those variables, which may keep an index in bounds.
    guards: usize,
    violations: &'a mut Vec<Violation>,
}

impl Checker<'_> {
    fn block(&mut self, block: &Block) {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            let width = match statement {
                Statement::LoadGlobal { width, .. } | Statement::LoadShared { width, .. } => *width,
                _ => Width::One,
            };
            if let Some(Place::Element(array, index)) = statement.place() {
                self.index(*array, index, width);
            }
            for expression in statement.expressions() {
                self.expression(expression);
            }
            self.blocks(statement);
            self.path.pop();
        }
    }

    fn blocks(&mut self, statement: &Statement) {
        let mut outer = None;
        let mut guarded = false;
        match statement {
            Statement::For { variable, extent: Expression::Constant(Constant::I32(extent)), unroll: true, .. } => {
                outer = Some((*variable, self.variables.insert(*variable, (0, i64::from(*extent) - 1))));
            }
            Statement::If { condition, .. } => guarded = self.depends(condition),
            _ => {}
        }
        self.guards += usize::from(guarded);
        for (number, inner) in statement.blocks().into_iter().enumerate() {
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
            self.index(*array, index, Width::One);
        }
        for child in expression.children() {
            self.expression(child);
        }
    }

    fn index(&mut self, array: ArrayId, index: &Expression, width: Width) {
        if !self.is_static(index) {
            self.report(Problem::DynamicIndex(array));
            return;
        }
        // An empty range means that the statement is never reached.
        if self.guards > 0 || self.variables.values().any(|(lowest, highest)| lowest > highest) {
            return;
        }
        let length = self.kernel.arrays[array].length;
        if let Some((lowest, first)) = self.range(index) {
            let highest = first + i64::from(width.elements()) - 1;
            if lowest < 0 || highest >= i64::from(length) {
                self.report(Problem::ArrayBounds { array, lowest, highest, length });
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

    fn report(&mut self, problem: Problem) {
        let location = Location { body: self.body, path: self.path.clone() };
        self.violations.push(Violation { location, problem });
    }
}

fn corners(x: Interval, y: Interval, op: impl Fn(i64, i64) -> Option<i64>) -> Option<Interval> {
    let values = [op(x.0, y.0)?, op(x.0, y.1)?, op(x.1, y.0)?, op(x.1, y.1)?];
    Some((values.into_iter().min()?, values.into_iter().max()?))
}
