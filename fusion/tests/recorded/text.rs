//! Timings as text, and back.

use proptest::prelude::*;
use warpweave_fusion::cost::timings::{Machine, TimedKernel, Timing, Timings, Version};
use warpweave_plan::kernel::ScheduleParams;
use warpweave_plan::template::Template;
use warpweave_plan::template::attention::parameters::KeyBlocks;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::unit::ComputeUnit;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::row::RowThreads;

fn shape() -> impl Strategy<Value = ContractionShape> {
    let power = |most: u32| (0..=most).prop_map(|power| 1usize << power);
    let pipeline = prop_oneof![
        Just(Pipeline::Unpipelined),
        Just(Pipeline::RegisterPrefetch),
        (2usize..=5).prop_map(|depth| Pipeline::Asynchronous { depth }),
    ];
    (power(3), power(3), power(6), power(2), power(6), pipeline, power(3), 1usize..20).prop_map(
        |(rows, columns, row_threads, column_width, step, pipeline, k_slices, parts)| ContractionShape {
            rows,
            columns,
            row_threads,
            column_width,
            k_tile: step,
            pipeline,
            k_slices,
            split_k: parts,
            unit: ComputeUnit::Simt,
        },
    )
}

fn params() -> impl Strategy<Value = ScheduleParams> {
    let template = prop_oneof![
        (1usize..9).prop_map(|per_thread| Template::Pointwise(Pointwise::strided(per_thread))),
        Just(Template::Row(RowThreads::Warp)),
        Just(Template::Row(RowThreads::Block)),
        Just(Template::Staged),
        (1usize..200).prop_map(|keys| Template::Attention(KeyBlocks { keys })),
        shape().prop_map(Template::Contraction),
    ];
    (template, prop::collection::vec(1usize..3000, 0..5)).prop_map(|(template, tile)| ScheduleParams { template, tile })
}

fn kernel() -> impl Strategy<Value = TimedKernel> {
    let version = || (0u32..20, 0u32..20).prop_map(|(major, minor)| Version { major, minor });
    let architecture = "[!-~]{1,8}".prop_map(|name| name.parse().expect("visible characters are a name"));
    let machine = (architecture, version(), version()).prop_map(|(architecture, driver, compiler)| Machine {
        architecture,
        driver,
        compiler,
    });
    let signature = "[ -~µ]{1,60}".prop_map(|text| text.parse().expect("a line is a signature"));
    (machine, signature, params()).prop_map(|(machine, signature, params)| TimedKernel { machine, signature, params })
}

fn timings() -> impl Strategy<Value = Timings> {
    let time = || (1e-6f64..1e9).prop_filter("a time is above 0", |time| *time > 0.0);
    let timing = (time(), time()).prop_map(|(measured, estimated)| Timing { measured, estimated });
    prop::collection::btree_map(kernel(), timing, 0..12).prop_map(|records| Timings { records })
}

proptest! {
    #[test]
    fn text_and_back_in_any_order(timings in timings(), turn in 0usize..12) {
        let text = timings.to_string();
        prop_assert_eq!(text.parse(), Ok(timings.clone()));
        let mut lines: Vec<&str> = text.lines().collect();
        let records = &mut lines[1..];
        records.reverse();
        records.rotate_left(turn.min(records.len()));
        let turned: Result<Timings, _> = lines.join("\n").parse();
        prop_assert_eq!(turned.map(|timings| timings.to_string()), Ok(text));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(warpweave timings 1\n)?[ -~\t\n]{0,80}") {
        if let Ok(timings) = text.parse::<Timings>() {
            prop_assert_eq!(timings.to_string().parse(), Ok(timings));
        }
    }
}

#[track_caller]
fn check_refused(text: &str, line: usize, says: &str) {
    let error = text.parse::<Timings>().expect_err("the text is wrong");
    assert_eq!(error.line, line, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn what_is_no_record_is_refused_with_its_line() {
    let signature: warpweave_plan::body::signature::Signature = "s".parse().expect("a signature");
    let hash = format!("{:016x}", signature.hash());
    let good = format!("sm_90a\t13.0\t13.1\t{hash}\tpointwise/4 tile 1x256\t2.5\t3\ts");
    let file = |record: &str| format!("warpweave timings 1\n{good}\n{record}\n");
    assert!(format!("warpweave timings 1\n{good}\n").parse::<Timings>().is_ok());
    check_refused("", 1, "a new one");
    check_refused("warpweave timings 2\n", 1, "warpweave timings 1");
    check_refused(&file(""), 3, "8 fields");
    check_refused(&file(&good), 3, "the same kernel");
    let changed = |from: &str, to: &str| file(&good.replacen(from, to, 1));
    check_refused(&changed("sm_90a", "sm 90a"), 3, "no architecture");
    check_refused(&changed("13.1", "13"), 3, "no version");
    check_refused(&changed("pointwise/4", "pointwise/0"), 3, "no parameters");
    check_refused(&changed("1x256", "1x"), 3, "no parameters");
    check_refused(&changed("\t2.5", "\t-2.5"), 3, "no time");
    check_refused(&changed("\t2.5", "\tinf"), 3, "no time");
    check_refused(&changed("\t2.5", "\t0"), 3, "no time");
    check_refused(&changed("\t3\ts", "\t3\tt"), 3, "is not that of the signature");
    check_refused(&changed("\t3\ts", "\t3\t"), 3, "signature");
}
