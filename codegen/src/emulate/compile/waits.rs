//! The waits that a kernel does itself.

use super::{Compiler, Value};
use crate::emulate::bytecode::scalar::NarrowBinary;
use crate::emulate::bytecode::{Instruction, Preset, Slot, WaitAccess};
use crate::kernel_ir::{Constant, MemoryOrder};

impl Compiler<'_> {
    /// Thread 0 does the waits until one gives up, then the block meets.
    pub(super) fn own_waits(&mut self, order: MemoryOrder) {
        let waits = self.preset(Preset::Waits);
        let zero = self.constant(Constant::I32(0));
        let (has_waits, stopped) = (self.fresh(1), self.fresh(1));
        self.operate(NarrowBinary::LessI32, has_waits, zero, waits);
        self.guarded(has_waits, |this| {
            let yes = this.constant(Constant::Bool(true));
            let reached = this.fresh(1);
            this.emit(Instruction::Move { to: reached, x: yes });
            let thread = this.preset(Preset::Thread);
            let is_first = this.fresh(1);
            this.operate(NarrowBinary::EqualBits, is_first, thread, zero);
            this.guarded(is_first, |this| this.each_wait(order, waits, reached));
            let given_up = this.fresh(1);
            this.operate(NarrowBinary::BitXor, given_up, reached, yes);
            this.emit(Instruction::BlockBarrierOr { to: stopped, condition: given_up });
            this.emit(Instruction::ReturnIf(stopped));
        });
    }

    fn each_wait(&mut self, order: MemoryOrder, waits: Slot, reached: Slot) {
        let zero = self.constant(Constant::I32(0));
        let variable = self.fresh(1);
        self.emit(Instruction::Push);
        self.depth += 1;
        self.emit(Instruction::Move { to: variable, x: zero });
        let head = self.here();
        let test = self.emit(Instruction::ForHead { variable, extent: waits, end: 0 });
        self.guarded(reached, |this| this.one_wait(order, variable, reached));
        self.emit(Instruction::ForNext { variable, head });
        let end = self.here();
        self.patch(test, end);
        self.emit(Instruction::Pop);
        self.depth -= 1;
    }

    fn one_wait(&mut self, order: MemoryOrder, number: Slot, reached: Slot) {
        let first = self.preset(Preset::FirstWait);
        let position = self.fresh(1);
        self.operate(NarrowBinary::AddI32, position, first, number);
        let [counter, arrivals, signals] = [1, 2, 3].map(|word| {
            let to = self.fresh(1);
            self.emit(Instruction::LoadFetched { to, position, word });
            to
        });
        let (epoch, one) = (self.preset(Preset::Epoch), self.constant(Constant::I32(1)));
        let target = self.fresh(1);
        self.operate(NarrowBinary::SubtractI32, target, epoch, one);
        self.operate(NarrowBinary::MultiplyI32, target, target, arrivals);
        self.operate(NarrowBinary::AddI32, target, target, signals);
        self.out.waits.push(WaitAccess { place: reached, counter, target, order, position });
        self.emit(Instruction::Wait(self.out.waits.len() as u32 - 1));
    }

    /// What `body` emits, where the condition holds.
    fn guarded(&mut self, condition: Slot, body: impl FnOnce(&mut Self)) {
        let start = self.emit(Instruction::If { condition, otherwise: 0 });
        self.depth += 1;
        body(self);
        let end = self.here();
        self.patch(start, end);
        self.emit(Instruction::Pop);
        self.depth -= 1;
    }

    fn constant(&mut self, constant: Constant) -> Slot {
        self.narrow(Value::Constant(constant))
    }

    fn operate(&mut self, op: NarrowBinary, to: Slot, x: Slot, y: Slot) {
        self.emit(Instruction::Binary { op, to, x, y });
    }
}
