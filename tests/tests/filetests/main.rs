//! Graphs as text, and what each stage makes of them.
//!
//! A file of the folder `filetests` holds a graph, then sections. Each begins with `==== command arguments` and holds
//! what the command prints. `compile --emit graph` writes such a graph; weights that it names by their hash are seeded. With `BLESS=1` in the environment, sections are written anew.

mod commands;
mod devices;
mod weights;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("filetests", Duration::from_secs(60));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let entries = std::fs::read_dir(folder).expect("the file tests are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    for path in files {
        let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        suite.trial(name, move || check(&path));
    }
    suite.run()
}

const HEADING: &str = "==== ";

fn check(path: &Path) {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let (graph, sections) = text.split_once(HEADING).expect("a file has a section");
    let mut found = graph.to_owned();
    for section in sections.split(&format!("\n{HEADING}")) {
        let command = section.lines().next().expect("a section names a command");
        let result = commands::run(graph, command).unwrap_or_else(|reason| panic!("{command}: {reason}"));
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
