//! Zip archives of stored entries, taken apart by hand to be damaged.

use warpweave::runtime::bundle::seal;

/// An entry: its name, where its data lie, and where its checksum stands in the local header.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    pub start: usize,
    pub bytes: usize,
    header: usize,
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    bytes[at..at + width].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// The entries, in the order of the file.
pub fn entries(bytes: &[u8]) -> Vec<Entry> {
    let (mut entries, mut at) = (Vec::new(), 0);
    while bytes[at..].starts_with(b"PK\x03\x04") {
        let (size, name, extra) = (number(bytes, at + 18, 4), number(bytes, at + 26, 2), number(bytes, at + 28, 2));
        let start = at + 30 + name + extra;
        let text = String::from_utf8(bytes[at + 30..at + 30 + name].to_vec()).expect("names are text");
        entries.push(Entry { name: text, start, bytes: size, header: at });
        at = start + size;
    }
    entries
}

/// Replaces text by other text of the same length in an entry, and makes the archive's checksums and its seal right again.
pub fn replace(bytes: &mut [u8], name: &str, from: &str, to: &str) {
    replace_unsealed(bytes, name, from, to);
    reseal(bytes);
}

/// The same with the old seal.
pub fn replace_unsealed(bytes: &mut [u8], name: &str, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    change(bytes, name, |data| {
        let at = data.windows(from.len()).position(|part| part == from.as_bytes()).expect("the text is there");
        data[at..at + to.len()].copy_from_slice(to.as_bytes());
    });
}

/// Changes an entry, and makes its hash in the manifest, the checksums and the seal right again.
pub fn forge(bytes: &mut [u8], name: &str, change_data: impl FnOnce(&mut [u8])) {
    let hash = |bytes: &[u8]| {
        let entry = entry(bytes, name);
        seal(&bytes[entry.start..entry.start + entry.bytes])
    };
    let old = hash(bytes);
    change(bytes, name, change_data);
    let new = hash(bytes);
    replace(bytes, "manifest.json", &old, &new);
}

fn entry(bytes: &[u8], name: &str) -> Entry {
    entries(bytes).into_iter().find(|entry| entry.name == name).expect("the entry is there")
}

/// Changes an entry and makes its checksums right again.
fn change(bytes: &mut [u8], name: &str, change_data: impl FnOnce(&mut [u8])) {
    let entry = entry(bytes, name);
    let data = entry.start..entry.start + entry.bytes;
    change_data(&mut bytes[data.clone()]);
    let old = bytes[entry.header + 14..entry.header + 18].to_vec();
    let new = checksum(&bytes[data]).to_le_bytes();
    bytes[entry.header + 14..entry.header + 18].copy_from_slice(&new);
    let central = (0..bytes.len() - 20)
        .find(|&at| bytes[at..].starts_with(b"PK\x01\x02") && bytes[at + 16..at + 20] == old[..])
        .expect("the entry is in the directory");
    bytes[central + 16..central + 20].copy_from_slice(&new);
}

/// Makes the archive's comment the hash of the manifest again.
fn reseal(bytes: &mut [u8]) {
    let manifest = entry(bytes, "manifest.json");
    let hash = seal(&bytes[manifest.start..manifest.start + manifest.bytes]);
    let comment = bytes.len() - hash.len();
    bytes[comment..].copy_from_slice(hash.as_bytes());
}

/// CRC-32.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut value = !0u32;
    for &byte in bytes {
        value ^= u32::from(byte);
        for _ in 0..8 {
            value = value >> 1 ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !value
}
