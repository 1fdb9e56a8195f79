//! Fetching CUDA's tools from Python's package index, in pinned versions.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use warpweave_graph::legible::file_remedy;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::tools::{self, Ending};
use crate::unfinished::TemporaryDirectory;

/// The packages, their versions and their hashes, in the format of pip's requirements; pip refuses what has another hash.
pub const WHEELS: &str = include_str!("wheels.txt");

/// The file beside fetched tools that says which they are.
const WHEELS_FILE: &str = "wheels.txt";

const LIMIT: Duration = Duration::from_secs(900);

/// What [`fetch`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetched {
    /// The tools are in the folder now.
    New,
    /// They had been fetched before.
    AlreadyThere,
}

/// Why tools were not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Something else is in the way.
    #[error("{} is there and was not fetched by this version; move it away, then fetch again", .0.display())]
    Occupied(PathBuf),
    /// Python or pip cannot be run.
    #[error("cannot run python3 -m pip: {0}; install Python 3 with pip")]
    NoPip(io::Error),
    /// Pip refuses, or there is no way to the package index.
    #[error("pip cannot download CUDA's packages:\n{log}")]
    Pip {
        /// What it said.
        log: String,
    },
    /// Pip does not end.
    #[error("pip did not download CUDA's packages within {LIMIT:?}; try again")]
    TimeLimit,
    /// A package cannot be unpacked.
    #[error("cannot unpack {}: {source}", path.display())]
    Unpack {
        /// The package.
        path: PathBuf,
        /// The reason.
        source: ZipError,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Puts the tools of [`WHEELS`] into `folder`, which appears whole or not at all. `interpreter` is a Python 3 with pip. Nothing
/// that is there is replaced.
pub fn fetch(folder: &Path, interpreter: &Path) -> Result<Fetched, FetchError> {
    if folder.symlink_metadata().is_ok() {
        let is_ours = fs::read(folder.join(WHEELS_FILE)).is_ok_and(|found| found == WHEELS.as_bytes());
        return if is_ours { Ok(Fetched::AlreadyThere) } else { Err(FetchError::Occupied(folder.to_owned())) };
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| FetchError::File { path, source }
    };
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(failed(parent))?;
    let unpacked = TemporaryDirectory::beside(folder).map_err(failed(folder))?;
    let downloads = TemporaryDirectory::beside(folder).map_err(failed(folder))?;
    download(downloads.path(), interpreter)?;
    for wheel in wheels_in(downloads.path()).map_err(failed(downloads.path()))? {
        unpack(&wheel, unpacked.path()).map_err(|source| FetchError::Unpack { path: wheel, source })?;
    }
    fs::write(unpacked.join(WHEELS_FILE), WHEELS).map_err(failed(unpacked.path()))?;
    unpacked.rename(folder).map_err(failed(folder))?;
    Ok(Fetched::New)
}

/// Downloads the packages into `folder`.
fn download(folder: &Path, interpreter: &Path) -> Result<(), FetchError> {
    let wheels = folder.join(WHEELS_FILE);
    fs::write(&wheels, WHEELS).map_err(|source| FetchError::File { path: wheels.clone(), source })?;
    let mut command = Command::new(interpreter);
    command.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    command.args(["--only-binary=:all:", "--require-hashes", "--dest"]).arg(folder).arg("-r").arg(&wheels);
    match tools::run(&mut command, folder, LIMIT).map_err(FetchError::NoPip)? {
        Ending::Exited(status, _) if status.success() => Ok(()),
        Ending::Exited(_, log) => Err(FetchError::Pip { log: log.trim().to_owned() }),
        Ending::TimedOut => Err(FetchError::TimeLimit),
    }
}

fn wheels_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let mut wheels: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "whl")).collect();
    wheels.sort();
    Ok(wheels)
}

/// Unpacks a wheel into `folder`, and makes its programs executable.
fn unpack(wheel: &Path, folder: &Path) -> Result<(), ZipError> {
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    archive.extract(folder)?;
    for index in 0..archive.len() {
        let Some(name) = archive.by_index(index)?.enclosed_name() else { continue };
        let is_program = name.parent().is_some_and(|folder| folder.ends_with("bin"));
        let path = folder.join(name);
        if !is_program || !path.is_file() {
            continue;
        }
        let mode = fs::metadata(&path)?.permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o111))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// A stand-in for Python whose pip leaves `wheel` where it is told to.
    fn interpreter(base: &TemporaryDirectory, script: &str) -> PathBuf {
        let path = base.join("python3");
        fs::write(&path, format!("#!/bin/sh\n{script}")).expect("the script can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the script is ours");
        path
    }

    /// The names in a folder.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder is there").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Copies a made-up wheel to the folder after `--dest`, if all of the packages are asked for with their hashes.
    fn working(base: &TemporaryDirectory) -> PathBuf {
        let wheel = base.join("made_up-1-py3-none-any.whl");
        let mut archive = ZipWriter::new(File::create(&wheel).expect("the wheel can be made"));
        for name in ["nvidia/cu13/bin/nvdisasm", "nvidia/cu13/lib/libnvrtc.so.13"] {
            archive.start_file(name, SimpleFileOptions::default().unix_permissions(0o644)).expect("it fits");
            archive.write_all(name.as_bytes()).expect("it fits");
        }
        archive.finish().expect("it fits");
        let script = format!(
            "[ \"$8\" = --require-hashes ] || exit 3\nwhile [ \"$1\" != --dest ]; do shift; done\n\
             grep -q hash=sha256 \"$4\" || exit 4\ncp {} \"$2\"\n",
            wheel.display()
        );
        interpreter(base, &script)
    }

    #[test]
    fn fetched_tools_appear_whole_and_once() {
        let base = TemporaryDirectory::new().expect("there is room");
        let (python, folder) = (working(&base), base.join("cache/warpweave/cuda"));
        assert_eq!(fetch(&folder, &python).expect("the stand-in works"), Fetched::New);
        let mode = fs::metadata(folder.join("nvidia/cu13/bin/nvdisasm")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
        assert!(folder.join("nvidia/cu13/lib/libnvrtc.so.13").is_file());
        assert_eq!(names(&base.join("cache/warpweave")), ["cuda"]);
        let never = base.join("absent");
        assert_eq!(fetch(&folder, &never).expect("nothing is to be done"), Fetched::AlreadyThere);
    }

    #[test]
    fn other_files_stay_as_they_are() {
        let base = TemporaryDirectory::new().expect("there is room");
        let folder = base.join("cuda");
        fs::create_dir(&folder).expect("the folder can be made");
        fs::write(folder.join("mine"), "kept").expect("the file can be written");
        let refused = fetch(&folder, &working(&base)).expect_err("the folder belongs to another program").to_string();
        assert!(refused.contains("move it away"), "{refused}");
        assert_eq!(names(&folder), ["mine"]);
    }

    #[test]
    fn failures_leave_nothing() {
        let base = TemporaryDirectory::new().expect("there is room");
        let folder = base.join("cache/cuda");
        let refusing = interpreter(&base, "echo no matching hash >&2\nexit 1\n");
        let refused = fetch(&folder, &refusing).expect_err("pip refuses").to_string();
        assert!(refused.contains("no matching hash"), "{refused}");
        assert!(matches!(fetch(&folder, &base.join("absent")), Err(FetchError::NoPip(_))));
        let damaged = interpreter(&base, "while [ \"$1\" != --dest ]; do shift; done\necho > \"$2/a.whl\"\n");
        assert!(matches!(fetch(&folder, &damaged), Err(FetchError::Unpack { .. })));
        assert_eq!(names(&base.join("cache")), Vec::<String>::new());
    }
}
