use crate::{cycles, estimate};

const SLICES: &str =
    "contraction/4x8 simt threads 8x4 warp 8x4 width 4 k-tile 64 register-prefetch k-slices 8 tile 32x32";

/// The sums of so many products, and what follows them.
fn product(length: usize, then: &str, under: &str) -> f64 {
    let [declared, read, to] =
        if then.contains("x2") { ["t2: f32[32] = input 2\n", ", t2", "t3"] } else { ["", "", "t2"] };
    let program = format!(
        "t0: f32[32x{length}] = input 0\nt1: f32[32x{length}] = input 1\n{declared}\
        e0 (t0, t1{read}) -> {to}: f32[32x32] = [a0<32, a1<32] sum[a2<{length}] mul(x0[a0, a2], x1[a1, a2]){then}\noutput {to}\n"
    );
    cycles(&program, under)
}

#[test]
fn a_latency_behind_the_sums_belongs_to_what_is_loaded_there() {
    let [with, without] =
        [" then add(reduced, x2[a1])", " then add(reduced, 1.0)"].map(|then| product(512, then, SLICES));
    let (behind, latency) = (with - without, estimate().arch.load_latency_cycles.value);
    assert!((latency..1.2 * latency).contains(&behind), "{behind}");
}

#[test]
fn the_last_step_waits_for_no_fetch() {
    let shape =
        |pipeline| format!("contraction/1x1 simt threads 16x16 warp 2x16 width 1 k-tile 8 {pipeline} tile 16x16");
    let steps = |pipeline| [8, 16, 24].map(|length| product(length, "", &shape(pipeline)));
    let ([one, two, three], [alone, both, _]) = (steps("register-prefetch"), steps("unpipelined"));
    let latency = estimate().arch.load_latency_cycles.value;
    assert!(two - one > latency && both - one > 2.0 * latency, "the fetch of another step is waited for");
    assert!((three - 2.0 * two + one).abs() < 0.05 * (two - one), "all others are alike");
    assert!(one < alone && alone < one + 0.1 * latency, "{one}, and {alone} without a pipeline");
}

/// What a step more takes of a product in slices whose right factor lies so: row by row along columns, or along the reduction.
fn step_of(along_columns: bool, pipeline: &str) -> f64 {
    let of = |length: usize| {
        let (right, read) =
            if along_columns { (format!("{length}x32"), "a2, a1") } else { (format!("32x{length}"), "a1, a2") };
        let program = format!(
            "t0: f32[32x{length}] = input 0\nt1: f32[{right}] = input 1\n\
            e0 (t0, t1) -> t2: f32[32x32] = [a0<32, a1<32] sum[a2<{length}] mul(x0[a0, a2], x1[{read}])\noutput t2\n"
        );
        cycles(
            &program,
            &format!("contraction/4x8 simt threads 8x4 warp 8x4 width 4 k-tile 64 {pipeline} k-slices 8 tile 32x32"),
        )
    };
    (of(4096) - of(2048)) / 32.0
}

#[test]
fn loads_of_a_step_without_a_pipeline_are_issued_while_the_first_are_under_way() {
    let latency = estimate().arch.load_latency_cycles.value;
    let [few, many] = [true, false].map(|along| step_of(along, "unpipelined"));
    let [few_beside, many_beside] = [true, false].map(|along| step_of(along, "register-prefetch"));
    let waited = few - few_beside;
    assert!((0.5 * latency..1.5 * latency).contains(&waited), "{few}, and {few_beside} with loads under way");
    let (meanwhile, beside) = (many - few, many_beside - few_beside);
    assert!(meanwhile < beside, "{meanwhile} for more loads before the products, {beside} for more beside them");
}

#[test]
fn products_stand_behind_the_copies_of_their_step() {
    let more = |pipeline| step_of(false, pipeline) - step_of(true, pipeline);
    let (copies, loads) = (more("asynchronous/3"), more("register-prefetch"));
    assert!(copies > 1.2 * loads, "{copies} for more copies, {loads} for more loads through registers");
}

#[test]
fn a_run_of_columns_is_one_store() {
    let of = |columns: usize| {
        let program = format!(
            "t0: f32[32x64] = input 0\nt1: f32[64x{columns}] = input 1\n\
            e0 (t0, t1) -> t2: f32[32x{columns}] = [a0<32, a1<{columns}] sum[a2<64] mul(x0[a0, a2], x1[a2, a1])\noutput t2\n"
        );
        let shape = "contraction/4x4 simt threads 8x32 warp 4x8 width 4 k-tile 32 register-prefetch";
        cycles(&program, &format!("{shape} tile 32x{columns}"))
    };
    let [runs, singles] = [128, 127].map(of);
    assert!(singles - runs > 100.0, "{runs}, and {singles} where columns are stored one by one");
}

/// What the 32 steps of a product take, of a left factor that is read at `x0[a0, a2]` and made of `left`.
fn steps(left: &str, under: &str) -> f64 {
    let of = |length: usize| {
        let program = format!(
            "t0: f32[32x{length}] = input 0\nt1: f32[32x{length}] = input 1\nt2: f32[{length}] = input 2\n\
            t3: f32[32x{length}] = input 3\n\
            e0 (t0, t1, t2, t3) -> t4: f32[32x32] = [a0<32, a1<32] sum[a2<{length}] mul(add(x0[a0, a2], {left}), \
            x1[a1, a2])\noutput t4\n"
        );
        cycles(&program, under)
    };
    of(4096) - of(2048)
}

#[test]
fn what_follows_from_a_point_of_the_reduction_is_loaded_once_for_all_rows() {
    let [common, own, each] = ["x2[a2]", "x0[a0, a2]", "x3[a0, a2]"].map(|left| steps(left, SLICES));
    let constant = steps("1.0", SLICES);
    assert!(own <= constant, "{own}, and {constant}: equal reads are one");
    let [a_step, rows] = [common, each].map(|with| (with - constant) / 32.0);
    assert!(8.0 < a_step && 3.0 * a_step < rows, "{a_step}, and {rows}: an element a step, and not one a row");
}

#[test]
fn rows_along_one_axis_take_no_division() {
    let under =
        |tile: &str| format!("contraction/4x4 simt threads 16x16 warp 4x8 width 4 k-tile 16 unpipelined tile {tile}");
    let rows = |[held, rows]: [&str; 2], axes: &str, place: &str, [column, along]: [&str; 2], tile: &str| {
        let program = format!(
            "t0: f32[{held}x64] = input 0\nt1: f32[64x64] = input 1\n\
            e0 (t0, t1) -> t2: f32[{rows}x64] = [{axes}, {column}<64] sum[{along}<64] mul(x0[{place}, {along}], x1[{column}, {along}])\noutput t2\n"
        );
        cycles(&program, &under(tile))
    };
    let one = rows(["72", "64"], "a0<64", "a0", ["a1", "a2"], "64x64");
    let two = rows(["8x9", "8x8"], "a0<8, a1<8", "a0, a1", ["a2", "a3"], "8x8x64");
    assert!(two - one > 100.0, "{one}, and {two} with a division for each row");
}
