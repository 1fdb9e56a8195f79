use std::path::{Path, PathBuf};

use super::{Findings, Lab, LabError, Status, Verdict, markdown, verdict};

/// A record made up for tests: no device has given it.
fn synthetic() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lab/synthetic.json")
}

/// The cells of the row of `text` that begins with these.
fn row(text: &str, cells: &[&str]) -> Vec<String> {
    let split = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let mut rows = text.lines().filter(|line| line.starts_with('|')).map(split);
    rows.find(|row| row.len() > cells.len() && row.iter().zip(cells).all(|(found, cell)| found == cell))
        .unwrap_or_else(|| panic!("no row {cells:?} in\n{text}"))
}

#[test]
fn every_finding_has_its_row() {
    let lab = Lab::read(&synthetic()).expect("it is a record");
    assert_eq!(lab.counts(), [10, 1, 1]);
    let text = markdown(&lab);
    let check =
        |cells: &[&str], expected: &[&str]| assert_eq!(row(&text, cells)[cells.len()..], *expected, "{cells:?}");
    check(&["sanitizer", "skipped"], &["compute-sanitizer is not installed", "0.0"]);
    check(&["selftest concat", "cuda:9", "NO"], &["output 0, element 1 \\| is 2"]);
    check(&["message passing"], &["yes", "both: 999990, neither: 10", "1000000"]);
    check(&["bert/dynamo"], &["agree 1e-5"]);
    check(&["dlrm/dynamo"], &["TIME-OUT, kept as cases/time-out"]);
    check(&["contraction 4x4", "step"], &["130.0", "65.0", "2.00"]);
    check(&["barrier", "132"], &["0.950", "–"]);
    check(&["step_microseconds"], &["2.0000e0", "3.0000e0"]);
    check(&["load_latency_cycles"], &["2.8700e2", "not measured"]);
    let persistent = ["100 µs", "200 µs", "2.00", "1.0 %", "10000", "0", "agrees with host", "600 µs", "3.00"];
    check(&["made_up", "cuda:9 persistent"], &persistent);
    let graph = ["–", "400 µs", "–", "1.0 %", "5", "2", "DIFFERS from host 3.5×", "600 µs", "1.50"];
    check(&["made_up", "cuda:9 cuda-graph"], &graph);
    check(&["made_up", "other 2", "graph"], &["fp32", "–"]);
    check(&["made_up", "cuda:9", "recorded", "210.0 µs"], &["40.0 %", "25.0 %", "5.0 %", "10.0 %", "20.0 %"]);
    check(&["made_up", "cuda:9", "row"], &["12", "40.00", "60.00 µs", "1.50"]);
    check(&["made_up", "30"], &["1", "4"]);
    assert!(text.contains("`warpweave selftest` ended with 1\n\n    FAILED concat\n    1 failure\n"), "{text}");
    assert!(text.contains("Synthetic GPU, no device: compute capability 9.0, 4 multiprocessors."), "{text}");
}

#[test]
fn a_record_prints_as_it_was_read() {
    let lab = Lab::read(&synthetic()).expect("it is a record");
    let value = warpweave_runtime::json::to_value(&lab).expect("JSON holds it");
    let again: Lab = warpweave_runtime::json::from_value(value).expect("it is read back");
    assert_eq!(lab, again);
    assert!(lab.steps.iter().any(|step| matches!(step.findings, Some(Findings::Litmus { .. }))));
}

/// The verdict of the made-up record after a change of it.
fn judged(change: impl Fn(&mut Lab)) -> Verdict {
    let mut lab = Lab::read(&synthetic()).expect("it is a record");
    change(&mut lab);
    verdict(&lab)
}

#[track_caller]
fn has(lines: &[String], part: &str) {
    assert!(lines.iter().any(|line| line.contains(part)), "no line has {part:?}: {lines:#?}");
}

#[test]
fn the_verdict_tells_what_agrees_and_what_is_wrong() {
    let verdict = judged(|_| {});
    has(&verdict.agreed, "cuda:9 persistent: 1 of 2 small models agree");
    has(&verdict.agreed, "cuda:9 cuda-graph: 0 of 1 benchmark models agree");
    has(&verdict.wrong, "dlrm/dynamo on cuda:9 persistent: time-out");
    has(&verdict.wrong, "made_up on cuda:9 cuda-graph: 2 of 5 launches give other bits");
    has(&verdict.wrong, "made_up on cuda:9 cuda-graph: differs from host");
    has(&verdict.wrong, "selftest concat on cuda:9 fails");
    let [peer] = verdict.peers.as_slice() else { panic!("{:?}", verdict.peers) };
    assert_eq!((peer.model.as_str(), peer.backend.as_str()), ("made_up", "persistent"));
    assert!((peer.times_as_fast - 3.0).abs() < 1e-9);
    let constants: Vec<(&str, f64)> =
        verdict.constants.iter().map(|constant| (constant.name.as_str(), (constant.ratio * 100.0).round())).collect();
    assert_eq!(constants, [("step_microseconds", 67.0)]);
    has(&verdict.next, "Replay cases/time-out of lab.zip");
    has(&verdict.next, "Correct step_microseconds: plans reckon with 0.67 times");
    has(&verdict.next, "Commit lab.json under models/lab/");
    let text = markdown(&Lab::read(&synthetic()).expect("it is a record"));
    assert!(text.contains("- made_up, persistent: 3.00 times as fast as its fastest peer in fp32, faster"), "{text}");
    let verdict_at = text.find("## Verdict").expect("there is one");
    assert!(!text[verdict_at + 3..].contains("\n## "), "the verdict is last");
}

#[test]
fn the_verdict_names_causes_of_what_was_skipped() {
    let skip = |reason: &str| Status::Skipped { reason: reason.to_owned() };
    let verdict = judged(|lab| {
        lab.steps[3].status = skip("cuda:9 is lost since selftest.cuda:9: the driver has no device 9");
        lab.steps[4].status = skip("budget: it takes 9 s");
        lab.options.dry = Some("lost-device".to_owned());
        for step in &mut lab.steps {
            if let Some(Findings::Doctor { gpus, .. }) = &mut step.findings {
                gpus[0].multiprocessors = 100;
            }
        }
    });
    has(&verdict.wrong, "1 steps skipped: cuda:9 is lost since selftest.cuda:9");
    has(&verdict.wrong, "has 100 multiprocessors: plans for 132");
    has(&verdict.next, "The device is lost: take another one");
    has(&verdict.next, "1 steps had no time");
    assert!(
        verdict.next[0].starts_with("The device is lost") && !verdict.next.iter().any(|line| line.contains("Commit"))
    );
    let empty = judged(|lab| lab.steps.clear());
    assert_eq!((empty.agreed.len(), empty.wrong.len(), empty.constants.len()), (0, 0, 0));
}

#[test]
fn a_peer_in_halves_is_no_peer_of_singles() {
    let verdict = judged(|lab| {
        for step in &mut lab.steps {
            if let Some(Findings::Peers { peers }) = &mut step.findings {
                peers.iter_mut().for_each(|peer| peer.precision = "fp16".to_owned());
            }
        }
    });
    assert!(verdict.peers.is_empty(), "{:?}", verdict.peers);
}

#[track_caller]
fn refused(change: impl Fn(&str) -> String) -> LabError {
    let text = std::fs::read_to_string(synthetic()).expect("the file is there");
    Lab::parse(Path::new("lab.json"), change(&text).as_bytes()).expect_err("it is refused")
}

#[test]
fn other_files_and_versions_are_refused() {
    let version = refused(|text| text.replacen("\"version\": 1,", "\"version\": 2,", 1));
    assert!(matches!(version, LabError::Version { .. }) && version.to_string().contains("version 2"), "{version}");
    let format = refused(|text| text.replacen("warpweave-lab", "other", 1));
    assert!(matches!(format, LabError::Format { .. }) && format.to_string().contains("\"other\""), "{format}");
    let damaged = refused(|text| text.replacen("\"machine\"", "\"kitchen\"", 1));
    assert!(damaged.to_string().contains("kitchen"), "{damaged}");
    assert!(matches!(refused(|text| text[..99].to_owned()), LabError::Format { .. }));
    assert!(matches!(Lab::read(Path::new("absent.json")), Err(LabError::File { .. })));
}
