//! What `doctor` tells of CUDA's compiler tools: where each is, its version, and whether it works.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use warpweave::runtime::cubin::CubinInfo;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::linker::{LinkError, Linker};
use warpweave::runtime::nvrtc::{Nvrtc, UnitKind};
use warpweave::runtime::sass::disassembler;
use warpweave::runtime::target::Target;
use warpweave::runtime::toolkit::Surroundings;
use warpweave::runtime::toolkit::fetch::{self, Fetched};
use warpweave::{DeviceCompileError, DeviceCompiler, InProcess};

use crate::compiling::device_compile::ChildProcess;
use crate::error::CliError;

/// What is told of each tool.
pub struct DeviceTools {
    /// NVRTC, and for which targets it compiles a kernel.
    pub nvrtc: Value,
    /// nvJitLink, and whether it links what NVRTC compiles.
    pub linker: Value,
    /// The disassembler.
    pub nvdisasm: Value,
}

const TEST_KERNEL: &str = "extern \"C\" __global__ void k(float* a) { a[threadIdx.x] *= 2.0f; }\n";
const TEST_TARGETS: [Target; 2] = [Target::Sm80, Target::Sm90a];

const TEST_CALLER: &str = "extern \"C\" __device__ float twice(float);\n\
                           extern \"C\" __global__ void k(float* a) { a[threadIdx.x] = twice(a[threadIdx.x]); }\n";
const TEST_CALLEE: &str = "extern \"C\" __device__ float twice(float a) { return a + a; }\n";
const LINK_TARGET: Target = Target::Sm90a;

/// Downloads the tools, and says where to.
pub fn fetch(text: &mut String) -> Result<Value, CliError> {
    let nowhere = "there is no folder to fetch into: set HOME or XDG_CACHE_HOME";
    let folder = Surroundings::of_process().fetched().ok_or_else(|| CliError::Usage(nowhere.to_owned()))?;
    let (done, is_new) = match fetch::fetch(&folder, Path::new("python3"))? {
        Fetched::New => ("fetched into", true),
        Fetched::AlreadyThere => ("already in", false),
    };
    let _ = writeln!(text, "CUDA's tools: {done} {}", folder.display());
    Ok(json!({"folder": folder.display().to_string(), "new": is_new}))
}

/// Looks for the tools and tries them. Clears `passed` where one is there and does not work.
pub fn device_tools(text: &mut String, passed: &mut bool) -> DeviceTools {
    let found = Nvrtc::locate();
    let nvrtc = match &found {
        Ok(found) => nvrtc(found, text, passed),
        Err(error) => absent(error.to_string(), text),
    };
    let linker = match Linker::locate() {
        Ok(linker) => linked(linker, found.ok(), text, passed),
        Err(error @ LinkError::Absent(_)) => absent(error.to_string(), text),
        Err(error @ (LinkError::Open(_) | LinkError::Call { .. })) => {
            *passed = false;
            absent(error.to_string(), text)
        }
    };
    DeviceTools { nvrtc, linker, nvdisasm: nvdisasm(text, passed) }
}

/// `reason` names the tool.
fn absent(reason: String, text: &mut String) -> Value {
    let _ = writeln!(text, "{reason}");
    json!({"found": false, "version": null, "path": null, "reason": reason})
}

fn nvrtc(found: &Nvrtc, text: &mut String, passed: &mut bool) -> Value {
    let (major, minor) = InProcess(*found).version();
    let path = found.path().display().to_string();
    let _ = writeln!(text, "NVRTC: {major}.{minor}, {path}");
    let (mut compiled, mut first) = (Vec::new(), None);
    for target in TEST_TARGETS {
        let result =
            ChildProcess::new(found).compile(TEST_KERNEL, target, UnitKind::Whole).map_err(|error| error.to_string());
        let result = result.and_then(|cubin| CubinInfo::read(&cubin).map_err(|error| error.to_string()));
        let _ = match &result {
            Ok(_) => writeln!(text, "  compiles a test kernel for {target}"),
            Err(error) => writeln!(text, "  does not compile a test kernel for {target}: {error}"),
        };
        *passed &= result.is_ok();
        let reason = result.err();
        compiled.push(json!({"target": target.to_string(), "compiles": reason.is_none(), "reason": reason}));
        first = first.or(reason);
    }
    let version = format!("{major}.{minor}");
    json!({"found": true, "version": version, "path": path, "reason": first, "test_kernel": compiled})
}

/// Tries the linker on two units, where there is a compiler for them.
fn linked(linker: Linker, nvrtc: Option<Nvrtc>, text: &mut String, passed: &mut bool) -> Value {
    let (major, minor) = linker.version();
    let path = linker.path().display().to_string();
    let _ = writeln!(text, "nvJitLink: {major}.{minor}, {path}");
    let link = |nvrtc: &Nvrtc| -> Result<Vec<u8>, DeviceCompileError> {
        let compiler = ChildProcess::new(nvrtc);
        let compile = |unit| compiler.compile(unit, LINK_TARGET, UnitKind::Linked { registers: 255 });
        Ok(linker.link(&[compile(TEST_CALLER)?, compile(TEST_CALLEE)?], LINK_TARGET)?)
    };
    let reason = match nvrtc.as_ref().map(link) {
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some("not tried: there is no NVRTC to compile units".to_owned()),
    };
    let _ = match &reason {
        None => writeln!(text, "  links two test units for {LINK_TARGET}"),
        Some(reason) => writeln!(text, "  does not link two test units for {LINK_TARGET}: {reason}"),
    };
    *passed &= reason.is_none() || nvrtc.is_none();
    json!({"found": true, "version": format!("{major}.{minor}"), "path": path, "links": reason.is_none(), "reason": reason})
}

fn nvdisasm(text: &mut String, passed: &mut bool) -> Value {
    let path = match disassembler() {
        Ok(path) => path,
        Err(error) => return absent(error.to_string(), text),
    };
    let version = version_of(path);
    *passed &= version.is_ok();
    let told = version.as_ref().map_or_else(|reason| format!("does not run: {reason}"), Clone::clone);
    let _ = writeln!(text, "nvdisasm: {told}, {}", path.display());
    let (version, reason) = (version.as_ref().ok(), version.as_ref().err());
    json!({"found": true, "version": version, "path": path.display().to_string(), "reason": reason})
}

/// The version in `Cuda compilation tools, release 13.2, V13.2.78`.
fn version_of(program: &Path) -> Result<String, String> {
    let output = Command::new(program).arg("--version").output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = told.split_whitespace().find_map(|word| word.strip_prefix('V')).filter(|_| output.status.success());
    version.map(str::to_owned).ok_or_else(|| "it does not tell its version".to_owned())
}
