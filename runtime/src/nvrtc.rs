//! NVRTC, opened at run time: CUDA text to cubins and PTX, with no GPU and no CUDA installation.

mod library;

use std::ffi::CString;
use std::path::{Path, PathBuf};

use warpweave_codegen::prelude::DEVICE_OPTIONS;

use crate::cache::{Cache, CacheKey};
use crate::dynamic_library::OpenError;
use crate::target::Target;
use crate::toolkit::{Toolkit, list};
use library::{Library, Program};

/// A failure to find NVRTC or to compile with it.
#[derive(Debug, thiserror::Error)]
pub enum NvrtcError {
    /// No folder holds the library.
    #[error(
        "NVRTC not found in {}: run warpweave doctor --fetch-cuda, or name a folder that holds it in WARPWEAVE_CUDA_DIR",
        list(searched)
    )]
    NotFound {
        /// The folders searched.
        searched: Vec<PathBuf>,
    },
    /// The library is there but cannot be opened, or is no NVRTC.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The library refuses a call.
    #[error("{function} failed with code {code}: {message}")]
    Call {
        /// The function.
        function: &'static str,
        /// NVRTC's code.
        code: i32,
        /// NVRTC's name for it.
        message: String,
    },
    /// The text does not compile.
    #[error("NVRTC rejects the text for {target}:\n{log}")]
    Compile {
        /// The target.
        target: Target,
        /// NVRTC's log.
        log: String,
    },
    /// The text is not plain ASCII, so it is none that the printer wrote.
    #[error("the text holds a byte that is not printable ASCII, at byte {position}")]
    NotAscii {
        /// Where.
        position: usize,
    },
    /// The cache cannot be read or written.
    #[error("cannot use the compile cache: {0}")]
    Cache(#[from] std::io::Error),
}

/// Device code for one target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// An ELF file.
    pub bytes: Vec<u8>,
    /// What the compiler said; empty if the code came from a cache.
    pub log: String,
}

/// What a translation unit is compiled as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitKind {
    /// A whole program.
    Whole,
    /// A part that [`crate::linker::Linker`] joins with others.
    Linked {
        /// What a thread of it may use at most.
        registers: u32,
    },
}

/// NVRTC, found and opened. It stays open until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Nvrtc {
    library: Library,
    version: (i32, i32),
    path: &'static Path,
}

impl Nvrtc {
    /// Opens the NVRTC of this process's [`Toolkit`].
    pub fn locate() -> Result<Self, NvrtcError> {
        Self::of(Toolkit::of_process())
    }

    /// Opens the NVRTC of `toolkit`.
    pub fn of(toolkit: &Toolkit) -> Result<Self, NvrtcError> {
        match &toolkit.nvrtc {
            Some(path) => Self::open(path),
            None => Err(NvrtcError::NotFound { searched: toolkit.searched.clone() }),
        }
    }

    /// Opens the NVRTC at `path`.
    pub fn open(path: &Path) -> Result<Self, NvrtcError> {
        let library = Library::open(path)?;
        let version = library.version()?;
        Ok(Self { library, version, path: Box::leak(path.into()) })
    }

    /// The library's file.
    pub fn path(&self) -> &'static Path {
        self.path
    }

    /// Major and minor version.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles a whole program for `target`, without include folders.
    pub fn compile(&self, source: &str, target: Target) -> Result<Cubin, NvrtcError> {
        self.compile_unit(source, target, UnitKind::Whole, &[])
    }

    /// Compiles a translation unit with further options, such as definitions.
    pub fn compile_unit(
        &self,
        source: &str,
        target: Target,
        kind: UnitKind,
        options: &[&str],
    ) -> Result<Cubin, NvrtcError> {
        let kind = match kind {
            UnitKind::Whole => vec![],
            UnitKind::Linked { registers } => {
                vec!["--relocatable-device-code=true".to_owned(), format!("--maxrregcount={registers}")]
            }
        };
        let options: Vec<&str> = options.iter().copied().chain(kind.iter().map(String::as_str)).collect();
        let (program, log) = self.build(source, target, &format!("--gpu-architecture={target}"), &options)?;
        Ok(Cubin { bytes: program.cubin()?, log })
    }

    /// [`Self::compile`], taking the code from `cache` or leaving it there.
    pub fn compile_cached(&self, source: &str, target: Target, cache: &Cache) -> Result<Cubin, NvrtcError> {
        let compiler = format!("nvrtc {}.{} {target}", self.version.0, self.version.1);
        let parts = [source, compiler.as_str()].into_iter().chain(DEVICE_OPTIONS);
        let key = CacheKey::new(parts.map(str::as_bytes));
        if let Some(bytes) = cache.read(key)? {
            return Ok(Cubin { bytes, log: String::new() });
        }
        let cubin = self.compile(source, target)?;
        cache.write(key, &cubin.bytes)?;
        Ok(cubin)
    }

    /// Compiles a whole translation unit to PTX for the virtual architecture of `target`.
    pub fn compile_to_ptx(&self, source: &str, target: Target) -> Result<String, NvrtcError> {
        let architecture = format!("--gpu-architecture={}", target.virtual_name());
        let (program, _) = self.build(source, target, &architecture, &[])?;
        Ok(String::from_utf8_lossy(&program.ptx()?).trim_end_matches('\0').to_owned())
    }

    fn build(
        &self,
        source: &str,
        target: Target,
        architecture: &str,
        options: &[&str],
    ) -> Result<(Program, String), NvrtcError> {
        let plain = |byte: u8| byte == b'\n' || (b' '..=b'~').contains(&byte);
        if let Some(position) = source.bytes().position(|byte| !plain(byte)) {
            return Err(NvrtcError::NotAscii { position });
        }
        let text = |text: &str| CString::new(text).expect("options and checked sources hold no zero byte");
        let program = self.library.create(&text(source))?;
        let options: Vec<CString> =
            DEVICE_OPTIONS.iter().chain(options).chain([&architecture]).map(|option| text(option)).collect();
        let result = program.compile(&options);
        let log = program.log()?;
        match result {
            Ok(()) => Ok((program, log)),
            Err(NvrtcError::Call { .. }) if !log.trim().is_empty() => Err(NvrtcError::Compile { target, log }),
            Err(error) => Err(error),
        }
    }
}
