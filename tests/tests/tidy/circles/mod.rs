//! Which files of a crate need one another in a circle.
//!
//! A file needs another if its code, tests left out, names what the other defines: in a path, in a private import, or in what
//! it gives to a macro. A name is followed through re-exports to the file that defines it, so that no parent module stands
//! between those that import through it. Declarations of modules, re-exports and methods called on values are not needs.
//! `WARPWEAVE_CIRCLES=1` prints every circle with what makes it.

mod components;
mod names;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{collect, root};
use components::components;
use names::Names;
use source::Source;

/// Most files of a circle.
const MOST: usize = 4;

/// Per file, the files that it needs, and a name that it needs of each.
pub type Needs = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Fails for circles of more files than there may be.
pub fn check() {
    let print = std::env::var_os("WARPWEAVE_CIRCLES").is_some_and(|value| value == "1");
    let roots = roots();
    let mut complaints: Vec<String> = Vec::new();
    for at in &roots {
        let needs = needs(&root(), Path::new(at));
        let circles = circles(&needs);
        complaints.extend(judge(at, &circles, MOST));
        if print {
            eprintln!("{at}: {} files, {} circles", needs.len(), circles.len());
            circles.iter().for_each(|circle| eprint!("{}", describe(circle, &needs)));
        }
    }
    assert!(complaints.is_empty(), "{}\n(WARPWEAVE_CIRCLES=1 prints what makes them)", complaints.join("\n"));
}

/// Finds the circles of a small crate, and what makes them.
pub fn check_rule() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("circles");
    for (name, text) in EXAMPLE {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
        std::fs::write(&path, text).expect("a file can be written");
    }
    let needs = needs(&folder, Path::new("lib.rs"));
    let found: BTreeSet<String> = needs
        .iter()
        .flat_map(|(file, needed)| needed.keys().map(|other| format!("{} {}", file.display(), other.display())))
        .collect();
    let expected = [
        "a.rs b/inner.rs",
        "a.rs b/mod.rs",
        "b/inner.rs d.rs",
        "c.rs a.rs",
        "c.rs lib.rs",
        "d.rs c.rs",
        "e.rs b/inner.rs",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    let circles = circles(&needs);
    let files = ["a.rs", "b/inner.rs", "c.rs", "d.rs"].map(PathBuf::from);
    assert_eq!(circles, [BTreeSet::from(files)]);
    assert_eq!(judge("lib.rs", &circles, MOST).len(), 0);
    assert_eq!(judge("lib.rs", &circles, 3).len(), 1, "a circle is too large");
}

/// A crate: imports through a parent, a renamed import, a path in a macro, a path in code, and what is no need: modules,
/// re-exports, and tests.
const EXAMPLE: [(&str, &str); 7] = [
    ("lib.rs", "mod a; mod b; mod c; mod d; mod e; pub use b::Inner; pub use e::last; struct Root;"),
    ("a.rs", "use crate::b::{self, Inner as Other}; pub fn first(_: Other) { b::own(1); }"),
    (
        "b/mod.rs",
        "mod inner; pub use inner::Inner; pub use super::d::deep as renamed; pub fn own(inner: u8) -> u8 { inner }",
    ),
    ("b/inner.rs", "pub struct Inner; fn f() { println!(\"{} a::first {}\", super::renamed(), x.first); }"),
    (
        "c.rs",
        "use super::*; pub fn third() { a::first(todo()); let _ = Root; } #[cfg(test)] mod tests { use crate::e::last; }",
    ),
    ("d.rs", "pub fn deep() { crate::c::third() } #[cfg(test)] use crate::e::last;"),
    ("e.rs", "pub fn last() -> crate::Inner { unreachable!() }"),
];

/// The root files of the crates.
fn roots() -> BTreeSet<String> {
    let mut files = Vec::new();
    collect(&root(), &mut files);
    let relative =
        |path: &PathBuf| path.strip_prefix(root()).expect("files lie in the workspace").display().to_string();
    let is_root = |path: &&PathBuf| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    let roots: BTreeSet<String> = files.iter().filter(is_root).map(relative).collect();
    assert!(roots.len() >= 8, "the workspace has crates: {roots:?}");
    roots
}

fn judge(at: &str, circles: &[BTreeSet<PathBuf>], most: usize) -> Vec<String> {
    let too_large = circles.iter().filter(|circle| circle.len() > most);
    let complaint = |circle: &BTreeSet<PathBuf>| {
        let names: Vec<String> = circle.iter().map(|path| path.display().to_string()).collect();
        format!("{at}: a circle of {} files: {}", circle.len(), names.join(", "))
    };
    too_large.map(complaint).collect()
}

/// What the files of a crate need of one another.
fn needs(folder: &Path, at: &Path) -> Needs {
    let source = Source::read(folder, at);
    let names = Names::new(&source);
    let mut needs: Needs = source.files.iter().map(|file| (file.clone(), BTreeMap::new())).collect();
    for (module, content) in source.modules.iter().enumerate() {
        for path in content.needed() {
            for file in names.files(module, path) {
                if file != content.file {
                    let named = needs.get_mut(&source.files[content.file]).expect("files have an entry each");
                    named.entry(source.files[file].clone()).or_insert_with(|| path.join("::"));
                }
            }
        }
    }
    needs
}

/// The circles, largest first.
fn circles(needs: &Needs) -> Vec<BTreeSet<PathBuf>> {
    let files: Vec<&PathBuf> = needs.keys().collect();
    let position = |path: &PathBuf| files.binary_search(&path).expect("needed files are files of the crate");
    let edges: Vec<Vec<usize>> = needs.values().map(|needed| needed.keys().map(position).collect()).collect();
    let mut circles: Vec<BTreeSet<PathBuf>> = components(&edges)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| component.into_iter().map(|at| files[at].clone()).collect())
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

fn describe(circle: &BTreeSet<PathBuf>, needs: &Needs) -> String {
    let mut text = format!("  circle of {}\n", circle.len());
    for file in circle {
        for (needed, name) in needs[file].iter().filter(|(needed, _)| circle.contains(*needed)) {
            text += &format!("    {} -> {}: {name}\n", file.display(), needed.display());
        }
    }
    text
}
