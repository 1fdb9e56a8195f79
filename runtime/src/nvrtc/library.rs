//! The C interface of NVRTC. All unsafe code of the compiler's binding is here.

#![expect(unsafe_code, reason = "calls into a C library")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr;

use libloading::os::unix;

use super::NvrtcError;
use crate::dynamic_library::{Handle, OpenError, Output, open_for_ever};
use crate::toolkit::builtins_of;

/// The functions used, as `nvrtc.h` declares them.
#[derive(Clone, Copy, Debug)]
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    cubin: Output,
    ptx: Output,
    log: Output,
}

/// The opened library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    functions: Functions,
}

impl Library {
    /// Opens the NVRTC at `path`. Its built-in functions are opened first: it looks for them by name alone, and finds what is
    /// already open.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        if let Some(builtins) = builtins_of(path) {
            open_for_ever(&builtins)?;
        }
        let library = open_for_ever(path)?;
        let functions = Functions::of(library).map_err(|error| OpenError::new(path, &error))?;
        Ok(Self { functions })
    }

    /// Major and minor version.
    pub fn version(&self) -> Result<(i32, i32), NvrtcError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        let code = unsafe { (self.functions.version)(&mut major, &mut minor) };
        self.functions.check("nvrtcVersion", code)?;
        Ok((major, minor))
    }

    /// A program of one source without headers.
    pub fn create(&self, source: &CStr) -> Result<Program, NvrtcError> {
        let mut handle = ptr::null_mut();
        let name = c"warpweave.cu";
        // SAFETY: `handle` is live, both texts end in zero, and no headers are announced.
        let code = unsafe {
            (self.functions.create)(&mut handle, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        self.functions.check("nvrtcCreateProgram", code)?;
        Ok(Program { functions: self.functions, handle })
    }
}

/// A program of NVRTC, destroyed at the end.
pub(super) struct Program {
    functions: Functions,
    handle: Handle,
}

impl Program {
    /// Compiles with `options`.
    pub fn compile(&self, options: &[CString]) -> Result<(), NvrtcError> {
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).expect("options are few");
        // SAFETY: the handle is live, and `pointers` holds `count` texts that end in zero.
        let code = unsafe { (self.functions.compile)(self.handle, count, pointers.as_ptr()) };
        self.functions.check("nvrtcCompileProgram", code)
    }

    /// The compiled code.
    pub fn cubin(&self) -> Result<Vec<u8>, NvrtcError> {
        self.output(self.functions.cubin)
    }

    /// The PTX, with its closing zero.
    pub fn ptx(&self) -> Result<Vec<u8>, NvrtcError> {
        self.output(self.functions.ptx)
    }

    /// The compiler's log.
    pub fn log(&self) -> Result<String, NvrtcError> {
        let bytes = self.output(self.functions.log)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned())
    }

    fn output(&self, output: Output) -> Result<Vec<u8>, NvrtcError> {
        // SAFETY: the handle is live, and the functions are of the library that it came from.
        let bytes = unsafe { output.read(self.handle) };
        bytes.map_err(|code| self.functions.error(output.name, code))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the handle came from `nvrtcCreateProgram` and is destroyed once.
        unsafe { (self.functions.destroy)(&mut self.handle) };
    }
}

impl Functions {
    fn of(library: &'static unix::Library) -> Result<Self, libloading::Error> {
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field that takes the symbol has the type of its declaration in nvrtc.h, and the library
                // is never closed.
                *unsafe { library.get($name.as_bytes()) }?
            };
        }
        Ok(Self {
            version: symbol!("nvrtcVersion"),
            error_string: symbol!("nvrtcGetErrorString"),
            create: symbol!("nvrtcCreateProgram"),
            destroy: symbol!("nvrtcDestroyProgram"),
            compile: symbol!("nvrtcCompileProgram"),
            cubin: Output { name: "nvrtcGetCUBIN", size: symbol!("nvrtcGetCUBINSize"), get: symbol!("nvrtcGetCUBIN") },
            ptx: Output { name: "nvrtcGetPTX", size: symbol!("nvrtcGetPTXSize"), get: symbol!("nvrtcGetPTX") },
            log: Output {
                name: "nvrtcGetProgramLog",
                size: symbol!("nvrtcGetProgramLogSize"),
                get: symbol!("nvrtcGetProgramLog"),
            },
        })
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), NvrtcError> {
        if code == 0 { Ok(()) } else { Err(self.error(function, code)) }
    }

    fn error(&self, function: &'static str, code: c_int) -> NvrtcError {
        // SAFETY: NVRTC returns a static text that ends in zero for every code.
        let message = unsafe { CStr::from_ptr((self.error_string)(code)) };
        NvrtcError::Call { function, code, message: message.to_string_lossy().into_owned() }
    }
}
