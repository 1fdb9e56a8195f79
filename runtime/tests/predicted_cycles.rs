//! What the timing model takes the lab's tiles of products to cost, written down before a device has run them: the first
//! record of the lab judges it. Needs `scripts/fetch_cuda.sh`, but no GPU. `BLESS=1` writes the file again.

use std::fmt::Write;
use std::path::Path;

use warpweave_codegen::microbenchmark::{ENTRY, Microbenchmark, Stamped};
use warpweave_runtime::nvrtc::{Nvrtc, UnitKind};
use warpweave_runtime::sass::Sass;
use warpweave_runtime::sass::evaluate::evaluate;
use warpweave_runtime::sass::evaluate::launch::Launch;
use warpweave_runtime::sass::machine::MachineModel;
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::sass::simulate::{Surroundings, simulate};
use warpweave_runtime::target::Target;

/// Rounds that are timed: what more take beyond fewer, so that beginning and end do not count.
const FEWER: u32 = 4;
const MORE: u32 = 12;
/// Blocks and elements of the lab's launches of tiles.
const BLOCKS: u32 = 132;
const ELEMENTS: u32 = 1 << 20;

fn cycles(code: &MachineCode, benchmark: Microbenchmark, rounds: u32) -> u64 {
    let parameters = [0x1000_0000, 0, 0x2000_0000, 0, ELEMENTS, 0, rounds];
    let mut launch = Launch::new(benchmark.threads() as u32, 0, BLOCKS, &parameters);
    let trace = evaluate(code, ENTRY, &mut launch).unwrap_or_else(|error| panic!("{benchmark}: {error}"));
    assert_eq!(trace.unknowns.addresses, 0, "{benchmark}: all addresses are known");
    let surroundings = Surroundings { cached: true, active: BLOCKS.into() };
    simulate(code, &trace, &MachineModel::h200(), surroundings, &[]).expect("it can be timed").cycles
}

/// Cycles of a round of a block.
fn round(benchmark: Microbenchmark) -> f64 {
    let nvrtc = Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"));
    let compiled = nvrtc.compile_unit(&benchmark.source(), Target::Sm90a, UnitKind::Whole, &[]);
    let cubin = compiled.unwrap_or_else(|error| panic!("{benchmark}: {error}")).bytes;
    let sass = Sass::of(&cubin).unwrap_or_else(|error| panic!("{benchmark}: {error}"));
    let code = MachineCode::parse(sass.listing()).unwrap_or_else(|error| panic!("{benchmark}: {error}"));
    let beyond = cycles(&code, benchmark, MORE) - cycles(&code, benchmark, FEWER);
    beyond as f64 / f64::from(MORE - FEWER)
}

#[test]
fn tiles_have_the_cycles_that_were_predicted() {
    let tiles = Microbenchmark::OF_CYCLES.into_iter().filter(|each| matches!(each, Microbenchmark::Tile(_)));
    let mut text = String::from("# Cycles of a block's round, and multiply-adds a cycle.\n");
    for tile in tiles {
        let cycles = round(tile);
        let work = tile.work_per_round().expect("tiles multiply") as f64;
        let _ = writeln!(text, "{tile}: {cycles:.1} cycles, {:.1}", work / cycles);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/predicted_cycles.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "the prediction has changed: see {}", path.display());
}
