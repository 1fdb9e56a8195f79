//! Handles, each a position in a list.

use std::ffi::c_void;
use std::ptr;

/// The handle of a position.
pub(super) fn pointer(slot: usize) -> *mut c_void {
    ptr::without_provenance_mut(slot + 1)
}

/// The position of a handle.
pub(super) fn slot(pointer: *mut c_void) -> usize {
    pointer.addr() - 1
}
