//! lab.zip: the steps' files, what was measured that has a file of its own, and failing cases.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The most bytes of each file of results.
pub const MOST_BYTES: usize = 16 << 20;
/// Bytes that the archive keeps for the directory of its entries.
const DIRECTORY: usize = 1 << 18;
/// Larger files are not even tried.
const MOST_UNPACKED: u64 = 256 << 20;

pub struct Packed {
    pub bytes: Vec<u8>,
    /// What would have made it too large.
    pub left_out: Vec<String>,
}

/// Packs these files and folders of `root`, in this order; whatever would make the archive larger than `most` is left out whole.
pub fn pack(root: &Path, entries: &[PathBuf], most: usize) -> ZipResult<Packed> {
    let mut groups: Vec<(String, Vec<PathBuf>)> = Vec::new();
    let mut left_out = Vec::new();
    let mut used = DIRECTORY;
    for entry in entries {
        let mut files = Vec::new();
        collect(entry, &mut files);
        let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum();
        let name = entry.strip_prefix(root).unwrap_or(entry).display().to_string();
        let packed = if bytes > MOST_UNPACKED { usize::MAX } else { written(root, &files)?.len() };
        if used.saturating_add(packed) <= most {
            used += packed;
            groups.push((name, files));
        } else {
            left_out.push(format!("{name}, {bytes} bytes, of lab.zip"));
        }
    }
    let files: Vec<PathBuf> = groups.into_iter().flat_map(|(_, files)| files).collect();
    Ok(Packed { bytes: written(root, &files)?, left_out })
}

fn written(root: &Path, files: &[PathBuf]) -> ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default());
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        archive.start_file(name, options)?;
        archive.write_all(&std::fs::read(file)?)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The files below a path, sorted.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    let mut below: Vec<PathBuf> =
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    below.sort();
    below.iter().for_each(|path| collect(path, files));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_left_out_and_named() {
        let root = std::env::temp_dir().join(format!("warpweave-lab-archive-{}", std::process::id()));
        std::fs::create_dir_all(root.join("cases/differ")).expect("a folder can be made");
        std::fs::write(root.join("doctor.json"), "{}").expect("a file can be written");
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let noise: Vec<u8> = (0..200_000).map(|_| next()).collect();
        std::fs::write(root.join("cases/differ/model.weave"), &noise).expect("a file can be written");
        let entries = [root.join("cases/differ"), root.join("doctor.json")];
        let whole = pack(&root, &entries, MOST_BYTES).expect("it is packed");
        assert!(whole.left_out.is_empty() && whole.bytes.len() > 10_000, "{:?}", whole.left_out);
        let small = pack(&root, &entries, DIRECTORY + 2_000).expect("it is packed");
        assert_eq!(small.left_out, ["cases/differ, 200000 bytes, of lab.zip"]);
        assert!(small.bytes.len() < 2_000 && small.bytes.starts_with(b"PK"));
        assert!(pack(&root, &[], MOST_BYTES).expect("it is packed").bytes.starts_with(b"PK"));
        std::fs::remove_dir_all(&root).expect("the folder can be removed");
    }
}
