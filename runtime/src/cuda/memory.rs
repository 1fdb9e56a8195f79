//! What a session owns on a device, each freed when dropped: context, module, memory, stream, events.
//!
//! All of it stays on the thread that made it: the raw handles inside are not `Send`, so the context that was made
//! current there stays current for every call.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use std::ffi::CString;
use std::marker::PhantomData;
use std::ops::Range;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};

use super::driver::{Driver, check};
use super::error::CudaError;

/// A device's primary context, current on this thread.
pub(super) struct Context {
    device: sys::CUdevice,
    _stays_on_its_thread: PhantomData<*mut ()>,
}

impl Context {
    pub(super) fn new(device: sys::CUdevice) -> Result<Self, CudaError> {
        // SAFETY: the handle came from `cuDeviceGet`.
        let context = check("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        let owner = Self { device, _stays_on_its_thread: PhantomData };
        // SAFETY: the context was retained above and is released when `owner` is dropped.
        check("cuCtxSetCurrent", unsafe { result::ctx::set_current(context) })?;
        Ok(owner)
    }

    /// Bytes that are free on the device.
    pub(super) fn free_bytes(&self) -> Result<u64, CudaError> {
        Ok(check("cuMemGetInfo", result::mem_get_info())?.0 as u64)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was retained once. A failure leaves it to the end of the process.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A device's primary context that stays while this lives, however many sessions come and go. Without it the last of
/// them takes the context down, and the next one builds it anew.
pub struct ResidentContext {
    _context: Context,
}

impl ResidentContext {
    /// The context of device `ordinal`.
    pub fn new(ordinal: u32) -> Result<Self, CudaError> {
        let device = Driver::open()?.handle(ordinal)?;
        Ok(Self { _context: Context::new(device)? })
    }
}

/// Loaded code.
pub(super) struct Module(sys::CUmodule);

impl Module {
    /// Loads a cubin, which has been read as one.
    pub(super) fn load(cubin: &[u8]) -> Result<Self, CudaError> {
        // SAFETY: the driver copies the image, whose length its own headers tell; `CubinInfo` has checked that they lie
        // inside the slice.
        check("cuModuleLoadData", unsafe { result::module::load_data(cubin.as_ptr().cast()) }).map(Self)
    }

    pub(super) fn function(&self, name: &str) -> Result<sys::CUfunction, CudaError> {
        let name = CString::new(name).expect("entry names are fixed words");
        // SAFETY: the module is loaded.
        check("cuModuleGetFunction", unsafe { result::module::get_function(self.0, name) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module was loaded once, and sessions drop it after their last launch has ended.
        let _ = unsafe { result::module::unload(self.0) };
    }
}

/// Device memory.
pub(super) struct Buffer {
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Buffer {
    /// Zeroed memory of `bytes`; never empty, so that every address is a real one.
    pub(super) fn zeroed(bytes: usize) -> Result<Self, CudaError> {
        let bytes = bytes.max(1);
        // SAFETY: the memory is filled below before anything reads it.
        let address = check("cuMemAlloc", unsafe { result::malloc_sync(bytes) })?;
        let buffer = Self { address, bytes };
        buffer.zero()?;
        Ok(buffer)
    }

    /// Memory that holds `data`.
    pub(super) fn holding<T: bytemuck::Pod>(data: &[T]) -> Result<Self, CudaError> {
        let data: &[u8] = bytemuck::cast_slice(data);
        let buffer = Self::zeroed(data.len())?;
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
        let filled = unsafe { result::memset_d8_sync(self.address + range.start as u64, byte, range.len()) };
        check("cuMemsetD8", filled)
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
        check("cuMemcpyDtoD", unsafe { result::memcpy_dtod_sync(to, source, from.len()) })
    }

    pub(super) fn write(&self, offset: usize, data: &[u8]) -> Result<(), CudaError> {
        assert!(offset.checked_add(data.len()).is_some_and(|end| end <= self.bytes), "a copy stays inside its buffer");
        if data.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked to lie in this allocation, and the call returns after `data` was read.
        check("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(self.address + offset as u64, data) })
    }

    pub(super) fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), CudaError> {
        assert!(offset.checked_add(out.len()).is_some_and(|end| end <= self.bytes), "a copy stays inside its buffer");
        if out.is_empty() {
            return Ok(());
        }
        // SAFETY: the range was checked to lie in this allocation, and any bytes are valid bytes.
        check("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(out, self.address + offset as u64) })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated once, and sessions drop it after their last launch has ended.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// An order of work on a device.
pub(super) struct Stream(sys::CUstream);

impl Stream {
    pub(super) fn new() -> Result<Self, CudaError> {
        // Synchronous copies return while the last part is still on its way, in the order of the legacy default stream.
        // Only a stream that keeps that order starts a launch after its inputs have arrived.
        check("cuStreamCreate", result::stream::create(result::stream::StreamKind::Default)).map(Self)
    }

    pub(super) fn handle(&self) -> sys::CUstream {
        self.0
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream was created once.
        let _ = unsafe { result::stream::destroy(self.0) };
    }
}

/// A point in a stream, with its time.
pub(super) struct Event(sys::CUevent);

impl Event {
    pub(super) fn new() -> Result<Self, CudaError> {
        check("cuEventCreate", result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)).map(Self)
    }

    pub(super) fn handle(&self) -> sys::CUevent {
        self.0
    }

    pub(super) fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        // SAFETY: event and stream are live and of the same context.
        check("cuEventRecord", unsafe { result::event::record(self.0, stream.0) })
    }

    /// Whether everything before it has ended.
    pub(super) fn has_passed(&self) -> Result<bool, CudaError> {
        // SAFETY: the event is live.
        match unsafe { result::event::query(self.0) } {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => check("cuEventQuery", Err(error)),
        }
    }

    /// Milliseconds since `earlier`; both have passed.
    pub(super) fn milliseconds_since(&self, earlier: &Self) -> Result<f32, CudaError> {
        // SAFETY: both events are live and recorded.
        check("cuEventElapsedTime", unsafe { result::event::elapsed(earlier.0, self.0) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event was created once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}
