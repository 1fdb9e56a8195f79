//! Microbenchmarks are the loops that they are called: read in their machine code. Needs `scripts/fetch_cuda.sh`, but no GPU.

use warpweave_codegen::microbenchmark::{Factors, Microbenchmark, TileLoop};
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
