//! Ids, types, widths, and which statement belongs into which body.

use std::fmt::Debug;

use warpweave_graph::arena::{Arena, Id};

use crate::emulate::operations::{binary_result, unary_result};
use crate::kernel_ir::{
    ArrayId, Block, Body, Builtin, CallWaits, Constant, Expression, Kernel, LocalId, Location, MOST_POLLED, Place,
    Program, ScalarType, SharedId, ShuffleMode, Statement, WARP_SIZE, Width,
};

use super::{Problem, Violation};

pub(super) fn check(program: &Program, body: Body, kernel: &Kernel, violations: &mut Vec<Violation>) {
    let mut checker = Checker {
        program,
        body,
        kernel,
        path: Vec::new(),
        variables: Vec::new(),
        loops: 0,
        awaited: false,
        violations,
    };
    checker.sizes();
    checker.block(&kernel.body);
}

/// Bytes of shared memory that no device's block exceeds.
const MAXIMUM_SHARED: u64 = 1 << 20;
/// Elements of register arrays that no thread can hold, spilled or not, at a bearable cost.
const MAXIMUM_REGISTERS: u64 = 1 << 14;

struct Checker<'a> {
    program: &'a Program,
    body: Body,
    kernel: &'a Kernel,
    path: Vec<u32>,
    /// Variables of the enclosing counted loops.
    variables: Vec<LocalId>,
    /// Enclosing [`Statement::Loop`]s.
    loops: usize,
    /// The kernel's waits stand before.
    awaited: bool,
    violations: &'a mut Vec<Violation>,
}

impl Checker<'_> {
    fn sizes(&mut self) {
        let shared = self.kernel.shared.values();
        let shared = shared.map(|array| u64::from(array.length) * u64::from(array.memory.bytes())).sum();
        if let Some(kept) = self.kernel.kept {
            self.exchange("a kept array");
            self.shared(kept);
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
            self.statement(statement);
            let variable = match statement {
                Statement::For { variable, .. } => Some(*variable),
                _ => None,
            };
            self.variables.extend(variable);
            self.loops += usize::from(matches!(statement, Statement::Loop { .. }));
            for (number, inner) in statement.blocks().into_iter().enumerate() {
                self.path.push(number as u32);
                self.block(inner);
                self.path.pop();
            }
            self.loops -= usize::from(matches!(statement, Statement::Loop { .. }));
            if variable.is_some() {
                self.variables.pop();
            }
            self.path.pop();
        }
    }

    fn report(&mut self, problem: Problem) {
        let location = Location { body: self.body, path: self.path.clone() };
        self.violations.push(Violation { location, problem });
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign { place, value } => {
                let place = self.place(place);
                let value = self.expression(value);
                self.same(place, value);
            }
            Statement::LoadGlobal { place, memory, width, index, .. } => {
                self.wide_place(place, *width);
                let place = self.place(place);
                self.same(place, Some(memory.scalar_type()));
                self.index(index);
            }
            Statement::StoreGlobal { memory, index, values } => {
                self.index(index);
                self.values(values, Some(memory.scalar_type()));
            }
            Statement::LoadSentinel { place, count, index, apart, mark } => {
                self.exchange("LoadSentinel");
                let most = if apart.is_some() { MOST_POLLED } else { 2 };
                if !(1..=most).contains(count) {
                    self.report(Problem::SentinelCount(*count));
                }
                self.place_of(place, *count);
                let place = self.place(place);
                self.same(place, Some(ScalarType::F32));
                self.index(index);
                apart.iter().for_each(|apart| self.index(apart));
                self.expect(mark, ScalarType::I32);
            }
            Statement::StoreSentinel { index, mark, value } => {
                self.exchange("StoreSentinel");
                self.index(index);
                self.expect(mark, ScalarType::I32);
                self.expect(value, ScalarType::F32);
            }
            Statement::CheckIndex { place, value, extent, element, record } => {
                self.kernel_only("CheckIndex");
                let place = self.place(place);
                self.same(place, Some(ScalarType::I32));
                self.index(value);
                [extent, element, record].into_iter().for_each(|word| self.expect(word, ScalarType::I32));
            }
            Statement::LoadShared { place, array, width, index } => {
                self.wide_place(place, *width);
                let place = self.place(place);
                let scalar = self.shared(*array);
                self.same(place, scalar);
                self.expect(index, ScalarType::I32);
            }
            Statement::StoreShared { array, index, values } => {
                let scalar = self.shared(*array);
                self.expect(index, ScalarType::I32);
                self.values(values, scalar);
            }
            Statement::AsyncCopy { array, index, source, exists, .. } => {
                let scalar = self.shared(*array);
                if !matches!(scalar, Some(ScalarType::F32)) {
                    self.same(scalar, Some(ScalarType::F32));
                }
                self.expect(index, ScalarType::I32);
                self.index(source);
                self.expect(exists, ScalarType::Bool);
            }
            Statement::AsyncCommit | Statement::AsyncWait { .. } => {}
            Statement::Shuffle { place, value, mode } => {
                let place = self.place(place);
                let value = self.expression(value);
                self.same(place, value);
                let (ShuffleMode::Xor(lane) | ShuffleMode::Broadcast(lane)) = *mode;
                if lane >= WARP_SIZE {
                    self.report(Problem::ShuffleLane(lane));
                }
            }
            Statement::For { variable, extent, unroll, .. } => {
                let place = self.local(*variable);
                self.same(place, Some(ScalarType::I32));
                self.not_a_loop_variable(*variable);
                self.expect(extent, ScalarType::I32);
                if *unroll && !matches!(extent, Expression::Constant(Constant::I32(_))) {
                    self.report(Problem::UnrolledExtent);
                }
            }
            Statement::If { condition, .. } => self.expect(condition, ScalarType::Bool),
            Statement::Loop { .. } => self.entry_only("Loop"),
            Statement::Break => {
                self.entry_only("Break");
                if self.loops == 0 {
                    self.report(Problem::StrayBreak);
                }
            }
            Statement::Switch { selector, .. } => self.expect(selector, ScalarType::I32),
            Statement::Call { kernel, operands, tile, waits } => {
                self.entry_only("Call");
                self.declared(&self.program.kernels, *kernel);
                self.expect(operands, ScalarType::I32);
                self.expect(tile, ScalarType::I32);
                if let Some(CallWaits { first, count, stopped }) = waits {
                    self.expect(first, ScalarType::I32);
                    self.expect(count, ScalarType::I32);
                    let place = self.place(stopped);
                    self.same(place, Some(ScalarType::Bool));
                }
                if self.program.kernels.get(*kernel).is_some_and(|kernel| kernel.awaits() != waits.is_some()) {
                    self.report(Problem::CallWaits(*kernel));
                }
            }
            Statement::Await { loaded, .. } => {
                self.kernel_only("Await");
                loaded.iter().for_each(|array| _ = self.declared(&self.kernel.arrays, *array));
                if self.path.len() > 1 || std::mem::replace(&mut self.awaited, true) {
                    self.report(Problem::Misplaced("a second await, or one in an inner block"));
                }
            }
            Statement::BlockBarrier | Statement::WarpBarrier => {}
            Statement::BlockBarrierOr { place, condition } => {
                let place = self.place(place);
                self.same(place, Some(ScalarType::Bool));
                self.expect(condition, ScalarType::Bool);
            }
            Statement::LoadTable { place, index, .. } => {
                self.persistent_only("LoadTable");
                let place = self.place(place);
                self.same(place, Some(ScalarType::I32));
                self.expect(index, ScalarType::I32);
            }
            Statement::LoadControl { place, .. } => {
                self.persistent_only("LoadControl");
                let place = self.place(place);
                self.same(place, Some(ScalarType::I32));
            }
            Statement::ReadSpecial { place, .. } => {
                self.entry_only("ReadSpecial");
                let place = self.place(place);
                self.same(place, Some(ScalarType::I32));
            }
            Statement::StoreControl { value, .. } => {
                self.persistent_only("StoreControl");
                self.expect(value, ScalarType::I32);
            }
            Statement::AddControl { place, value, .. } => {
                self.persistent_only("AddControl");
                let place = self.place(place);
                self.same(place, Some(ScalarType::I32));
                self.expect(value, ScalarType::I32);
            }
            Statement::Wait { place, counter, target, position, .. } => {
                self.persistent_only("Wait");
                let place = self.place(place);
                self.same(place, Some(ScalarType::Bool));
                self.expect(counter, ScalarType::I32);
                self.expect(target, ScalarType::I32);
                self.expect(position, ScalarType::I32);
            }
            Statement::Signal { counter, .. } => {
                self.persistent_only("Signal");
                self.expect(counter, ScalarType::I32);
            }
            Statement::DependencyWait => self.node_only("DependencyWait"),
            Statement::DependentLaunch => self.node_only("DependentLaunch"),
        }
    }

    /// The type of an expression, `None` once a problem in it has been reported.
    fn expression(&mut self, expression: &Expression) -> Option<ScalarType> {
        match expression {
            Expression::Constant(constant) => Some(constant.scalar_type()),
            Expression::Local(local) => self.local(*local),
            Expression::Element(array, index) => self.element(*array, index),
            Expression::Builtin(Builtin::Thread | Builtin::Block | Builtin::Grid) => Some(ScalarType::I32),
            Expression::Builtin(Builtin::FirstOperand) => {
                self.node_only("FirstOperand");
                Some(ScalarType::I32)
            }
            Expression::Operand(_) | Expression::Tile => {
                self.kernel_only("Operand or Tile");
                Some(ScalarType::I32)
            }
            Expression::Unary(op, x) => {
                let scalar = self.expression(x)?;
                self.defined(op, scalar, unary_result(*op, scalar))
            }
            Expression::Binary(op, x, y) => {
                let (x, y) = (self.expression(x), self.expression(y));
                self.same(x, y);
                let (x, y) = (x?, y?);
                if x == y { self.defined(op, x, binary_result(*op, x)) } else { None }
            }
            Expression::FusedMultiplyAdd(x, y, z) => {
                for operand in [x, y, z] {
                    self.expect(operand, ScalarType::F32);
                }
                Some(ScalarType::F32)
            }
            Expression::Select(condition, x, y) => {
                self.expect(condition, ScalarType::Bool);
                let (x, y) = (self.expression(x), self.expression(y));
                self.same(x, y);
                x
            }
            Expression::Cast(scalar, x) => self.expression(x).map(|_| *scalar),
            Expression::FastDivide(x, number) => {
                self.kernel_only("FastDivide");
                if *number == u32::MAX {
                    self.report(Problem::UnknownId(format!("operand {number} + 1")));
                }
                self.expect(x, ScalarType::I32);
                Some(ScalarType::I32)
            }
        }
    }

    fn defined(&mut self, op: &impl Debug, scalar: ScalarType, result: Option<ScalarType>) -> Option<ScalarType> {
        if result.is_none() {
            self.report(Problem::Undefined { operation: format!("{op:?}"), scalar });
        }
        result
    }

    fn expect(&mut self, expression: &Expression, expected: ScalarType) {
        let found = self.expression(expression);
        self.same(Some(expected), found);
    }

    fn same(&mut self, expected: Option<ScalarType>, found: Option<ScalarType>) {
        if let (Some(expected), Some(found)) = (expected, found)
            && expected != found
        {
            self.report(Problem::Type { expected, found });
        }
    }

    fn index(&mut self, index: &Expression) {
        if let Some(found @ (ScalarType::Bool | ScalarType::F32)) = self.expression(index) {
            self.report(Problem::Type { expected: ScalarType::I64, found });
        }
    }

    fn values(&mut self, values: &[Expression], scalar: Option<ScalarType>) {
        if !matches!(values.len(), 1 | 2 | 4) {
            self.report(Problem::StoreWidth(values.len()));
        }
        for value in values {
            let found = self.expression(value);
            self.same(scalar, found);
        }
    }

    fn place(&mut self, place: &Place) -> Option<ScalarType> {
        match place {
            Place::Local(local) => {
                self.not_a_loop_variable(*local);
                self.local(*local)
            }
            Place::Element(array, index) => self.element(*array, index),
        }
    }

    fn wide_place(&mut self, place: &Place, width: Width) {
        self.place_of(place, width.elements());
    }

    /// Several elements go into an array.
    fn place_of(&mut self, place: &Place, count: u32) {
        match place {
            Place::Local(_) if count > 1 => self.report(Problem::WidePlace),
            Place::Local(_) | Place::Element(..) => {}
        }
    }

    fn not_a_loop_variable(&mut self, local: LocalId) {
        if self.variables.contains(&local) {
            self.report(Problem::LoopVariable(local));
        }
    }

    fn element(&mut self, array: ArrayId, index: &Expression) -> Option<ScalarType> {
        self.expect(index, ScalarType::I32);
        let kernel = self.kernel;
        self.declared(&kernel.arrays, array).map(|array| array.scalar)
    }

    fn local(&mut self, local: LocalId) -> Option<ScalarType> {
        let kernel = self.kernel;
        self.declared(&kernel.locals, local).copied()
    }

    fn shared(&mut self, array: SharedId) -> Option<ScalarType> {
        let kernel = self.kernel;
        self.declared(&kernel.shared, array).map(|array| array.memory.scalar_type())
    }

    fn declared<'b, I: Id, T>(&mut self, arena: &'b Arena<I, T>, id: I) -> Option<&'b T> {
        let found = arena.get(id);
        if found.is_none() {
            self.report(Problem::UnknownId(format!("{id:?}")));
        }
        found
    }

    fn entry_only(&mut self, what: &'static str) {
        match self.body {
            Body::Entry | Body::Node(_) => {}
            Body::Kernel(_) => self.report(Problem::Misplaced(what)),
        }
    }

    fn persistent_only(&mut self, what: &'static str) {
        match self.body {
            Body::Entry => {}
            Body::Kernel(_) | Body::Node(_) => self.report(Problem::Misplaced(what)),
        }
    }

    fn node_only(&mut self, what: &'static str) {
        match self.body {
            Body::Node(_) => {}
            Body::Kernel(_) | Body::Entry => self.report(Problem::Misplaced(what)),
        }
    }

    /// What only kernels have whose blocks share a launch with all others: none that is a node.
    fn exchange(&mut self, what: &'static str) {
        self.kernel_only(what);
        if let Body::Kernel(kernel) = self.body
            && self.program.entry.is_node(kernel)
        {
            self.report(Problem::Misplaced(what));
        }
    }

    fn kernel_only(&mut self, what: &'static str) {
        match self.body {
            Body::Entry | Body::Node(_) => self.report(Problem::Misplaced(what)),
            Body::Kernel(_) => {}
        }
    }
}
