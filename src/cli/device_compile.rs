//! The compiler of device text in a process of its own: its memory goes when it ends, and it can be stopped.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::target::Target;
use warpweave::{DeviceCompileError, DeviceCompiler, InProcess};

use super::error::CliError;
use super::{Passed, file_error};

/// Reads text from standard input and writes a cubin to standard output.
#[derive(Args)]
pub struct Arguments {
    /// The architecture
    target: Target,
}

const LIMIT: Duration = Duration::from_secs(300);

/// NVRTC in a child process.
pub struct ChildProcess {
    version: (u32, u32),
}

impl ChildProcess {
    /// The compiler whose version `nvrtc` has.
    pub fn new(nvrtc: &Nvrtc) -> Self {
        Self { version: InProcess(*nvrtc).version() }
    }
}

impl DeviceCompiler for ChildProcess {
    fn version(&self) -> (u32, u32) {
        self.version
    }

    fn compile(&self, source: &str, target: Target) -> Result<Vec<u8>, DeviceCompileError> {
        let failed = |log: String| DeviceCompileError::Process { target, log };
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["device-compile", &target.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(source.as_bytes())));
            let code = scope.spawn(move || read_all(stdout));
            let log = scope.spawn(move || read_all(stderr));
            let start = Instant::now();
            let status = loop {
                match child.try_wait().map_err(|error| failed(error.to_string()))? {
                    Some(status) => break Some(status),
                    None if start.elapsed() > LIMIT => break None,
                    None => thread::sleep(Duration::from_millis(2)),
                }
            };
            let Some(status) = status else {
                // Its pipes close with it, which ends the threads above.
                let _ = child.kill();
                let _ = child.wait();
                return Err(DeviceCompileError::TimeLimit { target, limit: LIMIT });
            };
            let joined = || failed("a thread of the exchange failed".to_owned());
            let (code, log) = (code.join().map_err(|_| joined())?, log.join().map_err(|_| joined())?);
            if status.success() {
                Ok(code)
            } else {
                Err(failed(format!("{status}: {}", String::from_utf8_lossy(&log).trim_end())))
            }
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
    let mut source = String::new();
    let stream = std::path::Path::new("standard input");
    std::io::stdin().read_to_string(&mut source).map_err(file_error("read", stream))?;
    let cubin = InProcess(Nvrtc::locate()?).compile(&source, arguments.target)?;
    let stream = std::path::Path::new("standard output");
    std::io::stdout().write_all(&cubin).map_err(file_error("write", stream))?;
    Ok(true)
}
