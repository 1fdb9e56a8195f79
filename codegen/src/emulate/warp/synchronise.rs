//! Plan tables, control words and counters.

use warpweave_plan::tables::{Awaited, INSTRUCTION_WORDS, OPCODE_RUN, OPCODE_SIGNAL};

use crate::kernel_ir::{ControlWord, MemoryOrder, Table};

use super::execute::Core;
use super::lanes::{ALL, Frame, lanes};
use super::presets::{HeldOperands, OwnWaits};
use crate::emulate::bytecode::scalar::truth;
use crate::emulate::bytecode::{CompiledBody, Slot, WaitAccess};
use crate::emulate::report::{Fault, StatusRecord};
use crate::emulate::world::World;

impl Core {
    /// All lanes meet in an operation of the warp.
    pub fn meet(&mut self, operation: &'static str, body: &CompiledBody, pc: u32, world: &mut World) {
        self.all_lanes(operation, body, pc, world);
        self.stamp += 1;
    }

    /// Reports an operation of the warp that some lanes do not arrive at.
    pub fn all_lanes(&self, operation: &'static str, body: &CompiledBody, pc: u32, world: &mut World) {
        if self.active != ALL {
            let fault = Fault::DivergentWarp { operation, active: self.active };
            world.fault(|| self.site(body, pc, self.active.trailing_zeros() & 31), fault);
        }
    }

    /// Reads a word of a plan table.
    pub fn load_table(
        &self,
        to: Slot,
        table: Table,
        index: Slot,
        frame: &mut Frame,
        world: &World,
    ) -> Result<(), Fault> {
        let words = world.table(table);
        let mut values = [0; 32];
        for lane in lanes(self.active) {
            let index = i64::from(frame.lanes(index)[lane] as i32);
            let word = usize::try_from(index).ok().and_then(|index| words.get(index));
            values[lane] = *word.ok_or(Fault::TableOutOfBounds { table, index, length: words.len() })? as u32;
        }
        frame.write(to, self.active, &values);
        Ok(())
    }

    /// Adds to a control word, acquiring and releasing.
    pub fn add_control(&self, to: Slot, word: ControlWord, x: Slot, frame: &mut Frame, world: &mut World) {
        for lane in lanes(self.active) {
            let seen = &mut world.control_seen[word as usize];
            world.clocks.acquire(self.id, seen);
            world.clocks.release(self.id).join_into(seen);
            let control = world.control(word);
            let before = *control;
            *control = before.wrapping_add(frame.lanes(x)[lane]);
            frame.narrow[to.0 as usize][lane] = before;
        }
        world.wake_all();
    }

    /// Adds one to a counter for every active lane.
    pub fn signal(&self, counter: Slot, order: MemoryOrder, frame: &Frame, world: &mut World) -> Result<(), Fault> {
        lanes(self.active).try_for_each(|lane| self.signal_once(frame.lanes(counter)[lane], order, world))
    }

    /// Whether the next instruction of the call is a signal.
    pub fn signals_next(&self, world: &World) -> bool {
        let first = self.waits.first as usize * INSTRUCTION_WORDS;
        self.waits.count > 0 && world.tables.instructions.get(first) == Some(&OPCODE_SIGNAL)
    }

    /// Goes on to the next rTask of the call, past signals, which the first warp gives; whether there is one.
    pub fn next_step(&mut self, order: MemoryOrder, world: &mut World) -> Result<bool, Fault> {
        self.met = false;
        while self.waits.count > 0 {
            let first = self.waits.first as usize * INSTRUCTION_WORDS;
            let (table, length) = (Table::Instructions, world.tables.instructions.len());
            let Some(&[opcode, word, ..]) = world.tables.instructions.get(first..first + INSTRUCTION_WORDS) else {
                return Err(Fault::TableOutOfBounds { table, index: first as i64, length });
            };
            self.waits = OwnWaits { first: self.waits.first + 1, count: self.waits.count - 1, ..self.waits };
            match opcode {
                OPCODE_RUN.. => {
                    self.operands = HeldOperands { first: i64::from(word), from_table: true, ..self.operands };
                    return Ok(true);
                }
                OPCODE_SIGNAL if self.index == 0 => self.signal_once(word as u32, order, world)?,
                _ => {}
            }
        }
        Ok(false)
    }

    fn signal_once(&self, index: u32, order: MemoryOrder, world: &mut World) -> Result<(), Fault> {
        let released = match order {
            MemoryOrder::Release => Some(world.clocks.release(self.id)),
            MemoryOrder::Relaxed | MemoryOrder::Acquire => None,
        };
        let counters = world.counters.len();
        let counter = world.counters.get_mut(index as usize);
        let counter = counter.ok_or(Fault::CounterOutOfBounds { counter: index as i32, counters })?;
        counter.signal(released);
        world.woken.append(&mut counter.waiting);
        Ok(())
    }

    /// Polls for every active lane; whether all of them are done.
    pub fn wait(
        &mut self,
        wait: &WaitAccess,
        body: &CompiledBody,
        pc: u32,
        frame: &mut Frame,
        world: &mut World,
    ) -> bool {
        if !self.counted {
            self.counted = true;
            world.waits += 1;
            if world.options.time_out_wait == Some(world.waits - 1) {
                self.time_out(wait, frame, world);
                frame.write(wait.place, self.active, &[truth(false); 32]);
                self.counted = false;
                return true;
            }
        }
        let warps = world.blocks.len() * world.warps_per_block;
        for lane in lanes(self.active) {
            let (index, target) = (frame.lanes(wait.counter)[lane], frame.lanes(wait.target)[lane]);
            let aborted = world.control.abort != 0;
            let Some(counter) = world.counters.get_mut(index as usize) else {
                let counters = world.counters.len();
                world.fault(
                    || self.site(body, pc, lane as u32),
                    Fault::CounterOutOfBounds { counter: index as i32, counters },
                );
                world.stopped = true;
                return false;
            };
            let reached = counter.reached(target);
            if !reached && !aborted {
                counter.waiting.push(self.id as u32);
                return false;
            }
            // With both true, a device may see either first.
            let satisfied = reached && (!aborted || world.random.below(2) == 0);
            if satisfied && wait.order == MemoryOrder::Acquire {
                let seen = counter.seen(target, warps);
                world.clocks.acquire(self.id, seen);
            }
            frame.narrow[wait.place.0 as usize][lane] = truth(satisfied);
        }
        self.counted = false;
        true
    }

    /// Gives up as if the time limit had passed.
    fn time_out(&self, wait: &WaitAccess, frame: &Frame, world: &mut World) {
        let Some(lane) = lanes(self.active).next() else { return };
        let counter = frame.lanes(wait.counter)[lane];
        world.report.status = Some(StatusRecord {
            block: self.block as u32,
            awaited: Awaited::Counter { position: frame.lanes(wait.position)[lane] as i32, counter: counter as i32 },
            seen: world.counters.get(counter as usize).map_or(0, |counter| counter.value),
            wanted: frame.lanes(wait.target)[lane],
        });
        world.control.abort = 1;
        world.wake_all();
    }
}
