//! Constants that stay in files beside the bundle.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use warpweave_graph::TensorProgram;
use warpweave_graph::program::TensorId;

use super::error::BundleError;

/// Smaller constants are in the bundle all the same.
const FEWEST_BYTES: usize = 1 << 12;

/// A file that a model came of.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it holds; constants that are slices of it can stay there.
    pub bytes: Bytes,
}

/// Which constants stay where.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct References {
    /// The files.
    pub files: Vec<FileRecord>,
    /// By the names that constants have among the weights.
    pub tensors: BTreeMap<String, PlaceRecord>,
}

/// A file in the bundle's folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// BLAKE3 of all of it, in hexadecimal digits.
    pub blake3: String,
}

/// Where a constant lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlaceRecord {
    /// The position of its file.
    pub file: usize,
    /// Bytes of the file before it.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl References {
    /// The constants of `program` that are slices of `files`, for a bundle at `bundle`: all files that hold any must lie in
    /// its folder.
    pub(super) fn of(program: &TensorProgram, files: &[WeightFile], bundle: &Path) -> Result<Self, BundleError> {
        let mut found = Self::default();
        let mut known: Vec<Option<usize>> = vec![None; files.len()];
        for id in program.tensors.ids() {
            let Some(constant) = program.stored(id).filter(|constant| constant.bytes().len() >= FEWEST_BYTES) else {
                continue;
            };
            let places = files.iter().map(|file| offset(&file.bytes, constant.bytes()));
            let Some((number, offset)) = places.enumerate().find_map(|(number, at)| Some((number, at?))) else {
                continue;
            };
            let file = match known[number] {
                Some(file) => file,
                None => {
                    found.files.push(FileRecord::of(&files[number], bundle)?);
                    *known[number].insert(found.files.len() - 1)
                }
            };
            let place = PlaceRecord { file, offset: offset as u64, bytes: constant.bytes().len() as u64 };
            found.tensors.insert(id.to_string(), place);
        }
        Ok(found)
    }

    /// Whether no constant stays in a file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.tensors.is_empty()
    }

    /// Whether a constant stays in a file.
    pub(super) fn holds(&self, tensor: TensorId) -> bool {
        self.tensors.contains_key(&tensor.to_string())
    }

    /// Opens the files beside `bundle`; each must be as long as it was, and every constant lie inside.
    pub(super) fn open(&self, bundle: &Path) -> Result<Vec<File>, BundleError> {
        let inside = |place: &PlaceRecord| {
            let file = self.files.get(place.file);
            file.is_some_and(|file| place.offset.checked_add(place.bytes).is_some_and(|end| end <= file.bytes))
        };
        if let Some((name, _)) = self.tensors.iter().find(|(_, place)| !inside(place)) {
            let reason = format!("{name} lies outside the files that the manifest names");
            return Err(BundleError::Damaged { entry: super::EntryName::Manifest, reason });
        }
        self.files.iter().map(|file| file.open(bundle)).collect()
    }
}

impl FileRecord {
    fn of(file: &WeightFile, bundle: &Path) -> Result<Self, BundleError> {
        let is_beside = folder(&file.path).is_some_and(|own| Some(own) == folder(bundle));
        let is_other = file.path.file_name() != bundle.file_name();
        match file.path.file_name().and_then(|name| name.to_str()).filter(|_| is_beside && is_other) {
            Some(name) => Ok(Self {
                name: name.to_owned(),
                bytes: file.bytes.len() as u64,
                blake3: blake3::hash(&file.bytes).to_hex().to_string(),
            }),
            None => Err(BundleError::Apart { file: file.path.clone() }),
        }
    }

    fn open(&self, bundle: &Path) -> Result<File, BundleError> {
        let path = bundle.with_file_name(&self.name);
        let other = |reason: String| BundleError::Weights { path: path.clone(), reason };
        let mut components = Path::new(&self.name).components();
        if !matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)) {
            return Err(other("is named by more than a file name".to_owned()));
        }
        let kind = path.symlink_metadata().map_err(|error| other(format!("cannot be opened: {error}")))?;
        if !kind.is_file() {
            return Err(other("is no regular file: links and pipes are not followed".to_owned()));
        }
        let file = File::open(&path).map_err(|error| other(format!("cannot be opened: {error}")))?;
        let bytes = file.metadata().map_err(|error| other(format!("cannot be read: {error}")))?.len();
        if bytes == self.bytes { Ok(file) } else { Err(other(format!("has {bytes} bytes, not {}", self.bytes))) }
    }
}

/// Where a slice begins in the bytes that it is a slice of.
fn offset(whole: &[u8], part: &[u8]) -> Option<usize> {
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    (start + part.len() <= whole.len()).then_some(start)
}

fn folder(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    parent.canonicalize().ok()
}
