//! How many files a folder may hold.

use std::collections::BTreeMap;
use std::path::Path;

use super::{collect, root};

/// Most source files of a folder.
const MOST: usize = 18;

/// Folders of one file for each operator or model, and the most files that they or one of their subfolders hold.
const LISTS: [(&str, usize); 2] = [("graph/src/ops", 30), ("models/src/zoo", 40)];

/// Fails for folders of more files than they may hold.
pub fn check() {
    let (mut files, mut counts) = (Vec::new(), BTreeMap::<String, usize>::new());
    collect(&root(), &mut files);
    for path in files.iter().filter(|path| path.extension().is_some_and(is_source)) {
        let folder = path.parent().and_then(|folder| folder.strip_prefix(root()).ok()).unwrap_or(Path::new(""));
        *counts.entry(folder.display().to_string()).or_default() += 1;
    }
    assert!(counts.len() > 20, "the workspace has folders");
    let complaints = complaints(&counts);
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn is_source(extension: &std::ffi::OsStr) -> bool {
    ["rs", "hpp", "cuh"].iter().any(|known| extension == *known)
}

fn complaints(counts: &BTreeMap<String, usize>) -> Vec<String> {
    let most = |folder: &str| {
        let list = LISTS.iter().find(|(list, _)| Path::new(folder).starts_with(list));
        list.map_or(MOST, |(_, most)| *most)
    };
    let too_many = counts.iter().filter(|(folder, count)| **count > most(folder));
    let complaint = |(folder, count): (&String, &usize)| {
        format!("{folder} holds {count} source files, and at most {} are allowed; divide it", most(folder))
    };
    too_many.map(complaint).collect()
}
