//! Printed text through NVRTC, and the gates on the code. Needs `scripts/fetch_cuda.sh`, but no GPU.

#[path = "../../codegen/tests/contraction/mod.rs"]
mod contraction;
#[path = "../../codegen/tests/every_node/mod.rs"]
mod every_node;
#[path = "../../codegen/tests/matrices/mod.rs"]
mod matrices;
#[path = "../../codegen/tests/sample/mod.rs"]
mod sample;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::prelude::device_source;
use warpweave_codegen::print::{ENTRY_NAME, cuda};
use warpweave_runtime::cache::Cache;
use warpweave_runtime::cubin::{CubinInfo, function_tables};
use warpweave_runtime::gates::{GateReport, GateViolation, Subject, judge};
use warpweave_runtime::nvrtc::{Nvrtc, NvrtcError, UnitKind};
use warpweave_runtime::sass::COHERENT_CONSTANTS;
use warpweave_runtime::sass::execute::grid::{ExecuteOptions, GridLaunch, Residency};
use warpweave_runtime::sass::execute::image::Image;
use warpweave_runtime::sass::execute::memory::global::{GlobalMemory, Permission};
use warpweave_runtime::session_memory::SessionMemory;
use warpweave_runtime::target::Target;
use warpweave_runtime::toolkit::Toolkit;

const TARGETS: [Target; 2] = [Target::Sm80, Target::Sm90a];

#[track_caller]
fn nvrtc() -> Nvrtc {
    Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"))
}

/// What the gates say of `source`.
#[track_caller]
fn report(source: &str, entry: &str, threads: u32, target: Target) -> GateReport {
    let compile = |definitions: &[&str]| {
        let cubin = nvrtc().compile_unit(source, target, UnitKind::Whole, definitions);
        cubin.unwrap_or_else(|error| panic!("{error}")).bytes
    };
    let subject = Subject { code: &compile(&[]), coherent: &compile(&[COHERENT_CONSTANTS]) };
    judge(subject, &[entry.to_owned()], threads).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn check_gates(program: &Program) {
    let source = device_source(&cuda(program));
    for target in TARGETS {
        let report = report(&source, ENTRY_NAME, program.threads, target);
        assert_eq!(report.violations, [], "{target}");
        assert!(!report.sass.non_coherent_loads().is_empty(), "weights and tables are loaded non-coherently");
        assert!(["BAR", "MEMBAR", "LDS"].iter().all(|opcode| report.sass.contains(opcode)));
    }
}

#[test]
fn violations_are_found() {
    let entry = |body: &str| {
        let signature = "extern \"C\" __global__ void k(float* arena, float const* __restrict__ input, int n)";
        format!("{signature} {{ {body} }}\n")
    };
    let judge = |body: &str| report(&entry(body), "k", 1024, Target::Sm90a).violations;
    let spill = judge(
        "float r[64]; for (int i = 0; i < 64; ++i) r[i] = arena[i]; \
         for (int j = 0; j < n; ++j) r[(int)arena[j] & 63] += 1; arena[9] = r[n & 63];",
    );
    assert!(matches!(spill[..], [GateViolation::LocalMemory { .. }]), "{spill:?}");
    let generic = judge(
        "__shared__ float s[2]; s[0] = n; s[1] = 1; float* p = n > 2 ? arena : s; p[n & 1] = 5; arena[3] = s[n & 1];",
    );
    assert!(matches!(generic[..], [GateViolation::GenericAccess { .. }, ..]), "{generic:?}");
    let non_coherent = judge("arena[n] = input[n];");
    assert!(matches!(non_coherent[..], [GateViolation::NonCoherentArenaLoad { .. }]), "{non_coherent:?}");
}

#[test]
fn cubins_tell_their_target_and_resources() {
    let body = "extern \"C\" __global__ void k(float* a) { __shared__ float s[40]; s[threadIdx.x] = a[0]; \
                __syncthreads(); a[1] = s[7 - threadIdx.x]; }";
    for target in Target::ALL {
        let cubin = nvrtc().compile(body, target).unwrap_or_else(|error| panic!("{error}"));
        let info = CubinInfo::read(&cubin.bytes).expect("NVRTC writes readable cubins");
        let (major, minor) = target.compute_capability();
        assert_eq!((info.target, info.architecture), (Some(target), major * 10 + minor));
        let entry = info.entry("k").expect("the entry is there");
        assert_eq!((entry.static_shared_bytes, entry.frame_bytes, entry.stack_bytes), (160, 0, 0), "{target}");
        assert!((1..=64).contains(&entry.registers));
    }
}

#[test]
fn an_absent_compiler_is_an_error_with_a_remedy() {
    let error =
        Nvrtc::of(&Toolkit::beneath(["/nonexistent".into()])).expect_err("the folder does not exist").to_string();
    assert!(error.contains("/nonexistent") && error.contains("doctor --fetch-cuda"), "{error}");
}

#[test]
fn the_sample_passes_the_gates() {
    check_gates(&sample::program());
}

#[test]
fn every_node_passes_the_gates() {
    check_gates(&every_node::program());
}

#[test]
fn products_of_matrices_pass_the_gates() {
    check_gates(&matrices::program());
}

#[test]
fn a_dozen_contractions_pass_the_gates() {
    check_gates(&contraction::program(12));
}

#[test]
fn matrices_are_loaded_and_multiplied_by_their_instructions() {
    let source = device_source(&cuda(&matrices::program()));
    for target in TARGETS {
        let code = nvrtc().compile(&source, target).unwrap_or_else(|error| panic!("{error}")).bytes;
        let image = Image::load(&code).unwrap_or_else(|error| panic!("{error}"));
        let text: Vec<&str> = image.machine_code().code.iter().map(|code| code.text.as_str()).collect();
        for (opcode, count) in [
            ("HMMA.16816.F32", 4),
            ("HMMA.16816.F32.BF16", 4),
            ("LDSM.16.M88.4", 4),
            ("LDSM.16.MT88.4", 4),
            ("LDSM.16.M88.2", 2),
            ("LDSM.16.MT88.2", 2),
            ("LDSM.16.M88", 4),
            ("LDSM.16.MT88", 4),
        ] {
            let found = text.iter().filter(|text| text.split_whitespace().any(|word| word == opcode)).count();
            assert_eq!(found, count, "{opcode} on {target}");
        }
        for seed in 0..4 {
            let weights = matrices::weights(seed);
            let found = execute(&image, &weights);
            assert!(found == matrices::expected(target.tensor_core(), &weights), "{target}, seed {seed}");
        }
    }
}

/// What machine code of the products stores.
fn execute(image: &Image, weights: &[u8]) -> Vec<u32> {
    let (program, tables) = (matrices::program(), matrices::tables());
    let session = SessionMemory::new(vec![0; matrices::arena_bytes()], 0);
    let bytes = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut memory = GlobalMemory::default();
    let mut buffer = |name, permission, bytes: &[u8]| memory.add(name, permission, bytes);
    let arena = buffer("the arena", Permission::ReadWrite, &session.arena);
    let buffers = [
        arena,
        buffer("the weights", Permission::ReadOnly, weights),
        buffer("the streams", Permission::ReadOnly, &bytes(&tables.stream_start)),
        buffer("the instructions", Permission::ReadOnly, &bytes(&tables.instructions)),
        buffer("the operands", Permission::ReadOnly, &bytes(&tables.operands)),
        buffer("the control words", Permission::ReadWrite, &bytes(&session.control)),
        buffer("the counters", Permission::ReadWrite, &[0; 128]),
        buffer("the status", Permission::ReadWrite, &bytes(&session.status)),
    ];
    let addresses = buffers.map(|buffer| memory.address(buffer));
    let parameters: Vec<u8> = addresses.into_iter().chain([u64::MAX]).flat_map(u64::to_le_bytes).collect();
    let launch = GridLaunch {
        entry: ENTRY_NAME,
        blocks: 1,
        threads: program.threads,
        shared_bytes: program.shared_bytes(),
        parameters: &parameters,
        residency: Residency::AllAtOnce,
    };
    image.launch(&memory, &launch, &ExecuteOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    memory.read(arena).as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn ptx_names_its_target() {
    let ptx =
        nvrtc().compile_to_ptx(&device_source(&cuda(&sample::program())), Target::Sm90a).expect("the sample compiles");
    assert!(ptx.contains(".target sm_90a"), "{}", &ptx[..400]);
    assert!(ptx.contains("ld.acquire.gpu.global") && ptx.contains("red.release.gpu.global"));
}

#[test]
fn equal_text_gives_equal_code_from_compiler_and_cache() {
    let directory = std::env::temp_dir().join(format!("warpweave-cubin-cache-{}", std::process::id()));
    let (nvrtc, cache) = (nvrtc(), Cache::new(&directory));
    let source = device_source(&cuda(&sample::program()));
    let compiled = [(); 2].map(|()| nvrtc.compile(&source, Target::Sm80).expect("the sample compiles").bytes);
    let cached =
        [(); 2].map(|()| nvrtc.compile_cached(&source, Target::Sm80, &cache).expect("the sample compiles").bytes);
    std::fs::remove_dir_all(directory).expect("the cache can be removed");
    for bytes in compiled.iter().chain(&cached) {
        assert_eq!(bytes, &compiled[0]);
    }
}

#[test]
fn failures_are_named() {
    let nvrtc = nvrtc();
    match nvrtc.compile("__global__ void k() { v7 = 1; }", Target::Sm80) {
        Err(NvrtcError::Compile { target: Target::Sm80, log }) => assert!(log.contains("v7"), "{log}"),
        other => panic!("bad text ended with {other:?}"),
    }
    assert!(matches!(nvrtc.compile("// caf\u{e9}", Target::Sm80), Err(NvrtcError::NotAscii { position: 6 })));
}

#[test]
fn a_damaged_cubin_never_panics() {
    let bytes =
        nvrtc().compile("extern \"C\" __global__ void k() {}", Target::Sm80).expect("an empty kernel compiles").bytes;
    for length in 0..bytes.len() {
        let _ = (CubinInfo::read(&bytes[..length]), function_tables(&bytes[..length]));
    }
    for position in 0..bytes.len() {
        for value in [0, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] = value;
            let _ = (CubinInfo::read(&damaged), function_tables(&damaged));
        }
    }
}
