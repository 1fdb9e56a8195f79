//! The compiler of device text in a process of its own: its memory goes when it ends, and it can be stopped.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rlimit::Resource;
use warpweave::runtime::nvrtc::{Nvrtc, UnitKind};
use warpweave::runtime::target::Target;
use warpweave::runtime::unfinished::{Worker, end_with_parent};
use warpweave::{DeviceCompileError, DeviceCompiler, InProcess};

use crate::error::{CliError, Passed, file_error};
use crate::started_by;

/// Reads text from standard input and writes a cubin to standard output.
#[derive(Args)]
pub struct Arguments {
    /// The architecture
    target: Target,
    /// NVRTC's library
    #[arg(long)]
    nvrtc: PathBuf,
    /// The memory that it may use for compiling, in MiB
    #[arg(long, default_value_t = COMPILER_MEBIBYTES)]
    memory: u64,
    /// A unit to be linked, whose threads use at most so many registers; a whole program without
    #[arg(long)]
    linked_registers: Option<u32>,
}

/// The default limit of NVRTC's memory, in MiB above what its process uses once it has started.
pub const COMPILER_MEBIBYTES: u64 = 4096;

const LIMIT: Duration = Duration::from_secs(300);

/// NVRTC in a child process.
pub struct ChildProcess {
    nvrtc: Nvrtc,
    mebibytes: u64,
}

impl ChildProcess {
    /// The compiler that opens the library of `nvrtc`.
    pub fn new(nvrtc: &Nvrtc) -> Self {
        Self { nvrtc: *nvrtc, mebibytes: COMPILER_MEBIBYTES }
    }

    /// The same with this much memory.
    pub fn with_memory(self, mebibytes: u64) -> Self {
        Self { mebibytes, ..self }
    }

    /// Why the process failed. NVRTC and its parts say in words alone that memory has run out.
    fn failure(&self, target: Target, status: ExitStatus, log: &str) -> DeviceCompileError {
        let (words, mebibytes) = (log.to_lowercase(), self.mebibytes);
        let is_short =
            ["out of memory", "memory allocation", "catastrophic error"].iter().any(|sign| words.contains(sign));
        match status.signal() {
            _ if is_short => DeviceCompileError::MemoryLimit { target, mebibytes },
            Some(signal) => DeviceCompileError::Crash { target, signal, mebibytes },
            None => DeviceCompileError::Process { target, log: format!("{status}: {}", log.trim_end()) },
        }
    }
}

impl DeviceCompiler for ChildProcess {
    fn version(&self) -> (u32, u32) {
        InProcess(self.nvrtc).version()
    }

    fn compile(&self, source: &str, target: Target, kind: UnitKind) -> Result<Vec<u8>, DeviceCompileError> {
        let failed = |log: String| DeviceCompileError::Process { target, log };
        let cannot_start = |error: io::Error| failed(format!("cannot start warpweave device-compile: {error}"));
        let mut command = started_by::command().map_err(cannot_start)?;
        command.args(["device-compile", &target.to_string(), "--memory", &self.mebibytes.to_string(), "--nvrtc"]);
        command.arg(self.nvrtc.path());
        if let UnitKind::Linked { registers } = kind {
            command.args(["--linked-registers", &registers.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut worker = Worker::spawn(&mut command).map_err(cannot_start)?;
        let (stdin, stdout, stderr) = worker.pipes();
        thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(source.as_bytes())));
            let code = scope.spawn(move || read_all(stdout));
            let log = scope.spawn(move || read_all(stderr));
            let start = Instant::now();
            let status = loop {
                match worker.try_wait().map_err(|error| failed(error.to_string()))? {
                    Some(status) => break Some(status),
                    None if start.elapsed() > LIMIT => break None,
                    None => thread::sleep(Duration::from_millis(2)),
                }
            };
            let Some(status) = status else {
                // Its pipes close with it, which ends the threads above.
                drop(worker);
                return Err(DeviceCompileError::TimeLimit { target, limit: LIMIT });
            };
            let joined = || failed("a thread of the exchange failed".to_owned());
            let (code, log) = (code.join().map_err(|_| joined())?, log.join().map_err(|_| joined())?);
            if status.success() { Ok(code) } else { Err(self.failure(target, status, &String::from_utf8_lossy(&log))) }
        })
    }
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A pipe that breaks shows as a child that failed.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// The child's side.
pub fn execute(arguments: &Arguments) -> Result<Passed, CliError> {
    // Where the system refuses, the pipes of a parent that has been killed end the process a little later.
    let _ = end_with_parent();
    let mut source = String::new();
    let stream = std::path::Path::new("standard input");
    io::stdin().read_to_string(&mut source).map_err(file_error("read", stream))?;
    let nvrtc = Nvrtc::open(&arguments.nvrtc)?;
    limit_memory(arguments.memory).map_err(DeviceCompileError::Unlimited)?;
    let kind = arguments.linked_registers.map_or(UnitKind::Whole, |registers| UnitKind::Linked { registers });
    let cubin = InProcess(nvrtc).compile(&source, arguments.target, kind)?;
    let stream = std::path::Path::new("standard output");
    // An interpreter in whose process this is ends without Rust's flush.
    let mut output = io::stdout();
    output.write_all(&cubin).and_then(|()| output.flush()).map_err(file_error("write", stream))?;
    Ok(true)
}

/// Lets this process take so many MiB of address space beyond what it has now.
fn limit_memory(mebibytes: u64) -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix("kB"));
    let kibibytes: Option<u64> = size.and_then(|size| size.trim().parse().ok());
    let now = kibibytes.ok_or_else(|| io::Error::other("/proc/self/status does not tell the size"))?;
    let (_, most) = Resource::AS.get()?;
    let bytes = now.saturating_add(mebibytes.saturating_mul(1024)).saturating_mul(1024);
    Resource::AS.set(bytes.min(most), most)
}
