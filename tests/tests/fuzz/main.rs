//! Changed files of every format that is read: each is read or refused, without a panic, and in time.
//!
//! Every input follows from the name of its target and a number, so that a failure can be had again. A target takes
//! `WARPWEAVE_FUZZ_SECONDS` seconds, three unless given, from number `WARPWEAVE_FUZZ_SEED` on, 0 unless given. An input that makes
//! one panic is written to the folder `fuzz/crashes/TARGET`; all that lie there are tried first. The input that is being tried
//! stands in `target/fuzz/TARGET`, for the case that the process ends with it.

#[path = "../../cli/support/archive.rs"]
mod archive;
mod change;
mod corpus;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use targets::{TARGETS, Target};
use warpweave_tests::suite::Suite;

/// No input may take longer.
const LONGEST: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let seconds = number("WARPWEAVE_FUZZ_SECONDS").unwrap_or(3);
    let budget = Duration::from_secs((seconds + 60) * TARGETS.len() as u64);
    let mut suite = Suite::new("fuzz", budget);
    for target in TARGETS {
        suite.trial(target.name, move || fuzz(target, Duration::from_secs(seconds)));
    }
    suite.run()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

fn fuzz(target: &'static Target, time: Duration) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let current = folder.join("../target/fuzz").join(target.name);
    std::fs::create_dir_all(current.parent().expect("it lies in a folder")).expect("a folder can be made");
    let watchdog = Watchdog::start(target.name, current.clone());
    let run = |input: &[u8]| {
        std::fs::write(&current, input).expect("a file can be written");
        watchdog.begin();
        let ended = catch_unwind(AssertUnwindSafe(|| (target.read)(input, &current)));
        watchdog.end();
        ended.is_ok()
    };
    let crashes = folder.join("fuzz/crashes").join(target.name);
    for path in corpus::files(&crashes) {
        let input = std::fs::read(&path).expect("a file can be read");
        assert!(run(&input), "{} makes it panic", path.display());
    }
    let corpus = (target.corpus)();
    assert!(!corpus.is_empty(), "{} has no inputs to begin with", target.name);
    for (at, input) in corpus.iter().enumerate() {
        assert!(run(input), "input {at} of the corpus makes it panic as it is");
    }
    let (start, first) = (Instant::now(), number("WARPWEAVE_FUZZ_SEED").unwrap_or(0));
    let mut seed = first;
    while start.elapsed() < time {
        let input = (target.change)(&corpus, &mut change::Random::new(seed));
        if !run(&input) {
            std::fs::create_dir_all(&crashes).expect("a folder can be made");
            let path = crashes.join(format!("{seed}"));
            std::fs::write(&path, &input).expect("a file can be written");
            panic!("number {seed} makes it panic; {} holds it", path.display());
        }
        seed += 1;
    }
    eprintln!("{}: {} inputs", target.name, seed - first);
}

/// Ends the process when an input takes too long.
struct Watchdog {
    epoch: Instant,
    /// Milliseconds after the epoch at which the input began, plus 1; 0 between inputs.
    begun: Arc<AtomicU64>,
}

impl Watchdog {
    fn start(name: &'static str, current: PathBuf) -> Self {
        let watchdog = Self { epoch: Instant::now(), begun: Arc::default() };
        let (epoch, begun) = (watchdog.epoch, Arc::downgrade(&watchdog.begun));
        std::thread::spawn(move || {
            while let Some(begun) = begun.upgrade() {
                let begun = Duration::from_millis(begun.load(Ordering::Relaxed));
                if !begun.is_zero() && epoch.elapsed() > begun + LONGEST {
                    eprintln!("{name}: {} takes more than {} s", current.display(), LONGEST.as_secs());
                    std::process::exit(1);
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        watchdog
    }

    fn begin(&self) {
        self.begun.store(self.epoch.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.begun.store(0, Ordering::Relaxed);
    }
}
