//! Proving plans, and plans without one of their waits.

use std::path::Path;

use warpweave::frontend::ImportOptions;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::plan::verify::violation::Violation;
use warpweave::runtime::json::Value;
use warpweave::{Build, Checked, Model, Source};

use crate::support::models_by_hand::open_batch;
use crate::support::tool::{Folder, fail, has_nvrtc, host_bundle, model, succeed, tool};

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list in {value}"))
}

fn without(path: &str, number: &str) -> Value {
    succeed(&["check", path, "--without-wait", number])["without_wait"].clone()
}

#[test]
fn a_plan_is_proved() {
    let told = succeed(&["check", &model("lstm", "torchscript.onnx")]);
    assert_eq!(told["target"], "sm_90a");
    assert!(told["waits"].as_u64() > Some(0) && told["ordered_reads"].as_u64() > Some(0));
    assert_eq!((told["deadlocks"].as_u64(), told["races"].as_u64()), (Some(0), Some(0)));
    assert!(told.get("without_wait").is_none());
}

/// The verifier names two rTasks for every wait that is needed, and the emulator sees them go wrong.
#[test]
fn a_missing_wait_is_found_and_seen() {
    for (name, number) in [("bert", "0"), ("bert", "60"), ("dlrm", "first"), ("lstm", "100")] {
        let told = without(&model(name, "torchscript.onnx"), number);
        let violations = list(&told, "violations");
        assert!(
            violations.iter().any(|violation| violation["tasks"].as_array().is_some_and(|tasks| tasks.len() == 2)),
            "{name} {number}: {told}"
        );
        let emulated = &told["emulated"];
        assert!(emulated["violations"].as_u64() > Some(0), "{name} {number}: {told}");
        let tiles = list(emulated, "tiles");
        assert!(!tiles.is_empty(), "{name} {number}: {told}");
        for tile in tiles {
            let is_plain = |wrong: &Value| wrong["found"].is_number();
            let wrong = list(tile, "wrong");
            assert!(!wrong.is_empty() && wrong.len() as u64 <= tile["elements"].as_u64().unwrap_or(0));
            assert!(wrong.iter().all(|wrong| is_plain(wrong) && wrong["found"] != wrong["right"]), "{tile}");
        }
    }
}

/// The cubin of a model, and that of a bundle, shows the same.
#[test]
fn a_missing_wait_shows_in_machine_code() {
    let folder = Folder::new();
    if !has_nvrtc() {
        return;
    }
    let bundle = folder.join("dlrm.weave").display().to_string();
    succeed(&["compile", &model("dlrm", "torchscript.onnx"), "--backend", "persistent", "-o", &bundle]);
    for (path, number) in [(model("lstm", "torchscript.onnx"), "100"), (bundle.clone(), "first")] {
        let told =
            succeed(&["check", &path, "--without-wait", number, "--device", "machine-code"])["without_wait"].clone();
        let executed = &told["executed"];
        assert!(told["emulated"].is_null() && executed["tasks"].as_u64() > Some(1), "{path} {number}: {told}");
        let has_wrong = list(executed, "tiles").iter().any(|tile| !list(tile, "wrong").is_empty());
        assert!(executed["example"].is_string() || has_wrong, "{path} {number}: {told}");
    }
    assert_eq!(tool(&["check", &bundle, "--device", "machine-code"]).status.code(), Some(2), "no wait is left out");
}

/// Buffers are used again as wholes: here every rTask would only overwrite what it has read itself.
#[test]
fn a_missing_wait_before_bytes_are_used_again_is_found() {
    let models = ["mobilenet_v2", "densenet", "squeezenet", "inception", "unet"];
    let is_of_bytes = |violations: &[Violation]| matches!(violations, [Violation::Alias { tasks: None, .. }]);
    let levels = [("none", FusionLevel::None), ("register", FusionLevel::Register), ("full", FusionLevel::Full)];
    let found = models.into_iter().map(|name| model(name, "torchscript.onnx")).find_map(|path| {
        let of_level = |(name, level)| Some((name, number_of(&path, Some(level), is_of_bytes)?));
        levels.into_iter().find_map(of_level).map(|(level, number)| (path.clone(), level, number))
    });
    let (path, level, number) = found.expect("some plan has such a wait");
    let told = succeed(&["check", &path, "--fusion", level, "--without-wait", &number])["without_wait"].clone();
    let [violation] = list(&told, "violations") else { panic!("one violation: {told}") };
    assert!(violation["message"].as_str().is_some_and(|message| message.contains("share bytes")), "{told}");
    assert!(violation["tasks"].is_null() && told["emulated"].is_null(), "{told}");
}

#[test]
fn a_wait_of_a_barrier_that_nothing_rests_on_is_not_missed() {
    let path = model("bert", "torchscript.onnx");
    let number = number_of(&path, Some(FusionLevel::None), <[Violation]>::is_empty).expect("some wait is such");
    let told = succeed(&["check", &path, "--fusion", "none", "--without-wait", &number])["without_wait"].clone();
    assert!(list(&told, "violations").is_empty() && told["emulated"].is_null(), "{told}");
}

/// The first wait of a model's persistent plan without which the verifier finds this.
fn number_of(path: &str, fusion: Option<FusionLevel>, is_meant: impl Fn(&[Violation]) -> bool) -> Option<String> {
    let model = Model::import(Path::new(path), &ImportOptions::default()).expect("the model imports");
    let mut build = Build::new(model).expect("the passes are right");
    (build.fusion, build.backend) = (fusion, BackendChoice::Only(Backend::Persistent));
    let checked = Checked::of(&Source::Model(Box::new(build)), None).expect("the plan is right");
    let mut all = (0..).map_while(|number| checked.without_wait(number));
    all.find(|without| is_meant(&without.violations)).map(|without| without.number.to_string())
}

#[test]
fn a_bundle_is_checked_and_the_host_has_no_kernels_to_emulate() {
    let folder = Folder::new();
    let bundle = host_bundle(&folder);
    let told = succeed(&["check", &bundle, "--without-wait", "0"]);
    assert_eq!(told["target"], "host");
    let missing = &told["without_wait"];
    assert!(!list(missing, "violations").is_empty() && missing["emulated"].is_null(), "{told}");
    assert!(fail(4, "bundle-target", &["check", &bundle, "--target", "sm_90a"]).contains("sm_90a"));
}

#[test]
fn a_wait_that_is_not_there_is_refused() {
    let path = model("dlrm", "torchscript.onnx");
    assert!(fail(2, "usage", &["check", &path, "--without-wait", "100000"]).contains("100000"));
    let folder = Folder::new();
    let without = ["check", &open_batch(&folder), "--batch", "2", "--without-wait", "0"];
    let message = fail(2, "usage", &without);
    assert!(message.contains("no wait that could be left out"), "{message}");
    let (_, command) = message.split_once('`').expect("a command is named");
    let mut words: Vec<&str> = command.split('`').next().unwrap_or_default().split(' ').skip(1).collect();
    let named = folder.join("named.onnx").display().to_string();
    *words.last_mut().expect("an output is named last") = &named;
    succeed(&words);
    for target in ["host", "sm_80", "sm_90a"] {
        let told = succeed(&["check", &named, "--target", target, "--backend", "persistent", "--without-wait", "0"]);
        assert!(!list(&told["without_wait"], "violations").is_empty(), "{target}: {told}");
    }
    let output = tool(&["check", &path, "--without-wait", "second"]);
    assert_eq!(output.status.code(), Some(2));
}
