//! Bundles: one file that holds a compiled model, for every target that it was compiled for.
//!
//! A bundle is a zip archive of stored (uncompressed), aligned entries, readable with any archive program:
//!
//! | Entry | Holds |
//! |---|---|
//! | `manifest.json` | format version, producer, model, signature, numerics, targets with launch geometry, sizes and hashes |
//! | `program.bin` | the program without its constants |
//! | `program/host.bin` | the same of the host's plan, where that is of another program with the same inputs and constants |
//! | `plan/<target>.bin` | the execution plan, its bindings and operands |
//! | `ir/<target>.bin` | the kernel IR |
//! | `src/<target>.cu` | the text that was compiled |
//! | `cubin/<target>.cubin` | the code; native code of a GPU, to be trusted like any executable |
//! | `weights.safetensors` | the constants, once for all targets |
//! | `defaults.npz` | what inputs are where the caller gives nothing, by their positions, if any have defaults |
//!
//! Constants may also stay in the files that the model came of, in the bundle's folder; the manifest says which, where, and those
//! files' hashes.
//!
//! The archive's comment is the hash of the manifest, which has those of all other entries. A plan begins with a hash
//! of the program and the constants that it was made for. The hashes find damage, not malice. The same contents give
//! the same bytes.

mod decode;
mod defaults;
mod error;
mod manifest;
mod name;
mod origin;
mod plan;
#[cfg(test)]
mod plan_tests;
mod read;
mod references;
mod seal;
mod silenced;
mod training;
mod weights;
mod write;

#[cfg(feature = "compile")]
pub mod kernel_ir;

pub use error::BundleError;
pub use manifest::{
    EntryRecord, FORMAT_VERSION, Manifest, ModelRecord, Numerics, Port, SegmentRecord, Signature, StorageRecord,
    TargetRecord,
};
pub use name::{BundleTarget, EntryName, UnknownEntry};
pub use plan::TargetPlan;
pub use read::{Bundle, file_hash, is_bundle, is_sealed};
pub use references::{FileRecord, PlaceRecord, References, WeightFile};
pub use seal::seal;
pub use training::{ClassesRecord, StateRecord, StateRole, TrainingRecord};
pub use weights::WeightsReader;
pub(crate) use weights::{dtype, element};
pub use write::{BundleContents, BundleWriter, DeviceCode, HostProgram, TargetContents, write};
