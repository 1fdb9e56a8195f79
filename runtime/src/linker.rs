//! nvJitLink, opened at run time: relocatable cubins to one that loads.

#![expect(unsafe_code, reason = "calls into a C library")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::os::unix;

use crate::dynamic_library::{Handle, OpenError, Output, open_for_ever};
use crate::target::Target;
use crate::toolkit::{NoLinker, Toolkit};

/// A failure to find nvJitLink or to link with it.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// There is no library that goes with NVRTC.
    #[error(transparent)]
    Absent(#[from] NoLinker),
    /// The library is there but cannot be opened, or is no nvJitLink.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The library refuses a call.
    #[error("{function} failed with code {code}: {log}")]
    Call {
        /// The function.
        function: &'static str,
        /// nvJitLink's code.
        code: i32,
        /// What it says, if it says anything.
        log: String,
    },
}

/// nvJitLink, found and opened. It stays open until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Linker {
    functions: Functions,
    version: (u32, u32),
    path: &'static Path,
}

/// The functions used, as `nvJitLink.h` declares them.
#[derive(Clone, Copy, Debug)]
struct Functions {
    version: unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int,
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int,
    complete: unsafe extern "C" fn(Handle) -> c_int,
    cubin: Output,
    log: Output,
}

/// `NVJITLINK_INPUT_CUBIN`.
const INPUT_CUBIN: c_int = 1;

impl Linker {
    /// Opens the nvJitLink of this process's [`Toolkit`].
    pub fn locate() -> Result<Self, LinkError> {
        Self::of(Toolkit::of_process())
    }

    /// Opens the nvJitLink of `toolkit`.
    pub fn of(toolkit: &Toolkit) -> Result<Self, LinkError> {
        Self::open(toolkit.linker.as_ref().map_err(Clone::clone)?)
    }

    fn open(path: &Path) -> Result<Self, LinkError> {
        let functions = Functions::of(open_for_ever(path)?).map_err(|error| OpenError::new(path, &error))?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        let code = unsafe { (functions.version)(&mut major, &mut minor) };
        if code != 0 {
            return Err(LinkError::Call { function: "nvJitLinkVersion", code, log: String::new() });
        }
        Ok(Self { functions, version: (major, minor), path: Box::leak(path.into()) })
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The library's file.
    pub fn path(&self) -> &'static Path {
        self.path
    }

    /// One cubin of `units`, relocatable cubins for `target`. Equal units in equal order give equal bytes.
    pub fn link(&self, units: &[Vec<u8>], target: Target) -> Result<Vec<u8>, LinkError> {
        let link = Link::new(self.functions, target)?;
        for (index, unit) in units.iter().enumerate() {
            link.add(unit, &format!("unit{index}"))?;
        }
        link.complete()?;
        link.output(self.functions.cubin)
    }
}

/// A link in progress, destroyed at the end.
struct Link {
    functions: Functions,
    handle: Handle,
}

impl Link {
    fn new(functions: Functions, target: Target) -> Result<Self, LinkError> {
        let architecture = text(&format!("-arch={target}"));
        let options = [architecture.as_ptr()];
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is live, and `options` holds one text that ends in zero.
        let code = unsafe { (functions.create)(&mut handle, 1, options.as_ptr()) };
        if code != 0 {
            return Err(LinkError::Call { function: "nvJitLinkCreate", code, log: String::new() });
        }
        Ok(Self { functions, handle })
    }

    fn add(&self, unit: &[u8], name: &str) -> Result<(), LinkError> {
        let name = text(name);
        let data = unit.as_ptr().cast();
        // SAFETY: the handle is live, `data` points to as many bytes as `unit` has, and the name ends in zero.
        let code = unsafe { (self.functions.add)(self.handle, INPUT_CUBIN, data, unit.len(), name.as_ptr()) };
        self.check("nvJitLinkAddData", code)
    }

    fn complete(&self) -> Result<(), LinkError> {
        // SAFETY: the handle is live.
        let code = unsafe { (self.functions.complete)(self.handle) };
        self.check("nvJitLinkComplete", code)
    }

    fn output(&self, output: Output) -> Result<Vec<u8>, LinkError> {
        // SAFETY: the handle is live, and the functions are of the library that it came from.
        unsafe { output.read(self.handle) }.map_err(|code| self.error(output.name, code))
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), LinkError> {
        if code == 0 { Ok(()) } else { Err(self.error(function, code)) }
    }

    fn error(&self, function: &'static str, code: c_int) -> LinkError {
        // SAFETY: the handle is live, and the functions are of the library that it came from.
        let log = unsafe { self.functions.log.read(self.handle) }.unwrap_or_default();
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned();
        LinkError::Call { function, code, log }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: the handle came from `nvJitLinkCreate` and is destroyed once.
        unsafe { (self.functions.destroy)(&mut self.handle) };
    }
}

impl Functions {
    fn of(library: &'static unix::Library) -> Result<Self, libloading::Error> {
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the field that takes the symbol has the type of its declaration in nvJitLink.h, and the
                // library is never closed.
                *unsafe { library.get($name.as_bytes()) }?
            };
        }
        Ok(Self {
            version: symbol!("nvJitLinkVersion"),
            create: symbol!("nvJitLinkCreate"),
            destroy: symbol!("nvJitLinkDestroy"),
            add: symbol!("nvJitLinkAddData"),
            complete: symbol!("nvJitLinkComplete"),
            cubin: Output {
                name: "nvJitLinkGetLinkedCubin",
                size: symbol!("nvJitLinkGetLinkedCubinSize"),
                get: symbol!("nvJitLinkGetLinkedCubin"),
            },
            log: Output {
                name: "nvJitLinkGetErrorLog",
                size: symbol!("nvJitLinkGetErrorLogSize"),
                get: symbol!("nvJitLinkGetErrorLog"),
            },
        })
    }
}

fn text(text: &str) -> CString {
    CString::new(text).expect("names and targets hold no zero byte")
}
