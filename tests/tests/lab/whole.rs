//! Whole runs on host and emulator: nothing fails, and nothing is skipped but what is listed here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use warpweave_measure::lab::Findings;

use crate::count_case;
use crate::support::{command, failed, folder, lab, lab_with, ran, said, skipped, warpweave};

const WITHOUT_GPU: [&str; 3] = ["--device", "host,emulator", "--reduced"];
/// What the lab is told, so that a slow machine does all.
const BUDGET: [&str; 2] = ["--budget", "900"];
const NO_GPU: &str = "no GPU among the devices";
const MODELS: [&str; 2] = ["bert_base_128", "lstm_tc"];
const TABLES: [&str; 9] = [
    "Not done",
    "Checks",
    "Memory system",
    "Outputs beside stored ones",
    "Models",
    "What units do",
    "Templates and kernels",
    "Verdict",
    "Plan",
];

fn expected_skips() -> BTreeMap<String, String> {
    let without = [
        "microbench.edges.host",
        "microbench.edges.emulator",
        "microbench.code.host",
        "microbench.code.emulator",
        "microbench.loops.host",
        "microbench.loops.emulator",
        "calibrate",
        "peers",
        "ncu.bert_base_128",
        "sanitizer",
        "tune.bert_base_128",
        "tune.lstm_tc",
    ];
    let mut skips: BTreeMap<String, String> =
        without.into_iter().map(|name| (name.to_owned(), NO_GPU.to_owned())).collect();
    skips.insert("litmus.host".to_owned(), "host runs no kernels".to_owned());
    skips
}

fn expected_runs() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = [
        "doctor",
        "smoke.host",
        "smoke.emulator.persistent",
        "smoke.emulator.cuda-graph",
        "smoke.emulator.mixed",
        "litmus.emulator",
        "compare.host",
        "compare.emulator.persistent",
        "compare.emulator.cuda-graph",
        "compare.emulator.mixed",
        "selftest.host",
        "selftest.emulator",
    ]
    .map(str::to_owned)
    .into();
    for model in MODELS {
        let on = ["host", "emulator.persistent", "emulator.cuda-graph"];
        names.extend(on.map(|on| format!("model.{model}.{on}")));
        names.extend(["host", "emulator"].map(|device| format!("profile.{model}.{device}")));
    }
    names
}

/// Everything runs; a second run keeps it word for word.
pub fn check() {
    let folder = folder("whole");
    let arguments: Vec<&str> = WITHOUT_GPU.into_iter().chain(BUDGET).collect();
    let first = lab(&folder, &arguments);
    assert_eq!(failed(&first.lab), BTreeMap::new(), "{}", said(&first));
    assert!(first.output.status.success(), "{}", said(&first));
    assert_eq!(skipped(&first.lab), expected_skips());
    assert_eq!(ran(&first.lab).into_keys().collect::<BTreeSet<String>>(), expected_runs());
    for table in TABLES.iter().filter(|table| **table != "Plan") {
        assert!(first.tables.contains(&format!("## {table}")), "no table {table} in\n{}", first.tables);
    }
    assert!(!first.tables.contains("DRY RUN"), "{}", first.tables);
    count_case();
    let second = lab(&folder, &arguments);
    let out = said(&second);
    let kept = out.lines().filter_map(|line| line.strip_prefix("kept ")).map(|name| name.trim().to_owned());
    assert_eq!(kept.collect::<BTreeSet<String>>(), expected_runs(), "{out}");
    assert_eq!(ran(&first.lab), ran(&second.lab), "what ran is kept, word for word");
    count_case();
}

/// A small budget holds, and what does not fit says so.
pub fn check_budget() {
    let folder = folder("budget");
    let arguments: Vec<&str> = WITHOUT_GPU.into_iter().chain(["--budget", "4"]).collect();
    let short = lab(&folder, &arguments);
    // The start, and the record after the last step, come on top where the machine is busy.
    assert!(short.seconds < 14.0, "4 s took {:.1} s: {}", short.seconds, said(&short));
    assert!(skipped(&short.lab).values().any(|reason| reason.starts_with("budget")), "{}", said(&short));
    assert_eq!(short.lab.steps.len(), expected_runs().len() + expected_skips().len(), "every step is in the record");
    count_case();
}

/// A program under a folder's name.
fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script can be made a program");
    path.display().to_string()
}

/// A program that gives wrong outputs is told so, with a case that the emulator replays.
pub fn check_failure() {
    let folder = folder("failing");
    let program = warpweave();
    let lie = "case \"$1\" in compare) set -- \"$@\" --rtol 0 --atol 0;; esac";
    let liar = script(&folder, "liar", &format!("{lie}\nexec '{}' \"$@\"", program.display()));
    let step = "compare.emulator.persistent";
    let arguments: Vec<&str> =
        WITHOUT_GPU.into_iter().chain(BUDGET).chain(["--only", step, "--binary", &liar]).collect();
    let found = lab(&folder, &arguments);
    assert_eq!(found.output.status.code(), Some(1), "{}", said(&found));
    let failures = failed(&found.lab);
    assert_eq!(failures.keys().collect::<Vec<_>>(), [step]);
    assert!(failures[step].contains("do not agree, the first is "), "{failures:?}");
    let step = found.lab.steps.iter().find(|found| found.name == step).expect("the step is there");
    let Some(Findings::Comparisons { comparisons, .. }) = &step.findings else { panic!("{step:?}") };
    let cases: Vec<&String> = comparisons.iter().filter_map(|comparison| comparison.case.as_ref()).collect();
    assert_eq!(cases, ["cases/differ"], "the first case alone is kept");
    assert!(found.tables.contains("Replay cases/differ of lab.zip"), "{}", found.tables);
    let archive = fs::read(folder.join("results/lab.zip")).expect("there is an archive");
    let name = b"cases/differ/model.weave";
    assert!(archive.windows(name.len()).any(|part| part == name), "the case is in the archive");
    let work = fs::read_dir(folder.join("work")).expect("there is a work folder").flatten();
    let case = work.map(|entry| entry.path().join("cases/differ")).find(|case| case.is_dir()).expect("a case is kept");
    let mut replay = Command::new(&program);
    replay.arg("compare").arg(case.join("model.weave")).arg("--io").arg(case.join("io.npz"));
    let replayed = replay.args(["--device", "emulator", "--rtol", "0", "--atol", "0"]).output().expect("it runs");
    let out = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(replayed.status.code() == Some(1) && out.contains("outputs differ"), "{out}");
    count_case();
}

/// What a machine with a GPU has is pretended: the emulator stands in for the device, and figures are made up.
pub fn check_pretended() {
    let folder = folder("pretended");
    let doctor = "{\"passed\": true, \"nvrtc\": {\"found\": true, \"version\": \"13.0\"}, \"linker\": {\"found\": true, \
                  \"version\": \"13.0\"}, \"driver\": {\"found\": true, \"version\": \"13.0\", \"devices\": [{\"ordinal\": 0, \
                  \"name\": \"pretended\", \"compute_capability\": \"9.0\", \"multiprocessors\": 132, \"memory_bytes\": 1}]}, \
                  \"threads\": 2}";
    let calibrated = "{\"readings\": [{\"constant\": \"step_microseconds\", \"before\": 2.0, \"now\": 3.0}, {\"constant\": \
                      \"load_latency_cycles\", \"before\": 287.0, \"now\": null}]}";
    let tuned = "{\"recorded\": 12, \"left\": 3, \"refused\": [{\"params\": \"row\", \"reason\": \"made up\"}]}";
    let edges = "{\"edges\": [{\"edge\": \"signal\", \"units\": 2, \"microseconds\": 0.5}, {\"edge\": \"empty-graph\", \
                 \"units\": null, \"microseconds\": 1.5}]}";
    let code =
        "{\"code\": [{\"kind\": \"loop\", \"kilobytes\": 16, \"kernels\": null, \"cycles_per_instruction\": 1.25}]}";
    let peer = "{\"model\": \"dlrm\", \"peer\": \"pretended 0\", \"mode\": \"graph\", \"precision\": \"fp16\", \"median_ms\": 0.5}";
    let told = [
        ("doctor --json", doctor, 0),
        ("doctor --calibrate", calibrated, 1),
        ("tune", tuned, 1),
        ("microbench edges", edges, 0),
        ("microbench code", code, 0),
    ];
    let arms: String = told
        .iter()
        .map(|(words, out, code)| format!("{}*) echo '{out}'; exit {code};;\n", words.replace(' ', "\\ ")))
        .collect();
    let swap = "for word do shift; if [ \"$word\" = cuda:0 ]; then word=emulator; fi; set -- \"$@\" \"$word\"; done";
    let program = warpweave();
    let text = format!("case \"$*\" in\n{arms}esac\n{swap}\nexec '{}' \"$@\"", program.display());
    let binary = script(&folder, "pretended", &text);
    script(&folder, "compute-sanitizer", "while [ \"${1#--}\" != \"$1\" ]; do shift 2; done\nexec \"$@\"");
    script(&folder, "python3", &format!("echo '{peer}'"));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let wanted = "doctor,sanitizer,calibrate,peers,tune.dlrm,microbench.edges.cuda:0,microbench.code.cuda:0";
    let wanted = wanted.replace("tune.dlrm", "tune.lstm_tc");
    let arguments: Vec<&str> =
        ["--device", "cuda:0", "--only", &wanted, "--binary", &binary].into_iter().chain(BUDGET).collect();
    let variables = [("PATH", path), ("VIRTUAL_ENV", String::new())];
    let found = lab_with(&folder, &arguments, &variables);
    let steps = |name: &str| found.lab.steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("{name}"));
    let failures = failed(&found.lab);
    let expected = ["calibrate", "tune.lstm_tc"].map(str::to_owned);
    assert_eq!(failures.into_keys().collect::<Vec<String>>(), expected, "{}", said(&found));
    let runs: Vec<String> = ran(&found.lab).into_keys().collect();
    assert_eq!(runs.len(), 5, "{runs:?}\n{}", said(&found));
    let Some(Findings::Checks { checks }) = &steps("sanitizer").findings else { panic!("no checks") };
    assert_eq!(checks.len(), 4);
    let Some(Findings::Peers { peers }) = &steps("peers").findings else { panic!("no peers") };
    assert_eq!((peers[0].peer.as_str(), peers[0].precision.as_str()), ("pretended 0", "fp16"));
    let Some(Findings::Calibration { constants }) = &steps("calibrate").findings else { panic!("no constants") };
    assert_eq!(constants.iter().map(|constant| constant.now).collect::<Vec<_>>(), [Some(3.0), None]);
    let Some(Findings::Tuning { recorded: 12, refused: 1, .. }) = &steps("tune.lstm_tc").findings else {
        panic!("no tuning")
    };
    assert!(found.tables.contains("constant step_microseconds: 0.67"), "{}", found.tables);
    assert!(found.tables.contains("graph of two events") && found.tables.contains("1.25"), "{}", found.tables);
    let names: BTreeSet<&str> = found.lab.steps.iter().map(|step| step.name.as_str()).collect();
    for name in [
        "model.resnet50.cuda:0.persistent",
        "model.lstm_tc-unrolled.cuda:0.cuda-graph",
        "ncu.resnet50",
        "profile.lstm_tc.cuda:0",
    ] {
        assert!(names.contains(name), "of the steps of a GPU, {name} is missing");
    }
    count_case();
}

/// Both calls hold their eight minutes, with every model.
pub fn check_plan() {
    let folder = folder("plan");
    let output = command(&folder, &["--plan"]).output().expect("the lab can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("CUT") && text.contains("model.llama_1b_decode.cuda:0.cuda-graph"), "{text}");
    let models = text.lines().filter(|line| line.contains(".cuda:0.persistent") && line.contains("model.")).count();
    assert_eq!(models, 20, "{text}");
    count_case();
}
