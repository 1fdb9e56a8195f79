//! Writing a bundle: the same contents give the same bytes.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};
use std::path::Path;

use warpweave_graph::{ProgramSkeleton, TensorProgram};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::defaults;
use super::error::BundleError;
use super::manifest::{
    EntryRecord, FORMAT_VERSION, Manifest, ModelRecord, Numerics, Signature, StorageRecord, TargetRecord,
};
use super::name::{BundleTarget, EntryName};
use super::plan::{TargetPlan, segment_records};
use super::references::{References, WeightFile};
use super::seal::{binding, seal};
use super::silenced::Silenced;
use super::training::TrainingRecord;
use super::weights;
use crate::new_file::NewFile;
use crate::session::TensorNames;
use crate::target::Target;

/// Entries begin at multiples of this.
const ENTRY_ALIGNMENT: u16 = 64;
/// From this size on an entry's record has 64-bit fields.
const LARGE_ENTRY: u64 = u32::MAX as u64;

/// What a bundle is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct BundleContents {
    /// The model.
    pub model: ModelRecord,
    /// Inputs and outputs, in the program's order.
    pub signature: Signature,
    /// The names in the model of the program's tensors whose elements index other tensors.
    pub index_tensors: TensorNames,
    /// What floating point is stored in, where it was not left as it is in the model.
    pub storage: Option<StorageRecord>,
    /// What the bundle of a training step says beside that.
    pub training: Option<TrainingRecord>,
    /// The program that every plan schedules, but the host's where it has its own.
    pub program: TensorProgram,
    /// The program of the host's plan, where that is another.
    pub of_host: Option<HostProgram>,
    /// A part for each target.
    pub targets: BTreeMap<BundleTarget, TargetContents>,
}

/// A program that the host's plan alone schedules. Its inputs, constants and states are those of the bundle's program.
#[derive(Clone, PartialEq, Debug)]
pub struct HostProgram {
    /// The program.
    pub program: TensorProgram,
    /// The names in the model of its tensors whose elements index other tensors.
    pub index_tensors: TensorNames,
}

/// A target's part of a bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct TargetContents {
    /// The plan, verified, with its bindings and operands.
    pub plan: TargetPlan,
    /// The device code; absent on the host.
    pub code: Option<DeviceCode>,
}

/// What runs on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceCode {
    /// The architecture.
    pub target: Target,
    /// Threads of a block.
    pub threads: u32,
    /// Shared-memory bytes of a block; of a graph, the most.
    pub shared_bytes: u32,
    /// Shared-memory bytes of a block of each kernel's node; none for a persistent program.
    pub node_shared_bytes: Vec<u32>,
    /// The kernel IR, in postcard.
    pub kernel_ir: Vec<u8>,
    /// The text, as its compiler reads it.
    pub source: String,
    /// The code.
    pub cubin: Vec<u8>,
    /// Major and minor version of the oldest CUDA driver interface that loads the code.
    pub minimum_driver: (u32, u32),
}

impl TargetContents {
    fn record(&self) -> TargetRecord {
        let plan = self.plan.plan.plan();
        TargetRecord {
            backend: plan.backend(),
            backend_reason: self.plan.reason.clone(),
            units: plan.units() as u32,
            segments: segment_records(plan),
            threads: self.code.as_ref().map_or(1, |code| code.threads),
            shared_bytes: self.code.as_ref().map_or(0, |code| code.shared_bytes),
            arena_bytes: plan.memory.arena_bytes,
            weights_bytes: plan.memory.weights_bytes,
            node_shared_bytes: self.code.as_ref().map_or(Vec::new(), |code| code.node_shared_bytes.clone()),
            counters: plan.arrivals().len() as u32,
            minimum_driver: self.code.as_ref().map(|code| code.minimum_driver),
        }
    }
}

/// Writes a bundle to `path`.
pub fn write(contents: &BundleContents, path: &Path) -> Result<(), BundleError> {
    BundleWriter::begin(&contents.program, &[], path)?.finish(contents)
}

/// A bundle that is being written; it is seen once it is whole. What depends on no target is written at the beginning, while others still plan and compile.
pub struct BundleWriter<'p> {
    archive: Archive<'p, Silenced<NewFile>>,
    references: References,
}

impl<'p> BundleWriter<'p> {
    /// Begins with the constants of `program`, without those that stay in `files`.
    pub fn begin(program: &TensorProgram, files: &[WeightFile], path: &'p Path) -> Result<Self, BundleError> {
        let file = NewFile::create(path).map_err(failed("create", path))?;
        let mut archive = Archive { zip: ZipWriter::new(Silenced::new(file)), entries: BTreeMap::new(), path };
        let references = References::of(program, files, path)?;
        let constants = weights::embedded(program, &references).filter_map(|id| program.stored(id));
        let size: u64 = constants.map(|constant| constant.bytes().len() as u64 + 256).sum();
        archive.entry(EntryName::Weights, size, |out| weights::write(program, &references, out, path))?;
        Ok(Self { archive, references })
    }

    /// Writes the rest of a bundle with the same program.
    pub fn finish(self, contents: &BundleContents) -> Result<(), BundleError> {
        let Self { archive, references } = self;
        let path = archive.path;
        archive.finish(contents, references)?.into_inner().publish().map_err(failed("write", path))
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BundleError {
    let path = path.to_owned();
    move |source| BundleError::File { action, path, source }
}

struct Archive<'a, W: Write + Seek> {
    zip: ZipWriter<W>,
    entries: BTreeMap<EntryName, EntryRecord>,
    path: &'a Path,
}

impl<W: Write + Seek> Archive<'_, W> {
    /// Writes everything but the constants, the manifest last.
    fn finish(mut self, contents: &BundleContents, references: References) -> Result<W, BundleError> {
        let skeleton = ProgramSkeleton::of(&contents.program);
        self.bytes(EntryName::Program, &super::decode::encode(EntryName::Program, &skeleton)?)?;
        if let Some(HostProgram { program, .. }) = &contents.of_host {
            let skeleton = ProgramSkeleton::of(program);
            self.bytes(EntryName::HostProgram, &super::decode::encode(EntryName::HostProgram, &skeleton)?)?;
        }
        if let Some(defaults) = defaults::encode(&contents.signature) {
            self.bytes(EntryName::Defaults, &defaults)?;
        }
        for (&target, part) in &contents.targets {
            let bound = binding(target.machine(), &self.entries, &references);
            let plan = part.plan.encode(target)?;
            self.bytes(EntryName::Plan(target), &[&bound[..], &plan].concat())?;
            if let Some(code) = &part.code {
                self.bytes(EntryName::KernelIr(code.target), &code.kernel_ir)?;
                self.bytes(EntryName::Source(code.target), code.source.as_bytes())?;
                self.bytes(EntryName::Cubin(code.target), &code.cubin)?;
            }
        }
        let manifest = Manifest {
            format_version: FORMAT_VERSION,
            producer: concat!("warpweave ", env!("CARGO_PKG_VERSION")).to_owned(),
            model: contents.model.clone(),
            signature: contents.signature.clone(),
            index_tensors: contents.index_tensors.clone(),
            host_index_tensors: contents.of_host.as_ref().map_or(TensorNames::new(), |own| own.index_tensors.clone()),
            numerics: Numerics::default(),
            storage: contents.storage.clone(),
            training: contents.training.clone(),
            targets: contents.targets.iter().map(|(target, part)| (*target, part.record())).collect(),
            entries: std::mem::take(&mut self.entries),
            references,
        };
        let mut text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| BundleError::Damaged { entry: EntryName::Manifest, reason: error.to_string() })?;
        text.push(b'\n');
        self.bytes(EntryName::Manifest, &text)?;
        let sealed = self.zip.set_comment(seal(&text));
        sealed.and_then(|()| self.zip.finish()).map_err(|error| write_error(self.path, error))
    }

    fn bytes(&mut self, name: EntryName, bytes: &[u8]) -> Result<(), BundleError> {
        let path = self.path;
        self.entry(name, bytes.len() as u64, |out| out.write_all(bytes).map_err(failed("write", path)))
    }

    /// An entry of about `size` bytes.
    fn entry(
        &mut self,
        name: EntryName,
        size: u64,
        write: impl FnOnce(&mut Hashing<'_, ZipWriter<W>>) -> Result<(), BundleError>,
    ) -> Result<(), BundleError> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .with_alignment(ENTRY_ALIGNMENT)
            .large_file(size >= LARGE_ENTRY);
        self.zip.start_file(name.to_string(), options).map_err(|error| write_error(self.path, error))?;
        let mut out = Hashing { inner: &mut self.zip, hasher: blake3::Hasher::new(), bytes: 0 };
        write(&mut out)?;
        let record = EntryRecord { bytes: out.bytes, blake3: out.hasher.finalize().to_hex().to_string() };
        self.entries.insert(name, record);
        Ok(())
    }
}

/// Counts and hashes what passes through.
struct Hashing<'a, W> {
    inner: &'a mut W,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<W: Write> Write for Hashing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// What the file system refuses is no fault of the archive.
fn write_error(path: &Path, error: ZipError) -> BundleError {
    match error {
        ZipError::Io(source) => failed("write", path)(source),
        other => archive_error(path, &other),
    }
}

pub(super) fn archive_error(path: &Path, error: &ZipError) -> BundleError {
    BundleError::Archive { path: path.to_owned(), reason: error.to_string() }
}
