//! Values that carry their own validity: polls, and stores with a tag.

use warpweave_plan::plan::tag_of;
use warpweave_plan::tables::Awaited;

use crate::kernel_ir::GlobalSpace;

use super::access::fault_of;
use super::execute::Core;
use super::lanes::{Frame, lanes};
use crate::emulate::bytecode::{CompiledBody, TaggedAccess};
use crate::emulate::report::{Fault, GlobalRace, StatusRecord};
use crate::emulate::world::World;
use crate::emulate::world::memory::global::{Mark, POISON};

/// Bytes of an element.
const BYTES: i64 = 8;

impl Core {
    /// Polls for every active lane; whether all of them have their values. Nothing is ordered by it.
    pub fn poll(
        &mut self,
        access: &TaggedAccess,
        body: &CompiledBody,
        pc: u32,
        frame: &mut Frame,
        world: &mut World,
    ) -> bool {
        let epoch = world.control.epoch;
        for lane in lanes(self.active) {
            let wanted = tag_of(epoch, frame.lanes(access.tag)[lane]);
            for (element, &slot) in access.registers.slots[..access.registers.count as usize].iter().enumerate() {
                let place = self.tagged_value(access, element, lane, body, pc, frame, world);
                let tag = place.map(|at| world.arena.poll(at, wanted, self.id, &mut world.clocks));
                if let (Some(Mark::Missing), Some(at)) = (tag, place)
                    && world.control.abort == 0
                    && !self.poll_times_out(at, wanted, world)
                {
                    self.polled = Some((at, wanted));
                    world.polling.entry(at).or_default().push(self.id as u32);
                    return false;
                }
                let fault = match tag {
                    Some(Mark::Missing | Mark::There) | None => None,
                    Some(Mark::Stale) => place.map(|address| Fault::TagStale { address }),
                    Some(Mark::Overwritten) => place.map(|address| Fault::TaggedOverwritten { address }),
                };
                if let Some(fault) = fault {
                    world.fault(|| self.site(body, pc, lane as u32), fault);
                }
                // After an abort a device may see the tag or not.
                let aborted = world.control.abort != 0 && world.random.below(2) == 0;
                let there = tag == Some(Mark::There) && !aborted;
                let value = place.filter(|_| there).map(|at| world.arena.word(at));
                frame.narrow[slot as usize][lane] = value.unwrap_or(POISON);
            }
        }
        self.polled = None;
        true
    }

    /// Writes a value and a tag of the launch for every active lane.
    pub fn mark(&self, access: &TaggedAccess, body: &CompiledBody, pc: u32, frame: &Frame, world: &mut World) {
        for lane in lanes(self.active) {
            let Some(at) = self.tagged_value(access, 0, lane, body, pc, frame, world) else { continue };
            let value = frame.narrow[access.registers.slots[0] as usize][lane];
            let tag = tag_of(world.control.epoch, frame.lanes(access.tag)[lane]);
            let (before, problem) = world.arena.mark(at, (value, tag), self.id, &mut world.clocks);
            let fault = match before {
                Mark::Missing | Mark::Overwritten => None,
                Mark::There => Some(Fault::TaggedTwice { address: at }),
                Mark::Stale => Some(Fault::TagStale { address: at }),
            };
            if let Some(fault) = fault {
                world.fault(|| self.site(body, pc, lane as u32), fault);
            }
            if let Some(problem) = problem {
                let fault = fault_of(world, at, problem, GlobalRace::WriteAfterWrite);
                world.fault(|| self.site(body, pc, lane as u32), fault);
            }
            world.woken.extend(world.polling.remove(&at).into_iter().flatten());
        }
    }

    /// The byte address of an element, which is reported where there is none.
    #[expect(clippy::too_many_arguments, reason = "an access is described by as much")]
    fn tagged_value(
        &self,
        access: &TaggedAccess,
        element: usize,
        lane: usize,
        body: &CompiledBody,
        pc: u32,
        frame: &Frame,
        world: &mut World,
    ) -> Option<usize> {
        let index = frame.index(access.index, lane);
        let apart = access.apart.map(|apart| frame.index(apart, lane));
        // Neighbours are one access.
        let (index, count) = match apart {
            Some(apart) => (index.saturating_add(apart.saturating_mul(element as i64)), 1),
            None => (index, i64::from(access.registers.count)),
        };
        let bytes = BYTES * count;
        let first = index.saturating_mul(BYTES);
        let length = world.arena.bytes.len();
        let (space, address) = (GlobalSpace::Arena, first);
        let fault = if first < 0 || first > length as i64 - bytes {
            Fault::GlobalOutOfBounds { space, address, bytes: bytes as u32, length }
        } else if first % bytes != 0 {
            Fault::GlobalMisaligned { space, address, bytes: bytes as u32 }
        } else {
            let beside = if apart.is_some() { 0 } else { element * BYTES as usize };
            return Some(first as usize + beside);
        };
        world.fault(|| self.site(body, pc, lane as u32), fault);
        None
    }

    /// Whether the poll that now fails is the one whose time limit passes; it gives up then.
    fn poll_times_out(&self, at: usize, wanted: u32, world: &mut World) -> bool {
        if self.polled == Some((at, wanted)) {
            return false;
        }
        world.polls += 1;
        if world.options.time_out_poll != Some(world.polls - 1) {
            return false;
        }
        world.report.status = Some(StatusRecord {
            block: self.block as u32,
            awaited: Awaited::Tagged { element: (at as i64 / BYTES) as i32 },
            seen: world.arena.tag_at(at),
            wanted,
        });
        world.control.abort = 1;
        world.wake_all();
        true
    }
}
