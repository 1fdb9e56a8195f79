//! Training steps: compiling and taking them, what is saved, and how they take bad input.

use std::fs;
use std::path::Path;

use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::runtime::checkpoint::Checkpoint;
use warpweave::runtime::npz;

use crate::support::model_builder::{self, F32, I64, Weight, node, value};
use crate::support::tool::{Folder, fail, succeed};

const LOSS: &str = "loss=cross_entropy";
const OPTIMIZER: &str = "sgd,lr=0.1,momentum=0.9";

/// A model of 9 rows of 4 numbers and 5 classes.
pub fn scores() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/training/options/scores.onnx").display().to_string()
}

/// A step of a model in a folder, compiled for the host.
pub fn step(folder: &Folder, model: &str, name: &str, more: &[&str]) -> String {
    let path = folder.join(name).display().to_string();
    let arguments = ["compile", model, "-o", &path, "--target", "host", "--train", LOSS, "--optimizer", OPTIMIZER];
    succeed(&[&arguments, more].concat());
    path
}

/// An archive of these rows, of the model's shape, and targets.
fn archive(folder: &Folder, name: &str, row: impl Fn(usize) -> f64, targets: &[i64]) -> String {
    let rows: Vec<f64> = (0..targets.len() * 4).map(row).collect();
    let x = Tensor::from_f64(TensorType::new(ElementType::F32, [targets.len(), 4]), &rows);
    let targets = Tensor::from_i64(TensorType::new(ElementType::I64, [targets.len()]), targets);
    write_archive(folder, name, &[("in_x", &x), ("target", &targets)])
}

fn write_archive(folder: &Folder, name: &str, arrays: &[(&str, &Tensor)]) -> String {
    let path = folder.join(name);
    let bytes = npz::print(arrays.iter().copied()).expect("NumPy has such elements");
    fs::write(&path, bytes).expect("the archive can be written");
    path.display().to_string()
}

const TARGETS: [i64; 9] = [0, 1, 2, 3, 4, 0, 1, 2, -100];

/// An archive of one batch for that model.
pub fn data(folder: &Folder) -> String {
    archive(folder, "data.npz", |at| (at % 7) as f64 / 7.0 - 0.4, &TARGETS)
}

#[test]
fn a_step_learns_and_its_memory_is_told_before_it_runs() {
    let folder = Folder::new();
    let path = folder.join("step.weave").display().to_string();
    let arguments = ["compile", &scores(), "-o", &path, "--target", "host", "--train", LOSS, "--optimizer", OPTIMIZER];
    let compiled = succeed(&arguments);
    let memory = &compiled["targets"][0]["training_memory"];
    let bytes = |class: &str| memory[class].as_u64().unwrap_or_else(|| panic!("{class} is told: {memory}"));
    // 65 numbers before and after the step.
    assert!(bytes("weights") >= 2 * 65 * 4 && bytes("optimizer_state") >= 2 * 65 * 4, "{memory}");
    let classes = ["weights", "optimizer_state", "gradients", "activations", "workspace"];
    let arena = compiled["targets"][0]["arena_bytes"].as_u64().expect("the arena is told");
    let constants = compiled["targets"][0]["weights_bytes"].as_u64().expect("the constants are told");
    assert_eq!(classes.map(bytes).iter().sum::<u64>(), arena + constants);
    let data = data(&folder);
    let pictures = folder.join("pictures").display().to_string();
    let arguments = ["train", &path, "--data", &data, "--steps", "30", "--eval", &data, "-o", &pictures];
    let trained = succeed(&arguments);
    let losses = trained["losses"].as_array().expect("there are losses");
    assert_eq!(losses.len(), 30);
    assert!(losses[29].as_f64() < losses[0].as_f64(), "{losses:?}");
    assert!(trained["samples_per_second"].as_f64() > Some(0.0));
    assert!(trained["evaluation"]["accuracy"].as_f64() > Some(0.0));
    let picture = fs::read_to_string(folder.join("pictures").join("loss.svg")).expect("there is a picture");
    assert!(picture.starts_with("<svg") && picture.contains("polyline"));
}

#[test]
fn a_resumed_run_ends_with_the_bytes_of_one_without_a_break() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let file = |name: &str| folder.join(name).display().to_string();
    let (half, resumed, whole) = (file("half.safetensors"), file("resumed.safetensors"), file("whole.safetensors"));
    succeed(&["train", &step, "--data", &data, "--steps", "3", "--save", &half]);
    let second = succeed(&["train", &step, "--data", &data, "--steps", "3", "--resume", &half, "--save", &resumed]);
    assert_eq!(second["first_step"], 4);
    succeed(&["train", &step, "--data", &data, "--steps", "6", "--save", &whole]);
    assert_eq!(fs::read(&resumed).expect("it is saved"), fs::read(&whole).expect("it is saved"));
}

#[test]
fn a_schedule_over_two_runs_gives_the_bytes_of_one() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let file = |name: &str| folder.join(name).display().to_string();
    let (half, resumed, whole) = (file("half.safetensors"), file("resumed.safetensors"), file("whole.safetensors"));
    let train =
        |more: &[&str]| succeed(&[&["train", &step, "--data", &data, "--lr-schedule", "cosine:0.1"], more].concat());
    train(&["--steps", "2", "--schedule-steps", "5", "--save", &half]);
    train(&["--steps", "3", "--schedule-steps", "5", "--resume", &half, "--save", &resumed]);
    train(&["--steps", "5", "--save", &whole]);
    assert_eq!(fs::read(&resumed).expect("it is saved"), fs::read(&whole).expect("it is saved"));
}

#[test]
fn labels_that_count_decide_an_evaluation() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let row = |at: usize| (at % 7) as f64 / 7.0 - 0.4;
    let (few, many) = ([0, -100, -100, -100, -100, -100, -100, -100, -100], [1, 2, 3, 4, 0, 1, 2, 3, 4]);
    let evaluate = |targets: &[i64]| {
        let path = archive(&folder, "evaluated.npz", row, targets);
        let found = succeed(&["train", &step, "--data", &data, "--steps", "0", "--eval", &path]);
        ["loss", "accuracy"].map(|name| found["evaluation"][name].as_f64().expect("it is found"))
    };
    let few_alone = evaluate(&few);
    let both = evaluate(&[few, many, [-100; 9]].concat());
    // The second batch has the rows behind the first nine.
    let moved = archive(&folder, "moved.npz", |at| row(at + 36), &many);
    let found = succeed(&["train", &step, "--data", &data, "--steps", "0", "--eval", &moved]);
    let moved = ["loss", "accuracy"].map(|name| found["evaluation"][name].as_f64().expect("it is found"));
    for at in 0..2 {
        let wanted = (few_alone[at] + 9.0 * moved[at]) / 10.0;
        assert!((both[at] - wanted).abs() < 1e-5, "{both:?} of {few_alone:?} and {moved:?}");
    }
    let none = archive(&folder, "none.npz", row, &[-100; 9]);
    let message = fail(2, "usage", &["train", &step, "--data", &data, "--eval", &none]);
    assert!(message.contains("ignored"), "{message}");
}

#[test]
fn what_cannot_be_written_is_refused_before_the_first_step() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let nowhere = folder.join("nowhere").join("saved.safetensors").display().to_string();
    let inside = folder.join("data.npz").join("saved.safetensors").display().to_string();
    let taken = folder.join("").display().to_string();
    for path in [&nowhere, &inside, &taken] {
        let steps = ["train", &step, "--data", &data, "--steps", "1000000", "--save", path];
        assert!(fail_any(&steps).contains("cannot write"), "{path}");
    }
    assert!(fail_any(&["train", &step, "--data", &data, "--steps", "1000000", "-o", &data]).contains("data.npz"));
}

#[test]
fn steps_before_a_loss_that_is_no_number_are_saved() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let saved = folder.join("saved.safetensors").display().to_string();
    let arguments = ["train", &step, "--data", &data, "--lr", "1e38", "--steps", "9", "--save", &saved];
    fail(1, "not-finite", &arguments);
    let kept = Checkpoint::read(Path::new(&saved)).expect("it is saved");
    assert!((1..9).contains(&kept.steps), "{} steps", kept.steps);
}

#[test]
fn rates_and_threads_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    for (option, value, told) in [
        ("--lr", "nan", "0 or more"),
        ("--lr", "-1", "0 or more"),
        ("--lr", "inf", "0 or more"),
        ("--threads", "0", "one thread"),
        ("--lr-schedule", "step:2.5:0.5", "`2.5` is no number of steps"),
        ("--lr-schedule", "step:0:0.5", "`0` is no number of steps"),
        ("--lr-schedule", "step:1:-1", "`-1` is not 0 or more"),
        ("--lr-schedule", "linear:nan", "`nan` is not 0 or more"),
        ("--lr-schedule", "cosine:0:1", "expected constant"),
    ] {
        let output = crate::support::tool::tool(&["train", &step, "--data", &data, option, value]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{option} {value}: {errors}");
        assert!(errors.contains(told), "{option} {value}: {errors}");
    }
}

#[test]
fn trained_weights_go_back_into_the_model() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let (saved, trained) = (folder.join("w.safetensors"), folder.join("trained.onnx"));
    let (saved_name, trained_name) = (saved.display().to_string(), trained.display().to_string());
    succeed(&["train", &step, "--data", &data, "--steps", "5", "--save", &saved_name]);
    let exported = succeed(&["export-weights", &scores(), &saved_name, "-o", &trained_name]);
    assert_eq!(exported["replaced"], 4);
    // What the trained model's first loss is, the run that goes on finds too.
    let fresh = self::step(&folder, &trained_name, "fresh.weave", &[]);
    let first = succeed(&["train", &fresh, "--data", &data])["losses"][0].clone();
    let next = succeed(&["train", &step, "--data", &data, "--resume", &saved_name])["losses"][0].clone();
    assert_eq!(first, next);
    let names: Vec<String> = Checkpoint::read(&saved).expect("it holds tensors").tensors.into_keys().collect();
    assert!(names.iter().any(|name| name == "one.weight"), "{names:?}");
    let message = fail(2, "usage", &["export-weights", &model(&folder, Route::Cut), &saved_name, "-o", &trained_name]);
    assert!(message.contains("one.weight") || message.contains("one.bias"), "{message}");
}

#[test]
fn a_measured_step_tells_its_phases() {
    let folder = Folder::new();
    let step = step(&folder, &scores(), "step.weave", &[]);
    let found = succeed(&["bench", &step, "--warmup-ms", "1", "--duration-ms", "20"]);
    let training = &found["training"];
    assert_eq!(found["model"]["batch"], 9);
    assert_eq!(training["loss"], "cross_entropy");
    assert!(training["samples_per_second"].as_f64() > Some(0.0));
    let profile = &training["profiles"][0];
    assert_eq!((profile["target"].as_str(), profile["known"].as_str()), (Some("host"), Some("recorded")));
    let phases = profile["phases"].as_array().expect("there are phases");
    let names: Vec<&str> = phases.iter().filter_map(|phase| phase["phase"].as_str()).collect();
    assert_eq!(names, ["forward", "loss", "backward", "optimizer"]);
    let share = |key: &str| phases.iter().filter_map(|phase| phase[key].as_f64()).sum::<f64>();
    assert!((share("busy_share") - 1.0).abs() < 1e-9);
    // Updates may all follow the reductions of their gradients, which count for the backward pass.
    assert!(phases[..3].iter().all(|phase| phase["busy_seconds"].as_f64() > Some(0.0)), "{phases:?}");
    assert!(share("critical_share") > 0.0 && share("critical_share") <= 1.0 + 1e-9);
    let results = folder.join("bench.json");
    fs::write(&results, found.to_string()).expect("the file can be written");
    let page = folder.join("page.html").display().to_string();
    succeed(&["report", &results.display().to_string(), "-o", &page]);
    let html = fs::read_to_string(&page).expect("the page is written");
    assert!(html.contains("Phases of the training step") && html.contains("Memory of the training step"));
}

/// What lies between a weight and the output.
#[derive(Clone, Copy, Debug)]
enum Route {
    /// Nothing that ends a path.
    Open,
    /// An operator whose results are no numbers.
    Cut,
    /// An operator whose slope is 0.
    Flat,
}

/// A model of a weight `w` and of an integer one.
fn model(folder: &Folder, path: Route) -> String {
    let end = match path {
        Route::Open => vec![node("Identity", &["product"], "y")],
        Route::Cut => vec![node("IsNaN", &["product"], "cut"), node("Where", &["cut", "x", "x"], "y")],
        Route::Flat => vec![node("Round", &["product"], "y")],
    };
    let nodes = [vec![node("MatMul", &["x", "w"], "product")], end].concat();
    let weights = [Weight::singles("w", &[3, 3], &[0.5; 9]), Weight::integers("count", &[2], &[1, 2])];
    model_builder::write_with(
        folder,
        &format!("{path:?}.onnx"),
        vec![value("x", F32, &["2", "3"])],
        nodes,
        vec![value("y", F32, &["2", "3"])],
        &weights,
    )
}

#[test]
fn what_cannot_be_trained_is_named() {
    let folder = Folder::new();
    let cut = model(&folder, Route::Cut);
    let compile = |model: &str, more: &[&str]| {
        let out = folder.join("out.weave").display().to_string();
        let arguments = ["compile", model, "-o", &out, "--target", "host", "--train", LOSS, "--optimizer", "sgd"];
        fail_any(&[&arguments, more].concat())
    };
    let message = compile(&cut, &[]);
    assert!(message.contains("error[training]") && message.contains("`w`") && message.contains("IsNaN"), "{message}");
    let message = compile(&model(&folder, Route::Flat), &[]);
    assert!(message.contains("`w`") && message.contains("(Round)`; freeze"), "{message}");
    let whole = model(&folder, Route::Open);
    let message = compile(&whole, &["--trainable", "count"]);
    assert!(message.contains("`count`") && message.contains("that a node reads"), "an integer weight: {message}");
    let message = compile(&whole, &["--frozen", "w"]);
    assert!(message.contains("--frozen `w`: no initializer of singles or doubles is left"), "{message}");
    let message = compile(&whole, &["--trainable", "v*"]);
    assert!(message.contains("`v*`") || message.contains("no initializer"), "{message}");
}

/// Runs the binary, expects a failure of wrong usage or an unsupported model, and returns the message.
#[track_caller]
fn fail_any(arguments: &[&str]) -> String {
    let output = crate::support::tool::tool(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(2 | 3)), "{arguments:?}: {errors}");
    assert!(!errors.contains("panicked") && errors.contains("error["), "{errors}");
    errors
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let folder = Folder::new();
    let out = folder.join("out.weave").display().to_string();
    let wrong = [
        ("loss=hinge", "sgd", "hinge"),
        ("cross_entropy", "sgd", "loss=NAME"),
        ("loss=mse,label-smoothing=0.1", "sgd", "label-smoothing"),
        ("loss=output,ignore-index=1", "sgd", "ignore-index"),
        ("loss=cross_entropy,label-smoothing=1", "sgd", "label-smoothing"),
        ("loss=cross_entropy", "lamb", "lamb"),
        ("loss=cross_entropy", "sgd,nesterov", "nesterov"),
        ("loss=cross_entropy", "sgd,beta1=0.5", "beta1"),
        ("loss=cross_entropy", "adam,beta1=1", "beta1"),
        ("loss=cross_entropy", "adam,momentum=0.5", "momentum"),
        ("loss=cross_entropy", "sgd,lr=-1", "-1"),
        ("loss=cross_entropy", "sgd,lr=nan", "nan"),
        ("loss=cross_entropy", "sgd,lr=0.1,lr=0.2", "lr is given twice"),
        ("loss=cross_entropy,ignore-index=1,ignore-index=2", "sgd", "ignore-index is given twice"),
    ];
    for (loss, optimizer, told) in wrong {
        let output =
            crate::support::tool::tool(&["compile", &scores(), "-o", &out, "--train", loss, "--optimizer", optimizer]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{loss} {optimizer}: {errors}");
        assert!(errors.contains(told), "{loss} {optimizer}: {errors}");
    }
    let train = ["compile", &scores(), "-o", &out, "--target", "host", "--optimizer", "sgd", "--train"];
    let message = fail_any(&[&train[..], &["loss=mse:nothing"]].concat());
    assert!(message.contains("`nothing`") && message.contains("`scores`"), "{message}");
    let message = fail_any(&[&train[..], &["loss=output"]].concat());
    assert!(message.contains("`scores`") && message.contains("one number"), "{message}");
}

#[test]
fn data_that_a_step_cannot_take_is_refused() {
    let folder = Folder::new();
    let step = step(&folder, &scores(), "step.weave", &[]);
    let far = archive(&folder, "far.npz", |_| 0.5, &[0, 1, 2, 3, 5, 0, 1, 2, 3]);
    let message = fail(2, "usage", &["train", &step, "--data", &far]);
    assert!(message.contains("element 4 of `target` is 5") && message.contains("0 to 4"), "{message}");
    let none = archive(&folder, "none.npz", |_| 0.5, &[[0; 9], [-100; 9]].concat());
    let message = fail(2, "usage", &["train", &step, "--data", &none, "--steps", "2"]);
    assert!(message.contains("all labels of step 2 are ignored"), "{message}");
    let short = archive(&folder, "short.npz", |_| 0.5, &[0, 1, 2]);
    assert!(fail_any(&["train", &step, "--data", &short]).contains("`x`"));
    let x = Tensor::from_f64(TensorType::new(ElementType::F32, [9, 4]), &[0.5; 36]);
    let without = write_archive(&folder, "without.npz", &[("in_x", &x)]);
    assert!(fail_any(&["train", &step, "--data", &without]).contains("`target`"));
}

#[test]
fn a_step_takes_inputs_without_elements() {
    let folder = Folder::new();
    let nodes = vec![
        node("ReduceSum", &["x"], "none"),
        node("MatMul", &["z", "w"], "product"),
        node("Add", &["product", "none"], "y"),
    ];
    let inputs = vec![value("x", F32, &["0", "3"]), value("z", F32, &["2", "3"])];
    let outputs = vec![value("y", F32, &["2", "3"])];
    let weights = [Weight::singles("w", &[3, 3], &[0.5; 9])];
    let model = model_builder::write_with(&folder, "empty.onnx", inputs, nodes, outputs, &weights);
    let step = step(&folder, &model, "empty.weave", &[]);
    let singles = |rows: usize| Tensor::from_f64(TensorType::new(ElementType::F32, [rows, 3]), &vec![0.5; rows * 3]);
    let target = Tensor::from_i64(TensorType::new(ElementType::I64, [2]), &[0, 2]);
    let data = |rows: usize| {
        let (x, z) = (singles(rows), singles(2));
        write_archive(&folder, "empty.npz", &[("in_x", &x), ("in_z", &z), ("target", &target)])
    };
    succeed(&["train", &step, "--data", &data(0), "--steps", "2"]);
    let message = fail(2, "input", &["train", &step, "--data", &data(2)]);
    assert!(message.contains("must be f32[0x3] and is f32[2x3]"), "{message}");
}

#[test]
fn a_loss_that_is_no_number_is_not_learned_from() {
    let folder = Folder::new();
    let step = step(&folder, &scores(), "step.weave", &[]);
    let good = data(&folder);
    let saved = folder.join("saved.safetensors").display().to_string();
    let wrong = archive(&folder, "wrong.npz", |at| if at == 5 { f64::NAN } else { 0.5 }, &TARGETS);
    let message = fail(1, "not-finite", &["train", &step, "--data", &wrong, "--steps", "3", "--save", &saved]);
    assert!(message.contains("step 1") && message.contains("`x`"), "{message}");
    assert!(!folder.names().iter().any(|name| name == "saved.safetensors"));
    // What was saved before stays what it was.
    succeed(&["train", &step, "--data", &good, "--save", &saved]);
    let before = fs::read(&saved).expect("it is saved");
    fail(1, "not-finite", &["train", &step, "--data", &wrong, "--resume", &saved, "--save", &saved]);
    assert_eq!(fs::read(&saved).expect("it is there"), before);
}

#[test]
fn weights_that_a_finite_loss_spoils_are_not_saved() {
    let folder = Folder::new();
    let nodes = vec![node("Mul", &["x", "w"], "product"), node("Sqrt", &["product"], "y")];
    let (x, y) = (value("x", F32, &["2", "3"]), value("y", F32, &["2", "3"]));
    let weights = [Weight::singles("w", &[3], &[0.0, 1.0, 1.0])];
    let model = model_builder::write_with(&folder, "root.onnx", vec![x], nodes, vec![y], &weights);
    let step = folder.join("root.weave").display().to_string();
    succeed(&["compile", &model, "-o", &step, "--target", "host", "--train", "loss=mse", "--optimizer", "sgd"]);
    let ones = Tensor::from_f64(TensorType::new(ElementType::F32, [2, 3]), &[1.0; 6]);
    let data = write_archive(&folder, "ones.npz", &[("in_x", &ones), ("target", &ones)]);
    let saved = folder.join("saved.safetensors").display().to_string();
    let good = self::step(&folder, &scores(), "good.weave", &[]);
    succeed(&["train", &good, "--data", &self::data(&folder), "--save", &saved]);
    let before = fs::read(&saved).expect("it is saved");
    for steps in ["1", "2"] {
        let arguments = ["train", &step, "--data", &data, "--steps", steps, "--save", &saved];
        let message = fail(1, "not-finite", &arguments);
        assert!(message.contains("`w`"), "{message}");
        assert_eq!(fs::read(&saved).expect("it is there"), before, "{steps}");
    }
}

#[test]
fn a_value_that_the_loss_does_not_come_from_is_no_culprit() {
    let folder = Folder::new();
    let nodes = [
        node("Add", &["x", "mask"], "masked"),
        node("Softmax", &["masked"], "attention"),
        node("Sqrt", &["x"], "root"),
        node("Add", &["attention", "root"], "sum"),
        node("Mul", &["sum", "w"], "y"),
    ];
    let inputs = vec![value("x", F32, &["2", "3"]), value("mask", F32, &["2", "3"])];
    let weights = [Weight::singles("w", &[3], &[0.5; 3])];
    let y = vec![value("y", F32, &["2", "3"])];
    let model = model_builder::write_with(&folder, "masked.onnx", inputs, nodes.to_vec(), y, &weights);
    let step = folder.join("step.weave").display().to_string();
    succeed(&["compile", &model, "-o", &step, "--target", "host", "--train", "loss=mse", "--optimizer", "sgd"]);
    let tensor = |values: &[f64; 6]| Tensor::from_f64(TensorType::new(ElementType::F32, [2, 3]), values);
    let (mask, target) = (tensor(&[0.0, 0.0, f64::NEG_INFINITY, 0.0, 0.0, 0.0]), tensor(&[0.0; 6]));
    let train = |name: &str, x: &Tensor| {
        let data = write_archive(&folder, name, &[("in_x", x), ("in_mask", &mask), ("target", &target)]);
        fail(1, "not-finite", &["train", &step, "--data", &data])
    };
    let message = train("negative.npz", &tensor(&[1.0, 2.0, 3.0, -1.0, 4.0, 5.0]));
    assert!(message.contains("`root`") && !message.contains("`mask`"), "{message}");
    let message = train("infinite.npz", &tensor(&[f64::INFINITY, 2.0, 3.0, 1.0, 4.0, 5.0]));
    assert!(!message.contains("`mask`"), "{message}");
}

#[test]
fn files_of_another_kind_are_refused() {
    let folder = Folder::new();
    let (step, data) = (step(&folder, &scores(), "step.weave", &[]), data(&folder));
    let message = fail(2, "file-kind", &["run", &step]);
    assert!(message.contains("training step") && message.contains("warpweave train"), "{message}");
    let plain = folder.join("plain.weave").display().to_string();
    succeed(&["compile", &scores(), "-o", &plain, "--target", "host"]);
    for path in [&plain, &scores()] {
        let message = fail(2, "file-kind", &["train", path, "--data", &data]);
        assert!(message.contains("--train loss="), "{message}");
    }
    let saved = folder.join("saved.safetensors").display().to_string();
    succeed(&["train", &step, "--data", &data, "--save", &saved]);
    let other = model(&folder, Route::Open);
    let other_step = self::step(&folder, &other, "other.weave", &[]);
    let x = Tensor::from_f64(TensorType::new(ElementType::F32, [2, 3]), &[0.5; 6]);
    let target = Tensor::from_i64(TensorType::new(ElementType::I64, [2]), &[0, 2]);
    let other_data = write_archive(&folder, "other.npz", &[("in_x", &x), ("target", &target)]);
    let message = fail(2, "usage", &["train", &other_step, "--data", &other_data, "--resume", &saved]);
    assert!(message.contains("another model"), "{message}");
    let mut found = Checkpoint::read(Path::new(&saved)).expect("it is saved");
    found.model.clear();
    found.write(Path::new(&saved)).expect("it can be written");
    let message = fail(2, "usage", &["train", &step, "--data", &data, "--resume", &saved]);
    assert!(message.contains("does not say which model"), "{message}");
    let message = fail(2, "checkpoint", &["train", &step, "--data", &data, "--resume", &data]);
    assert!(message.contains("data.npz"), "{message}");
}

#[test]
fn a_model_that_ends_in_its_own_loss_needs_no_target() {
    let folder = Folder::new();
    let nodes =
        vec![node("MatMul", &["x", "w"], "scores"), node("SoftmaxCrossEntropyLoss", &["scores", "labels"], "own")];
    let weights = [Weight::singles("w", &[3, 3], &[0.5, -0.5, 0.25, 0.0, 0.5, 0.125, 1.0, -1.0, 0.5])];
    let inputs = vec![value("x", F32, &["2", "3"]), value("labels", I64, &["2"])];
    let model = model_builder::write_with(&folder, "own.onnx", inputs, nodes, vec![value("own", F32, &[])], &weights);
    let path = folder.join("own.weave").display().to_string();
    let arguments =
        ["compile", &model, "-o", &path, "--target", "host", "--train", "loss=output", "--optimizer", "sgd,lr=0.5"];
    succeed(&arguments);
    let x = Tensor::from_f64(TensorType::new(ElementType::F32, [2, 3]), &[0.5, 1.0, -1.0, 0.25, -0.5, 2.0]);
    let labels = Tensor::from_i64(TensorType::new(ElementType::I64, [2]), &[0, 2]);
    let data = write_archive(&folder, "own.npz", &[("in_x", &x), ("in_labels", &labels)]);
    let losses = succeed(&["train", &path, "--data", &data, "--steps", "20"])["losses"].clone();
    assert!(losses[19].as_f64() < losses[0].as_f64().map(|loss| loss / 2.0), "{losses}");
}
