//! The page that counts cases and names every miss with its reason.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::{Binding, Case, Runtime};
use super::lists::PassList;
use warpweave_tests::suite::is_full;

const HEAD: &str = "| Passes on | node | pytorch-converted | pytorch-operator |\n|---|---|---|---|\n";

/// Why a case that only a full run compiles does not pass.
const NOT_COMPILED: &str = "not compiled yet: WARPWEAVE_FULL=1 BLESS=1";

/// How every case ended.
#[derive(Debug)]
pub struct Report {
    ends: Vec<End>,
    as_they_stand: Vec<String>,
}

/// How a case ended on a runtime.
#[derive(Debug)]
struct End {
    name: String,
    runtime: Runtime,
    result: Result<(), String>,
}

impl Report {
    /// Runs all cases on all runtimes. Compiling takes minutes: what is listed to compile is not compiled here, and what is
    /// not listed in a full run alone.
    pub fn of(cases: &[Case]) -> Self {
        let compiled = PassList::read(Runtime::Nvrtc);
        let judge = |runtime, case: &Case| match runtime {
            Runtime::Nvrtc if compiled.names().contains(&case.name) => Ok(()),
            Runtime::Nvrtc if !is_full() => Err(NOT_COMPILED.to_owned()),
            _ => case.judge(runtime, Binding::Needed),
        };
        let pairs = Runtime::ALL.iter().flat_map(|&runtime| cases.iter().map(move |case| (runtime, case)));
        let pairs: Vec<(Runtime, &Case)> = pairs.collect();
        let end = |&(runtime, case): &(Runtime, &Case)| End {
            name: case.name.clone(),
            runtime,
            result: judge(runtime, case),
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
        ends.sort_by(|one, other| (&one.name, one.runtime).cmp(&(&other.name, other.runtime)));
        let as_they_stand = cases.iter().filter(|case| case.judge(Runtime::Reference, Binding::None).is_ok());
        Self { ends, as_they_stand: as_they_stand.map(|case| case.name.clone()).collect() }
    }

    /// The names of the cases that pass on a runtime.
    pub fn passing(&self, runtime: Runtime) -> Vec<String> {
        let passing = self.ends.iter().filter(|end| end.runtime == runtime && end.result.is_ok());
        passing.map(|end| end.name.clone()).collect()
    }

    /// Writes the page.
    pub fn write(&self) {
        let mut page = "# Conformance\n\nONNX's own node tests, written by \
            `BLESS=1 cargo test -p warpweave -p warpweave-tests --test conformance`. A shape, an axis or a count that an \
            operator must know is bound to the case's value; the last line counts models without that.\n\n"
            .to_owned();
        page.push_str(HEAD);
        for runtime in Runtime::ALL {
            page.push_str(&line(name(runtime), &self.passing(runtime)));
        }
        page.push_str(&line("reference, as they stand", &self.as_they_stand));
        let all: Vec<String> =
            self.ends.iter().filter(|end| end.runtime == Runtime::Reference).map(|end| end.name.clone()).collect();
        page.push_str(&line("of", &all));
        page.push_str("\n## What does not pass\n\n");
        let mut misses: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
        let emulated = self.passing(Runtime::Emulator);
        for end in &self.ends {
            if let Err(reason) = &end.result {
                // What kernels refuse needs no compiler to be refused.
                if reason == NOT_COMPILED && !emulated.contains(&end.name) {
                    continue;
                }
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

/// The cases that the pass lists demand, by group and runtime.
pub fn matrix() -> String {
    let line_of = |runtime: Runtime| {
        let names: Vec<String> = PassList::read(runtime).names().iter().cloned().collect();
        line(name(runtime), &names)
    };
    let lines: String = Runtime::ALL.into_iter().map(line_of).collect();
    format!("{HEAD}{lines}")
}

/// Fails unless the page counts what the pass lists name.
pub fn assert_current() {
    let page = std::fs::read_to_string(path()).expect("docs/conformance.md is there");
    for runtime in Runtime::ALL {
        let names: Vec<String> = PassList::read(runtime).names().iter().cloned().collect();
        let line = line(name(runtime), &names);
        assert!(page.contains(&line), "docs/conformance.md lacks `{line}`: BLESS=1 rewrites it");
    }
}

/// A line of the table: how many of these cases are of each group.
fn line(title: &str, cases: &[String]) -> String {
    let of = |group: &str| {
        cases.iter().filter(|case| case.split_once('/').map_or("node", |(group, _)| group) == group).count()
    };
    format!("| {title} | {} | {} | {} |\n", of("node"), of("pytorch-converted"), of("pytorch-operator"))
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
