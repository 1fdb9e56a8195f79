//! Reading of `.npz` archives, as the tests need it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use warpweave_graph::{Tensor, npy};

/// The folder of the exported models.
pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/models")
}

/// The arrays of an archive whose entries are stored without compression, by name.
pub fn read_npz(path: &Path) -> BTreeMap<String, Tensor> {
    let bytes = Bytes::from(std::fs::read(path).expect("the archive can be read"));
    let number = |at: usize, count: usize| {
        bytes[at..at + count].iter().rev().fold(0usize, |value, &byte| value << 8 | usize::from(byte))
    };
    let end = bytes.windows(4).rposition(|window| window == b"PK\x05\x06").expect("the archive has a directory");
    let mut at = number(end + 16, 4);
    let mut arrays = BTreeMap::new();
    for _ in 0..number(end + 10, 2) {
        assert_eq!(number(at + 10, 2), 0, "entries are stored");
        let (size, name, extra, comment) =
            (number(at + 20, 4), number(at + 28, 2), number(at + 30, 2), number(at + 32, 2));
        let local = number(at + 42, 4);
        let title = String::from_utf8(bytes[at + 46..at + 46 + name].to_vec()).expect("names are text");
        let data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
        let array = npy::parse(&bytes.slice(data..data + size)).expect("the entry is an array");
        arrays.insert(title.trim_end_matches(".npy").to_owned(), array);
        at += 46 + name + extra + comment;
    }
    arrays
}
