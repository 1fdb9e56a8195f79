//! A program of which one kernel spills registers where it is linked.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use warpweave::codegen::kernel_ir::text;
use warpweave::codegen::print::UnitSize;
use warpweave::runtime::cubin::{CubinInfo, FunctionInfo};
use warpweave::runtime::nvrtc::{Nvrtc, UnitKind};
use warpweave::runtime::target::Target;
use warpweave::{DeviceCompileError, DeviceCompiler, InProcess, compile_program};
use warpweave_tests::suite::Suite;

/// The gradient of a pooling over two products, whose windows read more operands than a thread has registers, beside others.
const KERNELS: &str = include_str!("../../kernels/spilling.txt");

/// Several times what it takes on two cores.
const LIMIT: Duration = Duration::from_secs(60);

pub fn add(suite: &mut Suite) {
    suite.trial("device kernel that spills", || {
        let program = text::parse(KERNELS).unwrap_or_else(|error| panic!("{error}"));
        let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
        let compiler = Recording { compiler: InProcess(nvrtc), compiled: Mutex::default() };
        let start = Instant::now();
        let code = compile_program(&program, UnitSize::default(), Target::Sm90a, &compiler);
        let (code, taken) = (code.unwrap_or_else(|error| panic!("{error}")), start.elapsed());
        let compiled = compiler.compiled.into_inner().expect("no thread has panicked");
        assert!(compiled.iter().all(|(kind, _)| *kind != UnitKind::Whole), "it is not compiled as one unit");
        let spilled: Vec<FunctionInfo> = compiled.iter().flat_map(|(_, cubin)| spilled(cubin)).collect();
        assert_eq!(spilled.len(), 1, "one kernel spills, once: {spilled:?}");
        let info = CubinInfo::read(&code.cubin).expect("the linker writes readable cubins");
        assert_eq!((info.local_bytes(), self::spilled(&code.cubin)), (0, Vec::new()));
        assert_eq!((code.units, code.unlinked), (3, None), "other kernels, the one that spilled, the entry");
        assert!(taken < LIMIT, "{taken:?}");
    });
}

/// The functions that use local memory.
fn spilled(cubin: &[u8]) -> Vec<FunctionInfo> {
    let info = CubinInfo::read(cubin).expect("NVRTC writes readable cubins");
    info.functions.into_iter().filter(|function| function.frame_bytes > 0).collect()
}

/// Keeps what it compiles.
struct Recording {
    compiler: InProcess,
    compiled: Mutex<Vec<(UnitKind, Vec<u8>)>>,
}

impl DeviceCompiler for Recording {
    fn version(&self) -> (u32, u32) {
        self.compiler.version()
    }

    fn compile(&self, source: &str, target: Target, kind: UnitKind) -> Result<Vec<u8>, DeviceCompileError> {
        let cubin = self.compiler.compile(source, target, kind)?;
        self.compiled.lock().expect("no thread has panicked").push((kind, cubin.clone()));
        Ok(cubin)
    }
}
