//! Signals that ask a process to end.

use std::fs;
use std::io;
use std::thread;

use nix::sys::signal::{SigSet, Signal};

/// A request to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// From the keyboard.
    Interrupt,
    /// From another process, or because the terminal has gone.
    End,
}

impl Request {
    fn of(signal: Signal) -> Self {
        match signal {
            Signal::SIGINT => Self::Interrupt,
            _ => Self::End,
        }
    }
}

const ASKED_BY: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Has every request handled in a thread of its own, with the exit code that is usual for its signal: 128 and its number.
/// Signals that the process was told to ignore, such as by `nohup`, stay ignored. To be called before the process has other
/// threads.
pub fn handle(mut handler: impl FnMut(Request, u8) + Send + 'static) -> io::Result<()> {
    let ignored = ignored(&fs::read_to_string("/proc/self/status")?);
    let signals: SigSet = ASKED_BY.into_iter().filter(|signal| ignored >> (*signal as u64 - 1) & 1 == 0).collect();
    if signals.iter().next().is_none() {
        return Ok(());
    }
    signals.thread_block()?;
    let wait = move || {
        while let Ok(signal) = signals.wait() {
            handler(Request::of(signal), 128 + signal as u8);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

/// The bits of the signals that a process ignores, from what the system tells of it.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        assert_eq!(ignored("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\nSigCgt:\t0"), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
