//! Where a model that is stored in 16 bits goes wrong, and what must stay in FP32.

use std::collections::BTreeSet;

use warpweave_graph::{ElementType, Tensor, TensorProgram};

use super::fastest::error;
use super::values::{Watched, run};
use crate::build::Build;
use crate::open::{OpenError, Source};
use crate::reduce::delta::smallest_failing;
use crate::storage::Storage;

/// Most runs in search of what must stay.
const MOST_RUNS: usize = 200;

/// The first tensor of a model in 16 bits that goes wrong, and a list of those to keep in FP32.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bisection {
    /// The first tensor, in the order of the program, whose error is beyond what is accepted.
    pub first: Option<Deviation>,
    /// Names of tensors with which in FP32 the outputs pass; they do not where any one of these is left out, unless the search
    /// ended early. `None` if the outputs do not pass in FP32 either.
    pub keep: Option<Vec<String>>,
    /// How often the model ran in search of them.
    pub runs: usize,
}

/// A tensor with its error.
#[derive(Clone, PartialEq, Debug)]
pub struct Deviation {
    /// The tensor, as messages have it.
    pub tensor: String,
    /// The nodes that compute it.
    pub nodes: Vec<String>,
    /// Its error over its largest value; infinite where it overflows.
    pub error: f64,
}

/// Compares every tensor of a model in 16 bits with the same model in FP32, for these inputs and on the host, and finds a short
/// list of tensors with which in FP32 the outputs pass. An error beyond `most_error`, over a tensor's largest value, is not
/// accepted of inner tensors; `pass` judges outputs.
///
/// # Errors
/// The model does not run on the host.
pub fn bisect(
    build: &Build,
    storage: &Storage,
    inputs: &[Tensor],
    most_error: f64,
    pass: &dyn Fn(&[Tensor]) -> bool,
) -> Result<Bisection, OpenError> {
    let program = &build.prepared().program;
    let narrow = build.prepared().stored_in(storage.precision, &storage.wanted(program)).0.program;
    let first = first_deviation(build, &narrow, inputs, most_error)?;
    let mut runs = 0;
    let mut passes_with = |names: &[&str]| -> Result<bool, OpenError> {
        runs += 1;
        if runs > MOST_RUNS {
            return Ok(false);
        }
        let kept = Storage { keep: storage.keep.with(names), ..storage.clone() };
        let source = Source::Model(Box::new(build.clone().stored_in(&kept)?));
        Ok(pass(&run(&source, inputs)?))
    };
    let names = narrow_names(program, &narrow);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let keep = match passes_with(&all)? {
        false => None,
        true => Some(smallest_failing(&all, &mut passes_with)?.into_iter().map(str::to_owned).collect()),
    };
    Ok(Bisection { first, keep, runs: runs.min(MOST_RUNS) })
}

fn first_deviation(
    build: &Build,
    narrow: &TensorProgram,
    inputs: &[Tensor],
    most_error: f64,
) -> Result<Option<Deviation>, OpenError> {
    let program = &build.prepared().program;
    let exact = Watched::new(build, program).values(inputs)?;
    let found = Watched::new(build, narrow).values(inputs)?;
    let beyond = program.statements.values().find_map(|statement| {
        let tensor = statement.output;
        let error = error(found.get(&tensor)?, exact.get(&tensor)?);
        let nodes = program.names.nodes(statement);
        (error > most_error).then(|| Deviation { tensor: program.shown(tensor), nodes, error })
    });
    Ok(beyond)
}

/// The names of what is stored in 16 bits, in the order of the program, each once.
fn narrow_names(wide: &TensorProgram, narrow: &TensorProgram) -> Vec<String> {
    let is_narrow = |tensor| {
        wide.tensors[tensor].ty.element == ElementType::F32 && wide.tensors[tensor].ty != narrow.tensors[tensor].ty
    };
    let named = wide.tensors.ids().filter(|tensor| is_narrow(*tensor)).filter_map(|tensor| wide.tensor_name(tensor));
    let mut seen = BTreeSet::new();
    named.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}
