//! What a request to end does: the search that runs ends with the best that it has, and training steps end with the one at
//! hand; at any other time, or when asked again, the process ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::ProgressBar;
use warpweave::Interrupt;
use warpweave::runtime::signals::{self, Request};
use warpweave::runtime::unfinished::end_process;

/// What a request has to know of the command that runs.
struct Running {
    work: Option<Work>,
    progress: Option<ProgressBar>,
}

/// What the first request from the keyboard ends early, with what there is by then.
enum Work {
    Search(Interrupt),
    Steps(Steps),
}

/// Training steps. None is begun after a request.
#[derive(Clone, Default)]
pub struct Steps(Arc<AtomicBool>);

static RUNNING: Mutex<Running> = Mutex::new(Running { work: None, progress: None });

/// Handles requests from here on.
pub fn handle() {
    if let Err(error) = signals::handle(answer) {
        eprintln!("note: a signal ends the process as it is, and may leave temporary files: {error}");
    }
}

/// Searches that this interrupt ends are ended by the next request from the keyboard.
pub fn ends(search: &Interrupt) {
    with(|running| running.work = Some(Work::Search(search.clone())));
}

/// What `take` makes of steps that the next request from the keyboard ends.
pub fn in_steps<T>(take: impl FnOnce(&Steps) -> T) -> T {
    let steps = Steps::default();
    with(|running| running.work = Some(Work::Steps(steps.clone())));
    let taken = take(&steps);
    with(|running| running.work = None);
    taken
}

impl Steps {
    /// Whether an interrupt was requested.
    pub fn are_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Work {
    /// Ends it early; what to say then. `None` if nothing runs, or if it has been asked already.
    fn end(&self) -> Option<&'static str> {
        match self {
            Self::Search(search) => {
                search.request().then_some("stopping the search: the best so far is kept, and its kernels are compiled")
            }
            Self::Steps(Steps(asked)) => (!asked.swap(true, Ordering::Relaxed)).then_some("stopping after this step"),
        }
    }
}

/// Ends early what runs, as the first request from the keyboard does. `false` if nothing runs, or if it was asked already.
pub fn request() -> bool {
    with(|running| running.work.as_ref().and_then(Work::end).is_some())
}

/// The bar on which requests are answered.
pub fn shown_on(progress: Option<&ProgressBar>) {
    with(|running| running.progress = progress.cloned());
}

fn with<T>(change: impl FnOnce(&mut Running) -> T) -> T {
    change(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
}

fn answer(request: Request, code: u8) {
    with(|running| {
        let work = running.work.as_ref().filter(|_| request == Request::Interrupt);
        if let Some(text) = work.and_then(Work::end) {
            running.say(&format!("{text}; interrupt again to end at once"));
            return;
        }
        running.say("stopping; nothing unfinished is left behind");
        if let Some(progress) = &running.progress {
            progress.finish_and_clear();
        }
        end_process(code);
    });
}

impl Running {
    fn say(&self, text: &str) {
        match &self.progress {
            Some(progress) => {
                progress.set_message("stopping");
                progress.println(format!("note: {text}"));
            }
            None => eprintln!("note: {text}"),
        }
    }
}
