//! Folders into which Python installs packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::tools::{self, Ending, OUTPUT_FILE};
use crate::unfinished::TemporaryDirectory;

/// An interpreter that takes longer is passed over.
const LIMIT: Duration = Duration::from_secs(5);

/// The package folders of an environment, newest version of Python first.
pub(super) fn packages_of(environment: &Path) -> Vec<PathBuf> {
    let version = |path: &PathBuf| -> Option<u32> {
        path.file_name()?.to_str()?.strip_prefix("python3")?.trim_start_matches('.').parse().ok()
    };
    let mut versions = folders_in(&environment.join("lib"));
    versions.retain(|path| version(path).is_some());
    versions.sort_by_key(|path| std::cmp::Reverse(version(path)));
    versions.into_iter().map(|folder| folder.join("site-packages")).filter(|folder| folder.is_dir()).collect()
}

/// The environments named `.venv` in the folders of `parent`, by name.
pub(super) fn environments_in(parent: &Path) -> Vec<PathBuf> {
    let mut environments: Vec<PathBuf> = folders_in(parent).into_iter().map(|folder| folder.join(".venv")).collect();
    environments.retain(|environment| environment.is_dir());
    environments.sort();
    environments
}

/// The folders of packages in which `interpreter` looks, those of its own modules left out; none if it cannot be asked.
pub(super) fn packages_known_to(interpreter: &Path) -> Vec<PathBuf> {
    let ask = || -> Option<String> {
        let directory = TemporaryDirectory::new().ok()?;
        let mut command = Command::new(interpreter);
        command.args(["-c", "import sys; print('\\n'.join(sys.path))"]);
        match tools::run(&mut command, directory.path(), LIMIT).ok()? {
            Ending::Exited(status, _) if status.success() => fs::read_to_string(directory.join(OUTPUT_FILE)).ok(),
            Ending::Exited(..) | Ending::TimedOut => None,
        }
    };
    let told = ask().unwrap_or_default();
    let folders = told.lines().map(PathBuf::from).filter(|folder| folder.is_absolute() && folder.is_dir());
    folders.filter(|folder| holds_packages(folder)).collect()
}

/// Whether packages are installed in `folder`: it is named so, or has the vendor's.
fn holds_packages(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.ends_with("-packages") || folder.join("nvidia").is_dir()
}

fn folders_in(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}
