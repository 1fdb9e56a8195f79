//! How many files a folder may hold.

use std::collections::BTreeMap;
use std::path::Path;

use super::{collect, root};

/// Most source files of a folder.
const MOST: usize = 18;

/// Folders of one file for each operator or model, subfolders included.
const LISTS: [&str; 2] = ["graph/src/ops", "models/src/zoo"];

/// Folders that hold more today, and how many; a line may only become smaller, and go.
const LARGER: [(&str, usize); 1] = [("graph/src", 23)];

/// Fails for folders of more files than they may hold, and for allowances that are no longer needed.
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
    let complaints = complaints(&counts, &LARGER);
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn is_source(extension: &std::ffi::OsStr) -> bool {
    ["rs", "hpp", "cuh"].iter().any(|known| extension == *known)
}

fn complaints(counts: &BTreeMap<String, usize>, larger: &[(&str, usize)]) -> Vec<String> {
    let allowed = |folder: &str| larger.iter().find(|(name, _)| *name == folder).map(|(_, count)| *count);
    let mut complaints = Vec::new();
    for (folder, count) in counts {
        if *count > allowed(folder).unwrap_or(MOST) {
            let most = allowed(folder).unwrap_or(MOST);
            complaints.push(format!("{folder} holds {count} source files, and at most {most} are allowed; divide it"));
        }
    }
    for (folder, most) in larger {
        let count = counts.get(*folder).copied().unwrap_or(0);
        if count <= MOST {
            complaints.push(format!("{folder} holds {count} source files; take its line out of LARGER"));
        } else if count < *most {
            complaints.push(format!("{folder} holds {count} source files; write {count} in LARGER"));
        }
    }
    complaints
}
