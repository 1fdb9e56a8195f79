//! `warpweave run`: one execution.

use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use warpweave::graph::legible::legible;
use warpweave::graph::{Tensor, TensorType, npy};
use warpweave::runtime::bundle::{Port, Signature};
use warpweave::runtime::json::json;
use warpweave::runtime::session::Session;
use warpweave::{MOST_RANDOM_BYTES, Source, random_inputs};

use crate::arguments::arrays::{self, ArrayArgument, Arrays};
use crate::arguments::inputs;
use crate::arguments::program::ProgramArguments;
use crate::error::{CliError, Passed, file_error};
use crate::output::{Output, write_file};
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Arguments of `run`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// An input's array, or an archive of arrays under the names of inputs; without any, inputs are random
    #[arg(long = "input", value_name = "NAME=FILE.npy|FILE.npz")]
    inputs: Vec<ArrayArgument>,
    /// The folder that outputs are written to, as out_0.npy and so on; or an archive of inputs and outputs under their names,
    /// which `compare --io` takes
    #[arg(long, value_name = "DIR|FILE.npz")]
    output: Option<PathBuf>,
    /// The seed of random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Fail where more than one element in a thousand of an output is infinite or not a number
    #[arg(long)]
    check_finite: bool,
}

/// The share of an output's elements that --check-finite lets be infinite or not a number.
const MOST_NOT_FINITE: f64 = 1e-3;

/// Most bytes of outputs where no input is given.
const MOST_OUTPUT_BYTES: u64 = 4 * MOST_RANDOM_BYTES;

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let arrays = Arrays::read(&arguments.inputs)?;
    let source = arguments.program.load(&arrays, output)?;
    if source.training().is_some() {
        return Err(CliError::WrongKind {
            path: arguments.program.path.clone(),
            wanted: "program that is run by itself",
            remedy: "it is a training step: take steps with `warpweave train`, or measure it with `warpweave bench`",
        });
    }
    check_outputs(arguments, &source)?;
    let inputs = read_inputs(arguments, arrays, &source, output)?;
    let mut session = arguments.program.open(&source, &arguments.program.options(), output)?;
    let start = Instant::now();
    let outputs = session.run(&inputs)?;
    let seconds = session.device_time().unwrap_or_else(|| start.elapsed()).as_secs_f64();
    match &arguments.output {
        Some(path) if is_archive(path) => write_archive(path, source.signature(), &inputs, &outputs)?,
        Some(folder) => write_outputs(folder, &outputs)?,
        None => {}
    }
    let mut text = String::new();
    let mut records = Vec::new();
    let mut passed = true;
    for (position, (port, tensor)) in source.signature().outputs.iter().zip(&outputs).enumerate() {
        let summary = Summary::of(tensor);
        let _ = writeln!(text, "out_{position} {} {}: {summary}", legible(&port.name), tensor.ty());
        let Summary { minimum, maximum, mean, not_finite, elements } = summary;
        if arguments.check_finite && not_finite as f64 > MOST_NOT_FINITE * elements as f64 {
            passed = false;
            let share = 100.0 * not_finite as f64 / elements as f64;
            let _ = writeln!(text, "  {share:.2} % of its elements are infinite or not a number");
        }
        let ty = tensor.ty().to_string();
        records.push(json!({
            "name": port.name, "type": ty, "minimum": minimum, "maximum": maximum, "mean": mean, "not_finite": not_finite
        }));
    }
    let _ = writeln!(text, "{}: {:.3} ms", arguments.program.device, seconds * 1e3);
    let device = arguments.program.device.to_string();
    let backend = arguments.program.plan_backend(&session).map(|backend| backend.to_string());
    let value = json!({"device": device, "backend": backend, "seconds": seconds, "outputs": records});
    output.result("run", &value, &text);
    Ok(passed)
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npz")
}

fn check_outputs(arguments: &Arguments, source: &Source) -> Result<(), CliError> {
    let mut files = source.files();
    files.extend(arguments.program.files());
    files.extend(arguments.inputs.iter().map(|input| input.path().to_owned()));
    let signature = source.signature();
    // Of an output whose extent depends on data only the bound is known.
    let is_counted = |position: usize| signature.counted.iter().any(|counted| counted.output == position);
    let of_output = |(position, port): (usize, &Port)| if is_counted(position) { 0 } else { stored_bytes(port) };
    match &arguments.output {
        None => Ok(()),
        Some(path) if is_archive(path) => {
            let inputs = signature.inputs.iter().map(stored_bytes);
            let bytes = inputs.chain(signature.outputs.iter().enumerate().map(of_output)).fold(0, u64::saturating_add);
            output_paths::check_files(&[OutputFile { bytes, ..OutputFile::new(path, OutputKind::Arrays) }], &files)
        }
        Some(path) if path.extension().is_some_and(|extension| extension == "npy") && !path.is_dir() => {
            let text = format!("{} is no folder: name one, or an archive that ends in .npz", path.display());
            Err(CliError::Usage(text))
        }
        Some(folder) => {
            let file = |(position, port): (usize, &Port)| OutputFile {
                bytes: of_output((position, port)),
                ..OutputFile::new(file_name(position), OutputKind::Array)
            };
            output_paths::check_folder(Some(folder), signature.outputs.iter().enumerate().map(file), &files)
        }
    }
}

/// The bytes of a port's array, which has other elements in the place of those that NumPy has no type for.
fn stored_bytes(port: &Port) -> u64 {
    (port.ty.shape.elements() * npy::stand_in(port.ty.element).bytes()) as u64
}

/// The name of the file of the output at a position.
fn file_name(position: usize) -> String {
    format!("out_{position}.npy")
}

fn read_inputs(
    arguments: &Arguments,
    arrays: Arrays,
    source: &Source,
    output: &Output,
) -> Result<Vec<Tensor>, CliError> {
    let signature = source.signature();
    if arrays.is_empty() {
        check_random(signature)?;
        if !signature.inputs.is_empty() {
            output.note(&format!("no input is given: inputs are random with seed {}", arguments.seed));
        }
        return Ok(random_inputs(signature, arguments.seed));
    }
    inputs::given(arrays, source, output)
}

/// Writes inputs and outputs under their names.
fn write_archive(path: &Path, signature: &Signature, inputs: &[Tensor], outputs: &[Tensor]) -> Result<(), CliError> {
    let ports = signature.inputs.iter().chain(&signature.outputs).map(|port| port.name.as_str());
    let bytes = arrays::print_archive(ports.zip(inputs.iter().chain(outputs)));
    let bytes = bytes.ok_or_else(|| CliError::WrongOutputs("no archive holds the outputs".to_owned()))?;
    write_file(path, &bytes)
}

/// Refuses to make up more than anyone would ask for, and what follows from it, before it is allocated.
fn check_random(signature: &Signature) -> Result<(), CliError> {
    let sides =
        [(&signature.inputs, "", MOST_RANDOM_BYTES), (&signature.outputs, "the outputs of ", MOST_OUTPUT_BYTES)];
    for (ports, of, most) in sides {
        let bytes = |port: &Port| port.ty.bytes() as u64;
        let all = ports.iter().map(bytes).fold(0, u64::saturating_add);
        let Some(largest) = ports.iter().max_by_key(|port| bytes(port)).filter(|_| all > most) else { continue };
        return Err(CliError::Usage(format!(
            "no input is given, and {of}random ones would take {all} bytes, `{}` ({}) most of them; give inputs with --input, \
             or choose smaller shapes with --shape",
            legible(&largest.name),
            largest.ty
        )));
    }
    Ok(())
}

/// Writes each output; nothing of a failed write is left.
pub fn write_outputs(folder: &Path, outputs: &[Tensor]) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(file_error("create", folder))?;
    for (position, tensor) in outputs.iter().enumerate() {
        let bytes = npy::print(&npy::standing_in(tensor));
        let bytes = bytes.ok_or_else(|| CliError::WrongOutputs(format!("no array holds {}", tensor.ty())))?;
        write_file(&folder.join(file_name(position)), &bytes)?;
    }
    Ok(())
}

struct Summary {
    elements: usize,
    minimum: f64,
    maximum: f64,
    mean: f64,
    /// Elements that are infinite or not a number.
    not_finite: usize,
}

impl Summary {
    fn of(tensor: &Tensor) -> Self {
        let (mut minimum, mut maximum, mut sum, mut not_finite) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0);
        // A part after another: as doubles, large outputs would take several times their bytes.
        for part in parts(tensor) {
            for element in part.to_f64() {
                (minimum, maximum) = (minimum.min(element), maximum.max(element));
                sum += element;
                not_finite += usize::from(!element.is_finite());
            }
        }
        let elements = tensor.shape().elements();
        Self { elements, minimum, maximum, mean: sum / elements.max(1) as f64, not_finite }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elements, minimum, maximum, mean, .. } = self;
        if *elements == 0 {
            return f.write_str("empty");
        }
        write!(f, "minimum {minimum}, maximum {maximum}, mean {mean}")
    }
}

/// A tensor's elements, in order, in short vectors.
fn parts(tensor: &Tensor) -> impl Iterator<Item = Tensor> {
    const ELEMENTS: usize = 1 << 16;
    let bytes = tensor.bytes();
    let width = tensor.element().bytes();
    (0..bytes.len()).step_by(ELEMENTS * width).filter_map(move |start| {
        let part = bytes.slice(start..bytes.len().min(start + ELEMENTS * width));
        Tensor::from_bytes(TensorType::new(tensor.element(), [part.len() / width]), part)
    })
}
