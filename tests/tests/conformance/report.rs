//! The page that counts cases and names every miss with its reason.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::{Binding, Case, Runtime};
use super::lists::PassList;

/// How every case ended.
#[derive(Debug)]
pub struct Report {
    count: usize,
    ends: Vec<End>,
    as_they_stand: usize,
}

/// How a case ended on a runtime.
#[derive(Debug)]
struct End {
    name: String,
    runtime: Runtime,
    result: Result<(), String>,
}

impl Report {
    /// Runs all cases on all runtimes.
    pub fn of(cases: &[Case]) -> Self {
        let pairs = Runtime::ALL.iter().flat_map(|&runtime| cases.iter().map(move |case| (runtime, case)));
        let pairs: Vec<(Runtime, &Case)> = pairs.collect();
        let end = |&(runtime, case): &(Runtime, &Case)| End {
            name: case.name.clone(),
            runtime,
            result: case.judge(runtime, Binding::Needed),
        };
        let next = AtomicUsize::new(0);
        let worker = || {
            let taken = || pairs.get(next.fetch_add(1, Ordering::Relaxed)).map(end);
            std::iter::from_fn(taken).collect::<Vec<End>>()
        };
        let mut ends: Vec<End> = std::thread::scope(|scope| {
            let count = std::thread::available_parallelism().map_or(1, usize::from);
            let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("a panic of a case is a reason")).collect()
        });
        ends.sort_by(|one, other| one.name.cmp(&other.name));
        let as_they_stand = cases.iter().filter(|case| case.judge(Runtime::Reference, Binding::None).is_ok()).count();
        Self { count: cases.len(), ends, as_they_stand }
    }

    /// The names of the cases that pass on a runtime.
    pub fn passing(&self, runtime: Runtime) -> Vec<String> {
        let passing = self.ends.iter().filter(|end| end.runtime == runtime && end.result.is_ok());
        passing.map(|end| end.name.clone()).collect()
    }

    /// Writes the page.
    pub fn write(&self) {
        let passing = Runtime::ALL.map(|runtime| self.passing(runtime).len());
        let mut page = "# Conformance\n\nONNX's own node tests, written by \
            `BLESS=1 cargo test -p warpweave -p warpweave-tests --test conformance`. A shape, an axis or a count that an \
            operator must know is bound to the case's value; the last line counts models without that.\n\n"
            .to_owned();
        page.push_str("| Runs on | Cases | Of |\n|---|---|---|\n");
        for (runtime, passing) in Runtime::ALL.iter().zip(passing) {
            page.push_str(&line(*runtime, passing, self.count));
        }
        let _ = writeln!(page, "| reference, as they stand | {} | {} |", self.as_they_stand, self.count);
        page.push_str("\n## What does not pass\n\n");
        let mut misses: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
        for end in &self.ends {
            if let Err(reason) = &end.result {
                let runtimes = misses.entry((reason_of(reason), end.name.clone())).or_default();
                runtimes.push(name(end.runtime));
            }
        }
        let mut reasons: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
        for ((reason, case), runtimes) in &misses {
            reasons.entry((reason, runtimes.join(", "))).or_default().push(case);
        }
        page.push_str("| Reason | Where | Cases |\n|---|---|---|\n");
        for ((reason, runtimes), cases) in reasons {
            let _ = writeln!(page, "| {reason} | {runtimes} | {}: {} |", cases.len(), cases.join(", "));
        }
        std::fs::write(path(), page).expect("the page can be written");
    }
}

/// Fails unless the page counts what the pass lists name.
pub fn assert_current() {
    let page = std::fs::read_to_string(path()).expect("docs/conformance.md is there");
    for runtime in Runtime::ALL {
        let start = format!("| {} | {} |", name(runtime), PassList::read(runtime).names().len());
        assert!(page.contains(&start), "docs/conformance.md lacks `{start}`: BLESS=1 rewrites it");
    }
}

fn line(runtime: Runtime, passing: usize, count: usize) -> String {
    format!("| {} | {passing} | {count} |\n", name(runtime))
}

fn name(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Reference => "reference",
        Runtime::Host => "host",
        Runtime::Emulator => "emulator",
        Runtime::Nvrtc => "NVRTC and the gates",
    }
}

/// The reason in one short line, without the names that differ from case to case.
fn reason_of(reason: &str) -> String {
    let lines: Vec<&str> = reason.lines().map(str::trim).collect();
    // Of a list of nodes the first says enough.
    let told = match lines.as_slice() {
        [head, first, ..] if head.ends_with(':') => first.split_once(": ").map_or(*first, |(_, told)| told),
        [head, ..] => head,
        [] => "",
    };
    let told = told.split_once(" instead of ").map_or(told, |_| "another value");
    let kind = told.split('`').step_by(2).collect::<Vec<_>>().join("…");
    kind.chars().filter(|sign| *sign != '|').take(120).collect()
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md")
}
