//! Many launches of a program that is measured.

use std::time::Duration;

use clap::Args;
use warpweave::bench::{Against, Soak, SoakLimit, soak};
use warpweave::graph::Tensor;
use warpweave::runtime::session::{Device, Session};
use warpweave::{OpenOptions, Source, open};

use crate::cli::arguments::program::child_compiler;
use crate::cli::arguments::search::parse_seconds;
use crate::cli::error::CliError;

/// The arguments of a soak.
#[derive(Args)]
pub struct SoakArguments {
    /// Launch for so many seconds more, outputs filled with NaN before each launch; other bits than the first launch's fail
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    soak: Option<Duration>,
    /// At most so many launches of a soak
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "soak")]
    launches: usize,
    /// Compare the first launch of a soak with this device
    #[arg(long, value_name = "DEVICE", requires = "soak")]
    against: Option<Device>,
}

impl SoakArguments {
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
        if let Some(device) = self.against {
            let mut other = open(source, device, options, &child_compiler)?;
            found.against = Some(Against::new(&first, device.to_string(), &other.run(inputs)?));
        }
        Ok(Some(found))
    }
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
        complaints.push(match against.excess {
            Some(excess) => format!("outputs differ from those of {device}, {excess:.1} times what passes"),
            None => format!("outputs differ from those of {device}: one of two elements is no number"),
        });
    }
    complaints
}
