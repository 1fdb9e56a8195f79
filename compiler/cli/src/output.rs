//! What a command says, and where.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use warpweave::runtime::json::{self, Value, json};
use warpweave::runtime::new_file;

use super::diagnostic::Diagnostic;
use super::error::{CliError, file_error};
use super::interrupt;

/// How much is said beside results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// Warnings and errors.
    Quiet,
    /// Notes, too, and a bar on a terminal.
    #[default]
    Usual,
    /// The stages, too, with the seconds until each began.
    Verbose,
}

/// The writer of results and messages.
pub struct Output {
    json: bool,
    detail: Detail,
    /// Why a part of a result could not be written, the first time.
    unwritten: Mutex<Option<io::Error>>,
    /// What was said, where it is kept for a caller.
    kept: Option<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    result: String,
    notes: Vec<String>,
}

impl Output {
    /// Results as text, or as JSON.
    pub fn new(json: bool, detail: Detail) -> Self {
        Self { json, detail, unwritten: Mutex::new(None), kept: None }
    }

    /// Results as JSON, kept with all messages until [`Self::taken`].
    pub fn kept() -> Self {
        Self { kept: Some(Mutex::default()), ..Self::new(true, Detail::Usual) }
    }

    /// The result and the messages that were kept.
    pub fn taken(&self) -> (String, Vec<String>) {
        let kept = self.kept.as_ref().map(|kept| std::mem::take(&mut *locked(kept)));
        kept.map(|kept| (kept.result, kept.notes)).unwrap_or_default()
    }

    /// Prints a result: as JSON with its schema's name, or as text.
    pub fn result(&self, schema: &str, value: &Value, text: &str) {
        let printed = if self.json {
            let mut value = value.clone();
            if let Value::Object(fields) = &mut value {
                fields.insert("schema".to_owned(), json!(format!("warpweave.{schema}/1")));
            }
            json::to_string_pretty(&value).unwrap_or_else(|error| error.to_string())
        } else {
            text.trim_end().to_owned()
        };
        if !printed.is_empty() {
            self.print(&printed);
        }
    }

    /// Prints a part of a result as it comes; JSON has it in the whole.
    pub fn line(&self, text: &str) {
        if !self.json {
            self.print(text);
        }
    }

    fn print(&self, text: &str) {
        if let Some(kept) = &self.kept {
            text.clone_into(&mut locked(kept).result);
            return;
        }
        let mut stdout = io::stdout().lock();
        self.keep(writeln!(stdout, "{text}").and_then(|()| stdout.flush()));
    }

    /// Remembers why a part of a result could not be written. A reader that has gone away needs no result.
    pub fn keep(&self, written: io::Result<()>) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            unwritten.get_or_insert(error);
        }
    }

    /// Whether all results could be written.
    pub fn written(&self) -> Result<(), CliError> {
        let unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take();
        unwritten.map_or(Ok(()), |error| Err(CliError::StandardOutput(error)))
    }

    /// Says something that the user should know.
    pub fn note(&self, text: &str) {
        if self.detail != Detail::Quiet {
            self.say("note", text);
        }
    }

    /// Says that something is missing from a result.
    pub fn warning(&self, text: &str) {
        self.say("warning", text);
    }

    fn say(&self, kind: &str, text: &str) {
        match &self.kept {
            Some(kept) => locked(kept).notes.push(format!("{kind}: {text}")),
            None => eprintln!("{kind}: {text}"),
        }
    }

    /// Prints the help, or the version, that the parser has.
    pub fn help(&self, help: &clap::Error) {
        match &self.kept {
            Some(kept) => locked(kept).result = help.render().to_string(),
            None => self.keep(help.print().and_then(|()| io::stdout().flush())),
        }
    }

    /// Prints a mistake on the command line as the parser does.
    pub fn mistake(&self, error: &clap::Error) {
        if self.kept.is_none() {
            self.keep(error.print());
        }
    }

    /// Says why there is no result.
    pub fn error(&self, error: &CliError) {
        let diagnostic = Diagnostic::of(error);
        if self.kept.is_none() {
            eprintln!("{}", diagnostic.text());
        }
        self.diagnostic(&diagnostic);
    }

    /// Prints an error as programs are shown it, where results are JSON.
    pub fn diagnostic(&self, error: &Diagnostic) {
        if self.json {
            self.result("error", &json!({"error": error.value()}), "");
        }
    }
}

/// Is told of each stage that begins.
pub type StageWatcher = Box<dyn Fn(&str)>;

thread_local! {
    /// Is told of the stages of the commands of this thread.
    static WATCHER: RefCell<Option<StageWatcher>> = const { RefCell::new(None) };
}

/// What `run` gives, whose stages on this thread `stage` is told of.
pub fn watched<T>(stage: StageWatcher, run: impl FnOnce() -> T) -> T {
    WATCHER.set(Some(stage));
    let found = run();
    WATCHER.set(None);
    found
}

/// The stages of a command: a bar on a terminal, and lines where they are wanted.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// When the command began, where its stages are said.
    said_since: Option<Instant>,
}

impl Progress {
    /// This many stages, none of which has begun.
    pub fn new(stages: usize, output: &Output) -> Self {
        let is_watched = WATCHER.with_borrow(Option::is_some);
        let has_bar = output.detail != Detail::Quiet && !is_watched && io::stderr().is_terminal();
        let said_since = (output.detail == Detail::Verbose).then(Instant::now);
        let bar = has_bar.then(|| {
            let bar = ProgressBar::new(stages as u64);
            let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len} {elapsed} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        interrupt::shown_on(bar.as_ref());
        Self { bar, said_since }
    }

    /// Prints what stands above the bar.
    pub fn beside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// A stage begins.
    pub fn step(&self, name: &str) {
        WATCHER.with_borrow(|watcher| watcher.iter().for_each(|stage| stage(name)));
        if let Some(begin) = self.said_since {
            let seconds = begin.elapsed().as_secs_f64();
            self.beside(|| eprintln!("{seconds:8.2} s  {name}"));
        }
        if let Some(bar) = &self.bar {
            bar.inc(1);
            bar.set_message(name.to_owned());
        }
    }
}

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            interrupt::shown_on(None);
            bar.finish_and_clear();
        }
    }
}

/// Writes a file that is seen whole or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    new_file::write(path, bytes).map_err(file_error("write", path))
}
