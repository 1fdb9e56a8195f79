//! What a statement of the kernel IR costs: the files that name it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of this crate that may name one statement, beside those of `lower`, which emit it.
const MOST_FILES: usize = 7;
/// The files that name every statement. A new one is added to each of them, and to `emulate/bytecode/mod.rs` and
/// `emulate/warp/execute.rs` where it is an instruction of its own in the emulator.
const LISTS: [&str; 5] = [
    "emulate/compile/statement.rs",
    "kernel_ir/declaration.rs",
    "kernel_ir/statement.rs",
    "kernel_ir/text/statement.rs",
    "print/statement.rs",
];

#[test]
fn a_statement_is_named_in_few_files() {
    let sources = sources();
    let statements = statements(&sources);
    for statement in &statements {
        let files = naming(&sources, statement);
        assert!(files.len() <= MOST_FILES, "{} files name {statement}: {files:?}", files.len());
    }
    let listed: BTreeMap<&str, usize> = statements.iter().flat_map(|statement| naming(&sources, statement)).fold(
        BTreeMap::new(),
        |mut listed, file| {
            *listed.entry(file).or_default() += 1;
            listed
        },
    );
    let lists: Vec<&str> =
        listed.iter().filter(|(_, count)| **count == statements.len()).map(|(file, _)| *file).collect();
    assert_eq!(lists, LISTS, "the files that name all of the {} statements", statements.len());
    let long: Vec<_> =
        listed.iter().filter(|(file, count)| !LISTS.contains(file) && 2 * **count > statements.len()).collect();
    assert!(long.is_empty(), "files that name most statements, but not all: {long:?}");
}

#[test]
fn statements_have_no_other_names() {
    for (file, text) in sources() {
        for (line, text) in text.lines().enumerate() {
            let imports =
                text.contains("Statement::{") || text.contains("Statement::*") || text.contains("Statement as ");
            let renames =
                text.contains("= Statement;") || text.trim_start().starts_with("use ") && text.contains("Statement::");
            assert!(!imports && !renames, "{file}:{} names statements without `Statement::`", line + 1);
        }
    }
}

#[test]
fn no_statement_is_a_box_of_others() {
    let sources = sources();
    let body = declaration(&sources);
    for catch_all in ["Box<", "dyn ", "Vec<u8>", "String", "fn("] {
        assert!(!body.contains(catch_all), "a statement holds `{catch_all}`");
    }
}

/// Production text by file, without comments and unit tests.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut sources = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is readable") {
            let path: PathBuf = entry.expect("the folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("the file is readable");
                let name = path.strip_prefix(&root).expect("below the root").display().to_string();
                sources.insert(name, production(&text));
            }
        }
    }
    sources.retain(|file, _| !file.starts_with("lower/"));
    sources
}

fn production(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The text between the braces of the enumeration.
fn declaration(sources: &BTreeMap<String, String>) -> &str {
    let (_, rest) = sources["kernel_ir/statement.rs"].split_once("pub enum Statement {").expect("the enumeration");
    rest.split("\n}").next().expect("its end")
}

/// The names of all statements.
fn statements(sources: &BTreeMap<String, String>) -> Vec<String> {
    let lines = declaration(sources).lines().filter_map(|line| line.strip_prefix("    "));
    let variants = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    let names: Vec<String> = variants.map(|line| word(line).to_owned()).collect();
    assert!(names.len() > 20, "the statements have been found: {names:?}");
    names
}

/// The files that name a statement; `Self::` names one where a file implements something for statements.
fn naming<'s>(sources: &'s BTreeMap<String, String>, statement: &str) -> Vec<&'s str> {
    let names = |(file, text): (&'s String, &'s String)| {
        let declares = file == "kernel_ir/statement.rs";
        let implements = text.contains("impl Statement {") || text.contains("for Statement {");
        let found = named(text, "Statement::", statement) || implements && named(text, "Self::", statement);
        (declares || found).then_some(file.as_str())
    };
    sources.iter().filter_map(names).collect()
}

fn named(text: &str, prefix: &str, statement: &str) -> bool {
    text.match_indices(prefix).any(|(at, _)| word(&text[at + prefix.len()..]) == statement)
}

fn word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default()
}
