//! One node test: a model of one operator, its inputs and its outputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::lower::{LoweredProgram, lower};
use warpweave::codegen::print::UnitSize;
use warpweave::frontend::{Constant, ImportError, ImportOptions, import_bytes, input_names, tensor};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::counted;
use warpweave::graph::reference::evaluate;
use warpweave::graph::{ElementType, Graph, Tensor, TensorProgram, passes};
use warpweave::plan::verify::Verified;
use warpweave::plan::verify::verify;
use warpweave::prices::of_target;
use warpweave::runtime::host::{HostSession, pack_weights};
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::session::Session;
use warpweave::runtime::target::Target;
use warpweave_tests::execute::Executable;
use warpweave_tests::gates;
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::{Compiled, HostPlan, host_plan, plan_under};
use warpweave_tests::program_text::read_back;

/// What runs a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Runtime {
    /// The oracle.
    Reference,
    /// The plan on threads.
    Host,
    /// The kernel IR on four units.
    Emulator,
    /// The kernels as device code that passes the gates, executed.
    Nvrtc,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reference, Self::Host, Self::Emulator, Self::Nvrtc];

    /// The name of the trial of a case.
    pub fn trial(self, case: &str) -> String {
        format!("{self:?} {case}")
    }
}

/// A node test.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: that of its folder, behind its group's.
    pub name: String,
    folder: PathBuf,
}

/// The folders of cases, and what their names begin with.
const GROUPS: [(&str, &str); 3] =
    [("node", ""), ("pytorch-converted", "pytorch-converted/"), ("pytorch-operator", "pytorch-operator/")];

/// All cases that have been fetched, by name.
pub fn all() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.onnx");
    let of_group = |(group, prefix): (&str, &str)| {
        let folders = std::fs::read_dir(root.join(group)).into_iter().flatten().flatten();
        let case = |folder: PathBuf| {
            let name = format!("{prefix}{}", folder.file_name()?.to_str()?);
            Some(Case { name, folder })
        };
        folders.filter_map(|entry| case(entry.path())).collect::<Vec<Case>>()
    };
    let mut cases: Vec<Case> = GROUPS.into_iter().flat_map(of_group).collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Which inputs are constants of the compiled graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    /// As few as the operator needs to know.
    Needed,
    /// None: the model as it stands.
    None,
}

const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-5;

impl Case {
    /// As [`Case::run`], with a panic as a reason.
    pub fn judge(&self, runtime: Runtime, binding: Binding) -> Result<(), String> {
        std::panic::catch_unwind(|| self.run(runtime, binding)).unwrap_or_else(|_| Err("a panic".to_owned()))
    }

    /// Runs the case; why it does not pass.
    pub fn run(&self, runtime: Runtime, binding: Binding) -> Result<(), String> {
        let (inputs, expected) = (self.tensors("input")?, self.tensors("output")?);
        let (graph, inputs) = self.import(&inputs, binding)?;
        let graph = passes::run(&graph).map_err(|error| error.to_string())?;
        let program = warpweave::graph::lower(&graph);
        let found = match runtime {
            Runtime::Reference => evaluate(&program, &inputs).map_err(|error| error.to_string())?,
            Runtime::Host => on_host(&program, &inputs)?,
            Runtime::Emulator => on_emulator(&program, &inputs)?,
            Runtime::Nvrtc => as_machine_code(&program, &inputs)?,
        };
        let found = counted::cut(found, &graph.counted);
        if found.len() != expected.len() {
            return Err(format!("{} outputs instead of {}", found.len(), expected.len()));
        }
        found.iter().zip(&expected).try_for_each(|(found, expected)| compare(found, expected))
    }

    /// The graph, with as few inputs fixed as its operator needs or none, and the values of the others.
    fn import(&self, inputs: &[Tensor], binding: Binding) -> Result<(Graph, Vec<Tensor>), String> {
        let bytes: Vec<u8> = std::fs::read(self.folder.join("model.onnx")).map_err(|error| error.to_string())?;
        let bytes = warpweave::frontend::Bytes::from(bytes);
        let names = input_names(bytes.clone()).map_err(|error| error.to_string())?;
        let choices: [fn(usize, &Tensor) -> bool; 4] = [|_, _| false, is_shape, |at, _| at > 0, |_, _| true];
        let choices = if binding == Binding::None { &choices[..1] } else { &choices[..] };
        let mut refused = String::new();
        for &fixed in choices {
            let pairs = || names.iter().zip(inputs).enumerate();
            let constants: BTreeMap<String, Constant> = pairs()
                .filter(|(at, (_, value))| fixed(*at, value))
                .map(|(_, (name, value))| (name.clone(), value.clone().into()))
                .collect();
            let free =
                pairs().filter(|(at, (_, value))| !fixed(*at, value)).map(|(_, (_, value))| value.clone()).collect();
            match import_bytes(bytes.clone(), None, &ImportOptions { constants, ..ImportOptions::default() }) {
                Ok(graph) => return Ok((graph, free)),
                Err(error @ ImportError::Unsupported(_)) => refused = error.to_string(),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(refused)
    }

    fn tensors(&self, kind: &str) -> Result<Vec<Tensor>, String> {
        let mut tensors = Vec::new();
        loop {
            let path = self.folder.join(format!("test_data_set_0/{kind}_{}.pb", tensors.len()));
            let Ok(bytes) = std::fs::read(path) else { return Ok(tensors) };
            tensors.push(tensor(bytes.into()).map_err(|error| error.to_string())?);
        }
    }
}

fn is_shape(at: usize, value: &Tensor) -> bool {
    at > 0 && value.shape().len() <= 1 && matches!(value.element(), ElementType::I64 | ElementType::I32)
}

fn on_host(program: &TensorProgram, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let HostPlan { program: prepared, plan } = host_plan(program);
    read_back(program).and_then(|()| read_back(&prepared))?;
    let weights = pack_weights(&plan, |id| prepared.constant(id)).ok_or("a constant is missing")?;
    let mut session = HostSession::new(&plan, weights, 2).map_err(|error| error.to_string())?;
    session.run(inputs).map_err(|error| error.to_string())
}

fn on_emulator(program: &TensorProgram, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let (prepared, plan, lowered) = kernels(program)?;
    let machine = Machine::with_plan(plan.plan(), &lowered, &prepared);
    let (report, outputs) = machine.launch(inputs, &LaunchOptions::seeded(1));
    if report.is_clean() { Ok(outputs) } else { Err(report.to_string()) }
}

fn as_machine_code(program: &TensorProgram, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let (program, plan, lowered) = kernels(program)?;
    gates::check(&lowered.program, UnitSize::default(), Target::Sm90a);
    let compiled = Compiled { program, plan, lowered };
    let compiler = gates::compiler()?;
    let executable = Executable::new(&compiled, UnitSize::default(), Target::Sm90a, compiler.as_ref());
    let execute = ExecuteOptions { workers: 1, ..ExecuteOptions::default() };
    executable.session(None, execute).run(inputs).map_err(|error| error.to_string())
}

/// The kernels of a program. One of which nothing is left for a kernel has none.
fn kernels(program: &TensorProgram) -> Result<(TensorProgram, Verified, LoweredProgram), String> {
    let options = PlanOptions { units: 4, ..PlanOptions::gpu(&of_target(Target::Sm90a)) };
    let (prepared, planned) = plan_under(program, FusionLevel::Full, &options);
    if prepared.statements.is_empty() {
        return Err("nothing is left for a kernel".to_owned());
    }
    let plan = verify(planned.plan).map_err(|violations| format!("{violations:?}"))?;
    let lowered = lower(plan.plan()).map_err(|error| error.to_string())?;
    Ok((prepared, plan, lowered))
}

fn compare(found: &Tensor, expected: &Tensor) -> Result<(), String> {
    if found.ty() != expected.ty() {
        return Err(format!("{} instead of {}", found.ty(), expected.ty()));
    }
    for (at, (found, expected)) in found.to_f64().into_iter().zip(expected.to_f64()).enumerate() {
        let close = (found - expected).abs() <= ABSOLUTE + RELATIVE * expected.abs();
        if !close && found != expected && !(found.is_nan() && expected.is_nan()) {
            return Err(format!("{found} instead of {expected} at {at}"));
        }
    }
    Ok(())
}
