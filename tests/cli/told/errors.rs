//! What errors name: the culprit, the alternatives and the remedy, for people and as JSON.

use std::fs;

use warpweave::graph::{Tensor, npy};
use warpweave::runtime::json::{self, Value};

use crate::support::model_builder::{COMPLEX64, F32, F64, STRING, node, value, write};
use crate::support::models_by_hand::{doubles, open_batch};
use crate::support::tool::{Folder, fail, has_nvrtc, host_bundle, model, succeed, tool};

/// The error that a command prints as JSON.
#[track_caller]
fn told(exit: i32, arguments: &[&str]) -> Value {
    let output = tool(&[arguments, &["--json"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {errors}");
    let value: Value = json::from_slice(&output.stdout).expect("JSON is printed");
    assert_eq!(value["schema"], "warpweave.error/1");
    let error = value["error"].clone();
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
    error
}

#[test]
fn unsupported_types_and_nodes_are_told_together() {
    let folder = Folder::new();
    let inputs = vec![value("words", STRING, &["N"]), value("complex", COMPLEX64, &["2"]), value("x", F32, &["2"])];
    let nodes = vec![node("NonMaxSuppression", &["x", "x"], "y")];
    let path = write(&folder, "strings.onnx", inputs, nodes, vec![value("y", F32, &["2"])]);
    let error = told(3, &["inspect", &path]);
    assert_eq!(error["code"], "model-unsupported");
    let culprits = error["culprits"].as_array().expect("a list");
    let names: Vec<(&Value, &Value)> = culprits.iter().map(|culprit| (&culprit["kind"], &culprit["name"])).collect();
    let expected = [("input", "words"), ("input", "complex"), ("node", "NonMaxSuppression_y")];
    assert_eq!(names.len(), expected.len());
    assert!(names.iter().zip(expected).all(|((kind, name), (k, n))| **kind == k && **name == n), "{error}");
    assert!(culprits[0]["reason"].as_str().is_some_and(|reason| reason.contains("strings")));
    let help = error["help"].as_str().unwrap_or_default();
    let remedies = ["turn text into numbers", "real and imaginary parts", "ONNX checker"];
    assert!(remedies.iter().all(|part| help.contains(part)) && !help.contains("--constant"), "{help}");
}

/// Nodes that share a reason share a line of text; JSON has all of them.
#[test]
fn equal_reasons_are_told_once() {
    let folder = Folder::new();
    let suppress = |number: usize| node("NonMaxSuppression", &["x", "x"], &format!("y{number}"));
    let outputs = (0..69).map(|number| value(&format!("y{number}"), F32, &["2"])).collect();
    let needed = (0..69).map(suppress).collect();
    let many = write(&folder, "needed.onnx", vec![value("x", F32, &["2"])], needed, outputs);
    let message = fail(3, "model-unsupported", &["inspect", &many]);
    let lines: Vec<&str> = message.lines().filter(|line| line.contains("NonMaxSuppression")).collect();
    let names = "(NonMaxSuppression_y0, NonMaxSuppression_y1, NonMaxSuppression_y2 and 66 more)";
    assert!(
        lines.len() == 1 && lines[0].starts_with("  69 nodes: ai.onnx.NonMaxSuppression (opset 17): "),
        "{message}"
    );
    assert!(message.contains("69 nodes are not supported:") && lines[0].ends_with(names), "{message}");
    assert_eq!(told(3, &["inspect", &many])["culprits"].as_array().map(Vec::len), Some(69));
    let one = vec![node("Unheard", &["x"], "z")];
    let one = write(&folder, "one.onnx", vec![value("x", F32, &["2"])], one, vec![value("z", F32, &["2"])]);
    assert!(fail(3, "model-unsupported", &["inspect", &one]).contains("1 node is not supported:\n  Unheard_z: "));
    let doubles = (0..5).map(|number| value(&format!("x{number}"), F64, &["2"])).collect();
    let nodes = (0..5).map(|number| node("Exp", &[&format!("x{number}")], &format!("y{number}"))).collect();
    let outputs = (0..5).map(|number| value(&format!("y{number}"), F64, &["2"])).collect();
    let doubles = write(&folder, "doubles.onnx", doubles, nodes, outputs);
    let message = fail(3, "model-unsupported", &["run", &doubles, "--device", "emulator"]);
    assert!(
        message.contains("has no kernels for 5 nodes:\n  5 nodes: ") && message.contains(" and 2 more)"),
        "{message}"
    );
}

#[test]
fn counts_agree_with_their_nouns() {
    let folder = Folder::new();
    let message = fail(3, "model-shapes", &["run", &open_batch(&folder)]);
    assert!(message.contains("the shape of 1 input is not known:\n  x ["), "{message}");
    let inputs = ["a", "b"].map(|name| value(name, F32, &["N"])).to_vec();
    let outputs = vec![value("y", F32, &["N"])];
    let two = write(&folder, "two.onnx", inputs, vec![node("Add", &["a", "b"], "y")], outputs);
    assert!(fail(3, "model-shapes", &["run", &two]).contains("the shapes of 2 inputs are not known:"));
    let words = vec![value("words", STRING, &["2"])];
    let words =
        write(&folder, "words.onnx", words, vec![node("Identity", &["words"], "y")], vec![value("y", STRING, &["2"])]);
    let message = fail(3, "model-unsupported", &["inspect", &words]);
    assert!(
        message.contains("the type of 1 tensor is not supported:") || message.contains("the types of 2 tensors are"),
        "{message}"
    );
    let checked = tool(&["check", &model("dlrm", "torchscript.onnx"), "--target", "host"]);
    assert!(String::from_utf8_lossy(&checked.stdout).contains(" 1 launch\n"), "{checked:?}");
}

#[test]
fn mistakes_on_the_command_line_have_culprits() {
    let folder = Folder::new();
    let path = open_batch(&folder);
    for (arguments, kind, name) in [
        (&["run", &path, "--thread", "2"][..], "option", "--thread"),
        (&["run", &path, "--threads", "0"], "option", "--threads"),
        (&["compare", &path], "option", "--io"),
        (&["rum", &path], "command", "rum"),
        (&["run", &path, "--batch", "2", "--shape", "x=2x8", "--shape", "x=2x8"], "option", "--shape"),
        (&["run", &path, "--shape", "y=2x8"], "name", "y"),
        (&["run", "absent.onnx"], "file", "absent.onnx"),
        (&["run", &path, "--batch", "2", "--input", "y=absent.npy"], "file", "absent.npy"),
        (&["run", &path], "input", "x"),
    ] {
        let exit = if kind == "input" { 3 } else { 2 };
        let error = told(exit, arguments);
        assert_eq!(
            (&error["culprits"][0]["kind"], &error["culprits"][0]["name"]),
            (&kind.into(), &name.into()),
            "{error}"
        );
    }
    for command in ["compile", "check"] {
        let message = told(2, &[command, &path, "--target", "sm_12"])["message"].clone();
        assert!(message.as_str().is_some_and(|text| text.contains("one of host, sm_80")), "{message}");
    }
    let known = &told(2, &["run", &path, "--shape", "y=2x8"])["culprits"][0]["known"];
    assert_eq!(known.as_array().map(Vec::len), Some(2), "the input and the dimension: {known}");
    assert_eq!(told(2, &["rum"])["culprits"][0]["known"][0], "run");
    let output = tool(&["--help"]);
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn what_text_says_json_says_too() {
    let folder = Folder::new();
    let file = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("the file can be written");
        folder.join(name).display().to_string()
    };
    let (rows, doubles) = (open_batch(&folder), doubles(&folder));
    let (text, out) = (file("text", "nothing of use"), folder.join("out").display().to_string());
    let data = npy::print(&Tensor::new([2, 7], &[0f32; 14])).expect("an array");
    fs::write(folder.join("x.npy"), data).expect("the file can be written");
    let wrong = format!("x={}", folder.join("x.npy").display());
    let step = ["--train", "loss=mse:nothing", "--optimizer", "sgd"];
    for (exit, arguments, kind, name, help) in [
        (3, &["inspect", &text][..], "file", &*text, "check that the file"),
        (2, &["report", &text, "-o", &out], "file", &text, "bench"),
        (2, &["report", "absent", "-o", &out], "file", "absent", "check the path"),
        (2, &["lab", "show", "absent"], "file", "absent", "check the path"),
        (2, &["explain", &rows, "--arch", &text], "file", &text, "doctor --calibrate"),
        (2, &["explain", &rows, "--timings", "absent"], "file", "absent", "check the path"),
        (2, &["export-weights", &rows, &text, "-o", &out], "file", &text, "train --save"),
        (2, &["models", "export", "bart", "-o", &out], "model", "bart", "the nearest names"),
        (2, &["models", "export", "alexnet", "--batch", "0", "-o", &out], "model", "alexnet", "1 or more"),
        (3, &["explain", &doubles], "node", "y (Exp)", "take the host alone"),
        (3, &[&["compile", &rows, "--batch", "2", "-o", &out][..], &step].concat(), "output", "nothing", "it has `y`"),
        (2, &["run", &rows, "--batch", "2", "--input", &wrong], "input", "x", "give an array of that shape"),
        (2, &["compile", &rows, "--emit", "plan"], "option", "--emit-dir", "warpweave help"),
        (2, &["litmus", "--device", "host", "--rounds", "0"], "option", "--rounds", "warpweave help"),
    ] {
        let error = told(exit, arguments);
        assert_eq!(error["culprits"][0]["kind"], kind, "{arguments:?}: {error}");
        let named = error["culprits"][0]["name"].as_str().unwrap_or_default();
        assert!(named == name || named.starts_with(&format!("{name} ")), "{arguments:?}: {error}");
        let said = ["message", "help"].map(|field| error[field].as_str().unwrap_or_default()).join("; ");
        assert!(said.contains(help), "{arguments:?}: {error}");
    }
}

#[test]
fn what_is_no_model_is_named() {
    let folder = Folder::new();
    let [text, empty] = [("text.onnx", "no model"), ("empty.onnx", "")].map(|(name, content)| {
        fs::write(folder.join(name), content).expect("the file can be written");
        folder.join(name).display().to_string()
    });
    for (path, code) in [(&text, "model-decode"), (&empty, "model-invalid")] {
        for arguments in [&["inspect", path][..], &["run", path], &["compile", path, "--target", "host"]] {
            let message = fail(3, code, arguments);
            assert!(message.contains(path.as_str()), "{arguments:?}: {message}");
        }
    }
    assert_eq!(told(3, &["inspect", &text])["culprits"][0]["name"], text.as_str());
}

#[test]
fn help_speaks_of_what_a_command_takes() {
    for (command, said, never) in [
        ("explain", "constants of the GPU", "avx2"),
        ("compile", "avx2", "BUNDLE>"),
        ("reduce", "<MODEL>", "BUNDLE"),
        ("run", "<MODEL|BUNDLE>", "BUNDLE>\n  <"),
    ] {
        let output = tool(&[command, "--help"]);
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && help.contains(said) && !help.contains(never), "{command}: {help}");
    }
}

#[test]
fn a_bundle_is_no_model_and_an_array_no_archive() {
    let folder = Folder::new();
    let bundle = host_bundle(&folder);
    for arguments in [&["explain", &bundle][..], &["compile", &bundle, "-o", "x.weave"]] {
        let message = fail(2, "file-kind", arguments);
        assert!(
            message.contains("dlrm.weave") && message.contains("is a bundle") && message.contains("inspect"),
            "{message}"
        );
    }
}

#[test]
fn a_bundle_without_the_host_says_what_it_has() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new();
    let path = folder.join("gpu.weave").display().to_string();
    succeed(&["compile", &model("dlrm", "torchscript.onnx"), "-o", &path, "--target", "sm_90a"]);
    let message = fail(4, "bundle-target", &["run", &path]);
    let parts = ["holds sm_90a, not host", "--target host,sm_90a", "--device emulator"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    let error = told(4, &["run", &path]);
    assert_eq!(error["culprits"][0]["known"][0], "sm_90a");
}
