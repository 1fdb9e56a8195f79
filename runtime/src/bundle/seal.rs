//! What holds a bundle together. The manifest has the hash of every other entry, and the end of the archive that of the
//! manifest. Every plan has that of the program and the constants that it was made for.

use std::collections::BTreeMap;

use warpweave_graph::pipeline::Machine;

use super::manifest::EntryRecord;
use super::name::EntryName;
use super::references::References;

/// Bytes of the record at the end of an archive, without its comment.
pub(super) const END_BYTES: usize = 22;

/// Bytes of what a plan begins with.
pub(super) const BINDING_BYTES: usize = 32;

/// The archive's comment: BLAKE3 of the manifest in hexadecimal digits, and so of all that it has the hash of. An archive that another
/// program has made of the same entries may lack it.
pub fn seal(manifest: &[u8]) -> String {
    blake3::hash(manifest).to_hex().to_string()
}

/// The entry of the program that plans for a machine schedule.
pub(super) fn program_of(machine: Machine, entries: &BTreeMap<EntryName, EntryRecord>) -> EntryName {
    match machine {
        Machine::Processor if entries.contains_key(&EntryName::HostProgram) => EntryName::HostProgram,
        Machine::Processor | Machine::Gpu => EntryName::Program,
    }
}

/// What a plan for a machine begins with: BLAKE3 of the hashes of its program and of the constants, those beside the bundle too.
pub(super) fn binding(
    machine: Machine,
    entries: &BTreeMap<EntryName, EntryRecord>,
    references: &References,
) -> [u8; BINDING_BYTES] {
    let mut hasher = blake3::Hasher::new();
    for name in [program_of(machine, entries), EntryName::Weights] {
        let record = entries.get(&name).map_or("", |record| &record.blake3);
        hasher.update(record.as_bytes());
        hasher.update(b"\n");
    }
    for file in &references.files {
        hasher.update(file.blake3.as_bytes());
        hasher.update(b"\n");
    }
    for (name, place) in &references.tensors {
        hasher.update(format!("{name} {} {} {}\n", place.file, place.offset, place.bytes).as_bytes());
    }
    *hasher.finalize().as_bytes()
}
