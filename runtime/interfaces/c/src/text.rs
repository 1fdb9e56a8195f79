//! Texts that cross the border.
#![expect(unsafe_code, reason = "reads texts of C")]

use std::ffi::{CStr, CString, c_char};

use crate::error::Failure;

/// The text at an address, which `what` names in messages.
///
/// # Safety
/// The address is null, or that of bytes that end with a zero and stay as they are.
pub(crate) unsafe fn read<'t>(what: &'static str, text: *const c_char) -> Result<&'t str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format!("{what} is null"), "give a text"));
    }
    // SAFETY: by this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map_err(|_| Failure::argument(format!("{what} is no UTF-8"), "give UTF-8"))
}

/// A text for C; what stands behind a zero byte is left out.
pub(crate) fn owned(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
