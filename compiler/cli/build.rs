//! Tells the program which commit it is built from.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = git(&["log", "-1", "--format= (commit %h, %cs)", "--abbrev=12"]);
    println!("cargo::rustc-env=WARPWEAVE_VERSION={}{}", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default());
    for name in ["HEAD", "logs/HEAD"] {
        let file = git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        if let Some(file) = file.filter(|file| Path::new(file).exists()) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}

/// The line that a command of git prints; none where this is no repository, or there is no git.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    let line = String::from_utf8(output.stdout).ok()?.trim_end().to_owned();
    Some(line).filter(|line| !line.is_empty())
}
