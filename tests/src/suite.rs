//! Suites of named trials with a time budget.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};

use crate::scans;

/// Trials that together end within a budget.
pub struct Suite {
    name: &'static str,
    budget: Duration,
    trials: Vec<Trial>,
    /// Instructions of machine code, and operations among them, that its trials scan at least.
    least_scanned: (usize, usize),
    taken: Arc<Mutex<Vec<(Duration, String)>>>,
}

/// How many trials a suite names as its slowest.
const SLOWEST: usize = 12;

/// What a suite may take at full size, whatever it may at the size of `make test`.
const FULL_BUDGET: Duration = Duration::from_secs(14_400);

/// Whether every bar is asked for at full size, with `WARPWEAVE_FULL=1` in the environment.
pub fn is_full() -> bool {
    std::env::var_os("WARPWEAVE_FULL").is_some_and(|value| value == "1")
}

/// The trials that the command line names, by a part of their names, or all.
pub struct Selection(Arguments);

impl Selection {
    /// Reads the command line.
    pub fn from_arguments() -> Self {
        Self(Arguments::from_args())
    }

    /// Whether every trial is selected.
    pub fn is_whole(&self) -> bool {
        self.0.filter.is_none() && self.0.skip.is_empty()
    }

    /// Whether a trial is selected.
    pub fn takes(&self, name: &str) -> bool {
        let fits = |part: &String| if self.0.exact { name == part } else { name.contains(part.as_str()) };
        self.0.filter.as_ref().is_none_or(fits) && !self.0.skip.iter().any(fits)
    }
}

impl Suite {
    /// A suite without trials, with its budget at the size of `make test`.
    pub fn new(name: &'static str, budget: Duration) -> Self {
        let budget = if is_full() { FULL_BUDGET } else { budget };
        Self { name, budget, trials: Vec::new(), least_scanned: (0, 0), taken: Arc::default() }
    }

    /// Adds a trial, which fails by panicking.
    pub fn trial(&mut self, name: impl Into<String>, check: impl FnOnce() + Send + 'static) {
        let name = name.into();
        let (taken, timed) = (Arc::clone(&self.taken), name.clone());
        self.trials.push(Trial::test(name, move || {
            let start = Instant::now();
            check();
            taken.lock().unwrap_or_else(PoisonError::into_inner).push((start.elapsed(), timed));
            Ok(())
        }));
    }

    /// Makes a run of all trials fail unless they scan so many instructions of machine code, of so many operations.
    pub fn scans_at_least(&mut self, instructions: usize, operations: usize) {
        self.least_scanned = (instructions, operations);
    }

    /// Runs the trials that the command line selects, and prints the time and the slowest trials. Fails if a trial does, if
    /// the budget is exceeded, if too little machine code is scanned, or if the suite has no trials.
    pub fn run(mut self) -> ExitCode {
        let arguments = Arguments::from_args();
        if self.trials.is_empty() {
            eprintln!("suite {} has no trials", self.name);
            return ExitCode::FAILURE;
        }
        let start = Instant::now();
        let conclusion = libtest_mimic::run(&arguments, std::mem::take(&mut self.trials));
        let elapsed = start.elapsed();
        self.print_slowest();
        eprintln!("suite {}: {:.1} s of {:.0} s", self.name, elapsed.as_secs_f64(), self.budget.as_secs_f64());
        let scanned = scans::scanned();
        if scanned != (0, 0) {
            eprintln!("{} instructions of machine code of {} operations can all be executed", scanned.0, scanned.1);
        }
        let is_whole = conclusion.num_filtered_out == 0 && conclusion.num_passed > 0;
        let (instructions, operations) = self.least_scanned;
        let is_scanned = scanned.0 >= instructions && scanned.1 >= operations;
        if is_whole && !is_scanned {
            eprintln!("at least {instructions} instructions of {operations} operations should have been scanned");
            return ExitCode::FAILURE;
        }
        if conclusion.has_failed() || elapsed > self.budget {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }

    /// Prints the trials that took longest, which is where a suite's time is to be saved.
    fn print_slowest(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.sort_by(|left, right| right.cmp(left));
        for (time, name) in taken.iter().take(SLOWEST) {
            eprintln!("{:7.1} s {name}", time.as_secs_f64());
        }
    }
}
