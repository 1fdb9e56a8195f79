//! Batches of a training step, from an archive of arrays.

use std::collections::BTreeMap;
use std::path::Path;

use warpweave::graph::Tensor;
use warpweave::graph::training::{LEARNING_RATE, SEED, TARGET};
use warpweave::runtime::bundle::{ClassesRecord, Port, Signature};
use warpweave::runtime::npz;

use crate::error::CliError;

/// What precedes the names of inputs in an archive.
const INPUT: &str = "in_";

/// What a step is given, a batch after another.
#[derive(Debug)]
pub struct Batches {
    /// By position of the input.
    inputs: Vec<Given>,
    count: usize,
}

/// What an input is given.
#[derive(Debug)]
enum Given {
    /// One tensor for all batches, or one a batch.
    Arrays(Vec<Tensor>),
    /// The learning rate of the step.
    Rate,
    /// The seed of the step.
    Seed,
}

/// What a step is given beside its arrays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scalars {
    /// The learning rate.
    pub rate: f32,
    /// The dropout seed; 0 drops nothing.
    pub seed: u32,
}

impl Batches {
    /// Reads an archive with `in_NAME` for each input, or NAME, and `target`. An array may hold several batches, along its first
    /// dimension or along one more before it.
    pub fn read(path: &Path, signature: &Signature, classes: Option<ClassesRecord>) -> Result<Self, CliError> {
        let mut arrays = npz::read(path)?;
        let mut inputs = Vec::with_capacity(signature.inputs.len());
        for port in &signature.inputs {
            match port.name.as_str() {
                LEARNING_RATE => {
                    inputs.push(Given::Rate);
                    continue;
                }
                SEED => {
                    inputs.push(Given::Seed);
                    continue;
                }
                _ => {}
            }
            let array = take(&mut arrays, &port.name).ok_or_else(|| CliError::MissingInput {
                name: port.name.clone(),
                ty: port.ty.clone(),
                how: "an array in_NAME in the archive, or target",
            })?;
            let parts = split(&array, port)?;
            if let Some(classes) = classes.filter(|_| port.name == TARGET) {
                parts.iter().try_for_each(|part| check_classes(part, classes))?;
            }
            inputs.push(Given::Arrays(parts));
        }
        let lengths: Vec<usize> = inputs.iter().map(Given::batches).collect();
        let count = lengths.iter().copied().max().unwrap_or(1);
        if let Some(at) = lengths.iter().position(|length| ![1, count].contains(length)) {
            let text = format!(
                "the array of `{}` holds {} batches, and another one {count}; give as many of each, or one",
                signature.inputs[at].name, lengths[at]
            );
            return Err(CliError::Usage(text));
        }
        Ok(Self { inputs, count })
    }

    /// The inputs of the step at a place; batches are taken in turn.
    pub fn step(&self, place: u64, scalars: Scalars) -> Vec<Tensor> {
        let turn = (place % self.count as u64) as usize;
        let input = |given: &Given| match given {
            Given::Rate => Tensor::scalar(scalars.rate),
            Given::Seed => Tensor::scalar(scalars.seed),
            Given::Arrays(parts) => parts[turn % parts.len()].clone(),
        };
        self.inputs.iter().map(input).collect()
    }

    /// How many batches there are.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Given {
    /// How many batches there are of it.
    fn batches(&self) -> usize {
        match self {
            Self::Arrays(parts) => parts.len(),
            Self::Rate | Self::Seed => 1,
        }
    }
}

fn take(arrays: &mut BTreeMap<String, Tensor>, name: &str) -> Option<Tensor> {
    arrays.remove(&format!("{INPUT}{name}")).or_else(|| arrays.remove(name))
}

/// The batches of an array.
fn split(array: &Tensor, port: &Port) -> Result<Vec<Tensor>, CliError> {
    let wrong =
        || CliError::WrongInput { name: port.name.clone(), expected: port.ty.clone(), found: array.ty().clone() };
    let (own, one) = (array.shape(), &port.ty.shape);
    if array.ty() == &port.ty {
        return Ok(vec![array.clone()]);
    }
    let bytes = port.ty.bytes();
    let more = own.len() == one.len() + 1 && own[1..] == one[..];
    let longer = own.len() == one.len()
        && !one.is_empty()
        && one[0] > 0
        && own[1..] == one[1..]
        && own[0] >= one[0]
        && own[0].is_multiple_of(one[0]);
    if array.element() != port.ty.element || !(more || longer) || bytes == 0 {
        return Err(wrong());
    }
    let part = |start: usize| Tensor::from_bytes(port.ty.clone(), array.bytes().slice(start..start + bytes));
    let parts = (0..array.bytes().len()).step_by(bytes).map(part).collect::<Option<Vec<_>>>();
    parts.filter(|parts| !parts.is_empty()).ok_or_else(wrong)
}

/// Refuses targets that name no class.
fn check_classes(target: &Tensor, classes: ClassesRecord) -> Result<(), CliError> {
    let is_class = |class: &i64| *class == classes.ignored || (0..classes.count as i64).contains(class);
    match target.to_i64().iter().position(|class| !is_class(class)) {
        Some(at) => Err(CliError::Usage(format!(
            "element {at} of `{TARGET}` is {}, and there are {} classes, 0 to {}; only {} stands for none",
            target.to_i64()[at],
            classes.count,
            classes.count.saturating_sub(1),
            classes.ignored
        ))),
        None => Ok(()),
    }
}

/// Labels that are not ignored, and those of them that have the largest score along dimension 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LabelCounts {
    /// Labels whose score is the largest, the first of equals.
    pub right: u64,
    /// All labels that count.
    pub all: u64,
}

impl LabelCounts {
    /// Of one batch; `None` of scores without classes.
    pub fn of(scores: &Tensor, target: &Tensor, ignored: i64) -> Option<Self> {
        let shape = scores.shape();
        let classes = *shape.get(1)?;
        let inner: usize = shape[2..].iter().product();
        let (values, wanted) = (scores.to_f64(), target.to_i64());
        let mut counts = Self::default();
        for (at, class) in wanted.into_iter().enumerate().filter(|(_, class)| *class != ignored) {
            let (outer, place) = (at / inner.max(1), at % inner.max(1));
            let score = |class: usize| values[(outer * classes + class) * inner + place];
            let best = (0..classes).reduce(|best, class| if score(class) > score(best) { class } else { best })?;
            counts.right += u64::from(best as i64 == class);
            counts.all += 1;
        }
        Some(counts)
    }

    /// With those of another batch.
    pub fn with(self, other: Self) -> Self {
        Self { right: self.right + other.right, all: self.all + other.all }
    }
}
