//! Machine code of compiled programs, executed.

use std::sync::Arc;

use warpweave::DeviceCompiler;
use warpweave::codegen::print::UnitSize;
use warpweave::compile_program;
use warpweave::graph::{Tensor, TensorProgram};
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::backend::BackendReason;
use warpweave::plan::tables::{self, Tables};
use warpweave::runtime::bundle::{DeviceCode, TargetPlan};
use warpweave::runtime::sass::Sass;
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::sass::execute::image::Image;
use warpweave::runtime::sass::execute::mutation::Mutation;
use warpweave::runtime::sass::program::MachineCode;
use warpweave::runtime::session::machine_code::{MachineCodeOptions, MachineCodeSession};
use warpweave::runtime::session::{OpenOptions, Session, SessionError, open_machine_code, pack_program};
use warpweave::runtime::target::Target;

use crate::pipeline::Compiled;
use crate::scans;

/// A program with its cubin.
pub struct Executable {
    program: TensorProgram,
    plan: TargetPlan,
    code: DeviceCode,
    weights: Arc<[u8]>,
    machine: MachineCode,
    /// Units that the code was compiled in.
    pub units: usize,
}

impl Executable {
    /// Compiles the kernels of a program in units of `size` for `target`.
    pub fn new(compiled: &Compiled, size: UnitSize, target: Target, compiler: &dyn DeviceCompiler) -> Self {
        let kernels = &compiled.lowered.program;
        let compiled_code = compile_program(kernels, size, target, compiler).unwrap_or_else(|error| panic!("{error}"));
        let (bindings, operands) = (compiled.lowered.bindings.clone(), compiled.lowered.operands.clone());
        let relocations = compiled.lowered.relocations.clone();
        let plan =
            TargetPlan { plan: compiled.plan.clone(), bindings, operands, relocations, reason: BackendReason::Asked };
        let weights = pack_program(&compiled.plan.plan().memory, &compiled.program).expect("all constants are there");
        let code = DeviceCode {
            target,
            threads: kernels.threads,
            shared_bytes: kernels.shared_bytes(),
            node_shared_bytes: kernels.node_shared_bytes(),
            kernel_ir: Vec::new(),
            source: String::new(),
            minimum_driver: compiler.version(),
            cubin: compiled_code.cubin,
        };
        let sass = Sass::of(&code.cubin).expect("nvdisasm reads what NVRTC makes");
        let machine = MachineCode::parse(sass.listing()).expect("its instructions are known");
        scans::check(&machine);
        Self { program: compiled.program.clone(), plan, code, weights, machine, units: compiled_code.units }
    }

    pub fn machine_code(&self) -> &MachineCode {
        &self.machine
    }

    /// The plan that launches follow.
    pub fn plan(&self) -> &ExecutionPlan {
        self.plan.plan.plan()
    }

    pub fn cubin(&self) -> &[u8] {
        &self.code.cubin
    }

    /// A session of another cubin, opened as that of a bundle is.
    pub fn open_with(&self, cubin: Vec<u8>) -> Result<Box<dyn Session>, SessionError> {
        let code = DeviceCode { cubin, ..self.code.clone() };
        open_machine_code(self.plan.clone(), &code, &self.weights, &OpenOptions::default())
    }

    /// The tables of another plan of the same rOperators.
    pub fn tables(&self, plan: &ExecutionPlan) -> Tables {
        tables::encode(plan, &self.plan.bindings, self.plan.operands.clone())
    }

    /// A session of the code, with a change or as it is.
    pub fn session(&self, change: Option<&Mutation>, execute: ExecuteOptions) -> MachineCodeSession {
        let changed = |machine: &mut MachineCode| {
            if let Some(change) = change {
                change.apply(machine);
            }
        };
        let image = Image::load_changed(&self.code.cubin, &self.machine, changed).expect("the cubin is whole");
        let wait_limit = OpenOptions::default().wait_limit;
        let options = MachineCodeOptions { execute, interleavings: 1, seed: 0, wait_limit };
        let session = MachineCodeSession::new(image, &self.code, self.plan.clone(), &self.weights, options);
        let mut session = session.expect("the code loads");
        let states: Vec<Tensor> =
            self.program.states().filter_map(|(state, _)| self.program.stored(state).cloned()).collect();
        session.set_states(&states).expect("they are of the states' types");
        session
    }
}

/// A compiler that passes further options on to NVRTC.
pub struct WithOptions(pub warpweave::runtime::nvrtc::Nvrtc, pub &'static [&'static str]);

impl DeviceCompiler for WithOptions {
    fn version(&self) -> (u32, u32) {
        warpweave::InProcess(self.0).version()
    }

    fn compile(
        &self,
        source: &str,
        target: Target,
        kind: warpweave::runtime::nvrtc::UnitKind,
    ) -> Result<Vec<u8>, warpweave::DeviceCompileError> {
        Ok(self.0.compile_unit(source, target, kind, self.1)?.bytes)
    }
}
