//! Runs the cases of `tests/interfaces/cases.txt`, which describes them, through this crate: `conformance CASES FOLDER`. The
//! folder has the bundles.
#![expect(unsafe_code, reason = "forks, and binds memory by its address as a caller of another language does")]
#![expect(clippy::print_stdout, reason = "prints its results")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use warpweave_graph::{ElementType, Tensor, TensorType};
use warpweave_runtime::aligned::AlignedBytes;
use warpweave_runtime::bundle::{Bundle, BundleError};
use warpweave_runtime::cuda::Driver;
use warpweave_runtime::host::ThreadPool;
use warpweave_runtime::session::bound::{BoundError, BoundInput, BoundOutput, PortNumber, check_memory};
use warpweave_runtime::session::{
    Deployment, Device, FailureKind, ModelSession, OpenOptions, Session, SessionError, UnknownDevice,
};

/// How a step ends that does not succeed.
enum Failure {
    /// The library returns an error.
    Error { kind: FailureKind, name: &'static str, text: String },
    /// The step does other than it says.
    Different(String),
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::Error { kind: error.kind(), name: error.code(), text: error.to_string() }
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        Self::Error { kind: error.kind(), name: error.code(), text: error.to_string() }
    }
}

impl From<BoundError> for Failure {
    fn from(error: BoundError) -> Self {
        SessionError::from(error).into()
    }
}

impl From<UnknownDevice> for Failure {
    fn from(error: UnknownDevice) -> Self {
        SessionError::from(error).into()
    }
}

type Step = Result<(), Failure>;

fn demand(holds: bool, what: impl FnOnce() -> String) -> Step {
    if holds { Ok(()) } else { Err(Failure::Different(what())) }
}

fn malformed(what: &str) -> Failure {
    Failure::Different(format!("the step has no {what}"))
}

fn number(word: &str) -> Result<usize, Failure> {
    word.parse().map_err(|_| malformed("number"))
}

/// A tensor as a step gives it: `f32[2x3] OPTIONS VALUES`.
struct Given<'l> {
    ty: TensorType,
    options: BTreeMap<&'l str, &'l str>,
    values: Vec<&'l str>,
}

impl<'l> Given<'l> {
    fn parse(words: &[&'l str]) -> Result<Self, Failure> {
        let (ty, rest) = words.split_first().ok_or_else(|| malformed("tensor"))?;
        let (name, shape) = ty.trim_end_matches(']').split_once('[').ok_or_else(|| malformed("shape"))?;
        let known = [ElementType::I32, ElementType::I64, ElementType::F32, ElementType::F64];
        let element = known.into_iter().find(|element| element.to_string() == name);
        let shape: Vec<usize> =
            shape.split('x').filter(|word| !word.is_empty()).map(number).collect::<Result<_, _>>()?;
        let ty = TensorType::new(element.ok_or_else(|| malformed("element type"))?, shape);
        let options = rest.iter().filter_map(|word| word.split_once('=')).collect();
        let values = rest.iter().filter(|word| !word.contains('=')).copied().collect();
        Ok(Self { ty, options, values })
    }

    /// The bytes of the values.
    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let bytes = |value: &&str| {
            let integer = || value.parse::<i64>().ok();
            match self.ty.element {
                ElementType::F32 => value.parse::<f32>().ok().map(|value| value.to_ne_bytes().to_vec()),
                ElementType::F64 => value.parse::<f64>().ok().map(|value| value.to_ne_bytes().to_vec()),
                ElementType::I32 => integer().map(|value| (value as i32).to_ne_bytes().to_vec()),
                _ => integer().map(|value| value.to_ne_bytes().to_vec()),
            }
        };
        let bytes: Option<Vec<Vec<u8>>> = self.values.iter().map(bytes).collect();
        Ok(bytes.ok_or_else(|| malformed("number"))?.concat())
    }

    /// Holds elements against the values.
    fn compare(&self, found: &[u8]) -> Step {
        let wanted = self.bytes()?;
        let shown = |bytes: &[u8]| -> Vec<String> {
            let element = |bytes: &[u8]| match self.ty.element {
                // Both zeros are 0.
                ElementType::F32 => (bytes.try_into().map_or(f32::NAN, f32::from_ne_bytes) + 0.0).to_string(),
                _ => format!("{bytes:?}"),
            };
            bytes.chunks(self.ty.element.bytes()).map(element).collect()
        };
        let found = shown(&found[..wanted.len().min(found.len())]);
        demand(found == shown(&wanted), || format!("its elements are {found:?}"))
    }

    /// The tensor of these values; `None` where they cannot be held.
    fn tensor(&self) -> Result<Option<Tensor>, Failure> {
        let most = self.ty.checked_bytes().filter(|bytes| *bytes <= 1 << 20).unwrap_or_default();
        let mut bytes = self.bytes()?;
        bytes.resize(most, 0);
        Ok(Tensor::from_bytes(self.ty.clone(), bytes.into()))
    }
}

/// Where bytes lie: in which memory, and from which byte on.
#[derive(Clone)]
struct Place {
    memory: String,
    offset: usize,
}

/// A session with what is bound to it.
struct Opened {
    session: ModelSession,
    inputs: Vec<Option<Place>>,
    outputs: Vec<Option<Place>>,
    defaults: Vec<Option<Tensor>>,
    /// What the last run has left of each output.
    found: Vec<Tensor>,
}

/// What a case has named.
#[derive(Default)]
struct Case {
    folder: PathBuf,
    bundles: BTreeMap<String, Deployment>,
    pools: BTreeMap<String, Arc<ThreadPool>>,
    sessions: BTreeMap<String, Opened>,
    memories: BTreeMap<String, AlignedBytes>,
}

impl Case {
    fn bundle(&self, name: &str) -> Result<&Deployment, Failure> {
        self.bundles.get(name).ok_or_else(|| malformed("bundle"))
    }

    fn session(&mut self, name: &str) -> Result<&mut Opened, Failure> {
        self.sessions.get_mut(name).ok_or_else(|| malformed("session"))
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(format!("{file}.weave"))
    }

    fn perform(&mut self, words: &[&str]) -> Step {
        match words {
            ["device_count" | "device_at", rest @ ..] => devices(rest),
            ["memory", name, bytes] => {
                self.memories.insert((*name).to_owned(), AlignedBytes::filled(number(bytes)?, 0));
                Ok(())
            }
            ["memory_write", place, given @ ..] => {
                let bytes = Given::parse(given)?.bytes()?;
                self.at(&self.place(place)?)?[..bytes.len()].copy_from_slice(&bytes);
                Ok(())
            }
            ["memory_holds", place, given @ ..] => Given::parse(given)?.compare(self.at(&self.place(place)?)?),
            ["pool_open", name, threads] => {
                let pool = ThreadPool::new(number(threads)?);
                let pool = pool.map_err(|error| Failure::Different(error.to_string()))?;
                self.pools.insert((*name).to_owned(), Arc::new(pool));
                Ok(())
            }
            ["pool_close", name] => demand(self.pools.remove(*name).is_some(), || format!("there is no pool {name}")),
            [verb, name, rest @ ..] if verb.starts_with("bundle_") => self.of_bundle(verb, name, rest),
            ["session_open", name, bundle, options @ ..] => self.open(name, bundle, options),
            ["session_close", name] => {
                demand(self.sessions.remove(*name).is_some(), || format!("there is no session {name}"))
            }
            ["session_bind_input", name, port, given @ ..] => self.bind(name, port, given, false),
            ["session_bind_input_tensor", name, port, given @ ..] => self.bind(name, port, given, true),
            ["session_bind_output" | "session_bind_output_tensor", name, port, given @ ..] => {
                self.bind_output(name, port, given)
            }
            ["session_run", name] => self.run(name),
            ["session_step", name] => {
                self.run(name)?;
                Ok(self.session(name)?.session.advance()?)
            }
            [verb, name, rest @ ..] => self.session(name)?.perform(verb, rest),
            _ => Err(malformed("verb")),
        }
    }

    fn of_bundle(&mut self, verb: &str, name: &str, rest: &[&str]) -> Step {
        match (verb, rest) {
            ("bundle_open", [file]) => {
                let bundle = Bundle::open(&self.path(file))?;
                self.bundles.insert(name.to_owned(), Deployment::new(bundle));
                return Ok(());
            }
            ("bundle_open_memory", [file, options @ ..]) => {
                let data = std::fs::read(self.path(file)).map_err(|error| Failure::Different(error.to_string()))?;
                let bytes = options.first().and_then(|word| word.strip_prefix("bytes=")).map(number).transpose()?;
                let data = Bytes::from(data);
                let bundle = Bundle::from_bytes(data.slice(..bytes.unwrap_or(data.len())))?;
                self.bundles.insert(name.to_owned(), Deployment::new(bundle));
                return Ok(());
            }
            ("bundle_close", []) => {
                return demand(self.bundles.remove(name).is_some(), || format!("there is no bundle {name}"));
            }
            _ => {}
        }
        let manifest = self.bundle(name)?.bundle().manifest();
        let signature = &manifest.signature;
        let states = manifest.training.as_ref().map_or(&[][..], |training| &training.states);
        let counted = |found: usize, count: &str| {
            let count = number(count)?;
            demand(found == count, || format!("there are {found}"))
        };
        match (verb, rest) {
            ("bundle_input_count", [count]) => counted(signature.inputs.len(), count),
            ("bundle_output_count", [count]) => counted(signature.outputs.len(), count),
            ("bundle_state_count", [count]) => counted(states.len(), count),
            (_, [at, port, given @ ..]) => {
                let (at, given) = (number(at)?, Given::parse(given)?);
                let found = match verb {
                    "bundle_input" => signature.inputs.get(at).map(|port| (&port.name, &port.ty)),
                    "bundle_output" => signature.outputs.get(at).map(|port| (&port.name, &port.ty)),
                    _ => states.get(at).map(|state| (&state.name, &state.ty)),
                };
                let (name, ty) = found.ok_or_else(|| malformed("port"))?;
                demand(name == port && *ty == given.ty, || format!("it is `{name}`, {ty}"))?;
                let has_default = verb == "bundle_input" && manifest.default_of(at).is_some();
                demand(has_default == (given.values == ["default"]), || format!("default: {has_default}"))?;
                let open = signature.counted.iter().filter(|counted| verb == "bundle_output" && counted.output == at);
                let open: Vec<String> = open.map(|counted| counted.dimension.to_string()).collect();
                demand(open == given.options.get("open").copied().into_iter().collect::<Vec<_>>(), || {
                    format!("open are {open:?}")
                })
            }
            _ => Err(malformed("verb")),
        }
    }

    fn open(&mut self, name: &str, bundle: &str, options: &[&str]) -> Step {
        let options: BTreeMap<&str, &str> = options.iter().filter_map(|word| word.split_once('=')).collect();
        let deployment = self.bundle(bundle)?;
        let defaults = OpenOptions::default();
        let chosen = OpenOptions {
            threads: options.get("threads").map_or(Ok(defaults.threads), |threads| number(threads))?,
            wait_limit: match options.get("wait") {
                Some(wait) => Duration::from_millis(number(wait)? as u64),
                None => defaults.wait_limit,
            },
            ..defaults
        };
        let session = match options.get("pool") {
            Some(pool) => {
                let pool = self.pools.get(*pool).ok_or_else(|| malformed("pool"))?;
                deployment.open_on_pool(Arc::clone(pool))?
            }
            None => deployment.open(options.get("device").copied().unwrap_or("host").parse::<Device>()?, &chosen)?,
        };
        let (inputs, outputs) = (session.signature().inputs.len(), session.signature().outputs.len());
        let defaults = (0..inputs).map(|at| deployment.bundle().manifest().default_of(at)).collect();
        let (inputs, outputs) = (vec![None; inputs], vec![None; outputs]);
        let opened = Opened { session, inputs, outputs, defaults, found: Vec::new() };
        self.sessions.insert(name.to_owned(), opened);
        Ok(())
    }

    fn place(&self, text: &str) -> Result<Place, Failure> {
        let (memory, offset) = text.split_once('+').ok_or_else(|| malformed("offset"))?;
        Ok(Place { memory: memory.to_owned(), offset: number(offset)? })
    }

    fn at(&mut self, place: &Place) -> Result<&mut [u8], Failure> {
        let memory = self.memories.get_mut(&place.memory).map(AsMut::<[u8]>::as_mut);
        memory.and_then(|bytes| bytes.get_mut(place.offset..)).ok_or_else(|| malformed("memory"))
    }

    /// Puts a tensor where the step says, or in memory of its own, and checks it for a port.
    fn put(&mut self, port: PortNumber, wanted: &TensorType, given: &Given<'_>) -> Result<Place, Failure> {
        let bytes = given.ty.checked_bytes().unwrap_or(usize::MAX);
        let place = match given.options.get("at") {
            Some(place) => self.place(place)?,
            None => {
                let memory = format!("memory {}", self.memories.len());
                self.memories.insert(memory.clone(), AlignedBytes::filled(bytes.min(1 << 20), 0));
                Place { memory, offset: 0 }
            }
        };
        let values = given.bytes()?;
        let memory = self.at(&place)?;
        memory[..values.len()].copy_from_slice(&values);
        check_memory(port, wanted, memory.as_ptr().addr(), bytes)?;
        Ok(place)
    }

    fn bind(&mut self, name: &str, port: &str, given: &[&str], is_tensor: bool) -> Step {
        let opened = self.session(name)?;
        let ports = &opened.session.signature().inputs;
        let at = ports.iter().position(|known| known.name == port).ok_or_else(|| malformed("port"))?;
        if given == ["none"] {
            opened.inputs[at] = None;
            return Ok(());
        }
        let (given, wanted) = (Given::parse(given)?, ports[at].ty.clone());
        if let Some(tensor) = given.tensor()?.filter(|tensor| is_tensor && *tensor.ty() != wanted) {
            let zeros = |ty: &TensorType| Tensor::from_bytes(ty.clone(), vec![0; ty.bytes()].into());
            let mut inputs: Vec<Tensor> = ports.iter().filter_map(|port| zeros(&port.ty)).collect();
            inputs[at] = tensor;
            return Ok(opened.session.run(&inputs).map(drop)?);
        }
        let place = self.put(PortNumber::Input(at), &wanted, &given)?;
        self.session(name)?.inputs[at] = Some(place);
        Ok(())
    }

    fn bind_output(&mut self, name: &str, port: &str, given: &[&str]) -> Step {
        let opened = self.session(name)?;
        let ports = &opened.session.signature().outputs;
        let at = ports.iter().position(|known| known.name == port).ok_or_else(|| malformed("port"))?;
        let wanted = ports[at].ty.clone();
        let place = match given {
            ["none"] => None,
            given => Some(self.put(PortNumber::Output(at), &wanted, &Given::parse(given)?)?),
        };
        self.session(name)?.outputs[at] = place;
        Ok(())
    }

    /// Runs on the memory that is bound, and once more on tensors, which gives the same.
    fn run(&mut self, name: &str) -> Step {
        let mut opened = self.sessions.remove(name).ok_or_else(|| malformed("session"))?;
        let ran = self.run_opened(&mut opened);
        self.sessions.insert(name.to_owned(), opened);
        ran
    }

    fn run_opened(&mut self, opened: &mut Opened) -> Step {
        let signature = opened.session.signature().clone();
        let mut inputs = Vec::new();
        for ((place, default), port) in opened.inputs.iter().zip(&opened.defaults).zip(&signature.inputs) {
            let bytes = match place {
                Some(place) => Some(Bytes::copy_from_slice(&self.at(place)?[..port.ty.bytes()])),
                None => default.as_ref().map(|default| default.bytes().to_vec().into()),
            };
            inputs.extend(bytes.map(AlignedInput::new));
        }
        let mut own: Vec<AlignedBytes> =
            signature.outputs.iter().map(|port| AlignedBytes::filled(port.ty.bytes(), 0xff)).collect();
        let mut outputs = Vec::new();
        for ((place, own), port) in opened.outputs.iter().zip(&mut own).zip(&signature.outputs) {
            outputs.push(match place {
                // SAFETY: memories of the case live on, no other part of them is used during the run, and the place was checked.
                Some(place) => unsafe { BoundOutput::from_raw(self.at(place)?.as_mut_ptr(), port.ty.bytes()) },
                None => BoundOutput::from(own.as_mut()),
            });
        }
        let read: Vec<BoundInput<'_>> = inputs.iter().map(|input| BoundInput::from(input.0.as_ref())).collect();
        let ran = opened.session.run_on(&read, &mut outputs);
        let is_fault = ran.as_ref().is_err_and(SessionError::is_fault);
        demand(!is_fault || opened.session.fault().is_some(), || "the session knows of no fault".to_owned())?;
        let cut = ran?;
        let shape = |at: usize| cut.iter().find(|cut| cut.output == at).map(|cut| cut.shape.clone());
        let mut found = Vec::new();
        for (at, (output, port)) in outputs.iter_mut().zip(&signature.outputs).enumerate() {
            let ty = TensorType::new(port.ty.element, shape(at).unwrap_or_else(|| port.ty.shape.clone()));
            let bytes = Bytes::copy_from_slice(&output.as_mut_slice()[..ty.bytes()]);
            found.extend(Tensor::from_bytes(ty, bytes));
        }
        let ports = signature.inputs.iter().zip(inputs);
        let tensors: Vec<Tensor> =
            ports.filter_map(|(port, input)| Tensor::from_bytes(port.ty.clone(), input.0.into_bytes())).collect();
        let again = opened.session.run(&tensors)?;
        demand(again == found, || format!("it is {again:?} on tensors"))?;
        opened.found = found;
        Ok(())
    }
}

/// An input where it is aligned.
struct AlignedInput(AlignedBytes);

impl AlignedInput {
    fn new(bytes: Bytes) -> Self {
        Self(AlignedBytes::copy_of(&bytes))
    }
}

impl Opened {
    fn perform(&mut self, verb: &str, rest: &[&str]) -> Step {
        match (verb, rest) {
            ("session_reset", []) => {
                self.session.reset()?;
                demand(self.session.fault().is_none(), || "the fault stays".to_owned())
            }
            ("session_advance", []) => Ok(self.session.advance()?),
            ("session_notes", [count]) => {
                let (notes, count) = (self.session.notes(), number(count)?);
                demand(notes.len() >= count, || format!("the notes are {notes:?}"))
            }
            ("session_output", [port, given @ ..]) => {
                let given = Given::parse(given)?;
                let mut ports = self.session.signature().outputs.iter().zip(&self.found);
                let (_, found) = ports.find(|(known, _)| known.name == *port).ok_or_else(|| malformed("output"))?;
                demand(*found.ty() == given.ty, || format!("it is {}", found.ty()))?;
                given.compare(found.bytes())
            }
            ("session_read_state", [at, given @ ..]) => {
                let (given, states) = (Given::parse(given)?, self.session.states()?);
                let state = states.get(number(at)?).ok_or_else(|| malformed("state"))?;
                demand(*state.ty() == given.ty, || format!("it is {}", state.ty()))?;
                given.compare(state.bytes())
            }
            ("session_write_state", [at, given @ ..]) => {
                let mut states = self.session.states()?;
                let state = states.get_mut(number(at)?).ok_or_else(|| malformed("state"))?;
                *state = Given::parse(given)?.tensor()?.ok_or_else(|| malformed("tensor"))?;
                Ok(self.session.set_states(&states)?)
            }
            _ => Err(malformed("verb")),
        }
    }
}

fn devices(words: &[&str]) -> Step {
    let gpus = Driver::open().and_then(|driver| driver.devices()).unwrap_or_default();
    let gpus = gpus.iter().map(|gpu| Device::Cuda(gpu.ordinal).to_string());
    let names: Vec<String> = std::iter::once(Device::Host.to_string()).chain(gpus).collect();
    match words {
        [count] => {
            let count = number(count)?;
            demand(names.len() >= count, || format!("they are {names:?}"))
        }
        [at, name] => {
            let found = names.get(number(at)?).ok_or_else(|| malformed("device"))?;
            demand(found == name, || format!("it is {found}"))
        }
        _ => Err(malformed("device")),
    }
}

/// What is otherwise than a step says; nothing where it fails as expected, with a sentence and a remedy.
fn check(ran: Step, expected: Option<&str>) -> Result<(), String> {
    let (kind, name, text) = match (ran, expected) {
        (Ok(()), None) => return Ok(()),
        (Ok(()), Some(_)) => return Err("it does not fail".to_owned()),
        (Err(Failure::Different(what)), _) => return Err(what),
        (Err(Failure::Error { name, text, .. }), None) => return Err(format!("it fails with {name}: {text}")),
        (Err(Failure::Error { kind, name, text }), Some(_)) => (kind, name, text),
    };
    let sort = match kind {
        FailureKind::Check => "check",
        FailureKind::Usage => "usage",
        FailureKind::Environment => "environment",
        FailureKind::DeviceFault => "device-fault",
        FailureKind::TimeOut => "time-out",
        FailureKind::Index => "index",
        FailureKind::Damage => "damage",
    };
    let mut parts = expected.unwrap_or_default().splitn(3, ' ');
    if (parts.next(), parts.next()) != (Some(sort), Some(name)) {
        return Err(format!("it fails with {sort} {name}: {text}"));
    }
    match text.rsplit_once("; ") {
        Some((message, help)) if !message.is_empty() && !help.is_empty() => {
            let part = parts.next().unwrap_or_default();
            if message.contains(part) { Ok(()) } else { Err(format!("it says: {text}")) }
        }
        _ => Err(format!("it lacks a sentence or a remedy: {text}")),
    }
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

fn step(case: &mut Case, words: &[&str], expected: Option<&str>) -> Result<(), String> {
    match words {
        ["in_child", words @ ..] => {
            let mut status = 1;
            // SAFETY: the child does nothing but the step, and ends.
            unsafe {
                let child = fork();
                if child == 0 {
                    let failed = check(case.perform(words), expected).is_err();
                    _exit(i32::from(failed));
                }
                waitpid(child, &raw mut status, 0);
            }
            if status == 0 { Ok(()) } else { Err("it does otherwise in the child".to_owned()) }
        }
        ["repeat", times, words @ ..] => {
            let times = times.parse().unwrap_or(0usize);
            let failed = (0..times).map(|_| case.perform(words)).find(Result::is_err);
            check(failed.unwrap_or(Ok(())), expected)
        }
        words => check(case.perform(words), expected),
    }
}

/// What a line holds for Rust: behind `rust:`, or nothing where it is left to others.
fn meant(line: &str) -> Option<&str> {
    let Some((who, rest)) = line.split_once(": ") else { return Some(line) };
    let who: Vec<&str> = who.split(',').collect();
    match who.iter().all(|who| ["c", "python", "rust"].contains(who)) {
        true => who.contains(&"rust").then_some(rest),
        false => Some(line),
    }
}

/// The name of the case and what went wrong in which line; `None` where the case is none for this driver.
fn run<'l>(lines: &[(usize, &'l str)], folder: &Path, driver: &str) -> Option<(&'l str, Result<(), String>)> {
    let steps: Vec<(usize, &str)> = lines.iter().filter_map(|(at, line)| Some((*at, meant(line)?))).collect();
    let first = lines.first().and_then(|(_, line)| meant(line))?;
    let name = first.strip_prefix("case ")?.split(':').next()?;
    let wanted = steps.iter().find_map(|(_, line)| line.strip_prefix("driver ")).unwrap_or_default();
    if wanted != driver {
        return None;
    }
    let mut case = Case { folder: folder.to_owned(), ..Case::default() };
    let steps = steps.iter().skip(1).filter(|(_, line)| !line.starts_with("driver ") && !line.starts_with('#'));
    let ran = steps.copied().try_for_each(|(at, line)| {
        let (line, expected) = line.split_once(" ! ").map_or((line, None), |(line, expected)| (line, Some(expected)));
        let words: Vec<&str> = line.split_whitespace().collect();
        step(&mut case, &words, expected).map_err(|what| format!("line {at}: {what}"))
    });
    Some((name, ran))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let read = arguments.first().and_then(|cases| std::fs::read_to_string(cases).ok());
    let (Some(text), [_, folder]) = (read, arguments.as_slice()) else {
        eprintln!("usage: conformance CASES FOLDER");
        return ExitCode::from(2);
    };
    let driver = std::env::var("WARPWEAVE_DRIVER").unwrap_or_default();
    let lines: Vec<(usize, &str)> = text.lines().enumerate().map(|(at, line)| (at + 1, line)).collect();
    let cases = lines.split(|(_, line)| line.is_empty());
    let ran: Vec<_> = cases.filter_map(|lines| run(lines, Path::new(folder), &driver)).collect();
    for (name, ran) in &ran {
        match ran {
            Ok(()) => println!("ok {name}"),
            Err(what) => println!("FAILED {name} {what}"),
        }
    }
    let holds = !ran.is_empty() && ran.iter().all(|(_, ran)| ran.is_ok());
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
