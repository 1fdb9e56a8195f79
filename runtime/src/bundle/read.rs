//! Opening a bundle: version, names, sizes, hashes, target, in this order. Nothing of a damaged file is used.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use warpweave_graph::pipeline::Machine;
use warpweave_graph::program::Names;
use warpweave_graph::{ProgramSkeleton, Tensor, TensorProgram};
use warpweave_plan::plan::MemoryPlan;
use zip::{CompressionMethod, ZipArchive};

use super::defaults;
use super::error::BundleError;
use super::manifest::{EntryRecord, FORMAT_VERSION, FormatVersion, Manifest};
use super::name::{BundleTarget, EntryName};
use super::origin::{Origin, Reader};
use super::plan::TargetPlan;
use super::seal::{BINDING_BYTES, END_BYTES, binding, program_of, seal};
use super::weights::WeightsReader;
use super::write::{DeviceCode, TargetContents, archive_error};
use crate::mapped::open_regular;
use crate::session::TensorNames;

/// The entries that are read into memory whole are not larger.
const MAX_LOADED_BYTES: u64 = 1 << 30;
const MAX_MANIFEST_BYTES: u64 = 16 << 20;
const CHUNK_BYTES: usize = 1 << 20;
/// Which entries are refused. The smaller program without the compiler reads stored ones alone.
const PACKED: &str = if cfg!(feature = "compile") {
    "is encrypted, or compressed otherwise than by DEFLATE"
} else {
    "is compressed or encrypted"
};
const END_MAGIC: &[u8] = b"PK\x05\x06";
const LOCAL_HEADER_MAGIC: &[u8] = b"PK\x03\x04";

/// An opened bundle: its names, sizes and hashes have been checked.
#[derive(Debug)]
pub struct Bundle {
    origin: Origin,
    /// The entries of an archive that compresses some, one behind another.
    unpacked: Option<Bytes>,
    spans: BTreeMap<EntryName, EntrySpan>,
    manifest: Manifest,
}

#[derive(Clone, Copy, Debug)]
struct EntrySpan {
    start: u64,
    bytes: u64,
}

/// Whether the file begins as a bundle does. A model does not.
pub fn is_bundle(path: &Path) -> Result<bool, BundleError> {
    let mut magic = Vec::new();
    let read = open_regular(path).and_then(|file| file.take(4).read_to_end(&mut magic));
    read.map_err(|source| BundleError::File { action: "read", path: path.to_owned(), source })?;
    Ok(magic == LOCAL_HEADER_MAGIC)
}

/// Whether the file begins as a bundle does and ends with a seal, of whatever it may be.
pub fn is_sealed(path: &Path) -> io::Result<bool> {
    let mut file = open_regular(path)?;
    let (mut magic, mut end) = (Vec::new(), Vec::new());
    Read::by_ref(&mut file).take(4).read_to_end(&mut magic)?;
    let seal = blake3::OUT_LEN * 2;
    let start = file.metadata()?.len().saturating_sub(seal as u64);
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut end)?;
    Ok(magic == LOCAL_HEADER_MAGIC && end.len() == seal && end.iter().all(u8::is_ascii_hexdigit))
}

/// BLAKE3 of a whole file, in hexadecimal digits: how a manifest names its model.
pub fn file_hash(path: &Path) -> Result<String, BundleError> {
    let failed = |source| BundleError::File { action: "read", path: path.to_owned(), source };
    let mut file = open_regular(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    Ok(hash(&mut file, EntrySpan { start: 0, bytes }).map_err(failed)?.to_hex().to_string())
}

impl Bundle {
    /// Opens and checks the bundle at `path`.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        Self::read(Origin::open(path)?)
    }

    /// Checks a bundle in memory. Its constants are in it: there is no folder in which files could lie beside it.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, BundleError> {
        Self::read(Origin::Memory(bytes))
    }

    fn read(origin: Origin) -> Result<Self, BundleError> {
        let path = origin.path();
        let archive = ZipArchive::new(BufReader::new(origin.reader()?));
        let mut archive = archive.map_err(|error| archive_error(path, &error))?;
        let text = manifest_text(&mut archive, path);
        check_version(text.as_deref().unwrap_or_default())?;
        let (spans, unpacked) = spans(&mut archive, path)?;
        let text = text?;
        let manifest = serde_json::from_slice(&text);
        let manifest = manifest.map_err(|error| damaged(EntryName::Manifest, &error.to_string()))?;
        check_seal(origin.reader()?, &text, archive.comment(), path)?;
        let mut bundle = Self { origin, unpacked, spans, manifest };
        bundle.check_entries()?;
        bundle.check_references()?;
        bundle.check_bindings()?;
        bundle.take_defaults()?;
        Ok(bundle)
    }

    fn take_defaults(&mut self) -> Result<(), BundleError> {
        if !self.spans.contains_key(&EntryName::Defaults) {
            return Ok(());
        }
        let bytes = self.load(EntryName::Defaults)?;
        let taken = defaults::decode(&bytes, &mut self.manifest.signature, self.origin.path());
        taken.map_err(|reason| damaged(EntryName::Defaults, &reason))
    }

    /// What the bundle says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it lies; of a bundle in memory what messages call it.
    pub fn path(&self) -> &Path {
        self.origin.path()
    }

    /// The program with its constants.
    pub fn program(&self) -> Result<TensorProgram, BundleError> {
        self.filled(EntryName::Program)
    }

    /// The program that plans for a machine schedule, with its constants.
    pub fn program_for(&self, machine: Machine) -> Result<TensorProgram, BundleError> {
        self.filled(program_of(machine, &self.manifest.entries))
    }

    fn filled(&self, entry: EntryName) -> Result<TensorProgram, BundleError> {
        let skeleton = self.skeleton(entry)?;
        let mut weights = self.weights()?;
        skeleton.fill(|tensor, ty| weights.read(tensor, ty))
    }

    /// The program that plans for a machine schedule, without its constants.
    pub fn skeleton_for(&self, machine: Machine) -> Result<ProgramSkeleton, BundleError> {
        self.skeleton(program_of(machine, &self.manifest.entries))
    }

    /// What the parts of the program that plans for a machine schedule are called in the model.
    pub fn names(&self, machine: Machine) -> Result<Names, BundleError> {
        Ok(self.skeleton(program_of(machine, &self.manifest.entries))?.names)
    }

    /// The names in the model of the tensors of that program whose elements index other tensors.
    pub fn index_tensors(&self, machine: Machine) -> &TensorNames {
        match program_of(machine, &self.manifest.entries) {
            EntryName::HostProgram => &self.manifest.host_index_tensors,
            _ => &self.manifest.index_tensors,
        }
    }

    fn skeleton(&self, entry: EntryName) -> Result<ProgramSkeleton, BundleError> {
        let skeleton: ProgramSkeleton = super::decode::decode(entry, &self.load(entry)?)?;
        skeleton.check()?;
        Ok(skeleton)
    }

    /// The constants, to be read one by one.
    pub fn weights(&self) -> Result<WeightsReader, BundleError> {
        let EntrySpan { start, bytes } = self.span(EntryName::Weights)?;
        let references = &self.manifest.references;
        WeightsReader::open(self.handle()?, (start, bytes), self.files_beside()?, references.clone())
    }

    /// The constants that the kernels of a plan read, in the weights buffer that the plan lays out.
    pub fn packed_weights(&self, memory: &MemoryPlan) -> Result<Arc<[u8]>, BundleError> {
        let mut weights = self.weights()?;
        crate::session::pack_weights(memory, |tensor, ty, out| weights.read_into(tensor, ty, out))
    }

    /// What the first run finds of each state of a plan, in their order.
    pub fn initial_states(&self, memory: &MemoryPlan) -> Result<Vec<Tensor>, BundleError> {
        let mut weights = self.weights()?;
        memory.states.iter().map(|state| weights.read(state.tensor, &memory.tensors[state.tensor].ty)).collect()
    }

    /// The part for a target: its plan, decoded and verified, and its code.
    pub fn target(&self, target: BundleTarget) -> Result<TargetContents, BundleError> {
        let Some(record) = self.manifest.targets.get(&target) else {
            let held = self.manifest.targets.keys().copied().collect();
            return Err(BundleError::Target { wanted: target.to_string(), held });
        };
        let unsound = |reason: &str| BundleError::Plan { target, reason: reason.to_owned() };
        let bytes = self.load(EntryName::Plan(target))?;
        let plan = TargetPlan::decode(target, record, &bytes[self.check_binding(target, &bytes)?..])?;
        if !self.manifest.signature.is_of(&plan.plan.plan().memory) {
            return Err(unsound("the manifest says otherwise of its inputs and outputs"));
        }
        let code = match target {
            BundleTarget::Host => None,
            BundleTarget::Gpu(gpu) => {
                let source = String::from_utf8(self.load(EntryName::Source(gpu))?).map_err(|_| {
                    BundleError::Damaged { entry: EntryName::Source(gpu), reason: "it is no text".to_owned() }
                })?;
                Some(DeviceCode {
                    target: gpu,
                    threads: record.threads,
                    shared_bytes: record.shared_bytes,
                    node_shared_bytes: record.node_shared_bytes.clone(),
                    kernel_ir: self.load(EntryName::KernelIr(gpu))?,
                    source,
                    cubin: self.load(EntryName::Cubin(gpu))?,
                    minimum_driver: record.minimum_driver.unwrap_or((0, 0)),
                })
            }
        };
        Ok(TargetContents { plan, code })
    }

    /// Every entry is in the manifest with its size and hash, and the manifest names no other.
    fn check_entries(&self) -> Result<(), BundleError> {
        let entries = &self.manifest.entries;
        for (&name, span) in self.spans.iter().filter(|(name, _)| **name != EntryName::Manifest) {
            let Some(record) = entries.get(&name) else {
                return Err(BundleError::Foreign { name: name.to_string(), reason: "the manifest does not name" });
            };
            if record.bytes != span.bytes {
                let reason = format!("it has {} bytes, the manifest says {}", span.bytes, record.bytes);
                return Err(BundleError::Damaged { entry: name, reason });
            }
        }
        let mut wanted = vec![EntryName::Program, EntryName::Weights];
        for &target in self.manifest.targets.keys() {
            wanted.push(EntryName::Plan(target));
            if let BundleTarget::Gpu(gpu) = target {
                wanted.extend([EntryName::KernelIr(gpu), EntryName::Source(gpu), EntryName::Cubin(gpu)]);
            }
        }
        let missing = entries.keys().chain(&wanted).find(|name| !self.spans.contains_key(name));
        if let Some(name) = missing {
            return Err(BundleError::Missing(*name));
        }
        let mut file = self.handle()?;
        for (&name, span) in self.spans.iter().filter(|(name, _)| **name != EntryName::Manifest) {
            let found = hash(&mut file, *span).map_err(|error| damaged(name, &error.to_string()))?;
            check_hash(name, &entries[&name], &found)?;
        }
        Ok(())
    }

    /// An entry's bytes, hashed again: the file may have changed since it was opened.
    fn load(&self, name: EntryName) -> Result<Vec<u8>, BundleError> {
        let span = self.span(name)?;
        let bytes = load(&mut self.handle()?, name, span)?;
        let record = self.manifest.entries.get(&name).ok_or(BundleError::Missing(name))?;
        check_hash(name, record, &blake3::hash(&bytes))?;
        Ok(bytes)
    }

    /// Every plan was made for the program and the constants that are there.
    fn check_bindings(&self) -> Result<(), BundleError> {
        for &target in self.manifest.targets.keys() {
            let EntrySpan { start, bytes } = self.span(EntryName::Plan(target))?;
            let span = EntrySpan { start, bytes: bytes.min(BINDING_BYTES as u64) };
            self.check_binding(target, &load(&mut self.handle()?, EntryName::Plan(target), span)?)?;
        }
        Ok(())
    }

    /// The same of the bytes that a plan begins with; their number.
    fn check_binding(&self, target: BundleTarget, plan: &[u8]) -> Result<usize, BundleError> {
        if plan.starts_with(&binding(target.machine(), &self.manifest.entries, &self.manifest.references)) {
            return Ok(BINDING_BYTES);
        }
        let reason = "it was made for another program or other weights".to_owned();
        Err(BundleError::Plan { target, reason })
    }

    /// Every file beside the bundle is the one that it was compiled with.
    fn check_references(&self) -> Result<(), BundleError> {
        let references = &self.manifest.references;
        for (mut file, record) in self.files_beside()?.into_iter().zip(&references.files) {
            let other = |reason| BundleError::Weights { path: self.path().with_file_name(&record.name), reason };
            let found = hash(&mut file, EntrySpan { start: 0, bytes: record.bytes });
            let found = found.map_err(|error| other(format!("cannot be read: {error}")))?;
            if record.blake3 != found.to_hex().as_str() {
                return Err(other("has another hash".to_owned()));
            }
        }
        Ok(())
    }

    fn span(&self, name: EntryName) -> Result<EntrySpan, BundleError> {
        self.spans.get(&name).copied().ok_or(BundleError::Missing(name))
    }

    fn handle(&self) -> Result<Reader, BundleError> {
        match &self.unpacked {
            Some(bytes) => Ok(Reader::Memory(Cursor::new(bytes.clone()))),
            None => self.origin.reader(),
        }
    }

    /// The files beside the bundle that it has constants in.
    fn files_beside(&self) -> Result<Vec<File>, BundleError> {
        let references = &self.manifest.references;
        match (self.origin.file_path(), references.files.first()) {
            (_, None) => Ok(Vec::new()),
            (Some(path), Some(_)) => references.open(path),
            (None, Some(file)) => {
                let reason = "cannot lie beside a bundle in memory".to_owned();
                Err(BundleError::Weights { path: PathBuf::from(&file.name), reason })
            }
        }
    }
}

/// Where each entry's bytes lie, in the file or in what is unpacked of it; refuses names that no bundle has, and archives that
/// contradict themselves.
fn spans(
    archive: &mut ZipArchive<impl Read + Seek>,
    path: &Path,
) -> Result<(BTreeMap<EntryName, EntrySpan>, Option<Bytes>), BundleError> {
    let failed = |error: &zip::result::ZipError| archive_error(path, error);
    archive.validate_header_consistency().map_err(|error| failed(&error))?;
    if archive.offset() != 0 {
        return Err(BundleError::Archive { path: path.to_owned(), reason: "something stands before it".to_owned() });
    }
    let mut spans = BTreeMap::new();
    let mut unpacked = None;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| failed(&error))?;
        let text = String::from_utf8_lossy(entry.name_raw()).into_owned();
        // A folder of an archive that another program has made.
        if text.ends_with('/') && entry.size() == 0 {
            continue;
        }
        let foreign = |reason| BundleError::Foreign { name: text.clone(), reason };
        let name: EntryName = text.parse().map_err(|_| foreign("is none of a bundle"))?;
        let is_stored = entry.compression() == CompressionMethod::Stored;
        let is_deflated = cfg!(feature = "compile") && entry.compression() == CompressionMethod::Deflated;
        if entry.encrypted() || !(is_deflated || is_stored && entry.size() == entry.compressed_size()) {
            return Err(foreign(PACKED));
        }
        let start = entry.data_start().ok_or_else(|| foreign("has no place"))?;
        if spans.insert(name, EntrySpan { start, bytes: entry.size() }).is_some() {
            return Err(foreign("is there twice"));
        }
        if is_deflated {
            unpacked.get_or_insert_with(Vec::new);
        }
    }
    if let Some(bytes) = unpacked.as_mut().filter(|_| cfg!(feature = "compile")) {
        unpack(archive, path, (&mut spans, bytes))?;
    }
    Ok((spans, unpacked.map(Bytes::from)))
}

/// Reads all entries into memory, one behind another, and says where each of them is there.
fn unpack(
    archive: &mut ZipArchive<impl Read + Seek>,
    path: &Path,
    (spans, bytes): (&mut BTreeMap<EntryName, EntrySpan>, &mut Vec<u8>),
) -> Result<(), BundleError> {
    for (&name, span) in spans {
        let entry = archive.by_name(&name.to_string()).map_err(|error| archive_error(path, &error))?;
        span.start = bytes.len() as u64;
        let most = span.bytes.saturating_add(1).min(MAX_LOADED_BYTES - span.start);
        let read = entry.take(most).read_to_end(bytes);
        read.map_err(|error| damaged(name, &error.to_string()))?;
        if bytes.len() as u64 - span.start != span.bytes {
            let reason =
                "it has another size than the archive says, or all together have more than a gigabyte: compress none";
            return Err(damaged(name, reason));
        }
    }
    Ok(())
}

/// The end of the file is the archive's: nothing stands behind it. A comment of a seal's length is the manifest's hash. Where another
/// program has made the archive, its comment is another or none, and the archive's own checksum is the manifest's.
fn check_seal(mut file: Reader, manifest: &[u8], comment: &[u8], path: &Path) -> Result<(), BundleError> {
    let failed = |reason: &str| BundleError::Archive { path: path.to_owned(), reason: reason.to_owned() };
    let seal = seal(manifest);
    let length = END_BYTES + comment.len();
    let mut end = vec![0; length];
    let read = file.seek(SeekFrom::End(-(length as i64))).and_then(|_| file.read_exact(&mut end));
    read.map_err(|error| failed(&error.to_string()))?;
    let stated = [end[END_BYTES - 2], end[END_BYTES - 1]];
    if !end.starts_with(END_MAGIC) || usize::from(u16::from_le_bytes(stated)) != comment.len() {
        return Err(failed("it does not end where its archive ends"));
    }
    match comment.len() != seal.len() || comment == seal.as_bytes() {
        true => Ok(()),
        false => Err(damaged(EntryName::Manifest, "its hash is another")),
    }
}

fn manifest_text(archive: &mut ZipArchive<impl Read + Seek>, path: &Path) -> Result<Vec<u8>, BundleError> {
    let entry = match archive.by_name(&EntryName::Manifest.to_string()) {
        Ok(entry) => entry,
        Err(zip::result::ZipError::FileNotFound) => return Err(BundleError::Missing(EntryName::Manifest)),
        Err(error) => return Err(archive_error(path, &error)),
    };
    let mut text = Vec::new();
    let read = entry.take(MAX_MANIFEST_BYTES).read_to_end(&mut text);
    read.map_err(|error| damaged(EntryName::Manifest, &error.to_string()))?;
    Ok(text)
}

/// Refuses a manifest that names another version: its entries may be others too. One that cannot be read names none.
fn check_version(manifest: &[u8]) -> Result<(), BundleError> {
    match serde_json::from_slice(manifest) {
        Ok(FormatVersion { format_version: found }) if found != FORMAT_VERSION => {
            Err(BundleError::Version { found, known: FORMAT_VERSION })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn load(file: &mut Reader, name: EntryName, span: EntrySpan) -> Result<Vec<u8>, BundleError> {
    if span.bytes > MAX_LOADED_BYTES {
        return Err(damaged(name, "it is larger than a gigabyte"));
    }
    let mut bytes = vec![0; span.bytes as usize];
    let read = file.seek(SeekFrom::Start(span.start)).and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|error| damaged(name, &error.to_string()))?;
    Ok(bytes)
}

fn hash(file: &mut (impl Read + Seek), span: EntrySpan) -> io::Result<blake3::Hash> {
    file.seek(SeekFrom::Start(span.start))?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut left = span.bytes;
    while left > 0 {
        let part = &mut chunk[..left.min(CHUNK_BYTES as u64) as usize];
        file.read_exact(part)?;
        hasher.update(part);
        left -= part.len() as u64;
    }
    Ok(hasher.finalize())
}

fn check_hash(name: EntryName, record: &EntryRecord, found: &blake3::Hash) -> Result<(), BundleError> {
    if record.blake3 == found.to_hex().as_str() { Ok(()) } else { Err(damaged(name, "its hash is another")) }
}

fn damaged(entry: EntryName, reason: &str) -> BundleError {
    BundleError::Damaged { entry, reason: reason.to_owned() }
}
