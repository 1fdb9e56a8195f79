//! `warpweave reduce`: the smallest program that still fails in the same way.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use warpweave::graph::legible::{counted, legible};
use warpweave::graph::program::TensorId;
use warpweave::graph::{Tensor, TensorProgram};
use warpweave::program_file::constants_path;
use warpweave::reduce::{Case, ReduceError, StoredPart, between_stored, reduce};
use warpweave::runtime::json::{self, Value, json};
use warpweave::runtime::unfinished::Worker;
use warpweave::{MOST_RANDOM_BYTES, random_inputs};

use super::attempt::{Bar, DIFFERS, PASSED, REFUSED, SLOW};
use super::reduced_case::{self, ARRAYS, PROGRAM};
use crate::arguments::arrays::{Arrays, Assigned, OUTPUT};
use crate::arguments::inputs;
use crate::arguments::program::{ProgramArguments, load_model};
use crate::error::{CliError, Passed, file_error};
use crate::output::Output;
use crate::output_paths;
use crate::started_by;
use warpweave::frontend::ImportOptions;

/// Arguments of `reduce`.
#[derive(Args)]
#[command(mut_arg("path", |path| path.value_name("MODEL").help("An ONNX model")))]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// Arrays under the names of inputs, or in_<input name>; random inputs unless given. Where all outputs are stored, too, a program
    /// that gives them does not fail. Where the device gives other values than are stored, and the same as the reference, the import
    /// is wrong: left is the smallest part between stored values that gives another one. Values inside of the model, stored as
    /// out_<value name>, make such parts smaller; only what is stored is given to a part, or judges it
    #[arg(long, value_name = "FILE.npz|DIR")]
    io: Option<PathBuf>,
    /// The new folder that the case is left in
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// After how many seconds an attempt counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    time_limit: u64,
    #[command(flatten)]
    bar: Bar,
}

/// How a program fails. Candidates are kept that fail in the same way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Outputs differ from the reference's.
    Differs,
    /// It ends with an error of this code.
    Refused(String),
    /// The process ends by itself, so.
    Crash(String),
    /// The process does not end.
    TimeOut,
    /// It is slower than another device, by more than was asked for.
    Slow,
}

impl Failure {
    /// The kind as `case.json` names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Differs => DIFFERS,
            Self::Refused(_) => REFUSED,
            Self::Crash(_) => "crash",
            Self::TimeOut => "time-out",
            Self::Slow => SLOW,
        }
    }

    /// What is told beside the kind: the code of an error, or how a process ended.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Refused(detail) | Self::Crash(detail) => Some(detail),
            Self::Differs | Self::TimeOut | Self::Slow => None,
        }
    }
}

/// How an attempt ended: a failure with what was said of it, or none.
type Ended = Option<(Failure, String)>;

/// A case with the values of its tensors that are stored.
struct Given {
    case: Case,
    stored: BTreeMap<TensorId, Tensor>,
}

/// What still fails.
struct Found {
    case: Case,
    /// The outputs that are right.
    expected: Vec<Tensor>,
    failure: Failure,
    message: String,
    tried: usize,
    judge: Judge,
}

/// Whose values are right.
#[derive(Clone, Copy)]
enum Judge {
    Reference,
    Archive,
}

impl Judge {
    fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Archive => "archive",
        }
    }
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    output_paths::check_absent(&arguments.output)?;
    output_paths::check_new_folder(&arguments.output, 0)?;
    let given = given(arguments, output)?;
    fs::create_dir_all(&arguments.output).map_err(file_error("create", &arguments.output))?;
    let attempts = Attempts { arguments, folder: arguments.output.join("attempt") };
    let result = reduce_to(&attempts, given, output);
    // Whatever is left of the attempts is no result.
    let _ = fs::remove_dir_all(&attempts.folder);
    if !matches!(result, Ok(true)) {
        let _ = fs::remove_dir(&arguments.output);
    }
    result
}

fn reduce_to(attempts: &Attempts<'_>, given: Given, output: &Output) -> Result<Passed, CliError> {
    let arguments = attempts.arguments;
    let statements = given.case.program.statements.len();
    let Some(found) = found(attempts, given)? else {
        let device = arguments.program.device;
        let text = format!("{device}: the program does not fail; there is nothing to reduce");
        output.result("reduce", &json!({"device": device.to_string(), "kind": PASSED}), &text);
        return Ok(false);
    };
    let Found { case, expected, failure, message, tried, judge } = found;
    let replay = attempts.replay();
    let left = case.program.statements.len();
    let value = json!({
        "device": arguments.program.device.to_string(), "kind": failure.kind(), "detail": failure.detail(),
        "judge": judge.name(),
        "message": message, "statements": left, "statements_before": statements, "attempts": tried, "replay": replay,
        "producer": concat!("warpweave ", env!("CARGO_PKG_VERSION"))
    });
    reduced_case::write(&arguments.output, &case, &expected, &value)?;
    let folder = arguments.output.display();
    let kind = [Some(failure.kind()), failure.detail()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let how = match judge {
        Judge::Reference => format!("fail in the same way ({kind})"),
        Judge::Archive => "give another value than is stored, on the reference, too".to_owned(),
    };
    let text = format!(
        "{folder}: {left} of {} {how} after {}\n{folder}: {replay}",
        counted(statements, "statement"),
        counted(tried, "attempt")
    );
    output.result("reduce", &value, &text);
    Ok(true)
}

/// The smallest case that still fails, judged by the reference if the device differs from it, and else by what is stored.
fn found(attempts: &Attempts<'_>, Given { case, stored }: Given) -> Result<Option<Found>, CliError> {
    let all: Option<Vec<Tensor>> = case.program.outputs.iter().map(|output| stored.get(output).cloned()).collect();
    if let Some(expected) = all
        && attempts.judged(&case, &expected)?.is_none()
    {
        return Ok(None);
    }
    let Some((failure, _)) = attempts.attempt(&case)? else { return wrong_part(attempts, &case, &stored) };
    let mut tried = 0;
    let mut fails = |candidate: &Case| {
        tried += 1;
        Ok(attempts.attempt(candidate)?.is_some_and(|(found, _)| found == failure))
    };
    let smallest = reduce(case, &mut fails).map_err(|error| match error {
        ReduceError::Judge(error) => error,
        ReduceError::Reference(_) | ReduceError::Memory { .. } => CliError::Usage(error.to_string()),
    })?;
    let message = attempts.attempt(&smallest)?.map(|(_, message)| message).unwrap_or_default();
    let expected = smallest.expected().map_err(|error| CliError::Usage(error.to_string()))?;
    Ok(Some(Found { case: smallest, expected, failure, message, tried, judge: Judge::Reference }))
}

/// The smallest part between stored values that gives another one than is stored.
fn wrong_part(
    attempts: &Attempts<'_>,
    case: &Case,
    stored: &BTreeMap<TensorId, Tensor>,
) -> Result<Option<Found>, CliError> {
    for (tried, StoredPart { case, expected, .. }) in (1..).zip(between_stored(case, stored)) {
        let expected = vec![expected];
        if let Some((Failure::Differs, message)) = attempts.judged(&case, &expected)? {
            let (failure, judge) = (Failure::Differs, Judge::Archive);
            return Ok(Some(Found { case, expected, failure, message, tried, judge }));
        }
    }
    Ok(None)
}

/// The model with its inputs, and what else is stored.
fn given(arguments: &Arguments, output: &Output) -> Result<Given, CliError> {
    let arrays = arguments.io.as_deref().map(Arrays::of_archive).transpose()?;
    let shapes = arrays.as_ref().map(Arrays::shapes).unwrap_or_default();
    let options = ImportOptions { arrays: shapes, ..arguments.program.import.import_options()? };
    let model = load_model(&arguments.program.path, &options)?;
    let signature = &model.signature;
    let mut stored = BTreeMap::new();
    let inputs: Vec<Tensor> = match arrays {
        Some(arrays) => {
            let mut assigned = arrays.assign(signature, &model.record.constants)?;
            assigned.note_fixed(output);
            stored = values_stored(&model.program, &mut assigned, output);
            inputs::from_arrays(signature, assigned.inputs, "an array of its name in the --io file")?
        }
        None => {
            let bytes = signature.inputs.iter().map(|port| port.ty.bytes() as u64).fold(0, u64::saturating_add);
            if bytes > MOST_RANDOM_BYTES {
                let text = format!("random inputs would take {bytes} bytes; give inputs with --io, or smaller shapes");
                return Err(CliError::Usage(text));
            }
            random_inputs(signature, arguments.bar.seed)
        }
    };
    Ok(Given { case: Case { program: model.program, inputs }, stored })
}

/// The stored values of a program's tensors: of outputs, and of others by their names in the model.
fn values_stored(program: &TensorProgram, assigned: &mut Assigned, output: &Output) -> BTreeMap<TensorId, Tensor> {
    let named: BTreeMap<&str, TensorId> =
        program.tensors.ids().filter_map(|id| Some((program.tensor_name(id)?, id))).collect();
    let mut stored = BTreeMap::new();
    for (array, value) in std::mem::take(&mut assigned.unknown_outputs) {
        match array.strip_prefix(OUTPUT).and_then(|name| named.get(name)) {
            Some(&tensor) => _ = stored.insert(tensor, value),
            None => {
                output.note(&format!("the array `{}` is of no value of the program; it is not used", legible(&array)))
            }
        }
    }
    let outputs = std::mem::take(&mut assigned.outputs).into_iter();
    stored.extend(outputs.map(|(position, value)| (program.outputs[position], value)));
    stored
}

struct Attempts<'a> {
    arguments: &'a Arguments,
    folder: PathBuf,
}

impl Attempts<'_> {
    /// How a case fails, if it does; one that the reference refuses does not.
    fn attempt(&self, case: &Case) -> Result<Ended, CliError> {
        case.expected().map_or(Ok(None), |expected| self.judged(case, &expected))
    }

    /// How a case fails, if it does, where these are the right outputs.
    fn judged(&self, case: &Case, expected: &[Tensor]) -> Result<Ended, CliError> {
        fs::create_dir_all(&self.folder).map_err(file_error("create", &self.folder))?;
        reduced_case::write_program(&self.folder, case, expected)?;
        let result = self.run();
        let constants = constants_path(&self.folder.join(PROGRAM));
        if constants.exists() {
            fs::remove_file(&constants).map_err(file_error("remove", &constants))?;
        }
        result
    }

    fn run(&self) -> Result<Ended, CliError> {
        let failed = || file_error("run", Path::new("warpweave"));
        let mut command = started_by::command().map_err(failed())?;
        command.arg("reduce-attempt").arg(self.folder.join(PROGRAM)).arg("--io").arg(self.folder.join(ARRAYS));
        command.args(self.options()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut worker = Worker::spawn(&mut command).map_err(failed())?;
        let (_, stdout, stderr) = worker.pipes();
        thread::scope(|scope| {
            let told = scope.spawn(move || read_all(stdout));
            let log = scope.spawn(move || read_all(stderr));
            let status = wait(&mut worker, Duration::from_secs(self.arguments.time_limit)).map_err(failed())?;
            let Some(status) = status else {
                // Its pipes close with it, which ends the threads above.
                drop(worker);
                let text = format!("it has not ended after {} s", self.arguments.time_limit);
                return Ok(Some((Failure::TimeOut, text)));
            };
            let (told, log) = (told.join().unwrap_or_default(), log.join().unwrap_or_default());
            Ok(ended(status, &told, &log))
        })
    }

    /// The options that every attempt has.
    fn options(&self) -> Vec<String> {
        let Arguments { program, bar, .. } = self.arguments;
        let mut options = vec![format!("--device={}", program.device), "--json".to_owned()];
        let backend = program.backend.as_ref().and_then(ValueEnum::to_possible_value);
        let mut add =
            |name: &str, value: Option<String>| options.extend(value.map(|value| format!("--{name}={value}")));
        add("threads", program.threads.map(|threads| threads.to_string()));
        add("wait-limit", Some(program.wait_limit.to_string()));
        add("fusion", program.fusion.map(|fusion| fusion.to_string()));
        add("backend", backend.map(|backend| backend.get_name().to_owned()));
        add("precision", program.precision.choice().map(|choice| choice.to_string()));
        bar.tolerance.options().into_iter().for_each(|(name, value)| add(name, Some(value.to_string())));
        add("slower-than", bar.slower_than.map(|ratio| ratio.to_string()));
        add("against", Some(bar.against.to_string()));
        add("veus", bar.veus.map(|units| units.to_string()));
        add("seed", Some(bar.seed.to_string()));
        add("fault", bar.fault.as_ref().map(ToString::to_string));
        options
    }

    /// The command that shows the failure again, in the folder of the case.
    fn replay(&self) -> String {
        let Arguments { program, bar, .. } = self.arguments;
        let backend = program.backend.as_ref().and_then(ValueEnum::to_possible_value);
        let tolerance = bar.tolerance.options().into_iter().map(|(name, value)| format!(" --{name} {value}")).collect();
        let options = [
            program.fusion.map(|fusion| format!(" --fusion {fusion}")),
            backend.map(|backend| format!(" --backend {}", backend.get_name())),
            bar.veus.map(|units| format!(" --veus {units}")),
            Some(tolerance),
        ];
        let options: String = options.into_iter().flatten().collect();
        format!("warpweave compare {PROGRAM} --io {ARRAYS} --device {}{options}", program.device)
    }
}

fn wait(worker: &mut Worker, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        match worker.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if start.elapsed() > limit => return Ok(None),
            None => thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A pipe that breaks shows as a child that failed.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// What a process that ended has told; one that has told nothing has crashed.
fn ended(status: ExitStatus, told: &[u8], log: &[u8]) -> Ended {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match json::from_slice(told).ok().filter(|_: &Value| status.success()) {
        None => {
            let log = String::from_utf8_lossy(log).trim().to_owned();
            Some((Failure::Crash(status.to_string()), log))
        }
        Some(value) => {
            let failure = match value["kind"].as_str() {
                Some(PASSED) => return None,
                Some(DIFFERS) => Failure::Differs,
                Some(SLOW) => Failure::Slow,
                _ => Failure::Refused(text(&value, "code")),
            };
            Some((failure, text(&value, "message")))
        }
    }
}
