//! Arguments that make a model a training step.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::graph::legible::legible;
use warpweave::graph::pipeline::Selection;
use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions, TrainingError};
use warpweave::training::TrainingRequest;
use warpweave::{Model, ModelError};

use super::program::{load_model_with, refuse_bundle};
use crate::error::CliError;
use crate::output::Output;

/// What makes a model a training step.
#[derive(Args, Clone, Debug, Default)]
pub struct TrainingArguments {
    /// Compiles a training step: loss=cross_entropy, mse or bce_with_logits, of the first output or loss=NAME:OUTPUT; with
    /// label-smoothing=S and ignore-index=N for cross_entropy. loss=output where the output is the loss already
    #[arg(long, value_name = "loss=NAME[:OUTPUT][,OPTION=VALUE]", requires = "optimizer")]
    train: Option<LossArgument>,
    /// What the step does with gradients, with PyTorch's rules and defaults: sgd, adam or adamw, with lr, weight-decay, and of
    /// sgd momentum, dampening and nesterov, of the others beta1, beta2 and eps
    #[arg(long, value_name = "NAME[,OPTION=VALUE]", requires = "train")]
    optimizer: Option<OptimizerArgument>,
    /// Trains only initializers of this name, in which * stands for any text; may be given several times
    #[arg(long, value_name = "PATTERN", requires = "train")]
    trainable: Vec<String>,
    /// Does not train initializers of this name; may be given several times
    #[arg(long, value_name = "PATTERN", requires = "train")]
    frozen: Vec<String>,
    /// Scales gradients down to this norm, that of all together
    #[arg(long, value_name = "NORM", requires = "train", value_parser = positive, allow_negative_numbers = true)]
    clip_norm: Option<f64>,
}

/// A loss and the output that it is of.
#[derive(Clone, PartialEq, Debug)]
struct LossArgument {
    loss: Objective,
    output: Option<String>,
}

/// An optimizer and its learning rate.
#[derive(Clone, Copy, PartialEq, Debug)]
struct OptimizerArgument {
    optimizer: Optimizer,
    learning_rate: f64,
}

impl TrainingArguments {
    /// The model at `path`, or its training step, with what the step trains said.
    pub fn load(
        &self,
        path: &Path,
        import: &ImportOptions,
        passes: &Selection,
        output: &Output,
    ) -> Result<Model, CliError> {
        let Some(request) = self.request()? else { return load_model_with(path, import, passes) };
        refuse_bundle(path)?;
        let made = Model::import_step(path, import, &request);
        if let Err(ModelError::Training(TrainingError::Nothing)) = &made
            && let Some(text) = nothing_left(&request.trainable)
        {
            return Err(CliError::Usage(text));
        }
        let (model, summary) = made?;
        if request.trainable.idle(&summary.known()).is_some() {
            // What is not trained may have been folded into other constants.
            let whole = TrainingRequest { trainable: NameFilter::default(), ..request.clone() };
            let (_, whole) = Model::import_step(path, import, &whole)?;
            if let Some(pattern) = request.trainable.idle(&whole.known()) {
                let text =
                    format!("`{pattern}` is the name of no initializer that could be trained; leave it out or mend it");
                return Err(CliError::Usage(text));
            }
        }
        summary.warnings.iter().for_each(|warning| output.warning(warning));
        output.note(&summary.text());
        Ok(model)
    }

    /// What is asked of a training step; `None` if the model is compiled as it is.
    fn request(&self) -> Result<Option<TrainingRequest>, CliError> {
        let (Some(train), Some(optimizer)) = (&self.train, &self.optimizer) else { return Ok(None) };
        Ok(Some(TrainingRequest {
            step: StepOptions {
                loss: train.loss,
                output: train.output.clone(),
                optimizer: optimizer.optimizer,
                largest_norm: self.clip_norm,
            },
            learning_rate: optimizer.learning_rate,
            trainable: NameFilter { included: self.trainable.clone(), excluded: self.frozen.clone() },
        }))
    }
}

/// Why patterns leave nothing to train; `None` if there are none.
fn nothing_left(NameFilter { included, excluded }: &NameFilter) -> Option<String> {
    let quoted = |patterns: &[String]| -> String {
        patterns.iter().map(|pattern| format!("`{}`", legible(pattern))).collect::<Vec<String>>().join(", ")
    };
    match (included.is_empty(), excluded.is_empty()) {
        (false, _) => Some(format!(
            "--trainable {}: no initializer of singles or doubles that a node reads, and that is not frozen, has such a name; \
             integers, scalars and what an operator must know while compiling do not train",
            quoted(included)
        )),
        (true, false) => {
            Some(format!("--frozen {}: no initializer of singles or doubles is left to train", quoted(excluded)))
        }
        (true, true) => None,
    }
}

impl FromStr for LossArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let named = parts.next().unwrap_or_default();
        let named = named.strip_prefix("loss=").ok_or("expected loss=NAME, such as loss=cross_entropy")?;
        let (name, output) = match named.split_once(':') {
            Some((name, output)) => (name, Some(output.to_owned())),
            None => (named, None),
        };
        let mut loss = match name {
            "cross_entropy" => Objective::Loss(Loss::CROSS_ENTROPY),
            "mse" => Objective::Loss(Loss::MeanSquaredError),
            "bce_with_logits" => Objective::Loss(Loss::BinaryCrossEntropy),
            "output" => Objective::Output,
            _ => return Err(format!("`{name}` is no loss: expected cross_entropy, mse, bce_with_logits or output")),
        };
        let mut given = BTreeSet::new();
        for part in parts {
            let (option, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is no OPTION=VALUE"))?;
            once(option, &mut given)?;
            match (&mut loss, option) {
                (Objective::Loss(Loss::CrossEntropy { label_smoothing, .. }), "label-smoothing") => {
                    *label_smoothing = number(value)?;
                    if !(0.0..1.0).contains(label_smoothing) {
                        return Err(format!("label-smoothing={value} is not from 0 up to 1"));
                    }
                }
                (Objective::Loss(Loss::CrossEntropy { ignored, .. }), "ignore-index") => {
                    *ignored = value.parse().map_err(|_| format!("`{value}` is no class"))?;
                }
                _ => return Err(format!("{name} has no option `{option}`")),
            }
        }
        Ok(Self { loss, output })
    }
}

impl FromStr for OptimizerArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let mut optimizer = match name {
            "sgd" => Optimizer::SGD,
            "adam" => Optimizer::ADAM,
            "adamw" => Optimizer::ADAM_W,
            _ => return Err(format!("`{name}` is no optimizer: expected sgd, adam or adamw")),
        };
        let mut learning_rate = 1e-3;
        let mut given = BTreeSet::new();
        for part in parts {
            let (option, value) = part.split_once('=').unwrap_or((part, "true"));
            once(option, &mut given)?;
            match (&mut optimizer, option) {
                (_, "lr") => learning_rate = number(value)?,
                (Optimizer::Sgd { weight_decay, .. } | Optimizer::Adam { weight_decay, .. }, "weight-decay") => {
                    *weight_decay = number(value)?;
                }
                (Optimizer::Sgd { momentum, .. }, "momentum") => *momentum = fraction(option, value)?,
                (Optimizer::Sgd { dampening, .. }, "dampening") => *dampening = number(value)?,
                (Optimizer::Sgd { nesterov, .. }, "nesterov") => {
                    *nesterov = value.parse().map_err(|_| format!("nesterov={value} is neither true nor false"))?;
                }
                (Optimizer::Adam { betas, .. }, "beta1") => betas[0] = fraction(option, value)?,
                (Optimizer::Adam { betas, .. }, "beta2") => betas[1] = fraction(option, value)?,
                (Optimizer::Adam { epsilon, .. }, "eps") => *epsilon = number(value)?,
                _ => return Err(format!("{name} has no option `{option}`")),
            }
        }
        if let Optimizer::Sgd { momentum, dampening, nesterov: true, .. } = optimizer
            && (momentum == 0.0 || dampening != 0.0)
        {
            return Err("nesterov needs a momentum, and no dampening".to_owned());
        }
        Ok(Self { optimizer, learning_rate })
    }
}

/// Notes an option; an error if it was given before.
fn once<'o>(option: &'o str, given: &mut BTreeSet<&'o str>) -> Result<(), String> {
    if given.insert(option) { Ok(()) } else { Err(format!("{option} is given twice; give it once")) }
}

fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(format!("{text} is not 0 or more")) }
}

fn positive(text: &str) -> Result<f64, String> {
    number(text).and_then(|number| if number > 0.0 { Ok(number) } else { Err("0 is not positive".to_owned()) })
}

fn fraction(option: &str, text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if number < 1.0 { Ok(number) } else { Err(format!("{option}={text} is not less than 1")) }
}
