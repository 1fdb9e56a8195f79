//! Libraries of CUDA that are found and opened at run time.

#![expect(unsafe_code, reason = "opening a library runs its initialisers, and its functions are foreign")]

use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix;

/// A library that cannot be opened, or lacks a function.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {}: {reason}; install it again, with warpweave doctor --fetch-cuda or otherwise", path.display())]
pub struct OpenError {
    /// The library.
    pub path: PathBuf,
    /// What the loader said.
    pub reason: String,
}

impl OpenError {
    pub(crate) fn new(path: &Path, error: &libloading::Error) -> Self {
        Self { path: path.to_owned(), reason: error.to_string() }
    }
}

/// What a library's functions are given to say which of its objects is meant.
pub(crate) type Handle = *mut c_void;

/// A pair of functions that return a buffer: its size, its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) name: &'static str,
    pub(crate) size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    pub(crate) get: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
}

impl Output {
    /// The buffer of the object behind `handle`, or the library's code for why there is none.
    ///
    /// # Safety
    /// `handle` is a live one of the library that the functions come from.
    pub(crate) unsafe fn read(self, handle: Handle) -> Result<Vec<u8>, c_int> {
        let succeed = |code: c_int| if code == 0 { Ok(()) } else { Err(code) };
        let mut size = 0;
        // SAFETY: the handle is live, as the caller promises, and `size` is a live integer.
        succeed(unsafe { (self.size)(handle, &mut size) })?;
        let mut bytes = vec![0; size];
        // SAFETY: the handle is live and the buffer holds as many bytes as the library asked for.
        succeed(unsafe { (self.get)(handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

/// The library at `path`, which stays open until the process ends.
pub(crate) fn open_for_ever(path: &Path) -> Result<&'static unix::Library, OpenError> {
    // SAFETY: the initialisers of CUDA's compiler libraries have no preconditions; the file is the one that the user or
    // the system installed under this name.
    let library = unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_LOCAL) };
    Ok(Box::leak(Box::new(library.map_err(|error| OpenError::new(path, &error))?)))
}
