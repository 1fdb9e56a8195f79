//! CUDA's compiler tools: NVRTC, nvJitLink and nvdisasm, where they are looked for, and fetching them.

pub mod fetch;
mod python;
mod surroundings;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use surroundings::Surroundings;

/// The folders of libraries under a root: those of unpacked wheels first, then of installed toolkits and distributions.
const LIBRARY_FOLDERS: [&str; 5] = ["nvidia/cu13/lib", "lib64", "lib", "lib/x86_64-linux-gnu", ""];
const PROGRAM_FOLDERS: [&str; 3] = ["nvidia/cu13/bin", "bin", ""];

const NVRTC: &str = "libnvrtc.so.";
const NVRTC_BUILTINS: &str = "libnvrtc-builtins.so.";
const LINKER: &str = "libnvJitLink.so.";

/// The libraries that were found, and the folders in which they were looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toolkit {
    /// NVRTC's library.
    pub nvrtc: Option<PathBuf>,
    /// nvJitLink's library, which has NVRTC's major version.
    pub linker: Result<PathBuf, NoLinker>,
    /// The roots that were searched, in order.
    pub searched: Vec<PathBuf>,
}

/// Why units cannot be linked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoLinker {
    /// No folder holds nvJitLink.
    #[error(
        "nvJitLink not found in {}: run warpweave doctor --fetch-cuda, or name a folder that holds NVRTC and nvJitLink in \
         WARPWEAVE_CUDA_DIR",
        list(searched)
    )]
    NotFound {
        /// The folders searched.
        searched: Vec<PathBuf>,
    },
    /// The libraries are of different major versions.
    #[error(
        "{} is of another major version than {}: run warpweave doctor --fetch-cuda, or name a folder that holds both in one \
         version in WARPWEAVE_CUDA_DIR",
        linker.display(), nvrtc.display()
    )]
    Mismatch {
        /// nvJitLink's library.
        linker: PathBuf,
        /// NVRTC's library.
        nvrtc: PathBuf,
    },
}

/// The libraries beneath one root.
struct Beneath {
    nvrtc: Option<Library>,
    linker: Option<Library>,
}

/// A library whose file name ends in its version.
#[derive(Clone)]
struct Library {
    path: PathBuf,
    version: Vec<u32>,
}

impl Toolkit {
    /// The libraries that this process uses; looked for once.
    pub fn of_process() -> &'static Self {
        static FOUND: OnceLock<Toolkit> = OnceLock::new();
        FOUND.get_or_init(|| Self::beneath(Surroundings::of_process().roots()))
    }

    /// The libraries beneath `roots`, which are asked for one by one until one has both in one major version. Where none has,
    /// NVRTC is the first one, and nvJitLink the first one that matches it.
    pub fn beneath(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        let (mut searched, mut nvrtc, mut linkers) = (Vec::new(), None, Vec::new());
        for root in roots {
            let found = Beneath::root(&root);
            searched.push(root);
            if let (Some(nvrtc), Some(linker)) = (&found.nvrtc, &found.linker)
                && linker.matches(nvrtc)
            {
                return Self { nvrtc: Some(nvrtc.path.clone()), linker: Ok(linker.path.clone()), searched };
            }
            nvrtc = nvrtc.or(found.nvrtc);
            linkers.extend(found.linker);
        }
        let matching = linkers.iter().find(|linker| nvrtc.as_ref().is_none_or(|nvrtc| linker.matches(nvrtc)));
        let linker = match (matching, linkers.first(), &nvrtc) {
            (Some(linker), ..) => Ok(linker.path.clone()),
            (None, Some(linker), Some(nvrtc)) => {
                Err(NoLinker::Mismatch { linker: linker.path.clone(), nvrtc: nvrtc.path.clone() })
            }
            (None, ..) => Err(NoLinker::NotFound { searched: searched.clone() }),
        };
        Self { nvrtc: nvrtc.map(|nvrtc| nvrtc.path), linker, searched }
    }
}

impl Beneath {
    fn root(root: &Path) -> Self {
        let newest_of = |prefix| LIBRARY_FOLDERS.iter().find_map(|folder| Library::newest(&root.join(folder), prefix));
        Self { nvrtc: newest_of(NVRTC), linker: newest_of(LINKER) }
    }
}

impl Library {
    /// The file in `folder` whose name is `prefix` and the highest version.
    fn newest(folder: &Path, prefix: &str) -> Option<Self> {
        let library = |path: PathBuf| -> Option<Self> {
            let suffix = path.file_name()?.to_str()?.strip_prefix(prefix)?;
            let version = suffix.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
            Some(Self { path, version })
        };
        let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        files.filter_map(library).max_by(|left, right| left.version.cmp(&right.version))
    }

    fn matches(&self, other: &Self) -> bool {
        self.version.first() == other.version.first()
    }
}

/// The built-in functions that belong to the NVRTC at `path`, a file beside it.
pub(crate) fn builtins_of(path: &Path) -> Option<PathBuf> {
    Library::newest(path.parent()?, NVRTC_BUILTINS).map(|library| library.path)
}

/// A program that was not found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{name} not found in {}: run warpweave doctor --fetch-cuda, or name a folder that holds it in WARPWEAVE_CUDA_DIR",
    list(searched)
)]
pub struct NoProgram {
    /// The program.
    pub name: &'static str,
    /// The folders searched.
    pub searched: Vec<PathBuf>,
}

/// The program of this name beneath the first of `roots` that has it.
pub fn find_program(name: &'static str, roots: impl IntoIterator<Item = PathBuf>) -> Result<PathBuf, NoProgram> {
    let mut searched = Vec::new();
    for root in roots {
        let candidates = PROGRAM_FOLDERS.map(|folder| root.join(folder).join(name));
        if let Some(found) = candidates.into_iter().find(|path| path.is_file()) {
            return Ok(found);
        }
        searched.push(root);
    }
    Err(NoProgram { name, searched })
}

/// Folders as a message shows them.
pub(crate) fn list(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unfinished::TemporaryDirectory;

    /// A root with these empty libraries.
    fn root(folder: &TemporaryDirectory, name: &str, files: &[&str]) -> PathBuf {
        let root = folder.join(name);
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder can be made");
            std::fs::write(path, "").expect("the file can be written");
        }
        root
    }

    #[test]
    fn prefers_a_root_with_both_libraries_and_stops_there() {
        let folder = TemporaryDirectory::new().expect("there is room");
        let alone = root(&folder, "alone", &["lib64/libnvrtc.so.13"]);
        let mixed = root(&folder, "mixed", &["lib64/libnvrtc.so.12", "lib64/libnvJitLink.so.13"]);
        let both = root(&folder, "both", &["nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cu13/lib/libnvJitLink.so.13"]);
        let roots = [alone.clone(), mixed.clone(), both.clone()];
        let never = std::iter::from_fn(|| panic!("no further root is asked for"));
        let found = Toolkit::beneath(roots.into_iter().chain(never));
        assert_eq!(found.nvrtc, Some(both.join("nvidia/cu13/lib/libnvrtc.so.13")));
        assert_eq!(found.linker, Ok(both.join("nvidia/cu13/lib/libnvJitLink.so.13")));
        assert_eq!(found.searched, [alone.clone(), mixed.clone(), both]);
        let apart = Toolkit::beneath([alone.clone(), mixed.clone()]);
        assert_eq!(apart.nvrtc, Some(alone.join("lib64/libnvrtc.so.13")));
        assert_eq!(apart.linker, Ok(mixed.join("lib64/libnvJitLink.so.13")));
    }

    #[test]
    fn refuses_a_linker_of_another_major_version() {
        let folder = TemporaryDirectory::new().expect("there is room");
        let files = ["lib/libnvrtc.so.12.8", "lib/libnvrtc.so.13.1", "lib/libnvJitLink.so.12"];
        let mixed = root(&folder, "mixed", &files);
        let found = Toolkit::beneath([mixed.clone()]);
        assert_eq!(found.nvrtc, Some(mixed.join("lib/libnvrtc.so.13.1")));
        let refused = found.linker.expect_err("the versions differ").to_string();
        assert!(refused.contains("libnvJitLink.so.12 is of another major version than"), "{refused}");
        let none = Toolkit::beneath([folder.join("absent")]);
        assert_eq!(none.nvrtc, None);
        let told = none.linker.expect_err("there is none").to_string();
        assert!(told.contains(&folder.join("absent").display().to_string()) && told.contains("--fetch-cuda"), "{told}");
    }

    #[test]
    fn finds_a_program_beneath_any_root() {
        let folder = TemporaryDirectory::new().expect("there is room");
        let roots = [root(&folder, "libraries", &["lib/libnvrtc.so.13"]), root(&folder, "programs", &["bin/nvdisasm"])];
        assert_eq!(find_program("nvdisasm", roots.clone()), Ok(roots[1].join("bin/nvdisasm")));
        let missing = find_program("cuobjdump", roots.clone()).expect_err("there is none");
        assert_eq!(missing.searched, roots);
    }
}
