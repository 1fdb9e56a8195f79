//! Printed text through NVRTC, and the gates on the code. Needs `scripts/fetch_cuda.sh`, but no GPU.

#[path = "../../codegen/tests/contraction/mod.rs"]
mod contraction;
#[path = "../../codegen/tests/every_node/mod.rs"]
mod every_node;
#[path = "../../codegen/tests/sample/mod.rs"]
mod sample;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::prelude::device_source;
use warpweave_codegen::print::{ENTRY_NAME, cuda};
use warpweave_runtime::cache::Cache;
use warpweave_runtime::cubin::CubinInfo;
use warpweave_runtime::nvrtc::{Nvrtc, NvrtcError};
use warpweave_runtime::sass::{COHERENT_CONSTANTS, Sass};
use warpweave_runtime::target::Target;

const TARGETS: [Target; 2] = [Target::Sm80, Target::Sm90a];

#[track_caller]
fn nvrtc() -> Nvrtc {
    Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn check_gates(program: &Program) {
    let nvrtc = nvrtc();
    let source = device_source(&cuda(program));
    for target in TARGETS {
        let cubin = nvrtc.compile(&source, target).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(cubin.log, "");

        let info = CubinInfo::read(&cubin.bytes).expect("NVRTC writes readable cubins");
        assert_eq!(info.target, Some(target));
        let entry = info.entry(ENTRY_NAME).expect("the entry is there");
        assert_eq!((entry.frame_bytes, entry.stack_bytes, entry.static_shared_bytes), (0, 0, 0), "{target}");
        assert!(entry.registers > 0 && entry.registers * program.threads <= 65_536);

        let sass = Sass::of(&cubin.bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(sass.local_accesses(), Vec::<&_>::new());
        assert_eq!(sass.generic_accesses(), Vec::<&_>::new());
        assert!(!sass.non_coherent_loads().is_empty(), "weights and tables are loaded non-coherently");
        assert!(sass.contains("BAR") && sass.contains("MEMBAR") && sass.contains("LDS"));

        let coherent = nvrtc.compile_with(&source, target, &[COHERENT_CONSTANTS]).expect("the definition is known");
        let coherent = Sass::of(&coherent.bytes).expect("the same code disassembles");
        assert_eq!(coherent.non_coherent_loads(), Vec::<&_>::new(), "a load of the arena is non-coherent");
    }
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
fn a_dozen_contractions_pass_the_gates() {
    check_gates(&contraction::program(12));
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
        let _ = CubinInfo::read(&bytes[..length]);
    }
    for position in 0..bytes.len() {
        for value in [0, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] = value;
            let _ = CubinInfo::read(&damaged);
        }
    }
}
