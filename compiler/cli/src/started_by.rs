//! The program that runs the commands, for what it does in processes of its own.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

static RUN_BY: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says by which command line this program is started, where that is not the executable of this process: a library in the process
/// of an interpreter, say. Only the first call counts.
pub fn run_by(command_line: Vec<OsString>) {
    // What was said first stays.
    let _ = RUN_BY.set(command_line);
}

/// A command that starts this program.
pub(crate) fn command() -> io::Result<Command> {
    match RUN_BY.get().and_then(|words| words.split_first()) {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments);
            Ok(command)
        }
        None => Ok(Command::new(executable()?)),
    }
}

/// The executable of this process. Where its file has been replaced or removed since, the system's link still leads to it.
fn executable() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let running = Path::new("/proc/self/exe");
    Ok(if !path.exists() && running.exists() { running.to_owned() } else { path })
}
