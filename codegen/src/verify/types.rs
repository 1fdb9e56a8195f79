//! Ids, types, widths, and which statement belongs into which body.

use crate::kernel_ir::effects::{Access, Control, Effects, Flaw, Home, Order, Written};
use crate::kernel_ir::typing::{self, TypeError};
use crate::kernel_ir::{
    Block, Body, Builtin, Expression, Function, LocalId, Place, Program, ScalarType, SharedId, Statement,
};

use super::problem::{Problem, Report};

pub(super) fn check(program: &Program, kernel: &Function, report: &mut Report<'_>) {
    let mut checker =
        Checker { program, kernel, path: Vec::new(), variables: Vec::new(), loops: 0, awaited: false, report };
    checker.sizes();
    checker.block(&kernel.body);
}

/// Bytes of shared memory that no device's block exceeds.
const MAXIMUM_SHARED: u64 = 1 << 20;
/// Elements of register arrays that no thread can hold, spilled or not, at a bearable cost.
const MAXIMUM_REGISTERS: u64 = 1 << 14;

struct Checker<'a, 'r> {
    program: &'a Program,
    kernel: &'a Function,
    path: Vec<u32>,
    /// Variables of the enclosing counted loops.
    variables: Vec<LocalId>,
    /// Enclosing loops that something must leave.
    loops: usize,
    /// The kernel's waits stand before.
    awaited: bool,
    report: &'a mut Report<'r>,
}

impl Checker<'_, '_> {
    fn sizes(&mut self) {
        let shared = self.kernel.shared.values();
        let shared = shared.map(|array| u64::from(array.length) * u64::from(array.memory.bytes())).sum();
        if let Some(kept) = self.kernel.kept {
            self.home(Home::Exchange("a kept array"));
            self.types(|types| _ = types.declared(&types.kernel.shared, kept));
        }
        let registers = self.kernel.arrays.values().map(|array| u64::from(array.length)).sum();
        for (what, count, limit) in
            [("bytes of shared memory", shared, MAXIMUM_SHARED), ("array elements", registers, MAXIMUM_REGISTERS)]
        {
            if count > limit {
                self.report(Problem::Size { what, count });
            }
        }
    }

    fn block(&mut self, block: &Block) {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            let effects = statement.effects();
            self.statement(statement, &effects);
            let (variable, loops) = (effects.control.variable(), usize::from(effects.control == Control::Repeat));
            self.variables.extend(variable);
            self.loops += loops;
            for (number, inner) in statement.blocks().into_iter().enumerate() {
                self.path.push(number as u32);
                self.block(inner);
                self.path.pop();
            }
            self.loops -= loops;
            if variable.is_some() {
                self.variables.pop();
            }
            self.path.pop();
        }
    }

    fn report(&mut self, problem: Problem) {
        self.report.add(&self.path, problem);
    }

    /// Runs a check of types, which reports what it finds at this statement.
    fn types<T>(&mut self, check: impl FnOnce(&mut typing::Checker<'_, &mut dyn FnMut(TypeError)>) -> T) -> T {
        let (path, report) = (&self.path, &mut *self.report);
        check(&mut typing::Checker { kernel: self.kernel, report: &mut |error| report.add(path, error.into()) })
    }

    fn statement(&mut self, statement: &Statement, effects: &Effects<'_>) {
        self.home(effects.home);
        let parts = statement.parts();
        let place = parts.place.and_then(|written| self.written(written));
        for (array, access) in effects.accesses.iter().filter_map(|access| Some((access.shared()?, access))) {
            self.types(|types| {
                let declared = types.declared(&types.kernel.shared, array).map(|array| array.memory.scalar_type());
                types.same(declared, access.element);
            });
            self.width(array, access);
        }
        for array in effects.arrays {
            self.types(|types| _ = types.declared(&types.kernel.arrays, *array));
        }
        if let Control::Count { variable, .. } = effects.control {
            self.types(|types| {
                let declared = types.declared(&types.kernel.locals, variable).copied();
                types.same(declared, Some(ScalarType::I32));
            });
            self.not_a_loop_variable(variable);
        }
        for read in parts.reads {
            self.affinity(read.expression);
            self.types(|types| {
                let found = types.expression(read.expression);
                types.needs(read.needed, place, found);
            });
        }
        if let Some(flaw) = effects.flaw {
            self.report(flaw.into());
        }
        self.position(effects);
    }

    /// Checks how many elements of a shared array are moved at once.
    fn width(&mut self, array: SharedId, access: &Access) {
        let Some(memory) = self.kernel.shared.get(array).map(|array| array.memory) else { return };
        let bytes = memory.bytes() as usize * access.elements;
        if !memory.is_moved_together(access.elements) || bytes < access.fewest_bytes as usize {
            self.report(Flaw::Width(access.elements).into());
        }
    }

    /// Checks what is written; its type.
    fn written(&mut self, Written { place, elements, needed }: Written<&Place>) -> Option<ScalarType> {
        match place {
            Place::Local(_) if elements > 1 => self.report(Problem::WidePlace),
            Place::Local(local) => self.not_a_loop_variable(*local),
            Place::Element(_, index) => self.affinity(index),
        }
        self.types(|types| {
            let found = match place {
                Place::Local(local) => types.declared(&types.kernel.locals, *local).copied(),
                Place::Element(array, index) => types.element(*array, index),
            };
            if let Some(needed) = needed {
                types.takes(found, needed);
            }
            found
        })
    }

    /// What depends on where the statement stands and on other bodies.
    fn position(&mut self, effects: &Effects<'_>) {
        match effects.control {
            Control::Leave if self.loops == 0 => self.report(Problem::StrayBreak),
            Control::Call { kernel } => {
                self.types(|types| _ = types.declared(&self.program.kernels, kernel));
                if self.program.kernels.get(kernel).is_some_and(Function::owns_instructions) {
                    self.report(Problem::CallWaits(kernel));
                }
            }
            Control::Next
            | Control::Branch
            | Control::Count { .. }
            | Control::Repeat
            | Control::Leave
            | Control::Select
            | Control::Dispatch => {}
        }
        let is_own = matches!(effects.order, Order::OwnWaits | Order::OwnSteps);
        if is_own && (self.path.len() > 1 || std::mem::replace(&mut self.awaited, true)) {
            self.report(Problem::Misplaced("a second await or second steps, or some in an inner block"));
        }
    }

    fn not_a_loop_variable(&mut self, local: LocalId) {
        if self.variables.contains(&local) {
            self.report(Problem::LoopVariable(local));
        }
    }

    /// Reports what of an expression does not belong into the body.
    fn affinity(&mut self, expression: &Expression) {
        expression.visit(&mut |inner| match inner {
            Expression::Builtin(Builtin::FirstOperand) => self.home(Home::Node("FirstOperand")),
            Expression::Operand(_) | Expression::Tile => self.home(Home::Kernel("Operand or Tile")),
            Expression::FastDivide(_, number) => {
                self.home(Home::Kernel("FastDivide"));
                if *number == u32::MAX {
                    self.report(Problem::UnknownId(format!("operand {number} + 1")));
                }
            }
            Expression::Builtin(Builtin::Thread | Builtin::Block | Builtin::Grid)
            | Expression::Constant(_)
            | Expression::Local(_)
            | Expression::Element(..)
            | Expression::Unary(..)
            | Expression::Binary(..)
            | Expression::FusedMultiplyAdd(..)
            | Expression::Select(..)
            | Expression::Cast(..) => {}
        });
    }

    /// Reports what does not belong into the body.
    fn home(&mut self, home: Home) {
        let (what, belongs) = match (home, self.report.body) {
            (Home::Anywhere, _) => return,
            (Home::Entry(what), body) => (what, matches!(body, Body::Entry | Body::Node(_))),
            (Home::Persistent(what), body) => (what, matches!(body, Body::Entry)),
            (Home::Node(what), body) => (what, matches!(body, Body::Node(_))),
            (Home::Kernel(what), body) => (what, matches!(body, Body::Kernel(_))),
            (Home::Exchange(what), Body::Kernel(kernel)) => (what, !self.program.entry.is_node(kernel)),
            (Home::Exchange(what), Body::Entry | Body::Node(_)) => (what, false),
        };
        if !belongs {
            self.report(Problem::Misplaced(what));
        }
    }
}
