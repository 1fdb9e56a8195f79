//! Microbenchmarks are the loops that they are called: read in their machine code. Needs `scripts/fetch_cuda.sh`, but no GPU.

use warpweave_codegen::microbenchmark::{
    CodeProbe, EMPTY, EMPTY_NODE, EdgeProbe, Factors, Microbenchmark, Stamped, TileLoop, empty_kernels,
};
use warpweave_runtime::cubin::CubinInfo;
use warpweave_runtime::nvrtc::{Nvrtc, UnitKind};
use warpweave_runtime::sass::{Instruction, Sass};
use warpweave_runtime::target::Target;

fn code(benchmark: Microbenchmark, target: Target) -> Sass {
    let nvrtc = Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"));
    let cubin = nvrtc.compile_unit(&benchmark.source(), target, UnitKind::Whole, &[]);
    let cubin = cubin.unwrap_or_else(|error| panic!("{benchmark}: {error}"));
    Sass::of(&cubin.bytes).unwrap_or_else(|error| panic!("{benchmark}: {error}"))
}

fn count(sass: &Sass, holds: impl Fn(&Instruction) -> bool) -> usize {
    sass.instructions().iter().filter(|instruction| holds(instruction)).count()
}

fn check(benchmark: Microbenchmark, target: Target) {
    let sass = code(benchmark, target);
    assert!(sass.local_accesses().is_empty(), "{benchmark} on {target} spills");
    let multiply_adds = count(&sass, |instruction| instruction.is("FFMA"));
    let shared = |bits: &str| count(&sass, |instruction| instruction.is("LDS") && instruction.has(bits));
    match benchmark {
        Microbenchmark::MultiplyAdds => {
            assert!(multiply_adds >= 256 && multiply_adds.is_multiple_of(256), "{multiply_adds} multiply-adds");
            assert!(!sass.contains("LDS"), "registers only");
        }
        Microbenchmark::SharedReads => {
            assert!(shared("128") >= 16 && shared("128").is_multiple_of(16), "{} loads", shared("128"));
        }
        Microbenchmark::Tile(TileLoop { rows, columns, width, factors }) => {
            let loads = shared(&(32 * width).to_string());
            let others = count(&sass, |instruction| instruction.is("LDS")) - loads;
            assert_eq!(others, 0, "{benchmark} on {target}: loads of other widths");
            assert_eq!(
                multiply_adds * (rows + columns),
                loads * rows * columns * width,
                "{benchmark} on {target}: {multiply_adds} multiply-adds, {loads} loads"
            );
            let stored = count(&sass, |instruction| instruction.is("STS") && instruction.has("128"));
            assert_eq!(stored > 0, factors == Factors::Staged, "{benchmark} on {target}: {stored} stores");
        }
        Microbenchmark::Stream => {
            assert!(count(&sass, |instruction| instruction.is("LDG") && instruction.has("128")) >= 8, "eight loads");
        }
    }
}

#[test]
fn loops_do_what_they_are_called() {
    for target in [Target::Sm80, Target::Sm90a] {
        for benchmark in Microbenchmark::OF_CYCLES.into_iter().chain([Microbenchmark::Stream]) {
            check(benchmark, target);
        }
    }
}

fn compiled(source: &str, target: Target, name: &str) -> Vec<u8> {
    let nvrtc = Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"));
    let cubin = nvrtc.compile_unit(source, target, UnitKind::Whole, &[]);
    cubin.unwrap_or_else(|error| panic!("{name}: {error}")).bytes
}

/// Exchanges are made of the accesses that kernels are: strong polls, a fence before a signal, nothing generic.
#[test]
fn edges_are_the_exchanges_that_they_are_called() {
    for target in [Target::Sm80, Target::Sm90a] {
        for probe in EdgeProbe::ALL {
            let sass = Sass::of(&compiled(&probe.source(), target, &probe.to_string())).expect("it is disassembled");
            let name = format!("{probe} on {target}");
            assert!(sass.generic_accesses().is_empty() && sass.local_accesses().is_empty(), "{name}");
            let fences = count(&sass, |instruction| instruction.is("MEMBAR"));
            let signals = count(&sass, |instruction| instruction.is("RED") || instruction.is("REDG"));
            let strong = |name: &str| count(&sass, |one| one.is(name) && one.has("STRONG") && one.has("GPU"));
            let wide = |name: &str| count(&sass, |one| one.is(name) && one.has("64") && one.has("STRONG"));
            let stores = count(&sass, |instruction| instruction.is("STG") && instruction.has("128"));
            match probe {
                EdgeProbe::SignalRing | EdgeProbe::Meeting | EdgeProbe::Release | EdgeProbe::StoreAndRelease => {
                    assert!(signals > 0 && fences == signals, "{name}: {fences} fences, {signals} signals");
                    assert!(strong("LDG") >= 2, "{name}: {} strong loads", strong("LDG"));
                }
                EdgeProbe::TaggedRing => {
                    assert_eq!((fences, signals), (0, 0), "{name}");
                    assert!(wide("LDG") > 0 && wide("STG") > 0, "{name}: the value and its tag are one access");
                }
                EdgeProbe::Barrier => assert_eq!((fences, signals), (0, 0), "{name}"),
            }
            assert_eq!(stores > 0, probe == EdgeProbe::StoreAndRelease, "{name}: {stores} stores of 16 bytes");
        }
        let info = CubinInfo::read(&compiled(&empty_kernels(), target, "empty kernels")).expect("it is a cubin");
        for entry in [EMPTY, EMPTY_NODE] {
            assert!(info.entry(entry).is_some(), "{entry} for {target}");
        }
    }
}

/// Code has the size that is asked for, and every multiply-add is there.
#[test]
fn code_has_the_size_that_is_asked_for() {
    let check = |probe: CodeProbe, target: Target| {
        let bytes = compiled(&probe.source(), target, &probe.to_string());
        let sass = Sass::of(&bytes).expect("it is disassembled");
        let multiply_adds = count(&sass, |instruction| instruction.is("FFMA"));
        assert_eq!(multiply_adds, probe.instructions(), "{probe} on {target}");
        let (asked, kernels) = (probe.kilobytes() << 10, probe.kernels().unwrap_or(1));
        // What an entry has beside the code is the same whatever its size, and so is what a kernel has.
        let (found, asked) = (16 * sass.instructions().len(), asked * kernels);
        let beside = 16 * (96 + 24 * kernels);
        assert!(found <= asked + asked / 10 + beside, "{probe} on {target}: {found} bytes for {asked}");
        assert!(found >= asked, "{probe} on {target}: {found} bytes for {asked}");
        assert!(!sass.contains("LDS") && sass.generic_accesses().is_empty(), "{probe} on {target}");
    };
    let step = if std::env::var_os("WARPWEAVE_FULL").is_some() { 1 } else { 3 };
    for probe in CodeProbe::ALL.into_iter().step_by(step) {
        check(probe, Target::Sm90a);
    }
    check(CodeProbe::Loop { kilobytes: 12 }, Target::Sm80);
    check(CodeProbe::Rotation { kilobytes: 8, kernels: 4 }, Target::Sm80);
}
