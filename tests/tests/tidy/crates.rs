//! Crates: who depends on whom, and where external packages live.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::process::Command;

use serde_json::Value;

use super::root;

/// Per crate, the crates that it must and that it may depend on.
const ARROWS: [(&str, &[&str], &[&str]); 15] = [
    ("warpweave-graph", &[], &[]),
    ("warpweave-frontend", &["warpweave-graph"], &[]),
    ("warpweave-plan", &["warpweave-graph"], &[]),
    ("warpweave-fusion", &["warpweave-plan"], &["warpweave-graph"]),
    ("warpweave-codegen", &["warpweave-plan"], &["warpweave-graph"]),
    ("warpweave-runtime", &["warpweave-codegen", "warpweave-plan"], &["warpweave-fusion", "warpweave-graph"]),
    ("warpweave-c", &["warpweave-runtime"], &["warpweave-graph"]),
    ("warpweave-c-commands", &["warpweave-cli"], &[]),
    ("warpweave-python", &["warpweave-cli", "warpweave-runtime"], &["warpweave-graph"]),
    ("warpweave-models", &[], &["warpweave-frontend", "warpweave-graph"]),
    (
        "warpweave",
        &["warpweave-runtime", "warpweave-frontend"],
        &["warpweave-codegen", "warpweave-fusion", "warpweave-graph", "warpweave-models", "warpweave-plan"],
    ),
    (
        "warpweave-measure",
        &["warpweave"],
        &[
            "warpweave-codegen",
            "warpweave-fusion",
            "warpweave-graph",
            "warpweave-models",
            "warpweave-plan",
            "warpweave-runtime",
        ],
    ),
    ("warpweave-cli", &["warpweave", "warpweave-measure"], &[]),
    (
        "warpweave-tests",
        &["warpweave", "warpweave-measure"],
        &[
            "warpweave-codegen",
            "warpweave-frontend",
            "warpweave-fusion",
            "warpweave-graph",
            "warpweave-models",
            "warpweave-plan",
            "warpweave-runtime",
        ],
    ),
    ("warpweave-benches", &["warpweave"], &[]),
];

/// Words that every crate may use.
const VOCABULARY: [&str; 4] = ["bytes", "half", "serde", "thiserror"];

/// Where each other package is at home.
const HOMES: [(&str, &[&str]); 34] = [
    ("blake3", &["warpweave-runtime"]),
    // Views of tensors as slices: where tensors are made, and where the host computes with them.
    ("bytemuck", &["warpweave-graph", "warpweave-runtime"]),
    // The headers of the C interfaces.
    ("cbindgen", &["warpweave-c"]),
    ("clap", &["warpweave-cli"]),
    ("clap_complete", &["warpweave-cli"]),
    ("clap_mangen", &["warpweave-cli"]),
    ("criterion", &["warpweave-benches"]),
    ("cudarc", &["warpweave-runtime"]),
    ("gemm", &["warpweave-runtime"]),
    ("indicatif", &["warpweave-cli"]),
    ("libloading", &["warpweave-runtime"]),
    // The functions that define the scalar operations: of the reference, of the emulator, and of the host.
    ("libm", &["warpweave-graph", "warpweave-codegen", "warpweave-runtime"]),
    ("libtest-mimic", &["warpweave-tests"]),
    ("memmap2", &["warpweave-runtime"]),
    ("mimalloc", &["warpweave-cli"]),
    ("ndarray", &["warpweave", "warpweave-graph"]),
    ("nix", &["warpweave-runtime"]),
    ("nvml-wrapper", &["warpweave-runtime"]),
    ("object", &["warpweave-runtime"]),
    ("petgraph", &["warpweave-fusion"]),
    ("postcard", &["warpweave-runtime"]),
    ("proptest", &["warpweave-fusion", "warpweave-tests"]),
    ("prost", &["warpweave-frontend"]),
    ("pyo3", &["warpweave-python"]),
    ("rayon", &["warpweave-fusion", "warpweave-plan"]),
    ("rlimit", &["warpweave-cli"]),
    ("rustc-hash", &["warpweave-fusion", "warpweave-plan"]),
    ("safetensors", &["warpweave-runtime"]),
    // In tests of the scheduler alone: records of the lab.
    ("serde_json", &["warpweave-fusion", "warpweave-runtime", "warpweave-tests"]),
    // The identity of the program that a record of the lab is of.
    ("sha2", &["warpweave-measure"]),
    ("syn", &["warpweave-tests"]),
    ("terminal_size", &["warpweave-cli"]),
    ("wildmatch", &["warpweave"]),
    ("zip", &["warpweave-measure", "warpweave-runtime"]),
];

fn cargo(arguments: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(program).args(arguments).arg("--offline").current_dir(root()).output();
    let output = output.expect("cargo answers");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes text")
}

/// Per crate of the workspace, what it depends on; whether in tests only.
fn dependencies() -> BTreeMap<String, BTreeSet<(String, bool)>> {
    let metadata: Value = serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"]))
        .expect("cargo describes the workspace");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let packages = metadata["packages"].as_array().expect("the workspace has packages");
    let dependency = |dependency: &Value| {
        (text(&dependency["name"]).expect("a dependency has a name"), dependency["kind"].as_str() == Some("dev"))
    };
    let package = |package: &Value| {
        let own = package["dependencies"].as_array().expect("a package lists dependencies");
        (text(&package["name"]).expect("a package has a name"), own.iter().map(dependency).collect())
    };
    packages.iter().map(package).collect()
}

pub fn arrows() {
    let dependencies = dependencies();
    let crates: BTreeSet<&str> = dependencies.keys().map(String::as_str).collect();
    assert_eq!(crates, ARROWS.iter().map(|(name, ..)| *name).collect());
    for (name, must, may) in ARROWS {
        let own: BTreeSet<&str> =
            dependencies[name].iter().map(|(other, _)| other.as_str()).filter(|other| crates.contains(other)).collect();
        for other in must {
            assert!(own.contains(other), "{name} depends on {other} no longer");
        }
        for other in own {
            assert!(must.contains(&other) || may.contains(&other), "{name} must not depend on {other}");
        }
    }
}

pub fn affinity() {
    let known: BTreeMap<&str, &[&str]> = HOMES.into_iter().collect();
    let mut strays = Vec::new();
    for (name, own) in dependencies() {
        for (package, only_tests) in own {
            let common = VOCABULARY.contains(&package.as_str());
            let internal = ARROWS.iter().any(|(name, ..)| *name == package);
            let at_home = known.get(package.as_str()).is_some_and(|affinity| affinity.contains(&name.as_str()));
            if !(common || internal || at_home) {
                strays.push(format!("{name} uses {package}{}", if only_tests { " in tests" } else { "" }));
            }
        }
    }
    assert!(strays.is_empty(), "{strays:#?}");
}

pub fn library() {
    let tree = cargo(&["tree", "-p", "warpweave", "-e", "normal", "--prefix", "none"]);
    let reaches = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(reaches("warpweave-runtime"), "{tree}");
    for program in ["clap", "indicatif", "mimalloc", "warpweave-measure"] {
        assert!(!reaches(program), "{program}: {tree}");
    }
}

pub fn deployment() {
    let arguments = ["tree", "-p", "warpweave-runtime", "--no-default-features", "-e", "normal", "--prefix", "none"];
    let tree = cargo(&arguments);
    let reaches = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(reaches("warpweave-plan"), "{tree}");
    for compiler in ["warpweave-codegen", "warpweave-frontend", "warpweave-fusion"] {
        assert!(!reaches(compiler), "{compiler}: {tree}");
    }
}

/// Every suite of the Makefile selects the same packages, whose features and so whose artifacts are then the same.
pub fn selections() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("the Makefile is readable");
    let tests: Vec<&str> = makefile.lines().filter(|line| line.contains("$(CARGO) test")).collect();
    let others: Vec<&&str> = tests.iter().filter(|line| !line.contains("$(TESTED)")).collect();
    assert!(!tests.is_empty() && others.is_empty(), "these build the libraries with other features: {others:#?}");
}
