//! The rules of the house: who depends on whom, where packages live, what files may hold, and which import one another.

mod circles;
mod compiling;
mod crates;
mod dispersion;
mod files;
mod folders;
mod kernels;
mod numerics;
mod prices;
mod templates;
mod travel;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("tidy", Duration::from_secs(120));
    suite.trial("crates depend on one another as drawn", crates::arrows);
    suite.trial("external packages have one home", crates::affinity);
    suite.trial("the library carries no command line", crates::library);
    suite.trial("a deployment carries no compiler", crates::deployment);
    suite.trial("suites build the libraries once", crates::selections);
    suite.trial("few files import one another in a circle", circles::check);
    suite.trial("circles are found", circles::check_rule);
    suite.trial("folders are small", folders::check);
    suite.trial("bundles are compiled in one way", compiling::check);
    suite.trial("few files know the templates", templates::check);
    suite.trial("a body and its parameters are a kernel", kernels::check);
    suite.trial("bodies beside parameters are found", kernels::check_rule);
    suite.trial("a contraction is derived once", kernels::check_geometry);
    suite.trial("a contraction stands in few files", dispersion::check);
    suite.trial("constants are those of the device", prices::check);
    suite.trial("constants of no device are found", prices::check_rule);
    suite.trial("sizes come from element types", numerics::check);
    suite.trial("literal sizes are found", numerics::check_rule);
    suite.trial("little is copied to a machine with a GPU", travel::check);
    files::add(&mut suite);
    suite.run()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the workspace").to_owned()
}

/// The Rust files below a folder, by their paths in the workspace, with their texts; there are some.
fn rust_files(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    collect(&root().join(folder), &mut files);
    files.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    assert!(!files.is_empty(), "{folder} has files");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.strip_prefix(root()).expect("files lie in the workspace").to_owned(), text)
    };
    files.into_iter().map(read).collect()
}

/// The files of the source below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        // Hidden folders and build products are not part of the source.
        if name.starts_with('.') || name == "target" || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
