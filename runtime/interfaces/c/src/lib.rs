//! The C interface of the runtime: `include/warpweave.h`, which is generated from this crate, documents it.
#![warn(missing_docs)]

mod binding;
mod bundle;
mod device;
mod error;
mod handle;
mod log;
mod pool;
mod port;
mod session;
mod state;
mod tensor;
mod text;

/// Major and minor version of the interface, as `major * 1000 + minor`.
const VERSION: u32 = 1000;

/// The version of this interface that the library has, as `1000 * WW_VERSION_MAJOR + WW_VERSION_MINOR`.
#[expect(unsafe_code, reason = "exported to C")]
#[unsafe(no_mangle)]
pub extern "C" fn ww_version() -> u32 {
    VERSION
}

/// The version of warpweave, such as `0.1.0`. It lives as long as the library.
#[expect(unsafe_code, reason = "exported to C")]
#[unsafe(no_mangle)]
pub extern "C" fn ww_version_text() -> *const std::ffi::c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
