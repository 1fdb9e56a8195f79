//! Every level of the compiler as text, and what each stage makes of it.
//!
//! A file of the folder `filetests` begins with a model, a graph, a program, a partition, a plan or kernels, as `compile --emit`
//! writes them; its first word says which. Sections follow. Each begins with `==== command arguments` ([`command`]) and holds
//! what the command prints. Weights that are named by their hash are seeded. With `BLESS=1` in the environment, sections are
//! written again.

mod command;
mod commands;
mod coverage;
mod devices;
mod stages;
mod start;
mod weights;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

use crate::start::Start;

fn main() -> ExitCode {
    let mut suite = Suite::new("filetests", Duration::from_secs(120));
    for path in files() {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        suite.trial(name, move || check(&path));
    }
    suite.trial("coverage", coverage::check);
    suite.run()
}

/// The least number of files, so that lost ones fail.
const FEWEST_FILES: usize = 65;

/// The files, by name.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let entries = std::fs::read_dir(folder).expect("the file tests are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(files.len() >= FEWEST_FILES, "{} file tests are there, and there must be {FEWEST_FILES}", files.len());
    files
}

/// What a file begins with, and its sections.
fn sections(text: &str) -> (&str, impl Iterator<Item = &str>) {
    let (start, sections) = text.split_once(HEADING).expect("a file has a section");
    (start, sections.split("\n==== "))
}

const HEADING: &str = "==== ";

fn check(path: &Path) {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let (begin, sections) = sections(&text);
    let start = Start::read(begin).unwrap_or_else(|reason| panic!("{reason}"));
    let mut found = begin.to_owned();
    for section in sections {
        let command = section.lines().next().expect("a section names a command");
        let result = command.parse().and_then(|command| commands::run(&start, &command));
        let result = result.unwrap_or_else(|reason| panic!("{command}: {reason}"));
        if !found.ends_with("\n\n") {
            found.push('\n');
        }
        found.push_str(&format!("{HEADING}{command}\n{}\n", result.trim_end()));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, found).expect("the file can be written");
        return;
    }
    let different = found.lines().zip(text.lines()).position(|(found, expected)| found != expected);
    if let Some(line) = different {
        let of = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
        panic!("line {}: found\n{}\ninstead of\n{}", line + 1, of(&found), of(&text));
    }
    assert_eq!(found.lines().count(), text.lines().count(), "as many lines");
}
