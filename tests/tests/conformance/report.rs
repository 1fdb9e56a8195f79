//! The page that counts cases and names every miss with its reason.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::case::{Binding, Case, Runtime};
use super::lists::PassList;
use warpweave_tests::suite::{Selection, is_full};

const HEAD: &str = "| Passes on | node | pytorch-converted | pytorch-operator |\n|---|---|---|---|\n";

const MISSES: &str = "| Reason | Where | Cases |";

/// Cases that a row of the page names at most.
const CASES_OF_A_ROW: usize = 8;

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
    /// Runs the selected cases; of the others the report says what lists and page say. Compiling takes minutes: where all are
    /// selected, what is listed to compile is not compiled here, and what is not listed in a full run alone.
    pub fn of(cases: &[Case], selection: &Selection) -> Self {
        let recalled = Recalled::read();
        let judge = |runtime: Runtime, case: &Case| match runtime {
            _ if !selection.takes(&runtime.trial(&case.name)) => recalled.result(runtime, &case.name),
            Runtime::Nvrtc if selection.is_whole() && recalled.is_listed(runtime, &case.name) => Ok(()),
            Runtime::Nvrtc if selection.is_whole() && !is_full() => Err(NOT_COMPILED.to_owned()),
            _ => case.judge(runtime, Binding::Needed),
        };
        let report = Self::judged(cases, &judge);
        let ran = |end: &&End| selection.takes(&end.runtime.trial(&end.name));
        assert!(report.ends.iter().any(|end| ran(&end)), "no case has such a name: run scripts/fetch_onnx_tests.sh");
        if !selection.is_whole() {
            for end in report.ends.iter().filter(ran) {
                let said = end.result.as_ref().err().map_or_else(|| "passes".to_owned(), |reason| reason_of(reason));
                eprintln!("{} on {}: {said}", end.name, name(end.runtime));
            }
        }
        report
    }

    /// What lists and page say.
    fn recalled(cases: &[Case]) -> Self {
        let recalled = Recalled::read();
        Self::judged(cases, &|runtime, case| recalled.result(runtime, &case.name))
    }

    fn judged(cases: &[Case], judge: &(dyn Fn(Runtime, &Case) -> Result<(), String> + Sync)) -> Self {
        let pairs = Runtime::ALL.iter().flat_map(|&runtime| cases.iter().map(move |case| (runtime, case)));
        let pairs: Vec<(Runtime, &Case)> = pairs.collect();
        let mut ends: Vec<End> = in_parallel(&pairs, &|&(runtime, case)| End {
            name: case.name.clone(),
            runtime,
            result: judge(runtime, case),
        });
        ends.sort_by(|one, other| (&one.name, one.runtime).cmp(&(&other.name, other.runtime)));
        let stands = |case: &Case| case.judge(Runtime::Reference, Binding::None).is_ok().then(|| case.name.clone());
        Self { ends, as_they_stand: in_parallel(cases, &stands).into_iter().flatten().collect() }
    }

    /// The names of the cases that pass on a runtime.
    pub fn passing(&self, runtime: Runtime) -> Vec<String> {
        let passing = self.ends.iter().filter(|end| end.runtime == runtime && end.result.is_ok());
        passing.map(|end| end.name.clone()).collect()
    }

    /// Writes the page.
    pub fn write(&self) {
        std::fs::write(path(), self.page()).expect("the page can be written");
    }

    fn page(&self) -> String {
        let mut page = "# Conformance\n\nONNX's own node tests, written by \
            `BLESS=1 cargo test --workspace --exclude warpweave-benches --test conformance`. A shape, an axis or a count that an \
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
        let _ = write!(page, "{MISSES}\n|---|---|---|\n");
        for ((reason, runtimes), cases) in reasons {
            for part in cases.chunks(CASES_OF_A_ROW) {
                let _ = writeln!(
                    page,
                    "| {reason} | {runtimes} | {} of {}: {} |",
                    part.len(),
                    cases.len(),
                    part.join(", ")
                );
            }
        }
        page
    }
}

/// What the lists and the page in the repository say.
struct Recalled {
    lists: BTreeMap<Runtime, PassList>,
    misses: BTreeMap<(Runtime, String), String>,
}

impl Recalled {
    fn read() -> Self {
        let page = std::fs::read_to_string(path()).unwrap_or_default();
        let rows = page.lines().skip_while(|line| *line != MISSES).skip(2);
        let mut misses = BTreeMap::new();
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [reason, runtimes, cases] = cells[..] else { continue };
            let names = cases.split_once(": ").map_or("", |(_, names)| names).split(", ");
            for (runtime, case) in names.flat_map(|case| Runtime::ALL.map(|runtime| (runtime, case))) {
                if runtimes.split(", ").any(|known| known == name(runtime)) {
                    misses.insert((runtime, case.to_owned()), reason.to_owned());
                }
            }
        }
        Self { lists: Runtime::ALL.map(|runtime| (runtime, PassList::read(runtime))).into(), misses }
    }

    fn is_listed(&self, runtime: Runtime, case: &str) -> bool {
        self.lists[&runtime].names().contains(case)
    }

    fn result(&self, runtime: Runtime, case: &str) -> Result<(), String> {
        if self.is_listed(runtime, case) {
            return Ok(());
        }
        let reason = self.misses.get(&(runtime, case.to_owned())).cloned();
        Err(reason.unwrap_or_else(|| NOT_COMPILED.to_owned()))
    }
}

/// The results of all, by as many threads as there are processors, in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], run: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let taken = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, run(item)))
        };
        std::iter::from_fn(taken).collect::<Vec<(usize, R)>>()
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a panic of a case is a reason")).collect()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
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

/// Fails unless the page says what the pass lists name, and how many cases pass as they stand.
pub fn assert_current(cases: &[Case]) {
    let page = std::fs::read_to_string(path()).expect("docs/results/conformance.md is there");
    let current = Report::recalled(cases).page();
    let differing = page.lines().zip(current.lines()).find(|(found, wanted)| found != wanted);
    assert!(page == current, "docs/results/conformance.md is not current, BLESS=1 rewrites it: {differing:?}");
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
        Runtime::Nvrtc => "machine code",
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/conformance.md")
}
