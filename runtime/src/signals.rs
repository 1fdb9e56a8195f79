//! Signals that ask a process to end.

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
/// To be called before the process has other threads.
pub fn handle(mut handler: impl FnMut(Request, u8) + Send + 'static) -> io::Result<()> {
    let signals: SigSet = ASKED_BY.into_iter().collect();
    signals.thread_block()?;
    let wait = move || {
        while let Ok(signal) = signals.wait() {
            handler(Request::of(signal), 128 + signal as u8);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}
