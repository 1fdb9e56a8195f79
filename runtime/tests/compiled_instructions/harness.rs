//! Kernels as CUDA text, compiled by NVRTC and executed.

use warpweave_runtime::cubin::CubinInfo;
use warpweave_runtime::nvrtc::Nvrtc;
use warpweave_runtime::sass::execute::fault::FaultKind;
use warpweave_runtime::sass::execute::grid::{ExecuteOptions, GridLaunch, LaunchError, Residency};
use warpweave_runtime::sass::execute::image::Image;
use warpweave_runtime::sass::execute::memory::global::{GlobalMemory, Permission};
use warpweave_runtime::sass::execute::scan::Scan;
use warpweave_runtime::target::Target;

pub const TARGETS: [Target; 2] = [Target::Sm80, Target::Sm90a];
pub const LANES: usize = 32;

/// Kernels of one text, compiled for one target.
pub struct Kernels {
    image: Image,
    shared_bytes: u32,
}

impl Kernels {
    /// Compiles bodies of kernels `f0`, `f1` and so on. They read words from `in` and write words to `out`; `lane` is the thread.
    #[track_caller]
    pub fn compile(target: Target, bodies: &[String]) -> Self {
        let kernel = |(number, body): (usize, &String)| {
            let signature = format!("extern \"C\" __global__ void f{number}(unsigned* out, unsigned const* in)");
            format!("{signature} {{ unsigned const lane = threadIdx.x; {body} }}\n")
        };
        let source: String = bodies.iter().enumerate().map(kernel).collect();
        let nvrtc = Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"));
        let cubin = nvrtc.compile(&source, target).unwrap_or_else(|error| panic!("{error}"));
        let info = CubinInfo::read(&cubin.bytes).expect("NVRTC writes readable cubins");
        let shared_bytes = info.entries.iter().map(|entry| entry.static_shared_bytes as u32).max().unwrap_or(0);
        let image = Image::load(&cubin.bytes).unwrap_or_else(|error| panic!("{error}"));
        let unexecuted = Scan::of(image.machine_code()).unexecuted;
        assert!(unexecuted.is_empty(), "{target}: {unexecuted:?}");
        Self { image, shared_bytes }
    }

    /// The opcodes of a kernel, modifiers included. Moves of constants that are written as sums of halves are left out.
    pub fn opcodes(&self, kernel: usize) -> Vec<String> {
        let machine = self.image.machine_code();
        let function = machine.function(&format!("f{kernel}")).expect("it is there");
        let opcode = |text: &str| {
            let mut words = text.split_whitespace().skip_while(|word| word.starts_with('@'));
            words.next().unwrap_or_default().to_owned()
        };
        let code = machine.code[function.start..function.end].iter();
        code.filter(|code| !code.text.contains(", -RZ, RZ, ")).map(|code| opcode(&code.text)).collect()
    }

    /// Runs a kernel in blocks of one warp; gives the words that it has written of so many.
    pub fn launch(
        &self,
        kernel: usize,
        blocks: usize,
        input: &[u32],
        outputs: usize,
        options: &ExecuteOptions,
    ) -> Result<Vec<u32>, LaunchError> {
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut memory = GlobalMemory::default();
        let output = memory.add("the output", Permission::ReadWrite, &bytes(&vec![0; outputs]));
        let input = memory.add("the input", Permission::ReadWrite, &bytes(input));
        let addresses = [memory.address(output), memory.address(input)];
        let parameters: Vec<u8> = addresses.into_iter().flat_map(u64::to_le_bytes).collect();
        let launch = GridLaunch {
            entry: &format!("f{kernel}"),
            blocks: blocks as u32,
            threads: LANES as u32,
            shared_bytes: self.shared_bytes,
            parameters: &parameters,
            residency: Residency::AllAtOnce,
        };
        self.image.launch(&memory, &launch, options)?;
        let left = memory.read(output);
        Ok(left.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
    }

    /// Runs a kernel in one warp.
    #[track_caller]
    pub fn run(&self, kernel: usize, input: &[u32], outputs: usize) -> Vec<u32> {
        let found = self.launch(kernel, 1, input, outputs, &ExecuteOptions::default());
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a kernel does wrong.
    #[track_caller]
    pub fn fault(&self, kernel: usize, input: &[u32], outputs: usize, options: &ExecuteOptions) -> FaultKind {
        match self.launch(kernel, 1, input, outputs, options) {
            Err(LaunchError::Fault(fault)) => fault.kind,
            other => panic!("no fault: {other:?}"),
        }
    }
}

/// An instruction of PTX that gives one word of up to three words.
pub struct Case {
    /// Its text: `%0` is the result, `%1` to `%3` are the sources.
    pub text: &'static str,
    /// What it is compiled to on each of [`TARGETS`]; `None` where it does not exist.
    pub opcodes: [Option<&'static str>; 2],
    /// The word that a lane must store for its three words of input.
    pub expected: Box<dyn Fn([u32; 3]) -> u32>,
}

/// Checks instructions on rows of sources.
#[track_caller]
pub fn check(cases: &[Case], rows: &[[u32; 3]]) {
    for (number, target) in TARGETS.into_iter().enumerate() {
        let own: Vec<&Case> = cases.iter().filter(|case| case.opcodes[number].is_some()).collect();
        let bodies: Vec<String> = own.iter().map(|case| body(case.text)).collect();
        let kernels = Kernels::compile(target, &bodies);
        let blocks = rows.len().div_ceil(LANES);
        let mut input: Vec<u32> = rows.iter().flatten().copied().collect();
        input.resize(blocks * LANES * 3, 0);
        for (kernel, case) in own.iter().enumerate() {
            let opcode = case.opcodes[number].expect("it exists");
            let opcodes = kernels.opcodes(kernel);
            assert!(opcodes.iter().any(|found| found == opcode), "{} on {target} has {opcodes:?}", case.text);
            let found = kernels.launch(kernel, blocks, &input, blocks * LANES, &ExecuteOptions::default());
            let found = found.unwrap_or_else(|error| panic!("{} on {target}: {error}", case.text));
            for (sources, found) in rows.iter().zip(found) {
                let expected = (case.expected)(*sources);
                let what = format!("{} on {target} of {sources:x?}", case.text);
                assert_eq!(found, expected, "{what} is {found:#010x}, not {expected:#010x}");
            }
        }
    }
}

/// A kernel of one instruction whose sources are three words of each thread.
fn body(text: &str) -> String {
    let sources: Vec<String> = (0..3)
        .filter(|source| text.contains(&format!("%{}", source + 1)))
        .map(|source| format!("\"r\"(in[3 * row + {source}])"))
        .collect();
    let sources = sources.join(", ");
    format!(
        "unsigned const row = blockIdx.x * {LANES} + lane; unsigned result; \
         asm volatile(\"{text}\" : \"=r\"(result) : {sources}); out[row] = result;"
    )
}

/// A sequence of numbers without a pattern (xorshift, Marsaglia, 2003).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }
}
