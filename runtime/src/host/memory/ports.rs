//! The memory of inputs and outputs, which a caller may bring.
//!
//! Inputs and outputs lie outside of the arena. Each has places of its own behind it, counted on from the arena's bytes, and what
//! memory these are is decided before a run.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use warpweave_graph::program::TensorId;
use warpweave_plan::plan::{BUFFER_ALIGNMENT, Buffer, MemoryPlan};

use super::zeroed;

/// Where a plan's inputs and outputs lie.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct PortPlaces(Vec<PortPlace>);

/// Where an input or output lies: its root's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PortPlace {
    tensor: TensorId,
    start: usize,
    bytes: usize,
}

impl PortPlaces {
    /// Those of a plan, and its memory with the buffers moved there. What lives between runs stays in the arena.
    pub(crate) fn of(memory: &MemoryPlan) -> (Self, MemoryPlan) {
        let is_state =
            |tensor: TensorId| memory.states.iter().any(|state| [state.tensor, state.next].contains(&tensor));
        let mut places: Vec<PortPlace> = Vec::new();
        let mut end = memory.arena_bytes;
        for &tensor in memory.inputs.iter().chain(&memory.outputs) {
            let planned = &memory.tensors[tensor];
            let is_known = places.iter().any(|place| place.tensor == tensor);
            if planned.buffer.is_none() || planned.layout.root != tensor || is_state(tensor) || is_known {
                continue;
            }
            // A gap, so that what lies behind one is not the next.
            let start = (end + 1).next_multiple_of(BUFFER_ALIGNMENT);
            let bytes = planned.ty.bytes();
            places.push(PortPlace { tensor, start: start as usize, bytes });
            end = start + bytes as u64;
        }
        let places = Self(places);
        let mut moved = memory.clone();
        for planned in moved.tensors.values_mut() {
            let place = planned.buffer.as_mut().zip(places.find(planned.layout.root));
            if let Some((buffer, place)) = place {
                *buffer = Buffer { offset: place.start as u64, bytes: place.bytes as u64, ..*buffer };
            }
        }
        (places, moved)
    }

    fn find(&self, tensor: TensorId) -> Option<&PortPlace> {
        self.0.iter().find(|place| place.tensor == tensor)
    }

    /// The number of the port that a tensor is, if it is one.
    pub(crate) fn number(&self, tensor: TensorId) -> Option<usize> {
        self.0.iter().position(|place| place.tensor == tensor)
    }

    /// Where a port begins.
    pub(crate) fn start(&self, number: usize) -> usize {
        self.0[number].start
    }
}

/// What memory each port of a session is.
pub(crate) struct Ports(Box<[Port]>);

struct Port {
    place: PortPlace,
    /// What the next run uses; null where nothing is bound.
    memory: AtomicPtr<u8>,
    own: OnceLock<Box<[UnsafeCell<u64>]>>,
}

impl Ports {
    /// Ports at these places; nothing is bound to them.
    pub(crate) fn new(places: &PortPlaces) -> Self {
        let port = |&place: &PortPlace| Port { place, memory: AtomicPtr::default(), own: OnceLock::new() };
        Self(places.0.iter().map(port).collect())
    }

    /// Binds memory to a port until [`Self::release`]. The memory has the port's bytes, is aligned to its element, and stays
    /// that long; nothing else uses what a plan writes.
    pub(crate) fn bind(&self, number: usize, memory: *mut u8) {
        self.0[number].memory.store(memory, Ordering::Relaxed);
    }

    /// Gives every port its own memory back.
    pub(crate) fn release(&self) {
        self.0.iter().for_each(|port| port.memory.store(ptr::null_mut(), Ordering::Relaxed));
    }

    /// A pointer to `length` bytes from place `offset` on; none if no port has all of them.
    #[inline(never)]
    pub(crate) fn pointer(&self, offset: usize, length: usize) -> Option<*mut u8> {
        let number = self.0.partition_point(|port| port.place.start <= offset).checked_sub(1)?;
        let port = &self.0[number];
        let first = offset - port.place.start;
        let is_inside = first.checked_add(length).is_some_and(|end| end <= port.place.bytes);
        is_inside.then(|| port.start().wrapping_add(first))
    }
}

impl Port {
    fn start(&self) -> *mut u8 {
        let bound = self.memory.load(Ordering::Relaxed);
        if bound.is_null() { self.own() } else { bound }
    }

    /// The session's own memory, zeroed at first.
    fn own(&self) -> *mut u8 {
        let own = self.own.get_or_init(|| zeroed(self.place.bytes));
        own.as_ptr().cast_mut().cast()
    }
}
