//! The commands for programs in C: `include/warpweave_commands.h`, which is generated from this crate, documents them.
#![warn(missing_docs)]
#![expect(unsafe_code, reason = "exported to C, and calls it")]

use std::ffi::{CStr, CString, OsString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use warpweave_cli::Captured;

/// What a command says.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// The name of a stage that begins.
    WwSaidStage = 0,
    /// A note or a warning.
    WwSaidNote = 1,
    /// The result, or the error, as JSON: what the program prints with `--json`. It comes last, and once.
    WwSaidResult = 2,
}

/// Takes what a command says, a text that is the caller's no longer when it returns. It is called on the thread that runs the command.
pub type SaidCallback = Option<unsafe extern "C" fn(kind: Said, text: *const c_char, user: *mut c_void)>;

/// Who listens.
#[derive(Clone, Copy)]
struct Listener {
    callback: SaidCallback,
    user: *mut c_void,
}

impl Listener {
    fn tell(self, kind: Said, text: &str) {
        let end = text.find('\0').unwrap_or(text.len());
        let text = CString::new(&text[..end]).unwrap_or_default();
        if let Some(callback) = self.callback {
            // SAFETY: `ww_command` demands a function that takes these.
            unsafe { callback(kind, text.as_ptr(), self.user) };
        }
    }
}

const INTERNAL: &str = r#"{"schema": "warpweave.error/1", "error": {"code": "internal", "culprits": [],
 "message": "a check inside of warpweave failed", "help": "report this as an error of warpweave"}}"#;
const NO_TEXT: &str = r#"{"schema": "warpweave.error/1", "error": {"code": "usage", "culprits": [],
 "message": "a word of the command is null or no UTF-8", "help": "give `count` texts of UTF-8 that end with a zero"}}"#;

/// Runs a command, such as `refit`, `old.weave`, `new.onnx`, `-o`, `new.weave`, and gives what the program would exit with: 0 is
/// success, and `warpweave --help` lists the others. Several threads may run commands at the same time.
///
/// # Safety
/// `words` are `count` texts that end with a zero, or null where there are none; `said` is null or may be called with `user`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_command(
    count: usize,
    words: *const *const c_char,
    said: SaidCallback,
    user: *mut c_void,
) -> i32 {
    const CHECK: i32 = 1;
    const USAGE: i32 = 2;
    let listener = Listener { callback: said, user };
    warpweave_cli::run_by(vec![OsString::from(PROGRAM)]);
    // SAFETY: by this function's contract.
    let Some(words) = (unsafe { read(count, words) }) else {
        listener.tell(Said::WwSaidResult, NO_TEXT);
        return USAGE;
    };
    let stage = Box::new(move |name: &str| listener.tell(Said::WwSaidStage, name));
    let Ok(captured) = catch_unwind(AssertUnwindSafe(|| warpweave_cli::capture(words, stage))) else {
        listener.tell(Said::WwSaidResult, INTERNAL);
        return CHECK;
    };
    let Captured { code, result, notes } = captured;
    notes.iter().for_each(|note| listener.tell(Said::WwSaidNote, note));
    listener.tell(Said::WwSaidResult, &result);
    i32::from(code)
}

/// Ends the search that began last, on whatever thread, with the best plan that it has found, and training with the step at hand. Gives 1, or
/// 0 if there is neither.
#[unsafe(no_mangle)]
pub extern "C" fn ww_command_end_early() -> i32 {
    i32::from(warpweave_cli::end_early())
}

/// Says where the program `warpweave` is. Commands start it for what they do in processes of their own, such as compiling for GPUs.
/// Called before the first command; without it, `warpweave` is looked up in `PATH`.
///
/// # Safety
/// `path` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_command_program(path: *const c_char) {
    // SAFETY: by this function's contract.
    let path = if path.is_null() { None } else { unsafe { CStr::from_ptr(path) }.to_str().ok() };
    warpweave_cli::run_by(vec![OsString::from(path.unwrap_or(PROGRAM))]);
}

const PROGRAM: &str = "warpweave";

/// The words of a command; none where one is no text.
///
/// # Safety
/// As `ww_command` has it of its words.
unsafe fn read(count: usize, words: *const *const c_char) -> Option<Vec<OsString>> {
    if words.is_null() {
        return (count == 0).then(Vec::new);
    }
    // SAFETY: by this function's contract.
    let words = unsafe { std::slice::from_raw_parts(words, count) };
    let text = |&word: &*const c_char| {
        // SAFETY: a word that is not null ends with a zero, by this function's contract.
        let text = (!word.is_null()).then(|| unsafe { CStr::from_ptr(word) })?;
        text.to_str().ok().map(OsString::from)
    };
    words.iter().map(text).collect()
}
