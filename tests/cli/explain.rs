//! Plans in time: a table, a picture and a trace of the same run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use warpweave::frontend::ImportOptions;
use warpweave::graph::program::Origins;
use warpweave::plan::text;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::json::{self, Value};
use warpweave::runtime::target::Target;
use warpweave::{Build, Model, compile};

use crate::support::models_by_hand::doubles;
use crate::support::tool::{Folder, fail, has_nvrtc, model, printed, succeed, tool};

#[test]
fn a_plan_is_explained_in_figures_picture_and_trace() {
    let folder = Folder::new();
    let out = folder.join("plan").display().to_string();
    let path = model("lstm", "torchscript.onnx");
    let told = succeed(&["explain", &path, "--plan", "-o", &out]);
    assert_eq!(told["schema"], "warpweave.explain/1");
    let number = |value: &Value| value.as_f64().expect("a number");
    let makespan = number(&told["predicted_makespan_microseconds"]);
    assert!(told["waits"].as_u64() <= told["needs"].as_u64());
    assert!(told["arena_bytes"].as_u64() >= told["arena_bound_bytes"].as_u64());

    let trace = fs::read(folder.join("plan/trace.json")).expect("the trace is written");
    let trace: Value = json::from_slice(&trace).expect("the trace is JSON");
    let events = trace["traceEvents"].as_array().expect("there are events");
    let runs: Vec<&Value> = events.iter().filter(|event| event["cat"] == "run").collect();
    let names: BTreeSet<&str> = runs.iter().filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(Some(runs.len() as u64), told["tasks"].as_u64());
    assert_eq!(names.len(), runs.len(), "every rTask has a name of its own");
    let last = runs.iter().map(|event| number(&event["ts"]) + number(&event["dur"])).fold(0.0, f64::max);
    assert!(last <= makespan && last > 0.9 * makespan, "{last} of {makespan}");

    let picture = fs::read_to_string(folder.join("plan/timeline.svg")).expect("the picture is written");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(picture.contains("prefers-color-scheme:dark") && !picture.contains("href"));
}

#[test]
fn a_training_step_is_explained_as_the_model_is_compiled() {
    let path = model("mlp", "model.onnx").replace("models", "training");
    let step = ["--train", "loss=cross_entropy", "--optimizer", "sgd,lr=0.1"];
    let inference = succeed(&["explain", &path, "--plan"]);
    let told = succeed(&[&["explain", &path, "--plan"][..], &step].concat());
    assert!(told["tasks"].as_u64() > inference["tasks"].as_u64(), "a step does more than its forward pass");
    let alone = tool(&["explain", &path, "--train", "loss=cross_entropy"]);
    assert_eq!(alone.status.code(), Some(2), "a loss without an optimizer is wrong usage");
}

#[test]
fn the_same_plan_is_explained_in_the_same_words() {
    let path = model("mobilenet_v2", "torchscript.onnx");
    let told = || {
        let mut told = succeed(&["explain", &path, "--plan", "--units", "16"]);
        told["scheduling_seconds"] = Value::Null;
        told
    };
    assert_eq!(told(), told());
}

#[test]
fn every_way_of_planning_is_compared() {
    let told = succeed(&["explain", &model("bert", "dynamo.onnx"), "--plan", "--compare"]);
    let ways = told["ways"].as_array().expect("ways are compared");
    let names: Vec<&str> = ways.iter().filter_map(|way| way["way"].as_str()).collect();
    assert_eq!(names, ["barrier", "operator", "tile", "+ prefetch", "+ residency"]);
    for way in ways {
        let time = |name: &str| way[name].as_f64().expect("a time");
        let makespan = time("predicted_makespan_microseconds");
        assert!(time("least") <= makespan && makespan <= time("most"));
    }
}

/// The comparison is a whole Markdown table: a heading, a rule, and rows of as many cells.
#[test]
fn a_comparison_is_a_table() {
    let output = tool(&["explain", &model("dlrm", "torchscript.onnx"), "--plan", "--compare"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let (table, rest) = text.split_once("\n\n").expect("an empty line ends the table");
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("| Model | Waits by |") && rows[1] == "|---|---|---|---|---|---|---|", "{text}");
    assert!(rows.len() > 10 && rows.iter().all(|row| row.matches('|').count() == 8), "{text}");
    assert!(rest.contains("priced for"), "{text}");
}

#[test]
fn finer_waits_gain_on_recurrent_layers_whatever_barriers_have_besides() {
    let folder = Folder::new();
    let path = folder.join("lstm.onnx").display().to_string();
    succeed(&["models", "export", "lstm_tc", "--reduced", "-o", &path]);
    let told = succeed(&["explain", &path, "--plan", "--compare"]);
    for (win, at_least) in [("tile_over_barrier", 1.05), ("all_over_barrier", 1.2)] {
        let text = told[win].as_str().expect("a win is words");
        let least = text.split(' ').next().and_then(|least| least.parse::<f64>().ok());
        assert!(least.is_some_and(|least| least > at_least), "{win}: {text}");
    }
}

#[test]
fn the_partition_is_explained_unless_the_plan_is_asked_for() {
    let path = model("bert", "dynamo.onnx");
    let told = succeed(&["explain", &path]);
    let levels = told["levels"].as_array().expect("levels are compared");
    let names: Vec<&str> = levels.iter().filter_map(|level| level["level"].as_str()).collect();
    assert_eq!(names, ["none", "register", "full"]);
    assert!(told["groups"].as_array().is_some_and(|groups| !groups.is_empty()));
    let output = tool(&["explain", &path, "--units", "4"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--plan"));
}

#[test]
fn a_summary_fits_a_screen_and_all_lists_every_group() {
    let folder = Folder::new();
    let repeated = folder.join("transformer.onnx").display().to_string();
    succeed(&["models", "export", "transformer_base", "--reduced", "-o", &repeated]);
    let names = ["bert", "mobilenet_v2", "lstm", "vit", "densenet"];
    let paths = names.map(|name| model(name, "torchscript.onnx")).into_iter().chain([repeated]);
    for path in paths {
        let told = |options: &[&str]| printed(&[&["explain", &path][..], options].concat());
        let groups = succeed(&["explain", &path])["groups"].as_array().map_or(0, Vec::len);
        for options in [&[][..], &["--plan"]] {
            let text = told(options);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(text.lines().count() <= 40 && widest <= Some(100), "{path}: {text}");
        }
        let all = told(&["--all"]);
        let listed = all.lines().filter(|line| line.starts_with("  group ")).count();
        assert_eq!(listed, groups, "{path}: {all}");
        let critical = |text: &str| text.lines().filter(|line| line.starts_with("    o")).count();
        assert!(critical(&told(&["--plan", "--all"])) > 0, "{path}");
    }
}

#[test]
fn equal_groups_stand_together_in_a_summary() {
    let path = model("bert", "torchscript.onnx");
    let text = printed(&["explain", &path]);
    assert!(text.contains(", × 2  ") && text.contains("2 times the same 3"), "{text}");
}

#[test]
fn every_kernel_is_of_nodes_of_the_model() {
    for name in ["mobilenet_v2", "bert", "lstm", "vit"] {
        let file = model(name, "torchscript.onnx");
        let imported = Model::import(Path::new(&file), &ImportOptions::default()).expect("a model");
        let build = Build::new(imported).expect("the passes are right");
        let part = compile(&build, BundleTarget::Gpu(Target::Sm90a), None, &mut |_| {}).expect("a plan");
        let (program, plan) = (&build.model.program, part.plan.plan.plan());
        let members = part.partition.groups.iter().flat_map(|group| &group.statements);
        let of_groups = program.origins_of(members);
        let of_plan: Origins = plan.operators().values().flat_map(|operator| operator.origins.clone()).collect();
        assert!(!of_plan.is_empty() && of_plan == of_groups, "{name}: no node is lost");
        assert!(plan.operators().values().all(|operator| !operator.origins.is_empty()), "{name}: all have nodes");
        assert_eq!(text::parse(&plan.to_string()).as_ref(), Ok(plan), "{name}: text has the nodes");
    }
}

#[test]
fn nodes_are_named_as_the_model_names_them() {
    let folder = Folder::new();
    let out = folder.join("plan").display().to_string();
    let path = model("dlrm", "torchscript.onnx");
    let groups = succeed(&["explain", &path]);
    let nodes = groups["groups"][0]["nodes"].as_str().expect("the nodes of a group").to_owned();
    let name = nodes.split('"').nth(1).expect("a name in quotes");
    let of_node = succeed(&["explain", &path, "--node", name]);
    assert!(of_node["chosen"]["nodes"].as_str().is_some_and(|nodes| nodes.contains(name)), "{of_node}");
    let told = fail(2, "usage", &["explain", &path, "--node", "none_such"]);
    assert!(told.contains("no group computes `none_such`"), "{told}");

    let planned = succeed(&["explain", &path, "--plan", "--backend", "persistent", "-o", &out]);
    assert!(planned["critical_operators"][0]["nodes"].as_str().is_some_and(|nodes| nodes.contains('"')), "{planned}");
    let read = |file: &str| fs::read_to_string(folder.join("plan").join(file)).expect("it is written");
    let (trace, picture) = (read("trace.json"), read("timeline.svg"));
    assert!(trace.contains("\"nodes\":\"") && picture.contains("&quot;"), "both have names");
    assert!(printed(&["explain", &path, "--plan"]).contains("  Gemm /"), "text has names");
    assert!(printed(&["explain", &path, "--plan", "--all"]).contains("(Gemm \""), "text has all names");
}

#[test]
fn a_plan_says_what_its_units_fetch_of_its_code() {
    let path = model("bert", "torchscript.onnx");
    for backend in ["persistent", "cuda-graph"] {
        let arguments = ["explain", &path, "--plan", "--backend", backend];
        let told = succeed(&arguments)["code"].clone();
        assert!(told["kernel_bodies"].as_u64() > Some(1) && told["kernel_switches"].as_u64() > Some(0), "{told}");
        assert!(told["text_bytes"].is_null() && told["fetched_bytes"].is_null(), "nothing is compiled: {told}");
        let text = String::from_utf8_lossy(&tool(&arguments).stdout).into_owned();
        assert!(text.contains("--machine-code has its bytes"), "{text}");
        if !has_nvrtc() {
            continue;
        }
        let compiled = succeed(&[&arguments[..], &["--machine-code"]].concat())["code"].clone();
        assert_eq!(compiled["kernel_switches"], told["kernel_switches"]);
        assert_eq!(compiled["kernel_bodies"], told["kernel_bodies"]);
        let kernels = compiled["kernels"].as_array().expect("kernels have bytes");
        let bytes: u64 = kernels.iter().filter_map(|kernel| kernel["text_bytes"].as_u64()).sum();
        assert_eq!(Some(bytes), compiled["text_bytes"].as_u64());
        assert_eq!(Some(kernels.len() as u64), told["kernel_bodies"].as_u64());
        assert!(kernels.iter().all(|kernel| kernel["text_bytes"].as_u64() > Some(0)), "{compiled}");
        assert!(compiled["fetched_bytes"].as_u64() > Some(0), "{compiled}");
    }
}

#[test]
fn halves_multiply_on_tensor_cores_and_singles_do_not() {
    if !has_nvrtc() {
        return;
    }
    let path = model("bert", "torchscript.onnx");
    for (precision, is_half) in [("fp32", false), ("fp16", true)] {
        let told = succeed(&["explain", &path, "--machine-code", "--precision", precision]);
        let kernels = told["kernels"].as_array().expect("there are kernels");
        let total = |figure: &str| kernels.iter().filter_map(|kernel| kernel[figure].as_u64()).sum::<u64>();
        assert!(total("multiply_adds") > 0 && total("text_bytes") == told["code"]["text_bytes"].as_u64().unwrap_or(0));
        assert_eq!(total("matrix_instructions") > 0, is_half, "{precision}");
        for kernel in kernels {
            let has_products = kernel["matrix_instructions"].as_u64() > Some(0);
            assert_eq!(kernel["tensor_multiply_adds"].as_u64() > Some(0), has_products, "{precision}: {kernel}");
        }
        for stored in ["weights", "activations"] {
            let bytes = |figure: &str| told["stored"][stored][figure].as_u64().expect("bytes");
            assert!(bytes("bytes") > 0 && bytes("half_bytes") <= bytes("bytes"), "{precision}: {stored}");
            assert_eq!(bytes("half_bytes") > 0, is_half, "{precision}: {stored}");
        }
    }
}

#[test]
fn kernels_are_priced_by_their_machine_code() {
    if !has_nvrtc() {
        return;
    }
    let mut dispatches = 0;
    for name in ["bert", "lstm", "mobilenet_v2"] {
        let path = model(name, "torchscript.onnx");
        let told = succeed(&["explain", &path, "--machine-code"]);
        let kernels = told["kernels"].as_array().expect("there are kernels");
        assert!(!kernels.is_empty());
        assert!(kernels.iter().all(|kernel| (1..=132).contains(&kernel["active_units"].as_u64().unwrap_or(0))));
        let code = |figure: &str| told["code"][figure].as_u64().expect("a figure of the code");
        assert!(code("text_bytes") > 0 && code("kernel_fetches") <= code("kernel_switches") + 1, "{name}");
        assert!(code("fetched_bytes") > 0, "{name}: a unit fetches what it runs");
        let templates = told["templates"].as_array().expect("there are templates");
        let all = templates.iter().find(|sum| sum["template"] == "all").expect("a sum over all");
        assert_eq!(all["kernels"].as_u64(), Some(kernels.len() as u64));
        assert!(
            told["code_makespan_microseconds"].as_f64()
                > told["search_makespan_microseconds"].as_f64().map(|time| time / 4.0)
        );
        for kernel in kernels {
            assert!(kernel.get("error").is_none(), "{name}: {kernel}");
            let price = kernel["code_microseconds"].as_f64().expect("a price");
            let issues = kernel["issues"].as_f64().expect("issues");
            let cycles = kernel["cycles"].as_f64().expect("cycles");
            assert!(price > 0.05 && issues > 0.0 && issues <= 4.0 * cycles, "{name}: {kernel}");
            assert!(kernel["search_microseconds"].as_f64().is_some_and(|searched| searched > 0.0));
            let mix = kernel["mix"].as_array().expect("a mix");
            let mixed: f64 = mix.iter().filter_map(|part| part["issues"].as_f64()).sum();
            assert_eq!(mixed, issues, "{name}: every issue is of an operation");
            if let Some(dispatch) = kernel["dispatch_cycles"].as_u64() {
                let behind_data = kernel["dispatch_cycles_behind_data"].as_u64().expect("a part of the dispatch");
                // A store reads its registers some cycles behind its issue.
                assert!(behind_data > 0 && behind_data < dispatch, "{name}: {kernel}");
                dispatches += 1;
            }
        }
        let first = kernels[0]["kernel"].as_str().expect("a name");
        let listed = succeed(&["explain", &path, "--machine-code", "--kernel", first]);
        let instructions = listed["instructions"].as_array().expect("a listing");
        let listed: f64 = instructions.iter().filter_map(|code| code["issues"].as_f64()).sum();
        assert!(listed >= kernels[0]["issues"].as_f64().expect("issues"), "{name}: the listing has every issue");
    }
    assert!(dispatches > 0, "streams dispatch something");
    let path = model("bert", "torchscript.onnx");
    assert!(fail(2, "usage", &["explain", &path, "--machine-code", "--kernel", "k999"]).contains("k0"));
}

#[test]
fn kernels_that_the_search_rejected_are_priced() {
    if !has_nvrtc() {
        return;
    }
    let path = model("bert", "torchscript.onnx");
    let drawn = |seed: &str| {
        let told = succeed(&["explain", &path, "--machine-code", "--rejected", "3", "--seed", seed]);
        let kernels = told["rejected"].as_array().expect("kernels").clone();
        assert!(kernels.len() + told["unpriced"].as_u64().map_or(0, |count| count as usize) >= 3, "{told}");
        for kernel in &kernels {
            for price in ["search_microseconds", "code_microseconds"] {
                assert!(kernel[price].as_f64().is_some_and(|price| price > 0.05), "{kernel}");
            }
        }
        kernels
    };
    let first = drawn("1");
    assert_eq!(drawn("1"), first, "a seed draws the same");
    assert_ne!(drawn("2"), first, "another draws others");
}

#[test]
fn a_model_without_kernels_is_refused_as_compile_refuses_it() {
    let folder = Folder::new();
    let path = doubles(&folder);
    for more in [&[][..], &["--plan"], &["--plan", "--compare"], &["--plan", "--sync", "tile"], &["--node", "y"]] {
        let told = fail(3, "model-unsupported", &[&["explain", &path], more].concat());
        assert!(told.contains("sm_90a has no kernels for 1 node:") && told.contains("f64"), "{more:?}: {told}");
    }
}
