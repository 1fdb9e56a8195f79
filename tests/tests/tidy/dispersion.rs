//! In how many files a template stands.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, UseTree};

use super::rust_files;

/// The crates that a contraction goes through from its plan to its text, and the folders of their sources.
const CRATES: [(&str, &str); 3] =
    [("warpweave_plan", "fusion/plan/src"), ("warpweave_fusion", "fusion/src"), ("warpweave_codegen", "codegen/src")];

/// The contraction's own folders.
const OWN: [&str; 3] =
    ["fusion/plan/src/template/contraction/", "fusion/src/template/contraction/", "codegen/src/lower/contraction/"];

/// Rules, pricing and lowering: what is counted.
const COUNTED: [&str; 3] = ["fusion/plan/src/", "fusion/src/", "codegen/src/lower/"];

/// Most files of rules, pricing and lowering that are the contraction's own or that these import, of a contraction on one compute unit:
/// those that all units share, and those of the unit alone.
const UNITS: [(&str, &[&str], usize); 2] = [
    ("simt", &["/unit/simt.rs"], 46),
    ("mma", &["/unit/mma.rs", "/contraction/part.rs", "/tensor_core/fragment.rs"], 48),
];

/// Fails where a contraction stands in more files.
pub fn check() {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (_, folder) in CRATES {
        files.extend(rust_files(folder).into_iter().map(|(path, text)| (path.display().to_string(), text)));
    }
    let is_own = |path: &String| OWN.iter().any(|folder| path.starts_with(folder));
    let own: Vec<&String> = files.keys().filter(|path| is_own(path)).collect();
    assert!(own.len() > 10, "the contraction has files: {own:?}");
    let mut found: BTreeSet<String> = own.iter().map(|path| (*path).clone()).collect();
    for path in &own {
        found.extend(imports(&files[*path]).iter().filter_map(|import| file_of(&files, path, import)));
    }
    found.retain(|path| COUNTED.iter().any(|folder| path.starts_with(folder)));
    let is_of = |path: &String, files: &[&str]| files.iter().any(|file| path.ends_with(file));
    for (unit, _, most) in UNITS {
        let others = || UNITS.iter().filter(|(other, ..)| *other != unit);
        let all: Vec<&String> = found.iter().filter(|path| !others().any(|(_, files, _)| is_of(path, files))).collect();
        assert!(
            all.len() <= most,
            "a contraction on {unit} stands in {} files, of {most} at most: {all:#?}",
            all.len()
        );
    }
}

/// The paths that a file imports, tests left out.
fn imports(text: &str) -> Vec<Vec<String>> {
    let file = syn::parse_file(text).expect("a file of the crate is Rust");
    let mut paths = Vec::new();
    for item in file.items {
        let Item::Use(import) = item else { continue };
        let is_for_tests = import.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
        if !is_for_tests {
            flatten(&import.tree, &mut Vec::new(), &mut paths);
        }
    }
    paths
}

fn flatten(tree: &UseTree, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, paths);
            prefix.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, paths)),
        UseTree::Name(name) => paths.push(prefix.iter().cloned().chain([name.ident.to_string()]).collect()),
        UseTree::Rename(name) => paths.push(prefix.iter().cloned().chain([name.ident.to_string()]).collect()),
        UseTree::Glob(_) => paths.push(prefix.clone()),
    }
}

/// The file of the innermost module of an imported path, of those that are read.
fn file_of(files: &BTreeMap<String, String>, importer: &str, import: &[String]) -> Option<String> {
    let (first, rest) = import.split_first()?;
    let folder = match first.as_str() {
        "crate" => CRATES.iter().map(|(_, folder)| *folder).filter(|folder| importer.starts_with(folder)).max()?,
        "super" | "self" => panic!("{importer} names `{}`: write the path from the root", import.join("::")),
        name => CRATES.iter().find(|(own, _)| *own == name)?.1,
    };
    let module = |steps: usize| format!("{folder}/{}", rest[..steps].join("/"));
    let found = (1..=rest.len()).rev().flat_map(|steps| [module(steps) + ".rs", module(steps) + "/mod.rs"]);
    found.into_iter().find(|path| files.contains_key(path))
}
