//! What is copied to a machine with a GPU: the files of the repository and the release binary.

use std::path::Path;

use super::{collect, root};

/// Bytes of both together.
const MOST_BYTES: u64 = 48 << 20;
/// What is left of these to the binary, which `scripts/travel_size.sh` holds against it.
const BINARY_BYTES: u64 = 24 << 20;
/// Bytes of one file.
const MOST_FILE_BYTES: u64 = 2 << 20;

pub fn check() {
    let root = root();
    let mut files = Vec::new();
    collect(&root, &mut files);
    let bytes = |path: &Path| std::fs::metadata(path).expect("a readable file").len();
    let large: Vec<String> = files
        .iter()
        .filter(|path| bytes(path) > MOST_FILE_BYTES)
        .map(|path| format!("{}: {} bytes", path.strip_prefix(&root).unwrap_or(path).display(), bytes(path)))
        .collect();
    assert!(large.is_empty(), "pack these files, or make them from a seed: {large:?}");
    let all: u64 = files.iter().map(|path| bytes(path)).sum();
    let most = MOST_BYTES - BINARY_BYTES;
    assert!(all <= most, "the files of the repository have {all} bytes; {most} are allowed");
}
