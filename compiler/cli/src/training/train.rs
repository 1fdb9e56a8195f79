//! `warpweave train`: training steps, one after another.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use warpweave::graph::reference::source_of_not_finite;
use warpweave::graph::training::TARGET;
use warpweave::graph::{Tensor, legible::legible};
use warpweave::runtime::bundle::{Bundle, Signature, TrainingRecord};
use warpweave::runtime::checkpoint::Checkpoint;
use warpweave::runtime::json::json;
use warpweave::runtime::session::{Device, ModelSession, Session, open_bundle};
use warpweave::{ModelError, OpenError, OpenOptions, Source, samples_of};

use super::batches::{Batches, LabelCounts, Scalars};
use super::loss_curve::picture;
use super::schedule::Schedule;
use crate::arguments::program::parse_threads;
use crate::error::{CliError, Passed, file_error};
use crate::interrupt::{self, Steps};
use crate::output::{Output, Progress, write_file};
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Arguments of `train`.
#[derive(Args)]
pub struct Arguments {
    /// A training step, which `compile --train` has made
    #[arg(value_name = "STEP.weave")]
    path: PathBuf,
    /// An archive with an array in_NAME for each input, and target; arrays of several batches are taken in turn
    #[arg(long, value_name = "F.npz")]
    data: PathBuf,
    /// How many steps to take
    #[arg(long, value_name = "N", default_value_t = 1)]
    steps: u64,
    /// reference, host, emulator, text, machine-code, or cuda:N
    #[arg(long, default_value = "host")]
    device: Device,
    /// The most threads of the host back end
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
    /// The learning rate, in place of the one that the step was compiled with
    #[arg(long, value_name = "RATE", value_parser = learning_rate, allow_negative_numbers = true)]
    lr: Option<f64>,
    /// How it changes: constant, linear[:END], cosine[:END] or step:EVERY:FACTOR; END is the share of the rate at the end
    #[arg(long, value_name = "SCHEDULE", default_value = "constant")]
    lr_schedule: Schedule,
    /// The steps of the whole schedule, over all runs; those before this run and its own unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    schedule_steps: Option<u64>,
    /// The dropout seed; every run with the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// An archive as for --data, whose loss is found after the last step
    #[arg(long, value_name = "F.npz")]
    eval: Option<PathBuf>,
    /// Where to write tensors and what the optimizer keeps, as safetensors
    #[arg(long, value_name = "F.safetensors")]
    save: Option<PathBuf>,
    /// Goes on from what --save has written
    #[arg(long, value_name = "F.safetensors")]
    resume: Option<PathBuf>,
    /// The folder for the picture of the losses, loss.svg
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The name of the picture.
const PICTURE: &str = "loss.svg";

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let bundle = open_step(arguments)?;
    let Some(record) = bundle.manifest().training.clone() else { return Err(no_step(arguments)) };
    check_outputs(arguments, &record)?;
    let signature = bundle.manifest().signature.clone();
    let data = Batches::read(&arguments.data, &signature, record.classes)?;
    let evaluated = arguments.eval.as_ref().map(|path| Batches::read(path, &signature, record.classes)).transpose()?;
    let defaults = OpenOptions::default();
    let options = OpenOptions { threads: arguments.threads.unwrap_or(defaults.threads).max(1), ..defaults };
    let session = open_bundle(&bundle, arguments.device, &options)?;
    session.notes().iter().for_each(|note| output.note(note));
    let mut training = Training { bundle: &bundle, record: &record, session, before: 0 };
    if let Some(path) = &arguments.resume {
        training.resume(path)?;
    }
    let run = interrupt::in_steps(|steps| training.take_steps(arguments, &data, steps, output))?;
    let evaluation = evaluated.map(|batches| training.evaluate(&batches, &signature)).transpose()?;
    let samples = samples_of(&bundle.skeleton_for(arguments.device.machine())?, &signature).unwrap_or(1);
    report(arguments, &training, &run, evaluation, samples, output);
    Ok(true)
}

fn open_step(arguments: &Arguments) -> Result<Bundle, CliError> {
    match Source::load(&arguments.path, &warpweave::frontend::ImportOptions::default()) {
        Ok(Source::Bundle(bundle)) => Ok(*bundle),
        Ok(Source::Model(_)) | Err(OpenError::Model(ModelError::Import(_))) => Err(no_step(arguments)),
        Err(error) => Err(error.into()),
    }
}

fn no_step(arguments: &Arguments) -> CliError {
    CliError::WrongKind {
        path: arguments.path.clone(),
        wanted: "training step",
        remedy: "make one from a model with `warpweave compile MODEL -o STEP.weave --train loss=… --optimizer …`",
    }
}

fn check_outputs(arguments: &Arguments, record: &TrainingRecord) -> Result<(), CliError> {
    let inputs: Vec<PathBuf> = [Some(&arguments.path), Some(&arguments.data), arguments.eval.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let bytes = record.states.iter().map(|state| state.ty.bytes() as u64).fold(0, u64::saturating_add);
    let saved = arguments.save.iter().map(|path| OutputFile { bytes, ..OutputFile::new(path, OutputKind::Tensors) });
    output_paths::check_files(&saved.collect::<Vec<_>>(), &inputs)?;
    let picture = OutputFile::new(PICTURE, OutputKind::Picture);
    output_paths::check_folder(arguments.output.as_deref(), [picture], &inputs)?;
    match &arguments.output {
        Some(folder) => fs::create_dir_all(folder).map_err(file_error("create", folder)),
        None => Ok(()),
    }
}

/// A step on a device.
struct Training<'b> {
    bundle: &'b Bundle,
    record: &'b TrainingRecord,
    session: ModelSession,
    /// Steps that were taken before this run.
    before: u64,
}

/// What a run has found.
#[derive(Default)]
struct Run {
    losses: Vec<f64>,
    times: Vec<Duration>,
}

impl Run {
    /// Samples a second, of batches of so many. The first step also warms up and counts only where it is the only one.
    fn rate(&self, batch: usize) -> Option<f64> {
        let measured = if self.times.len() > 1 { &self.times[1..] } else { &self.times[..] };
        let seconds = measured.iter().sum::<Duration>().as_secs_f64();
        (seconds > 0.0).then(|| (batch * measured.len()) as f64 / seconds)
    }
}

/// The loss of batches that nothing is learned from, and the part of their labels that are found. Each batch counts by its labels
/// that are not ignored, or all alike where there are no labels.
struct Evaluation {
    loss: f64,
    accuracy: Option<f64>,
}

impl Training<'_> {
    /// Goes on from a file.
    fn resume(&mut self, path: &std::path::Path) -> Result<(), CliError> {
        let mut found = Checkpoint::read(path)?;
        let wrong = |reason: String| {
            CliError::Usage(format!(
                "{} does not go on with {}: {reason}; give a file that `train --save` has written for this step",
                path.display(),
                self.bundle.path().display()
            ))
        };
        let model = &self.bundle.manifest().model.blake3;
        if found.model.is_empty() {
            return Err(wrong("it does not say which model and step it is of".to_owned()));
        }
        if found.model != *model {
            return Err(wrong("it belongs to another model".to_owned()));
        }
        let mut states = Vec::with_capacity(self.record.states.len());
        for state in &self.record.states {
            let tensor = found.tensors.remove(&state.name);
            let tensor = tensor.ok_or_else(|| wrong(format!("it has no `{}`", legible(&state.name))))?;
            if *tensor.ty() != state.ty {
                return Err(wrong(format!("`{}` is {}, not {}", legible(&state.name), tensor.ty(), state.ty)));
            }
            states.push(tensor);
        }
        if let Some(name) = found.tensors.keys().next() {
            return Err(wrong(format!("the step keeps no `{}`", legible(name))));
        }
        self.before = found.steps;
        Ok(self.session.set_states(&states)?)
    }

    /// What is to be saved after so many steps of this run.
    fn checkpoint(&mut self, steps: u64) -> Result<Checkpoint, CliError> {
        let states = self.session.states()?;
        let tensors = self.record.states.iter().map(|state| state.name.clone()).zip(states).collect();
        let model = self.bundle.manifest().model.blake3.clone();
        Ok(Checkpoint { model, steps: self.before + steps, tensors })
    }

    /// Takes the steps and writes the checkpoint and the picture, also after an interrupt or a loss that is not finite. A
    /// checkpoint with infinities or NaN is not written.
    fn take_steps(
        &mut self,
        arguments: &Arguments,
        data: &Batches,
        steps: &Steps,
        output: &Output,
    ) -> Result<Run, CliError> {
        let mut run = Run::default();
        let ended = self.run(arguments, data, &mut run, steps, output);
        let taken = run.losses.len() as u64;
        let is_kept = ended.is_ok() || taken > 0;
        let kept = if is_kept { Some(self.checkpoint(taken)?) } else { None };
        let spoilt = kept.as_ref().and_then(Checkpoint::first_not_finite).map(str::to_owned);
        if let (Some(path), Some(kept), None) = (&arguments.save, kept, &spoilt) {
            kept.write(path)?;
        }
        if let Some(folder) = arguments.output.as_ref().filter(|_| is_kept) {
            write_file(&folder.join(PICTURE), picture(self.before + 1, &run.losses).as_bytes())?;
        }
        ended?;
        if let Some(name) = spoilt {
            return Err(CliError::SpoiltState { step: self.before + taken, name });
        }
        if steps.are_interrupted() {
            return Err(CliError::Interrupted { step: self.before + taken, saved: arguments.save.clone() });
        }
        Ok(run)
    }

    /// Takes the steps, and says each loss as it comes.
    fn run(
        &mut self,
        arguments: &Arguments,
        data: &Batches,
        run: &mut Run,
        steps: &Steps,
        output: &Output,
    ) -> Result<(), CliError> {
        let progress = Progress::new(arguments.steps as usize, output);
        let rate = arguments.lr.unwrap_or(self.record.learning_rate);
        let end = self.before.saturating_add(arguments.steps);
        let scheduled = arguments.schedule_steps.unwrap_or(end);
        for step in self.before..end {
            let factor = arguments.lr_schedule.factor(step.min(scheduled), scheduled);
            let scalars = Scalars { rate: (rate * factor) as f32, seed: step_seed(arguments.seed, step) };
            let inputs = data.step(step, scalars);
            let start = Instant::now();
            let outputs = self.session.run(&inputs)?;
            let loss = outputs.first().map_or(f64::NAN, scalar);
            if !loss.is_finite() {
                return Err(self.not_finite(step, loss, &inputs)?);
            }
            self.session.advance()?;
            run.times.push(start.elapsed());
            run.losses.push(loss);
            progress.step(&format!("loss {loss:.5}"));
            progress.beside(|| output.line(&format!("step {}: loss {loss:.6}", step + 1)));
            if steps.are_interrupted() {
                break;
            }
        }
        if (1..data.count()).contains(&run.losses.len()) {
            output.note(&format!("{} of {} batches were taken", run.losses.len(), data.count()));
        }
        Ok(())
    }

    /// Why a loss is no number.
    fn not_finite(&mut self, step: u64, loss: f64, inputs: &[Tensor]) -> Result<CliError, CliError> {
        if self.ignores_all(inputs) {
            let text = format!(
                "all labels of step {} are ignored, so its loss is {loss}; give batches of which some count",
                step + 1
            );
            return Ok(CliError::Usage(text));
        }
        let mut program = self.bundle.program()?;
        let known = program.replace_states(&self.session.states()?);
        let source = source_of_not_finite(&program, inputs).ok().flatten().filter(|_| known);
        let first = match source {
            Some(tensor) => format!("{} is the first tensor with such a value", program.shown(tensor)),
            None => "no tensor before it has such a value on the reference".to_owned(),
        };
        Ok(CliError::NotFinite { step: step + 1, loss, first })
    }

    /// Whether a step is given labels, of which none counts.
    fn ignores_all(&self, inputs: &[Tensor]) -> bool {
        let named = self.bundle.manifest().signature.inputs.iter().position(|port| port.name == TARGET);
        let (Some(classes), Some(target)) = (self.record.classes, named) else { return false };
        inputs[target].to_i64().iter().all(|&label| label == classes.ignored)
    }

    fn evaluate(&mut self, batches: &Batches, signature: &Signature) -> Result<Evaluation, CliError> {
        let target = signature.inputs.iter().position(|port| port.name == TARGET);
        let (mut loss, mut weights, mut counts) = (0.0, 0.0, None::<LabelCounts>);
        for turn in 0..batches.count() as u64 {
            // Nothing is learned: the session does not advance.
            let inputs = batches.step(turn, Scalars { rate: 0.0, seed: 0 });
            let outputs = self.session.run(&inputs)?;
            let mut weight = 1.0;
            if let (Some(classes), Some(scores), Some(target)) = (self.record.classes, outputs.get(1), target)
                && let Some(part) = LabelCounts::of(scores, &inputs[target], classes.ignored)
            {
                weight = part.all as f64;
                counts = Some(counts.unwrap_or_default().with(part));
            }
            if weight > 0.0 {
                loss += weight * outputs.first().map_or(f64::NAN, scalar);
                weights += weight;
            }
        }
        if weights == 0.0 {
            return Err(CliError::Usage("all labels to evaluate are ignored; give some that count".to_owned()));
        }
        let accuracy = counts.map(|counts| counts.right as f64 / counts.all as f64);
        Ok(Evaluation { loss: loss / weights, accuracy })
    }
}

/// A learning rate that an optimizer can take.
fn learning_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        _ => Err("a learning rate is a number of 0 or more, such as 0.01".to_owned()),
    }
}

/// What the dropouts of a step draw by: SplitMix64 of a run's seed and the step's number, and never 0.
fn step_seed(seed: u64, step: u64) -> u32 {
    let mut word = seed.wrapping_add(step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ word >> 31) as u32).max(1)
}

fn scalar(tensor: &Tensor) -> f64 {
    tensor.to_f64().first().copied().unwrap_or(f64::NAN)
}

fn report(
    arguments: &Arguments,
    training: &Training<'_>,
    run: &Run,
    evaluation: Option<Evaluation>,
    batch: usize,
    output: &Output,
) {
    let rate = run.rate(batch);
    let mut text = String::new();
    if let Some(rate) = rate {
        let _ = writeln!(text, "{}: {rate:.1} samples/s", arguments.device);
    }
    if let Some(Evaluation { loss, accuracy }) = &evaluation {
        let _ = write!(text, "evaluation: loss {loss:.6}");
        let _ = match accuracy {
            Some(accuracy) => writeln!(text, ", {:.2} % right", accuracy * 100.0),
            None => writeln!(text),
        };
    }
    let evaluation = evaluation.map(|Evaluation { loss, accuracy }| json!({ "loss": loss, "accuracy": accuracy }));
    let value = json!({
        "device": arguments.device.to_string(), "first_step": training.before + 1, "losses": run.losses,
        "samples_per_second": rate, "evaluation": evaluation
    });
    output.result("train", &value, &text);
}
