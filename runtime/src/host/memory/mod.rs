//! The memory that rTasks on the host share.

mod ports;

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use warpweave_graph::ElementType;
use warpweave_graph::Tensor;
use warpweave_plan::plan::{Buffer, BufferSpace};

use super::indices::IndexFaults;
use super::lanes::{LANES, Lanes};
use super::simd::Vector;
pub(super) use ports::PortPlaces;
use ports::Ports;

/// An arena that threads read and write at the same time, in disjoint or ordered places.
///
/// The verifier proves nothing of the addresses of constants and of guarded reads, which follow from expressions. Those of a
/// forged plan may lie anywhere: what lies outside is read as zeros, not written, and noted.
pub(super) struct SharedArena {
    words: Box<[UnsafeCell<u64>]>,
    /// Inputs and outputs, whose places lie behind those of the arena.
    ports: Ports,
    is_left: AtomicBool,
}

#[expect(unsafe_code, reason = "the arena is shared between the threads of a launch")]
// SAFETY: all access goes through the methods below, to the arena's words and to the ports' memory alike. The plan that drives the threads is verified: two accesses of the
// same bytes, one of them a write, are ordered, so they never race. What orders them is one of these:
// - the stream of one thread;
// - the start and the end of a run, which threads are told of by a release and an acquire;
// - a release and an acquire of the count at which all threads meet at the end of a segment or node;
// - a release and an acquire of a counter;
// - a release and an acquire of an rTask's end where its values are polled.
// Memory that is bound to a port is the caller's: it outlives the run, and who binds it says that nothing else writes it
// meanwhile, nor reads what the plan writes.
unsafe impl Sync for SharedArena {}

impl SharedArena {
    /// A zeroed arena of at least this many bytes, without ports.
    pub(super) fn new(bytes: usize) -> Self {
        Self::with_ports(bytes, &PortPlaces::default())
    }

    /// A zeroed arena of at least this many bytes, and ports behind it.
    pub(super) fn with_ports(bytes: usize, ports: &PortPlaces) -> Self {
        Self { words: zeroed(bytes), ports: Ports::new(ports), is_left: AtomicBool::new(false) }
    }

    /// The inputs and outputs.
    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Whether an access lay outside some memory since this was asked last.
    pub(super) fn was_left(&self) -> bool {
        self.is_left.swap(false, Ordering::Relaxed)
    }

    /// Notes an access outside some memory.
    fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// A pointer to `length` bytes from `offset` on; none if they do not lie inside, which is noted.
    fn pointer(&self, offset: usize, length: usize) -> Option<*mut u8> {
        if offset.checked_add(length).is_some_and(|end| end <= self.bytes()) {
            return Some(self.words.as_ptr().cast_mut().cast::<u8>().wrapping_add(offset));
        }
        let found = self.ports.pointer(offset, length);
        if found.is_none() {
            self.leave();
        }
        found
    }

    /// Bytes where they lie; none if they do not lie inside, which is noted.
    #[expect(unsafe_code, reason = "the arena is shared between the threads of a launch")]
    fn bytes_at(&self, offset: usize, length: usize) -> Option<&[u8]> {
        let start = self.pointer(offset, length)?;
        // SAFETY: `pointer` checked the bounds, and no thread writes these bytes while they are read (see the impl of Sync).
        Some(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// Copies bytes out.
    #[expect(unsafe_code, reason = "the arena is shared between the threads of a launch")]
    pub(super) fn read(&self, offset: usize, out: &mut [u8]) {
        let Some(from) = self.pointer(offset, out.len()) else { return out.fill(0) };
        // SAFETY: `pointer` checked the bounds, `out` is a different allocation, and no other thread writes these bytes
        // meanwhile (see the impl of Sync).
        unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) }
    }

    /// Singles from a byte on; none if they do not lie inside, which is noted, or if they are not aligned.
    #[expect(unsafe_code, reason = "the arena is shared between the threads of a launch")]
    fn singles(&self, offset: usize, count: usize) -> Option<&[f32]> {
        let from = self.pointer(offset, count.checked_mul(SINGLE_BYTES)?)?.cast::<f32>();
        // SAFETY: `pointer` checked the bounds and the alignment is checked here. The slice is borrowed by an rTask for what
        // it reads, and the plan is verified: nothing that it reads is written before it ends (see the impl of Sync).
        from.is_aligned().then(|| unsafe { std::slice::from_raw_parts(from, count) })
    }

    /// Singles to be written, from a byte on; none if they do not lie inside, which is noted, or if they are not aligned.
    pub(super) fn cells(&self, offset: i64, count: usize) -> Option<Cells<'_>> {
        let start = self.pointer(place(offset), count.checked_mul(SINGLE_BYTES)?)?.cast::<f32>();
        start.is_aligned().then_some(Cells { start, length: count, memory: PhantomData })
    }

    /// Copies bytes to others, also where the two overlap.
    #[expect(unsafe_code, reason = "the arena is shared between the threads of a launch")]
    pub(super) fn copy(&self, from: usize, to: usize, length: usize) {
        let Some((from, to)) = self.pointer(from, length).zip(self.pointer(to, length)) else { return };
        // SAFETY: `pointer` checked the bounds of both; as for `read`, and `words` hands out interior mutability.
        unsafe { std::ptr::copy(from, to, length) }
    }

    /// Copies bytes in.
    #[expect(unsafe_code, reason = "the arena is shared between the threads of a launch")]
    pub(super) fn write(&self, offset: usize, data: &[u8]) {
        let Some(to) = self.pointer(offset, data.len()) else { return };
        // SAFETY: as for `read`; `words` hands out interior mutability.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) }
    }

    /// Copies elements of so many bytes in, `stride` bytes apart from `offset` on.
    pub(super) fn write_apart(&self, offset: i64, stride: i64, size: usize, data: &[u8]) {
        match size {
            _ if stride == size as i64 => self.write(place(offset), data),
            1 => self.scatter::<1>(offset, stride, data),
            2 => self.scatter::<2>(offset, stride, data),
            4 => self.scatter::<4>(offset, stride, data),
            _ => self.scatter::<8>(offset, stride, data),
        }
    }

    #[expect(unsafe_code, reason = "others may write between the elements")]
    fn scatter<const N: usize>(&self, offset: i64, stride: i64, data: &[u8]) {
        let elements = data.as_chunks::<N>().0;
        let reach = (elements.len().max(1) as i64 - 1) * stride;
        let low = reach.min(0);
        let Some(start) = self.pointer(place(offset + low), reach.unsigned_abs() as usize + N) else { return };
        for (at, element) in elements.iter().enumerate() {
            // SAFETY: the places of all elements lie within the length whose bounds were checked, and no other thread reads or writes
            // them meanwhile (see the impl of Sync). Bytes between them are not touched.
            unsafe { start.offset((at as i64 * stride - low) as isize).cast::<[u8; N]>().write_unaligned(*element) }
        }
    }
}

/// At least so many bytes that are zero. The system gives pages of them when they are used first.
#[expect(unsafe_code, reason = "cells of words are words")]
pub(super) fn zeroed(bytes: usize) -> Box<[UnsafeCell<u64>]> {
    let words = vec![0u64; bytes.div_ceil(size_of::<u64>())].into_boxed_slice();
    // SAFETY: a cell has the layout of what is in it, and the box is the only owner of its words.
    unsafe { Box::from_raw(Box::into_raw(words) as *mut [UnsafeCell<u64>]) }
}

/// Singles of the arena that an rTask writes, and others between them.
#[derive(Clone, Copy)]
pub(super) struct Cells<'m> {
    start: *mut f32,
    length: usize,
    memory: PhantomData<&'m [f32]>,
}

impl Cells<'_> {
    /// Writes the first lanes of a vector to so many of them, from a number on.
    ///
    /// # Panics
    /// If they do not lie inside, or if a vector has fewer lanes.
    #[inline(always)]
    #[expect(unsafe_code, reason = "others may use what is beside them")]
    pub(super) fn store<V: Vector>(&self, first: usize, count: usize, value: V) {
        let is_inside = self.length.checked_sub(count).is_some_and(|last| first <= last);
        assert!(is_inside, "a run lies in its memory");
        // SAFETY: `start` is aligned and valid for `length` singles, of which the assertion holds these inside. The plan is verified:
        // nothing else uses what an rTask writes before it ends (see the impl of Sync for the arena), and the slice ends here.
        let out = unsafe { std::slice::from_raw_parts_mut(self.start.wrapping_add(first), count) };
        if count == V::LANES { value.store(out) } else { value.store_part(out) }
    }

    /// Writes values to every so manieth of them, from a number on.
    ///
    /// # Panics
    /// If they do not lie inside.
    #[inline(always)]
    #[expect(unsafe_code, reason = "others may use what is between them")]
    pub(super) fn store_apart(&self, first: usize, step: usize, values: &[f32]) {
        let reach = values.len().saturating_sub(1).checked_mul(step).and_then(|reach| reach.checked_add(first));
        assert!(reach.is_some_and(|last| last < self.length), "a run lies in its memory");
        let mut at = 0;
        while at < values.len() {
            // SAFETY: as for `store`: the assertion holds the last inside, and each is one that the rTask writes.
            unsafe { *self.start.wrapping_add(first + at * step) = values[at] };
            at += 1;
        }
    }
}

/// Singles in memory of which others may write those that are not asked for.
#[derive(Clone, Copy)]
pub(super) struct Singles<'m> {
    start: *const f32,
    length: usize,
    memory: PhantomData<&'m [f32]>,
}

impl<'m> Singles<'m> {
    /// Those of a slice.
    pub(super) fn of(values: &'m [f32]) -> Self {
        Self { start: values.as_ptr(), length: values.len(), memory: PhantomData }
    }

    /// Some of them, from a number on.
    ///
    /// # Panics
    /// If they do not lie inside.
    #[inline(always)]
    #[expect(unsafe_code, reason = "others may write beside them")]
    pub(super) fn at<const COUNT: usize>(&self, first: usize) -> &'m [f32; COUNT] {
        let is_inside = self.length.checked_sub(COUNT).is_some_and(|last| first <= last);
        assert!(is_inside, "a panel lies in its memory");
        // SAFETY: `start` is aligned and valid for `length` singles, of which the assertion holds these inside. Only what an
        // rTask reads is asked for, which nothing writes before it ends (see the impl of Sync for the arena).
        unsafe { &*self.start.wrapping_add(first).cast::<[f32; COUNT]>() }
    }

    /// So many of them, from a number on.
    ///
    /// # Panics
    /// If they do not lie inside.
    #[inline(always)]
    #[expect(unsafe_code, reason = "others may write beside them")]
    pub(super) fn slice(&self, first: usize, count: usize) -> &'m [f32] {
        let is_inside = self.length.checked_sub(count).is_some_and(|last| first <= last);
        assert!(is_inside, "a run lies in its memory");
        // SAFETY: as for `at`.
        unsafe { std::slice::from_raw_parts(self.start.wrapping_add(first), count) }
    }
}

/// Bytes of a single.
pub(super) const SINGLE_BYTES: usize = ElementType::F32.bytes();

/// What an rTask reads from.
pub(super) struct Memory<'m> {
    pub(super) arena: &'m SharedArena,
    pub(super) weights: &'m [u8],
    /// The staged values of the rTask that have been computed so far.
    pub(super) staged: Vec<StagedValues>,
    /// Where faulty indices are noted.
    pub(super) faults: &'m IndexFaults,
    /// The number of the run among those of all sessions.
    pub(super) run: u64,
    /// Where the rOperator's reads and writes begin, in bytes.
    pub(super) bases: &'m [i64],
}

/// The number of a base among those of an rOperator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Base(usize);

impl Base {
    pub(super) const FIRST: Self = Self(0);
}

/// The bases of an rOperator while it is prepared.
#[derive(Default)]
pub(super) struct Bases(Vec<i64>);

impl Bases {
    /// One more.
    pub(super) fn add(&mut self, byte: i64) -> Base {
        self.0.push(byte);
        Base(self.0.len() - 1)
    }

    /// All of them.
    pub(super) fn into_boxed(self) -> Box<[i64]> {
        self.0.into()
    }
}

/// A tile's box of a staged value.
#[derive(Debug)]
pub(super) struct StagedValues {
    /// The number that its first element has where the box starts at coordinate 0.
    pub(super) first: i64,
    pub(super) element: ElementType,
    /// The elements, as the stage stores them.
    pub(super) bytes: Vec<u8>,
}

impl Default for StagedValues {
    fn default() -> Self {
        Self { first: 0, element: ElementType::F32, bytes: Vec::new() }
    }
}

/// Which memory a read is from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum HostSpace {
    /// Memory of the plan.
    Plan(BufferSpace),
    /// A staged value of the rTask; byte offsets count from coordinate 0.
    Staged(usize),
}

impl Memory<'_> {
    /// Where a read or a write begins, in bytes.
    #[inline]
    pub(super) fn base(&self, base: Base) -> i64 {
        self.bases[base.0]
    }

    /// Loads `count` elements from byte `offset` of a buffer's space on, `stride` bytes apart.
    pub(super) fn load(&self, space: HostSpace, element: ElementType, offset: i64, stride: i64, count: usize) -> Lanes {
        let size = element.bytes();
        if element == ElementType::F32 {
            let mut lanes = [0f32; LANES];
            self.load_singles(space, offset, stride, &mut lanes[..count]);
            return Lanes::Float(lanes);
        }
        let mut bytes = [0u8; LANES * size_of::<u64>()];
        for lane in 0..count {
            self.copy(space, offset + lane as i64 * stride, &mut bytes[lane * size..][..size]);
        }
        decode(element, &bytes[..count * size])
    }

    /// Loads singles from byte `offset` of a space on, `stride` bytes apart.
    pub(super) fn load_singles(&self, space: HostSpace, offset: i64, stride: i64, out: &mut [f32]) {
        if stride == SINGLE_BYTES as i64 {
            self.copy(space, offset, bytemuck::cast_slice_mut(out));
        } else if stride == 0 {
            let mut value = [0u8; SINGLE_BYTES];
            self.copy(space, offset, &mut value);
            out.fill(f32::from_le_bytes(value));
        } else {
            for (at, value) in out.iter_mut().enumerate() {
                let mut bytes = [0u8; SINGLE_BYTES];
                self.copy(space, offset + at as i64 * stride, &mut bytes);
                *value = f32::from_le_bytes(bytes);
            }
        }
    }

    /// Singles from byte `offset` of a space on, where they lie; none if they do not lie inside of it, which is noted, or if
    /// they are not aligned. They are borrowed while an rTask reads what it does not write.
    pub(super) fn singles(&self, space: HostSpace, offset: i64, count: usize) -> Option<&[f32]> {
        let within = |bytes: &'_ [u8], offset: i64| {
            let start = place(offset);
            let end = start.checked_add(count.checked_mul(SINGLE_BYTES)?)?;
            Some((start, end)).filter(|(_, end)| *end <= bytes.len())
        };
        let (bytes, offset) = match space {
            HostSpace::Plan(BufferSpace::Arena) => return self.arena.singles(place(offset), count),
            HostSpace::Plan(BufferSpace::Weights) => (self.weights, offset),
            HostSpace::Staged(staged) => {
                let StagedValues { first, element, bytes } = &self.staged[staged];
                (bytes.as_slice(), offset - element.bytes() as i64 * first)
            }
        };
        let Some((start, end)) = within(bytes, offset) else {
            self.arena.leave();
            return None;
        };
        bytemuck::try_cast_slice(&bytes[start..end]).ok()
    }

    /// Singles from byte `offset` of a space on, as [`Self::singles`], of which others may write those that are not asked for.
    pub(super) fn singles_apart(&self, space: HostSpace, offset: i64, count: usize) -> Option<Singles<'_>> {
        let HostSpace::Plan(BufferSpace::Arena) = space else {
            return self.singles(space, offset, count).map(Singles::of);
        };
        let start = self.arena.pointer(place(offset), count.checked_mul(SINGLE_BYTES)?)?.cast_const().cast::<f32>();
        start.is_aligned().then_some(Singles { start, length: count, memory: PhantomData })
    }

    /// Bytes from byte `offset` of a space on, where they lie; none if they do not lie inside of it, which is noted. They are
    /// borrowed while an rTask reads what it does not write.
    pub(super) fn bytes(&self, space: HostSpace, offset: i64, length: usize) -> Option<&[u8]> {
        let (bytes, offset) = match space {
            HostSpace::Plan(BufferSpace::Arena) => return self.arena.bytes_at(place(offset), length),
            HostSpace::Plan(BufferSpace::Weights) => (self.weights, offset),
            HostSpace::Staged(staged) => {
                let StagedValues { first, element, bytes } = &self.staged[staged];
                (bytes.as_slice(), offset - element.bytes() as i64 * first)
            }
        };
        let start = place(offset);
        let found = start.checked_add(length).and_then(|end| bytes.get(start..end));
        if found.is_none() {
            self.arena.leave();
        }
        found
    }

    /// Copies elements of `N` bytes out, from byte `offset` of a space on, `stride` bytes apart; zeros if one lies outside.
    #[expect(unsafe_code, reason = "others may write between the elements")]
    pub(super) fn strided<const N: usize>(&self, space: HostSpace, offset: i64, stride: i64, out: &mut [[u8; N]]) {
        let reach = (out.len().max(1) as i64 - 1) * stride;
        let low = reach.min(0);
        let Some(start) = self.start(space, offset + low, reach.unsigned_abs() as usize + N) else {
            return out.fill([0; N]);
        };
        // SAFETY: the places of all elements lie within the length whose bounds were checked. No thread writes them
        // while they are read (see the impl of Sync for the arena). Bytes between them are not touched.
        let element =
            |at: usize| unsafe { start.offset((at as i64 * stride - low) as isize).cast::<[u8; N]>().read_unaligned() };
        match stride {
            0 => out.fill(element(0)),
            _ => out.iter_mut().enumerate().for_each(|(at, out)| *out = element(at)),
        }
    }

    /// Copies elements of `N` bytes out, each from a place of so many times `size` behind a byte offset of a space, and at most `reach`
    /// times; zeros if one may lie outside.
    #[expect(unsafe_code, reason = "others may write between the elements")]
    pub(super) fn gathered<const N: usize>(
        &self,
        space: HostSpace,
        (offset, places, reach, size): (i64, &[i64], i64, i64),
        out: &mut [[u8; N]],
    ) {
        let Some(start) = self.start(space, offset, place(reach * size).saturating_add(N)) else {
            return out.fill([0; N]);
        };
        for (out, &at) in out.iter_mut().zip(places) {
            let at = if (0..=reach).contains(&at) { at } else { 0 };
            // SAFETY: the element lies within the bytes whose bounds were checked, which reach from the offset to behind the farthest
            // place. No thread writes it while it is read (see the impl of Sync for the arena). Bytes between elements are not touched.
            *out = unsafe { start.offset((at * size) as isize).cast::<[u8; N]>().read_unaligned() };
        }
    }

    /// A pointer to so many bytes of a space; none if they do not lie inside, which is noted.
    fn start(&self, space: HostSpace, offset: i64, length: usize) -> Option<*const u8> {
        match space {
            HostSpace::Plan(BufferSpace::Arena) => self.arena.pointer(place(offset), length).map(<*mut u8>::cast_const),
            HostSpace::Plan(BufferSpace::Weights) | HostSpace::Staged(_) => {
                self.bytes(space, offset, length).map(<[u8]>::as_ptr)
            }
        }
    }

    fn copy(&self, space: HostSpace, offset: i64, out: &mut [u8]) {
        match space {
            HostSpace::Plan(BufferSpace::Arena) => self.arena.read(place(offset), out),
            HostSpace::Plan(BufferSpace::Weights) => self.copy_from(self.weights, offset, out),
            HostSpace::Staged(staged) => {
                let StagedValues { first, element, bytes } = &self.staged[staged];
                self.copy_from(bytes, offset - element.bytes() as i64 * first, out);
            }
        }
    }

    fn copy_from(&self, bytes: &[u8], offset: i64, out: &mut [u8]) {
        let start = place(offset);
        match start.checked_add(out.len()).and_then(|end| bytes.get(start..end)) {
            Some(found) => out.copy_from_slice(found),
            None => {
                self.arena.leave();
                out.fill(0);
            }
        }
    }

    /// Stores singles from byte `offset` of the arena on, `stride` bytes apart.
    pub(super) fn store_singles(&self, offset: i64, stride: i64, values: &[f32]) {
        self.arena.write_apart(offset, stride, SINGLE_BYTES, bytemuck::cast_slice(values));
    }

    /// Stores bytes from byte `offset` of the arena on, `step` apart.
    pub(super) fn store_bytes(&self, offset: i64, step: i64, bytes: &[u8]) {
        self.arena.write_apart(offset, step, 1, bytes);
    }

    /// Stores elements of 16 bits from byte `offset` of the arena on, `step` elements apart.
    pub(super) fn store_codes(&self, offset: i64, step: i64, codes: &[u16]) {
        let size = size_of::<u16>();
        self.arena.write_apart(offset, step * size as i64, size, bytemuck::cast_slice(codes));
    }

    /// Stores elements from byte `offset` of the arena on, `stride` bytes apart.
    pub(super) fn store(&self, element: ElementType, offset: i64, stride: i64, lanes: &Lanes, count: usize) {
        let size = element.bytes();
        let contiguous = stride == size as i64;
        if let (Lanes::Float(values), ElementType::F32, true) = (lanes, element, contiguous) {
            return self.store_singles(offset, stride, &values[..count]);
        }
        let bytes = encode(element, lanes, count);
        for (lane, value) in bytes.chunks_exact(size).enumerate() {
            self.arena.write(place(offset + lane as i64 * stride), value);
        }
    }
}

/// The place of an offset; one that is negative lies outside of everything.
pub(super) fn place(offset: i64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn decode(element: ElementType, bytes: &[u8]) -> Lanes {
    let count = bytes.len() / element.bytes();
    let ty = warpweave_graph::TensorType::new(element, [count]);
    let tensor = Tensor::from_bytes(ty, bytes.to_vec().into()).expect("as many bytes as elements");
    if element == ElementType::F64 {
        let mut lanes = [0f64; LANES];
        lanes[..count].copy_from_slice(&tensor.to_f64());
        Lanes::Double(lanes)
    } else if element.is_float() {
        let mut lanes = [0f32; LANES];
        lanes[..count].copy_from_slice(&tensor.to_f32());
        Lanes::Float(lanes)
    } else {
        let mut lanes = [0i64; LANES];
        lanes[..count].copy_from_slice(&tensor.to_i64());
        Lanes::Integer(lanes)
    }
}

fn encode(element: ElementType, lanes: &Lanes, count: usize) -> Vec<u8> {
    let ty = warpweave_graph::TensorType::new(element, [count]);
    let tensor = match lanes {
        Lanes::Float(values) => {
            let values: Vec<f64> = values[..count].iter().map(|&value| f64::from(value)).collect();
            Tensor::from_f64(ty, &values)
        }
        Lanes::Double(values) => Tensor::from_f64(ty, &values[..count]),
        Lanes::Integer(values) => Tensor::from_i64(ty, &values[..count]),
    };
    tensor.bytes().to_vec()
}

/// Byte offset and space of element `first` of a buffer.
pub(super) fn address(buffer: Buffer, element: ElementType, first: i64) -> i64 {
    buffer.offset as i64 + first * element.bytes() as i64
}
