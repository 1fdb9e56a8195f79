//! Pools of threads.
#![expect(unsafe_code, reason = "exported to C")]

use std::sync::Arc;

use warpweave_runtime::host::ThreadPool;

use crate::error::{Failure, reported};
use crate::handle::{self, ErrorHandle, Named, PoolHandle};
use crate::tensor::put;

impl Named for ThreadPool {
    type Handle = PoolHandle;
    const WHAT: &'static str = "pool";
}

/// Threads that several sessions on the host share, `threads` with the one that calls; 0 stands for as many as the machine has
/// processors. Sessions of one pool run one after another.
///
/// # Safety
/// `pool` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_pool_open(threads: u32, pool: *mut *mut PoolHandle) -> *mut ErrorHandle {
    reported(|| {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some as usize,
        };
        let refused =
            |error| Failure::argument(format!("{threads} threads cannot be started: {error}"), "ask for fewer");
        let opened = Arc::new(ThreadPool::new(threads).map_err(refused)?);
        // SAFETY: by this function's contract.
        unsafe { put("pool", pool, || handle::insert(opened)) }
    })
}

/// Closes a pool. Its threads end when the last session that uses them is closed.
#[unsafe(no_mangle)]
pub extern "C" fn ww_pool_close(pool: *mut PoolHandle) -> *mut ErrorHandle {
    reported(|| handle::remove::<ThreadPool>(pool).map(drop))
}
