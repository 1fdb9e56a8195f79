//! How many files a folder may hold.

use std::collections::BTreeMap;
use std::path::Path;

use super::{collect, root};

/// Most source files of a folder.
const MOST: usize = 18;

/// Folders of one file for each operator or model, subfolders included.
const LISTS: [&str; 2] = ["graph/src/ops", "models/src/zoo"];

/// Fails for folders of more files than they may hold.
pub fn check() {
    let (mut files, mut counts) = (Vec::new(), BTreeMap::<String, usize>::new());
    collect(&root(), &mut files);
    for path in files.iter().filter(|path| path.extension().is_some_and(is_source)) {
        let folder = path.parent().and_then(|folder| folder.strip_prefix(root()).ok()).unwrap_or(Path::new(""));
        if !LISTS.iter().any(|list| folder.starts_with(list)) {
            *counts.entry(folder.display().to_string()).or_default() += 1;
        }
    }
    assert!(counts.len() > 20, "the workspace has folders");
    let complaints = complaints(&counts);
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn is_source(extension: &std::ffi::OsStr) -> bool {
    ["rs", "hpp", "cuh"].iter().any(|known| extension == *known)
}

fn complaints(counts: &BTreeMap<String, usize>) -> Vec<String> {
    let too_many = counts.iter().filter(|(_, count)| **count > MOST);
    let complaint = |(folder, count): (&String, &usize)| {
        format!("{folder} holds {count} source files, and at most {MOST} are allowed; divide it")
    };
    too_many.map(complaint).collect()
}
