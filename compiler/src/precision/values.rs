//! The values of a model's tensors on given inputs.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::pipeline::Machine;
use warpweave_graph::program::TensorId;
use warpweave_graph::program::precision::leaves_range;
use warpweave_graph::{ElementType, Tensor, TensorProgram};
use warpweave_runtime::session::{Device, OpenOptions};

use crate::build::Build;
use crate::open::{OpenError, Source, open};

/// A model of which every tensor that a statement computes can be seen. Its statements run one by one on the host.
pub(super) struct Watched {
    source: Source,
    tensors: Vec<TensorId>,
}

impl Watched {
    /// A program of a model.
    pub fn new(build: &Build, program: &TensorProgram) -> Self {
        let (build, tensors) = build.watched(program);
        Self { source: Source::Model(Box::new(build)), tensors }
    }

    /// The values of all floating-point tensors for these inputs.
    pub fn values(&self, inputs: &[Tensor]) -> Result<BTreeMap<TensorId, Tensor>, OpenError> {
        let found = run(&self.source, inputs)?;
        let first = found.len() - self.tensors.len();
        Ok(self.tensors.iter().copied().zip(found.into_iter().skip(first)).collect())
    }
}

/// The outputs of a model on the host.
pub(super) fn run(source: &Source, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpenError> {
    let mut session = open(source, Device::Host, &OpenOptions::default(), &|| Err("the host has none".to_owned()))?;
    Ok(session.run(inputs)?)
}

/// The names of tensors some of whose numbers become infinite in a type, on any of these samples.
///
/// # Errors
/// The model does not run on the host, or not on a sample.
pub fn beyond_range(
    build: &Build,
    samples: &[Vec<Tensor>],
    storage: ElementType,
) -> Result<BTreeSet<String>, OpenError> {
    let mut beyond = BTreeSet::new();
    for machine in [Machine::Gpu, Machine::Processor] {
        let program = &build.prepared_for(machine).program;
        let watched = Watched::new(build, program);
        for inputs in samples {
            let values = watched.values(inputs)?;
            let leaving = values.into_iter().filter(|(_, value)| leaves_range(value, storage));
            beyond.extend(leaving.filter_map(|(tensor, _)| program.tensor_name(tensor).map(str::to_owned)));
        }
        if build.own_of_host().is_none() {
            break;
        }
    }
    Ok(beyond)
}
