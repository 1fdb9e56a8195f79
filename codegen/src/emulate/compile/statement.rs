//! Statements to instructions.

use warpweave_graph::arena::Id;
use warpweave_plan::plan::MOST_POLLED;

use crate::kernel_ir::{
    ArrayId, Block, CallOperands, CallWaits, Constant, Expression, GlobalSpace, LocalId, Location, MemoryType, Place,
    ScalarType, SharedArray, SharedId, Statement,
};

use super::{Compiler, MAXIMUM_CODE, Value};
use crate::emulate::bytecode::scalar::NarrowBinary;
use crate::emulate::bytecode::{
    CallAccess, Callee, CopyAccess, FetchAccess, GlobalAccess, Index, IndexCheckAccess, Instruction, MatricesAccess,
    ProductAccess, Registers, SharedAccess, Slot, TaggedAccess, WaitAccess, WideSlot,
};

impl Compiler<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Option<()> {
        for (index, statement) in block.iter().enumerate() {
            self.path.push(index as u32);
            let outer = self.statement;
            self.statement = self.location();
            self.statement(statement)?;
            self.release_temporaries();
            self.statement = outer;
            self.path.pop();
        }
        (self.out.code.len() <= MAXIMUM_CODE).then_some(())
    }

    /// The number of the current path among the body's locations.
    fn location(&mut self) -> u32 {
        if let Some(&number) = self.paths.get(&self.path) {
            return number;
        }
        let body = self.out.statements[0].body;
        let number = self.out.statements.len() as u32;
        self.paths.insert(self.path.clone(), number);
        self.out.statements.push(Location { body, path: self.path.clone() });
        number
    }

    fn inner(&mut self, number: u32, block: &Block) -> Option<()> {
        self.release_temporaries();
        self.path.push(number);
        self.block(block)?;
        self.path.pop();
        Some(())
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        match statement {
            Statement::Assign { place, value } => self.assign(place, value),
            Statement::LoadGlobal { place, space, memory, width, index } => {
                let index = self.index(index);
                let (registers, late) = self.destinations(place, *memory, width.elements());
                self.out.global.push(GlobalAccess { registers, space: *space, memory: *memory, index });
                self.emit(Instruction::LoadGlobal(self.out.global.len() as u32 - 1));
                self.finish(late);
            }
            Statement::StoreGlobal { memory, index, values } => {
                let index = self.index(index);
                let registers = self.sources(values);
                let space = GlobalSpace::Arena;
                self.out.global.push(GlobalAccess { registers, space, memory: *memory, index });
                self.emit(Instruction::StoreGlobal(self.out.global.len() as u32 - 1));
            }
            Statement::LoadTagged { place, count, index, apart, tag } => {
                let (index, tag) = (self.index(index), self.evaluate_narrow(tag));
                let apart = apart.as_ref().map(|apart| self.index(apart));
                let (registers, late) = self.destinations(place, MemoryType::F32, *count);
                self.out.tagged_values.push(TaggedAccess { registers, index, apart, tag });
                self.emit(Instruction::LoadTagged(self.out.tagged_values.len() as u32 - 1));
                self.finish(late);
            }
            Statement::StoreTagged { index, tag, value } => {
                let (index, tag) = (self.index(index), self.evaluate_narrow(tag));
                let registers = self.sources(std::slice::from_ref(value));
                self.out.tagged_values.push(TaggedAccess { registers, index, apart: None, tag });
                self.emit(Instruction::StoreTagged(self.out.tagged_values.len() as u32 - 1));
            }
            Statement::CheckIndex { place, value, extent, element, record } => {
                let value = self.index(value);
                let [extent, element, record] = [extent, element, record].map(|word| self.evaluate_narrow(word));
                let (registers, late) = self.destinations(place, MemoryType::I32, 1);
                let place = Slot(registers.slots[0]);
                self.out.index_checks.push(IndexCheckAccess { place, value, extent, element, record });
                self.emit(Instruction::CheckIndex(self.out.index_checks.len() as u32 - 1));
                self.finish(late);
            }
            Statement::LoadShared { place, array, width, index } => {
                let index = self.evaluate_narrow(index);
                let declared = self.kernel.shared[*array];
                let (registers, late) = self.destinations(place, declared.memory, width.elements());
                let access = self.shared_access(*array, registers, index);
                self.out.shared.push(access);
                self.emit(Instruction::LoadShared(self.out.shared.len() as u32 - 1));
                self.finish(late);
            }
            Statement::StoreShared { array, index, values } => {
                let index = self.evaluate_narrow(index);
                let registers = self.sources(values);
                let access = self.shared_access(*array, registers, index);
                self.out.shared.push(access);
                self.emit(Instruction::StoreShared(self.out.shared.len() as u32 - 1));
            }
            Statement::AsyncCopy { array, index, space, source, width, exists } => {
                let index = self.evaluate_narrow(index);
                let source = self.index(source);
                let exists = self.evaluate_narrow(exists);
                let SharedArray { memory, length } = self.kernel.shared[*array];
                let (base, count) = (self.shared_array(*array).base, width.elements());
                self.out.copies.push(CopyAccess { memory, count, space: *space, source, exists, base, length, index });
                self.emit(Instruction::AsyncCopy(self.out.copies.len() as u32 - 1));
            }
            Statement::Fetch { array, index, table, first, words } => {
                let (index, first) = (self.evaluate_narrow(index), self.evaluate_narrow(first));
                let array = self.shared_words(*array);
                self.out.fetches.push(FetchAccess { table: *table, first, words: *words, array, index });
                self.emit(Instruction::Fetch(self.out.fetches.len() as u32 - 1));
            }
            Statement::AsyncCommit => {
                self.emit(Instruction::AsyncCommit);
            }
            Statement::AsyncWait { pending } => {
                self.emit(Instruction::AsyncWait(*pending));
            }
            Statement::Shuffle { place, value, mode } => {
                let (value, scalar) = self.evaluate(value, None);
                if scalar == ScalarType::I64 {
                    let x = self.wide(value);
                    let (to, late) = self.place_wide(place);
                    self.emit(Instruction::ShuffleWide { to, x, mode: *mode });
                    self.finish(late);
                } else {
                    let x = self.narrow(value);
                    self.write_narrow(place, |to| Instruction::Shuffle { to, x, mode: *mode });
                }
            }
            Statement::LoadMatrices { place, array, matrices, index, transposed } => {
                let index = self.evaluate_narrow(index);
                let (registers, late) = self.destinations(place, MemoryType::I32, matrices.count());
                let rows = self.shared_access(*array, registers, index);
                self.out.matrices.push(MatricesAccess { rows, transposed: *transposed });
                self.emit(Instruction::LoadMatrices(self.out.matrices.len() as u32 - 1));
                self.finish(late);
            }
            Statement::MultiplyMatrices { place, factors, left, right, sums } => {
                let [left, right, sums] = [left, right, sums].map(|values| self.sources(values));
                let (to, late) = self.destinations(place, MemoryType::F32, sums.count);
                self.out.products.push(ProductAccess { kind: factors.product(), to, left, right, sums });
                self.emit(Instruction::MultiplyMatrices(self.out.products.len() as u32 - 1));
                self.finish(late);
            }
            Statement::For { variable, extent, unroll, body } => self.repeat(*variable, extent, *unroll, body)?,
            Statement::If { condition, then, otherwise } => self.branch(condition, then, otherwise)?,
            Statement::Loop { body } => {
                self.emit(Instruction::Push);
                self.depth += 1;
                let head = self.here();
                self.loops.push((self.depth, Vec::new()));
                self.inner(0, body)?;
                self.emit(Instruction::Jump(head));
                let (_, breaks) = self.loops.pop().expect("pushed above");
                let end = self.here();
                for at in breaks {
                    self.patch(at, end);
                }
                self.emit(Instruction::Pop);
                self.depth -= 1;
            }
            Statement::Steps { order, body } => {
                let head = self.here();
                self.inner(0, body)?;
                self.emit(Instruction::NextStep { order: *order, head });
            }
            Statement::Break => {
                let (depth, _) = *self.loops.last().expect("a verified break stands in a loop");
                let at = self.emit(Instruction::Break { depth, end: 0 });
                self.loops.last_mut().expect("as above").1.push(at);
            }
            Statement::Switch { selector, cases } => self.switch(selector, cases)?,
            Statement::Call { kernel, operands, tile } => {
                let call = self.call(Callee::Kernel(*kernel), operands, tile);
                self.emit(call);
            }
            Statement::Dispatch { number, operands, tile, waits: CallWaits { ring, first, count, stopped } } => {
                let (ring, first) = (self.shared_words(*ring), self.evaluate_narrow(first));
                let (count, number) = (self.evaluate_narrow(count), self.evaluate_narrow(number));
                let (registers, late) = self.destinations(stopped, MemoryType::Bool, 1);
                let call = self.call(Callee::Numbered(number), operands, tile);
                self.emit(Instruction::CallWaits { ring, first, count, stopped: Slot(registers.slots[0]) });
                self.emit(call);
                self.finish(late);
            }
            Statement::Await { order, .. } => self.own_waits(*order),
            Statement::BlockBarrier => {
                self.emit(Instruction::BlockBarrier);
            }
            Statement::BlockBarrierOr { place, condition } => {
                let condition = self.evaluate_narrow(condition);
                self.write_narrow(place, |to| Instruction::BlockBarrierOr { to, condition });
            }
            Statement::WarpBarrier => {
                self.emit(Instruction::WarpBarrier);
            }
            Statement::LoadTable { place, table, index } => {
                let index = self.evaluate_narrow(index);
                self.write_narrow(place, |to| Instruction::LoadTable { to, table: *table, index });
            }
            Statement::LoadControl { place, word } => {
                self.write_narrow(place, |to| Instruction::LoadControl { to, word: *word });
            }
            Statement::ReadSpecial { place, register } => {
                self.write_narrow(place, |to| Instruction::ReadSpecial { to, register: *register });
            }
            Statement::StoreControl { word, value } => {
                let x = self.evaluate_narrow(value);
                self.emit(Instruction::StoreControl { word: *word, x });
            }
            Statement::AddControl { place, word, value } => {
                let x = self.evaluate_narrow(value);
                self.write_narrow(place, |to| Instruction::AddControl { to, word: *word, x });
            }
            Statement::Wait { place, counter, target, order, position } => {
                let counter = self.evaluate_narrow(counter);
                let target = self.evaluate_narrow(target);
                let position = self.evaluate_narrow(position);
                let (registers, late) = self.destinations(place, MemoryType::Bool, 1);
                let place = Slot(registers.slots[0]);
                self.out.waits.push(WaitAccess { place, counter, target, order: *order, position });
                self.emit(Instruction::Wait(self.out.waits.len() as u32 - 1));
                self.finish(late);
            }
            Statement::Signal { counter, order } => {
                let counter = self.evaluate_narrow(counter);
                self.emit(Instruction::Signal { counter, order: *order });
            }
            Statement::DependencyWait => _ = self.emit(Instruction::DependencyWait),
            Statement::DependentLaunch => _ = self.emit(Instruction::DependentLaunch),
        }
        Some(())
    }

    fn call(&mut self, callee: Callee, operands: &CallOperands, tile: &Expression) -> Instruction {
        let array = self.shared_words(operands.array);
        let [index, first, tile] = [&operands.index, &operands.first, tile].map(|word| self.evaluate_narrow(word));
        self.out.calls.push(CallAccess { callee, array, index, first, tile });
        Instruction::Call(self.out.calls.len() as u32 - 1)
    }

    fn assign(&mut self, place: &Place, value: &Expression) {
        let (target, late) = match place {
            Place::Local(local) => (self.locals[local.index()], None),
            Place::Element(array, index) => match self.evaluate(index, None).0 {
                Value::Constant(Constant::I32(index)) => (self.element(*array, index.into()), None),
                index => self.late_element(*array, index),
            },
        };
        let value = self.evaluate(value, Some(target)).0;
        match target {
            Value::Narrow(to) => {
                let x = self.narrow(value);
                if x != to {
                    self.emit(Instruction::Move { to, x });
                }
            }
            Value::Wide(to) => {
                let x = self.wide(value);
                if x != to {
                    self.emit(Instruction::MoveWide { to, x });
                }
            }
            Value::Constant(_) => unreachable!("a place is a register"),
        }
        self.finish(late);
    }

    fn branch(&mut self, condition: &Expression, then: &Block, otherwise: &Block) -> Option<()> {
        let condition = self.evaluate(condition, None).0;
        if let Value::Constant(Constant::Bool(holds)) = condition {
            return if holds { self.inner(0, then) } else { self.inner(1, otherwise) };
        }
        let condition = self.narrow(condition);
        let start = self.emit(Instruction::If { condition, otherwise: 0 });
        self.depth += 1;
        self.inner(0, then)?;
        if otherwise.is_empty() {
            let end = self.here();
            self.patch(start, end);
        } else {
            let middle = self.emit(Instruction::Else { end: 0 });
            self.patch(start, middle as u32);
            self.inner(1, otherwise)?;
            let end = self.here();
            self.patch(middle, end);
        }
        self.emit(Instruction::Pop);
        self.depth -= 1;
        Some(())
    }

    fn repeat(&mut self, variable: LocalId, extent: &Expression, unroll: bool, body: &Block) -> Option<()> {
        let extent = self.evaluate(extent, None).0;
        if let (Value::Constant(Constant::I32(extent)), true) = (extent, unroll) {
            let outer = self.unrolled.get(&variable).copied();
            for iteration in 0..extent {
                self.unrolled.insert(variable, iteration);
                self.iterations += 1;
                if self.iterations > MAXIMUM_CODE {
                    return None;
                }
                self.inner(0, body)?;
            }
            match outer {
                Some(value) => self.unrolled.insert(variable, value),
                None => self.unrolled.remove(&variable),
            };
            return Some(());
        }
        let Value::Narrow(variable) = self.locals[variable.index()] else {
            unreachable!("a verified loop variable is an I32")
        };
        let extent = match extent {
            Value::Constant(_) => self.narrow(extent),
            Value::Narrow(x) => {
                let to = self.fresh(1);
                self.emit(Instruction::Move { to, x });
                to
            }
            Value::Wide(_) => unreachable!("a verified extent is an I32"),
        };
        let zero = self.narrow(Value::Constant(Constant::I32(0)));
        self.emit(Instruction::Push);
        self.depth += 1;
        self.emit(Instruction::Move { to: variable, x: zero });
        let head = self.here();
        let test = self.emit(Instruction::ForHead { variable, extent, end: 0 });
        self.inner(0, body)?;
        self.emit(Instruction::ForNext { variable, head });
        let end = self.here();
        self.patch(test, end);
        self.emit(Instruction::Pop);
        self.depth -= 1;
        Some(())
    }

    fn switch(&mut self, selector: &Expression, cases: &[Block]) -> Option<()> {
        let selector = self.evaluate_narrow(selector);
        let number = self.out.switches.len();
        self.out.switches.push(Vec::new());
        self.emit(Instruction::Switch { selector, cases: number as u32 });
        let mut starts = Vec::new();
        let mut ends = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            starts.push(self.here());
            self.inner(index as u32, case)?;
            ends.push(self.emit(Instruction::Jump(0)));
        }
        let end = self.here();
        for at in ends {
            self.patch(at, end);
        }
        starts.push(end);
        self.out.switches[number] = starts;
        Some(())
    }

    pub(super) fn patch(&mut self, at: usize, target: u32) {
        match &mut self.out.code[at] {
            Instruction::If { otherwise: end, .. }
            | Instruction::Else { end }
            | Instruction::ForHead { end, .. }
            | Instruction::Break { end, .. }
            | Instruction::Jump(end) => *end = target,
            other => unreachable!("{other:?} has no target"),
        }
    }

    fn index(&mut self, index: &Expression) -> Index {
        match self.evaluate(index, None) {
            (value, ScalarType::I64) => Index::Wide(self.wide(value)),
            (value, _) => Index::Narrow(self.narrow(value)),
        }
    }

    fn shared_access(&mut self, array: SharedId, registers: Registers, index: Slot) -> SharedAccess {
        let declared = self.kernel.shared[array];
        let place = self.shared_array(array);
        SharedAccess {
            registers,
            memory: declared.memory,
            base: place.base,
            base_bytes: place.base_bytes,
            length: declared.length,
            kept: self.kernel.kept == Some(array),
            index,
        }
    }

    fn sources(&mut self, values: &[Expression]) -> Registers {
        let mut slots = [0; MOST_POLLED];
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = match self.evaluate(value, None) {
                (value, ScalarType::I64) => self.wide(value).0,
                (value, _) => self.narrow(value).0,
            };
        }
        Registers { slots, count: values.len() as u32 }
    }

    /// The registers that a load of `width` elements into `place` writes, and what is left to do afterwards.
    fn destinations(&mut self, place: &Place, memory: MemoryType, count: u32) -> (Registers, Option<Late>) {
        let mut slots = [0; MOST_POLLED];
        let number = |value: Value| match value {
            Value::Narrow(slot) => slot.0,
            Value::Wide(slot) => slot.0,
            Value::Constant(_) => unreachable!("a place is a register"),
        };
        match place {
            Place::Local(local) => slots[0] = number(self.locals[local.index()]),
            Place::Element(array, index) => match self.evaluate(index, None).0 {
                Value::Constant(Constant::I32(index)) => {
                    for (element, slot) in slots.iter_mut().enumerate().take(count as usize) {
                        *slot = number(self.element(*array, i64::from(index) + element as i64));
                    }
                }
                index => {
                    let index = self.narrow(index);
                    let wide = memory.scalar_type() == ScalarType::I64;
                    for slot in slots.iter_mut().take(count as usize) {
                        *slot = if wide { self.temporary_wide().0 } else { self.temporary().0 };
                    }
                    let registers = Registers { slots, count };
                    return (registers, Some(Late { array: *array, index, registers, wide }));
                }
            },
        }
        (Registers { slots, count }, None)
    }

    /// A register for an element whose index is not known, and the write that must follow.
    fn late_element(&mut self, array: ArrayId, index: Value) -> (Value, Option<Late>) {
        let index = self.narrow(index);
        let wide = self.array(array).scalar == ScalarType::I64;
        let value = if wide { Value::Wide(self.temporary_wide()) } else { Value::Narrow(self.temporary()) };
        let first = match value {
            Value::Wide(slot) => slot.0,
            Value::Narrow(slot) => slot.0,
            Value::Constant(_) => unreachable!("a temporary is a register"),
        };
        let mut slots = [0; MOST_POLLED];
        slots[0] = first;
        let registers = Registers { slots, count: 1 };
        (value, Some(Late { array, index, registers, wide }))
    }

    fn place_wide(&mut self, place: &Place) -> (WideSlot, Option<Late>) {
        let (registers, late) = self.destinations(place, MemoryType::I64, 1);
        (WideSlot(registers.slots[0]), late)
    }

    fn write_narrow(&mut self, place: &Place, instruction: impl FnOnce(Slot) -> Instruction) {
        let (registers, late) = self.destinations(place, MemoryType::I32, 1);
        self.emit(instruction(Slot(registers.slots[0])));
        self.finish(late);
    }

    fn finish(&mut self, late: Option<Late>) {
        let Some(late) = late else { return };
        let array = self.array(late.array);
        let count = late.registers.count as usize;
        for (element, &slot) in late.registers.slots.iter().enumerate().take(count) {
            let step = Value::Constant(Constant::I32(element as i32));
            let index = if element == 0 {
                late.index
            } else {
                let (to, y) = (self.temporary(), self.narrow(step));
                self.emit(Instruction::Binary { op: NarrowBinary::AddI32, to, x: late.index, y });
                to
            };
            let length = array.length;
            self.emit(if late.wide {
                Instruction::WriteElementWide { first: WideSlot(array.first), length, index, x: WideSlot(slot) }
            } else {
                Instruction::WriteElement { first: Slot(array.first), length, index, x: Slot(slot) }
            });
        }
    }
}

/// A write to array elements whose index is not known before the run.
struct Late {
    array: ArrayId,
    index: Slot,
    registers: Registers,
    wide: bool,
}
