//! Checks of indices.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{IndirectIndex, ReadId};
use warpweave_plan::plan::index_records::{RECORD_WORD_BYTES, record_words};

use crate::kernel_ir::GlobalSpace;

use super::execute::Core;
use super::lanes::Frame;
use super::lanes::lanes;
use crate::emulate::bytecode::{CompiledBody, IndexCheckAccess};
use crate::emulate::report::Fault;
use crate::emulate::world::World;

impl Core {
    /// The place that an index names, for every active lane; faulty indices are recorded. Records are no part of what is
    /// ordered: nothing in a launch reads them, and the order of maxima does not matter.
    pub fn check_index(
        &self,
        access: &IndexCheckAccess,
        body: &CompiledBody,
        pc: u32,
        frame: &mut Frame,
        world: &mut World,
    ) {
        let mut places = [0; 32];
        for lane in lanes(self.active) {
            let value = frame.index(access.value, lane);
            let [extent, element, record] =
                [access.extent, access.element, access.record].map(|slot| frame.lanes(slot)[lane]);
            let index = IndirectIndex { read: ReadId::from_index(0), extent: i64::from(extent as i32) };
            places[lane] = index.nearest(value) as u32;
            if index.place(value).is_none()
                && let Err(fault) = note(&mut world.arena.bytes, record as i32, record_words(element, value))
            {
                world.fault(|| self.site(body, pc, lane as u32), fault);
            }
        }
        frame.write(access.place, self.active, &places);
    }
}

/// Takes the maximum of the words of a record and what they hold.
fn note(arena: &mut [u8], record: i32, words: [u64; 2]) -> Result<(), Fault> {
    let (first, bytes, length) = (i64::from(record) * RECORD_WORD_BYTES as i64, size_of_val(&words), arena.len());
    let range = usize::try_from(first).ok().and_then(|first| arena.get_mut(first..first.checked_add(bytes)?));
    let Some(range) = range else {
        let (space, address, bytes) = (GlobalSpace::Arena, first, bytes as u32);
        return Err(Fault::GlobalOutOfBounds { space, address, bytes, length });
    };
    for (word, new) in range.as_chunks_mut::<RECORD_WORD_BYTES>().0.iter_mut().zip(words) {
        *word = u64::from_le_bytes(*word).max(new).to_le_bytes();
    }
    Ok(())
}
