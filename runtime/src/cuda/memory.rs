//! What a session owns on a device, each freed when dropped: context, module, memory, stream, events.
//!
//! The context is current on the thread that made it. Before it is used on another, [`Context::enter`] makes it current there.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ops::Range;

use super::calls::{CodeImage, EventHandle, FunctionHandle, KernelLaunch, ModuleHandle, StreamHandle};
use super::driver::{Calls, Driver};
use super::error::CudaError;

/// A device's primary context.
pub(super) struct Context {
    calls: Calls,
    ordinal: u32,
}

impl Context {
    /// The context of device `ordinal`, current on this thread.
    pub(super) fn new(driver: &Driver, ordinal: u32) -> Result<Self, CudaError> {
        driver.check_ordinal(ordinal)?;
        let calls = driver.calls();
        calls.retain_context(ordinal)?;
        Ok(Self { calls, ordinal })
    }

    pub(super) fn calls(&self) -> Calls {
        self.calls
    }

    /// Makes it current on this thread.
    pub(super) fn enter(&self) -> Result<(), CudaError> {
        self.calls.enter_context(self.ordinal)
    }

    /// Bytes that are free on the device.
    pub(super) fn free_bytes(&self) -> Result<u64, CudaError> {
        self.calls.free_bytes()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.calls.release_context(self.ordinal);
    }
}

/// A device's primary context that stays while this lives, however many sessions come and go. Without it the last of
/// them takes the context down, and the next one builds it again.
pub struct ResidentContext {
    _context: Context,
}

impl ResidentContext {
    /// The context of device `ordinal`.
    pub fn new(ordinal: u32) -> Result<Self, CudaError> {
        Ok(Self { _context: Context::new(&Driver::open()?, ordinal)? })
    }
}

/// Loaded code.
pub(super) struct Module {
    calls: Calls,
    handle: ModuleHandle,
}

impl Module {
    pub(super) fn load(context: &Context, image: CodeImage<'_>) -> Result<Self, CudaError> {
        let calls = context.calls();
        Ok(Self { calls, handle: calls.load_module(image)? })
    }

    pub(super) fn function(&self, name: &str) -> Result<FunctionHandle, CudaError> {
        // SAFETY: the module is loaded.
        unsafe { self.calls.function(self.handle, name) }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module was loaded once, and sessions drop it after their last launch has ended.
        unsafe { self.calls.unload_module(self.handle) };
    }
}

/// Device memory.
pub(super) struct Buffer {
    calls: Calls,
    address: u64,
    bytes: usize,
}

impl Buffer {
    /// Zeroed memory of `bytes`; never empty, so that every address is a real one.
    pub(super) fn zeroed(context: &Context, bytes: usize) -> Result<Self, CudaError> {
        let (calls, bytes) = (context.calls(), bytes.max(1));
        let buffer = Self { calls, address: calls.allocate(bytes)?, bytes };
        buffer.zero()?;
        Ok(buffer)
    }

    /// Memory that holds `data`.
    pub(super) fn holding<T: bytemuck::Pod>(context: &Context, data: &[T]) -> Result<Self, CudaError> {
        let data: &[u8] = bytemuck::cast_slice(data);
        let buffer = Self::zeroed(context, data.len())?;
        buffer.write(0, data)?;
        Ok(buffer)
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn zero(&self) -> Result<(), CudaError> {
        self.fill(0..self.bytes, 0)
    }

    /// Sets bytes of it. The call may return before they are written; the legacy default stream keeps the order.
    pub(super) fn fill(&self, range: Range<usize>, byte: u8) -> Result<(), CudaError> {
        assert!(range.start <= range.end && range.end <= self.bytes, "what is filled stays inside its buffer");
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked to lie in this allocation.
        unsafe { self.calls.fill(self.address + range.start as u64, byte, range.len()) }
    }

    /// Copies bytes of it to another place in it; the two do not overlap. The call may return before they are there; the legacy
    /// default stream keeps the order.
    pub(super) fn copy(&self, from: Range<usize>, to: usize) -> Result<(), CudaError> {
        let end = to.checked_add(from.len()).filter(|end| *end <= self.bytes && from.end <= self.bytes);
        let apart = end.is_some_and(|end| end <= from.start || from.end <= to);
        assert!(from.start <= from.end && apart, "a copy stays inside its buffer, and its ends do not overlap");
        if from.is_empty() {
            return Ok(());
        }
        let [to, source] = [to, from.start].map(|place| self.address + place as u64);
        // SAFETY: both ranges were checked to lie in this allocation, apart from one another.
        unsafe { self.calls.copy(source, to, from.len()) }
    }

    pub(super) fn write(&self, offset: usize, data: &[u8]) -> Result<(), CudaError> {
        assert!(offset.checked_add(data.len()).is_some_and(|end| end <= self.bytes), "a copy stays inside its buffer");
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked to lie in this allocation.
        unsafe { self.calls.write(self.address + offset as u64, data) }
    }

    pub(super) fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), CudaError> {
        assert!(offset.checked_add(out.len()).is_some_and(|end| end <= self.bytes), "a copy stays inside its buffer");
        if out.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked to lie in this allocation.
        unsafe { self.calls.read(self.address + offset as u64, out) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated once, and sessions drop it after their last launch has ended.
        unsafe { self.calls.free(self.address) };
    }
}

/// An order of work on a device.
pub(super) struct Stream {
    calls: Calls,
    handle: StreamHandle,
}

impl Stream {
    pub(super) fn new(context: &Context) -> Result<Self, CudaError> {
        let calls = context.calls();
        Ok(Self { calls, handle: calls.create_stream()? })
    }

    pub(super) fn handle(&self) -> StreamHandle {
        self.handle
    }

    /// Puts a launch into it.
    ///
    /// # Safety
    ///
    /// The function is of a live module and takes these arguments, and their addresses are of live allocations of the
    /// sizes that its plan or probe asks for, which nothing touches until the launch has ended.
    pub(super) unsafe fn launch(&self, launch: &KernelLaunch<'_>) -> Result<(), CudaError> {
        // SAFETY: the stream is live; the rest is the caller's.
        unsafe { self.calls.launch(launch, self.handle) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream was created once.
        unsafe { self.calls.destroy_stream(self.handle) };
    }
}

/// A point in a stream, with its time.
pub(super) struct Event {
    calls: Calls,
    handle: EventHandle,
}

impl Event {
    pub(super) fn new(context: &Context) -> Result<Self, CudaError> {
        let calls = context.calls();
        Ok(Self { calls, handle: calls.create_event()? })
    }

    pub(super) fn handle(&self) -> EventHandle {
        self.handle
    }

    pub(super) fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        // SAFETY: event and stream are live and of the same context.
        unsafe { self.calls.record(self.handle, stream.handle) }
    }

    /// Whether everything before it has ended.
    pub(super) fn has_passed(&self) -> Result<bool, CudaError> {
        // SAFETY: the event is live.
        unsafe { self.calls.has_passed(self.handle) }
    }

    /// Milliseconds since `earlier`; both have passed.
    pub(super) fn milliseconds_since(&self, earlier: &Self) -> Result<f32, CudaError> {
        // SAFETY: both events are live and recorded.
        unsafe { self.calls.milliseconds(earlier.handle, self.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event was created once.
        unsafe { self.calls.destroy_event(self.handle) };
    }
}
