//! Many launches of a program that is measured.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use warpweave::graph::Tensor;
use warpweave::graph::legible::legible;
use warpweave::runtime::bundle::Signature;
use warpweave::runtime::npz::{self, NpzError};
use warpweave::runtime::session::{Device, Session, UnknownDevice};
use warpweave::{OpenOptions, Source, open};
use warpweave_measure::bench::{Against, Soak, SoakLimit, soak};

use crate::arguments::program::child_compiler;
use crate::arguments::search::parse_seconds;
use crate::error::CliError;
use crate::output::write_file;
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// The ending of archives of arrays.
const ARCHIVE: &str = ".npz";

/// What a soak's first launch is held against.
#[derive(Clone, PartialEq, Debug)]
enum Reference {
    /// The outputs of a device.
    Device(Device),
    /// The outputs in an archive that `--save-outputs` has written.
    Archive(PathBuf),
}

impl FromStr for Reference {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text.ends_with(ARCHIVE) {
            true => Ok(Self::Archive(text.into())),
            false => text.parse().map(Self::Device),
        }
    }
}

/// The arguments of a soak.
#[derive(Args)]
pub struct SoakArguments {
    /// Launch for so many seconds more, outputs filled with NaN before each launch; other bits than the first launch's fail
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    soak: Option<Duration>,
    /// At most so many launches of a soak
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "soak")]
    launches: usize,
    /// Compare the first launch of a soak with this device, or with what --save-outputs has written of the same inputs
    #[arg(long, value_name = "DEVICE|FILE.npz", requires = "soak")]
    against: Option<Reference>,
    /// Write the outputs of a soak's first launch
    #[arg(long, value_name = "FILE.npz", requires = "soak")]
    save_outputs: Option<PathBuf>,
}

impl SoakArguments {
    /// Refuses files that could not be written after a soak, or read, before anything is measured.
    pub fn check(&self, source: &Source) -> Result<(), CliError> {
        let mut files = source.files();
        if let Some(Reference::Archive(path)) = &self.against {
            npz::read(path)?;
            files.push(path.clone());
        }
        let bytes = source.signature().outputs.iter().map(|port| port.ty.bytes() as u64).fold(0, u64::saturating_add);
        let saved =
            self.save_outputs.iter().map(|path| OutputFile { bytes, ..OutputFile::new(path, OutputKind::Arrays) });
        output_paths::check_files(&saved.collect::<Vec<_>>(), &files)
    }

    /// The soak that was asked for, if one was, on these inputs.
    pub fn run(
        &self,
        source: &Source,
        session: &mut dyn Session,
        options: &OpenOptions,
        inputs: &[Tensor],
    ) -> Result<Option<Soak>, CliError> {
        let Some(time) = self.soak else { return Ok(None) };
        let (mut found, first) = soak(session, inputs, SoakLimit { launches: self.launches, time })?;
        if let Some(path) = &self.save_outputs {
            write_file(path, &archived(&first)?)?;
        }
        found.against = match &self.against {
            None => None,
            Some(Reference::Device(device)) => {
                let mut other = open(source, *device, options, &child_compiler)?;
                Some(Against::new(&first, device.to_string(), &other.run(inputs)?))
            }
            Some(Reference::Archive(path)) => {
                let (device, stored) = (path.display().to_string(), saved(path, source.signature(), &first)?);
                Some(match stored {
                    Ok(stored) => Against::new(&first, device, &stored),
                    Err(mismatch) => Against::mismatched(device, mismatch),
                })
            }
        };
        Ok(Some(found))
    }
}

fn output_name(position: usize) -> String {
    format!("out_{position}")
}

/// Outputs as an archive.
fn archived(outputs: &[Tensor]) -> Result<Vec<u8>, CliError> {
    let names: Vec<String> = (0..outputs.len()).map(output_name).collect();
    let arrays = names.iter().map(String::as_str).zip(outputs);
    npz::print(arrays).ok_or_else(|| {
        CliError::Usage("--save-outputs: NumPy has no name for an output's element type; leave it out".to_owned())
    })
}

/// The outputs in an archive, or the first one that is not there or has another type than that of these.
fn saved(path: &Path, signature: &Signature, outputs: &[Tensor]) -> Result<Result<Vec<Tensor>, String>, NpzError> {
    let mut arrays = npz::read(path)?;
    let saved = |(position, output): (usize, &Tensor)| {
        let (name, shown) = (output_name(position), legible(&signature.outputs[position].name));
        match arrays.remove(&name) {
            Some(array) if array.ty() == output.ty() => Ok(array),
            Some(array) => Err(format!("{name} {shown} is {}, and {} is stored", output.ty(), array.ty())),
            None => Err(format!("{name} {shown} is not stored")),
        }
    };
    Ok(outputs.iter().enumerate().map(saved).collect())
}

/// What went wrong in a soak.
pub fn complaints(soak: &Soak) -> Vec<String> {
    let mut complaints = Vec::new();
    if let Some(first) = soak.first_different {
        let (different, launches) = (soak.different, soak.launches);
        complaints
            .push(format!("{different} of {launches} launches give other bits than the first, as launch {first}"));
    }
    if let Some(against) = soak.against.as_ref().filter(|against| !against.agrees()) {
        let device = &against.device;
        complaints.push(match (against.excess, &against.mismatch) {
            (_, Some(mismatch)) => format!("outputs differ from those of {device}: {mismatch}"),
            (Some(excess), None) => format!("outputs differ from those of {device}, {excess:.1} times what passes"),
            (None, None) => format!("outputs differ from those of {device}: one of two elements is no number"),
        });
    }
    complaints
}
