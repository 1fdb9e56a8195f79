//! Passes by name: listed, chosen, and stopped after.

use std::fs;

use warpweave::graph::program::text::parse as parse_program;
use warpweave::graph::text::{Tensors, parse as parse_graph};

use crate::support::tool::{Folder, fail, model, succeed, tool};

/// The names of all passes over graphs or programs, in order.
fn passes(level: &str) -> Vec<String> {
    let path = model("lstm", "torchscript.onnx");
    let listed = succeed(&["compile", &path, "--passes", "list"]);
    let passes = listed["passes"].as_array().expect("passes").iter().filter(|pass| pass["level"] == level);
    passes.map(|pass| pass["pass"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn the_list_has_every_pass_in_order() {
    let program = passes("program");
    assert_eq!(program.first().map(String::as_str), Some("key_sorting"));
    assert_eq!(program.last().map(String::as_str), Some("concat_placement"));
    assert!(passes("graph").contains(&"dead_code".to_owned()));
}

/// Every pass leaves what prints, and no bundle is written.
#[test]
fn a_compilation_stops_after_any_pass() {
    let (folder, path) = (Folder::new(), model("bert", "torchscript.onnx"));
    let emitted = folder.join("stages").display().to_string();
    let mut texts = Vec::new();
    for pass in passes("program") {
        let arguments = ["compile", &path, "--stop-after", &pass, "--emit", "graph,program", "--emit-dir", &emitted];
        assert_eq!(succeed(&arguments)["stopped_after"], pass.as_str());
        let text = fs::read_to_string(folder.join("stages").join("program.txt")).expect("the program is written");
        let error = parse_program(&text, &Tensors::new()).expect_err("its weights are not beside it").to_string();
        assert!(error.contains("the hash of such a tensor"), "{error}");
        texts.push(text);
    }
    assert!(texts.windows(2).any(|pair| pair[0] != pair[1]), "siblings are merged");
    for pass in passes("graph") {
        let arguments = ["compile", &path, "--stop-after", &pass, "--emit", "graph", "--emit-dir", &emitted];
        assert_eq!(succeed(&arguments)["level"], "graph");
    }
    assert_eq!(folder.names(), ["stages"]);
    let graph = fs::read_to_string(folder.join("stages").join("graph.txt")).expect("the graph is written");
    let error = parse_graph(&graph, &Tensors::new()).expect_err("its weights are not beside it").to_string();
    assert!(error.contains("is not there"), "{error}");
    fail(2, "usage", &["compile", &path, "--stop-after", "dead_code", "--emit", "program", "--emit-dir", &emitted]);
}

/// A model is compiled right without any pass that plans do not need, and with one alone.
#[test]
fn chosen_passes_run_alone() {
    let (folder, path) = (Folder::new(), model("lstm", "torchscript.onnx"));
    let (out, io) = (folder.join("x.weave").display().to_string(), model("lstm", "io.npz"));
    let count = |passes: &str| {
        let compiled = succeed(&["compile", &path, "-o", &out, "--target", "host", "--passes", passes]);
        succeed(&["compare", &out, "--io", &io]);
        compiled["statements"].as_u64().expect("statements")
    };
    let (none, views) = (count("none"), count("view_inlining"));
    assert!(views < none, "{views} and {none}");
    fail(2, "usage", &["compile", &path, "--passes", "none,dead_code", "--target", "host"]);
    let unknown = tool(&["compile", &path, "--passes", "dead_cod"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("`dead_cod` is no pass; `compile --passes list`"));
}
