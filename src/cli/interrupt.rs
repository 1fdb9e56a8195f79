//! What a request to end does: the search that runs ends with the best that it has; at any other time, or when asked again,
//! the process ends.

use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use warpweave::Interrupt;
use warpweave::runtime::signals::{self, Request};
use warpweave::runtime::unfinished::end_process;

/// What a request has to know of the command that runs.
struct Running {
    search: Option<Interrupt>,
    progress: Option<ProgressBar>,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { search: None, progress: None });

/// Handles requests from here on.
pub fn handle() {
    if let Err(error) = signals::handle(answer) {
        eprintln!("note: a signal ends the process as it is, and may leave temporary files: {error}");
    }
}

/// Searches that this interrupt ends are ended by the next request from the keyboard.
pub fn ends(search: &Interrupt) {
    with(|running| running.search = Some(search.clone()));
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
        let ends_search = || running.search.as_ref().is_some_and(Interrupt::request);
        if request == Request::Interrupt && ends_search() {
            running.say("stopping the search: the best so far is kept; interrupt again to end at once");
        } else {
            running.say("stopping; nothing unfinished is left behind");
            if let Some(progress) = &running.progress {
                progress.finish_and_clear();
            }
            end_process(code);
        }
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
