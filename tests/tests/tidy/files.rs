//! What a file may hold.

use std::path::Path;

use warpweave_tests::suite::Suite;

use super::{collect, root, words};

/// Adds a trial for each rule.
pub fn add(suite: &mut Suite) {
    suite.trial("files are short", || each_source(&|path, text| too_long(path, text)));
    suite.trial("nothing is left open", || each_source(&|path, text| open_ends(path, text)));
    suite.trial("no test is left out", || each_source(&|_, text| ignored_tests(text)));
    suite.trial("words say the same to every reader", || each_text(&|_, text| words::unused(text)));
    suite.trial("no machine is named", || each_text(&|_, text| machine_paths(text)));
    suite.trial("unsafe code stays in the runtime", || each_source(&|path, text| unsafe_code(path, text)));
}

/// Fails with every complaint about a source file.
fn each_source(complain: &dyn Fn(&Path, &str) -> Vec<String>) {
    check_files(&["rs", "hpp", "cuh"], complain);
}

/// Fails with every complaint about a text file.
fn each_text(complain: &dyn Fn(&Path, &str) -> Vec<String>) {
    check_files(&["rs", "hpp", "cuh", "toml", "md", "sh", "py", "txt", "yml"], complain);
}

fn check_files(extensions: &[&str], complain: &dyn Fn(&Path, &str) -> Vec<String>) {
    let mut files = Vec::new();
    collect(&root(), &mut files);
    files.retain(|path| path.extension().is_some_and(|end| extensions.iter().any(|known| end == *known)));
    assert!(files.len() > 50, "the workspace has files");
    let mut complaints = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let relative = path.strip_prefix(root()).expect("files lie in the workspace");
        complaints.extend(complain(relative, &text).into_iter().map(|what| format!("{}: {what}", relative.display())));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn is_test(path: &Path) -> bool {
    path.components().any(|component| ["tests", "benches"].iter().any(|folder| component.as_os_str() == *folder))
}

/// The part of a source file that is compiled into the product.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

fn too_long(_: &Path, text: &str) -> Vec<String> {
    const LIMIT: usize = 800;
    let lines = text.lines().count();
    (lines > LIMIT).then(|| format!("{lines} lines")).into_iter().collect()
}

fn open_ends(path: &Path, text: &str) -> Vec<String> {
    if is_test(path) {
        return Vec::new();
    }
    let needles = [".unwrap(", "todo!", "unimplemented!", "dbg!"];
    needles.into_iter().flat_map(|needle| lines_with(product(text), needle)).collect()
}

fn ignored_tests(text: &str) -> Vec<String> {
    lines_with(text, concat!("#[", "ignore"))
}

fn machine_paths(text: &str) -> Vec<String> {
    [concat!("/wor", "k/"), concat!("/far", "m/"), concat!("/hom", "e/")]
        .into_iter()
        .flat_map(|needle| lines_with(text, needle))
        .collect()
}

fn unsafe_code(path: &Path, text: &str) -> Vec<String> {
    if path.starts_with("runtime") {
        return Vec::new();
    }
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    // Comments and the insides of literals are no code.
    let code = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.split('"').step_by(2).collect::<Vec<_>>().join(" ")
    };
    let found = text
        .lines()
        .enumerate()
        .filter(|(_, line)| code(line).split(|character| !is_word(character)).any(|word| word == "unsafe"));
    found.map(|(number, line)| format!("line {}: {}", number + 1, line.trim())).collect()
}

fn lines_with(text: &str, needle: &str) -> Vec<String> {
    let found = text.lines().enumerate().filter(|(_, line)| line.contains(needle));
    found.map(|(number, line)| format!("line {}: {}", number + 1, line.trim())).collect()
}
