//! Elements of register arrays at computed indices.

use super::execute::Core;
use super::lanes::{Frame, Lanes, elements, lanes};
use crate::emulate::bytecode::{CompiledBody, Instruction};
use crate::emulate::report::Fault;
use crate::emulate::world::World;

impl Core {
    /// Reads or writes an element of a register array in every active lane; a lane whose index lies outside is a fault.
    pub(super) fn element(
        &self,
        instruction: Instruction,
        body: &CompiledBody,
        pc: u32,
        frame: &mut Frame,
        world: &mut World,
    ) {
        let (index, length) = match instruction {
            Instruction::BadElement { index, length } => {
                let fault = Fault::ArrayOutOfBounds { index, length };
                return world.fault(|| self.site(body, pc, self.active.trailing_zeros() & 31), fault);
            }
            Instruction::ReadElement { index, length, .. }
            | Instruction::WriteElement { index, length, .. }
            | Instruction::ReadElementWide { index, length, .. }
            | Instruction::WriteElementWide { index, length, .. } => (index, length),
            _ => unreachable!("the instruction is of no register array"),
        };
        let index = *frame.lanes(index);
        let bad = elements(&index, length, self.active, |lane, index| match instruction {
            Instruction::ReadElement { to, first, .. } => {
                frame.narrow[to.0 as usize][lane] = frame.narrow[first.0 as usize + index][lane];
            }
            Instruction::WriteElement { first, x, .. } => {
                frame.narrow[first.0 as usize + index][lane] = frame.narrow[x.0 as usize][lane];
            }
            Instruction::ReadElementWide { to, first, .. } => {
                frame.wide[to.0 as usize][lane] = frame.wide[first.0 as usize + index][lane];
            }
            Instruction::WriteElementWide { first, x, .. } => {
                frame.wide[first.0 as usize + index][lane] = frame.wide[x.0 as usize][lane];
            }
            _ => {}
        });
        self.bad_elements(bad, &index, length, body, pc, world);
    }

    fn bad_elements(&self, bad: u32, index: &Lanes, length: u32, body: &CompiledBody, pc: u32, world: &mut World) {
        for lane in lanes(bad) {
            let fault = Fault::ArrayOutOfBounds { index: i64::from(index[lane] as i32), length };
            world.fault(|| self.site(body, pc, lane as u32), fault);
        }
    }
}
