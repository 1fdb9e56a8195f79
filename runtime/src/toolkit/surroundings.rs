//! What decides where CUDA's tools are looked for.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::python;

/// The variables and folders that decide where CUDA's tools are looked for. A value, so that the order does not depend on the
/// process that looks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Surroundings {
    /// The folder to use instead of all others: `WARPWEAVE_CUDA_DIR`.
    pub only: Option<PathBuf>,
    /// The current folder and the executable, beside and above which `.cuda` may lie.
    pub starts: Vec<PathBuf>,
    /// Where programs keep what they can make again: `XDG_CACHE_HOME`, or `.cache` in the home folder.
    pub cache: Option<PathBuf>,
    /// Toolkits that the environment names: `CUDA_HOME`, then `CUDA_PATH`.
    pub toolkits: Vec<PathBuf>,
    /// The folders of `LD_LIBRARY_PATH`.
    pub libraries: Vec<PathBuf>,
    /// The active Python environment: `VIRTUAL_ENV`.
    pub environment: Option<PathBuf>,
    /// The Python interpreter, which is asked for its packages where nothing before has what is looked for.
    pub interpreter: Option<PathBuf>,
    /// A folder whose folders may hold Python environments named `.venv`.
    pub environments: Option<PathBuf>,
    /// Where toolkits and distributions are installed.
    pub system: Vec<PathBuf>,
}

/// The variable that names the CUDA folder to use instead of all others.
const ONLY: &str = "WARPWEAVE_CUDA_DIR";

/// The system's folders.
const SYSTEM: [&str; 3] = ["/usr/local/cuda", "/opt/cuda", "/usr"];

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = folder("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
        let libraries = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        Self {
            only: folder(ONLY),
            starts: [env::current_dir(), env::current_exe()].into_iter().flatten().collect(),
            cache: cache.or_else(|| Some(folder("HOME")?.join(".cache"))),
            toolkits: ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(folder).collect(),
            libraries: env::split_paths(&libraries).filter(|folder| folder.is_absolute()).collect(),
            environment: folder("VIRTUAL_ENV"),
            interpreter: Some("python3".into()),
            environments: Some("/opt".into()),
            system: SYSTEM.map(PathBuf::from).to_vec(),
        }
    }

    /// The folder in which fetched tools are kept, if there is a folder for such things.
    pub fn fetched(&self) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join("warpweave/cuda"))
    }

    /// The folders that may hold CUDA, best first, each once; those that are not there are left out, except for one that is
    /// named alone and the system's. Python is asked only when the folders before it have been taken.
    pub fn roots(&self) -> impl Iterator<Item = PathBuf> {
        let only = self.only.clone();
        let others = if only.is_none() { Some(self.others()) } else { None };
        only.into_iter().chain(others.into_iter().flatten())
    }

    fn others(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let beside = |start: &PathBuf| start.ancestors().map(|folder| folder.join(".cuda")).collect::<Vec<_>>();
        let mut first: Vec<PathBuf> = self.starts.iter().flat_map(beside).collect();
        first.extend(self.fetched());
        first.extend(self.toolkits.iter().chain(&self.libraries).cloned());
        first.extend(self.environment.iter().flat_map(|environment| python::packages_of(environment)));
        let asked = self.interpreter.clone().into_iter().flat_map(|interpreter| known_to(&interpreter));
        let environments = self.environments.clone().into_iter().flat_map(|parent| python::environments_in(&parent));
        let last = environments.flat_map(|environment| python::packages_of(&environment));
        let mut seen = BTreeSet::new();
        let there = first.into_iter().chain(asked).chain(last).filter(|root| root.is_dir());
        there.chain(self.system.clone()).filter(move |root| seen.insert(root.clone()))
    }
}

/// The package folders of an interpreter; that of this process is asked once.
fn known_to(interpreter: &Path) -> Vec<PathBuf> {
    static KNOWN: OnceLock<(PathBuf, Vec<PathBuf>)> = OnceLock::new();
    let (known, packages) = KNOWN.get_or_init(|| (interpreter.to_owned(), python::packages_known_to(interpreter)));
    if known == interpreter { packages.clone() } else { python::packages_known_to(interpreter) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::unfinished::TemporaryDirectory;

    fn folder(base: &TemporaryDirectory, name: &str) -> PathBuf {
        let path = base.join(name);
        fs::create_dir_all(&path).expect("the folder can be made");
        path
    }

    /// Surroundings in which each place has a folder, and those folders in their order.
    fn everywhere(base: &TemporaryDirectory) -> (Surroundings, Vec<PathBuf>) {
        let roots = [
            "work/.cuda",
            ".cuda",
            "bin/.cuda",
            "cache/warpweave/cuda",
            "home",
            "path",
            "libraries",
            "active/lib/python3.12/site-packages",
            "active/lib/python3.9/site-packages",
            "asked/site-packages",
            "opt/a/.venv/lib/python3.11/site-packages",
            "opt/b/.venv/lib/python3.10/site-packages",
        ];
        let mut roots: Vec<PathBuf> = roots.iter().map(|name| folder(base, name)).collect();
        roots.push(base.join("absent"));
        let interpreter = base.join("python3");
        let script = format!(
            "#!/bin/sh\ntouch {0}/was-asked\necho\necho relative\necho {0}/asked\necho {0}/asked/site-packages\n",
            base.path().display()
        );
        fs::write(&interpreter, script).expect("the script can be written");
        fs::set_permissions(&interpreter, fs::Permissions::from_mode(0o755)).expect("the script is ours");
        let surroundings = Surroundings {
            only: None,
            starts: vec![base.join("work"), base.join("bin")],
            cache: Some(base.join("cache")),
            toolkits: vec![base.join("home"), base.join("path")],
            libraries: vec![base.join("libraries"), base.join("home")],
            environment: Some(base.join("active")),
            interpreter: Some(interpreter),
            environments: Some(base.join("opt")),
            system: vec![base.join("absent")],
        };
        (surroundings, roots)
    }

    #[test]
    fn roots_come_in_their_order_each_once() {
        let base = TemporaryDirectory::new().expect("there is room");
        let (surroundings, expected) = everywhere(&base);
        let found: Vec<PathBuf> = surroundings.roots().filter(|root| root.starts_with(base.path())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn python_is_asked_only_when_nothing_before_will_do() {
        let base = TemporaryDirectory::new().expect("there is room");
        let (surroundings, expected) = everywhere(&base);
        let before: Vec<PathBuf> = surroundings.roots().filter(|root| root.starts_with(base.path())).take(9).collect();
        assert_eq!(before, expected[..9]);
        assert!(!base.join("was-asked").exists());
        assert!(
            surroundings.roots().any(|root| root == base.join("asked/site-packages"))
                && base.join("was-asked").exists()
        );
    }

    #[test]
    fn a_named_folder_is_the_only_one() {
        let base = TemporaryDirectory::new().expect("there is room");
        let only = base.join("named");
        let surroundings = Surroundings { only: Some(only.clone()), ..everywhere(&base).0 };
        assert_eq!(surroundings.roots().collect::<Vec<_>>(), [only]);
    }

    #[test]
    fn an_interpreter_that_fails_knows_no_folders() {
        let base = TemporaryDirectory::new().expect("there is room");
        let surroundings = Surroundings { interpreter: Some(base.join("absent")), ..Surroundings::default() };
        assert_eq!(surroundings.roots().collect::<Vec<_>>(), Vec::<PathBuf>::new());
    }
}
