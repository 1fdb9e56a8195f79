//! The rules of the house: who depends on whom, where packages live, and what files may hold.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::Value;
use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("tidy", Duration::from_secs(60));
    suite.trial("crates depend on one another as drawn", arrows);
    suite.trial("external packages have one home", homes);
    suite.trial("a deployment carries no compiler", deployment);
    suite.trial("files are short", || each_source(&|path, text| too_long(path, text)));
    suite.trial("nothing is left open", || each_source(&|path, text| open_ends(path, text)));
    suite.trial("no test is left out", || each_source(&|_, text| ignored_tests(text)));
    suite.trial("no machine is named", || each_text(&|_, text| machine_paths(text)));
    suite.trial("unsafe code stays in the runtime", || each_source(&|path, text| unsafe_code(path, text)));
    suite.run()
}

/// Per crate, the crates that it must and that it may depend on.
const ARROWS: [(&str, &[&str], &[&str]); 10] = [
    ("warpweave-graph", &[], &[]),
    ("warpweave-frontend", &["warpweave-graph"], &[]),
    ("warpweave-plan", &["warpweave-graph"], &[]),
    ("warpweave-fusion", &["warpweave-plan"], &["warpweave-graph"]),
    ("warpweave-codegen", &["warpweave-plan"], &["warpweave-graph"]),
    ("warpweave-runtime", &["warpweave-codegen", "warpweave-plan"], &["warpweave-fusion", "warpweave-graph"]),
    ("warpweave-models", &[], &["warpweave-frontend", "warpweave-graph"]),
    (
        "warpweave",
        &["warpweave-runtime", "warpweave-frontend"],
        &["warpweave-codegen", "warpweave-fusion", "warpweave-graph", "warpweave-models", "warpweave-plan"],
    ),
    (
        "warpweave-tests",
        &["warpweave"],
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
const HOMES: [(&str, &[&str]); 23] = [
    ("blake3", &["warpweave-runtime"]),
    // Views of tensors as slices: where tensors are made, and where the host computes with them.
    ("bytemuck", &["warpweave-graph", "warpweave-runtime"]),
    ("clap", &["warpweave"]),
    ("criterion", &["warpweave-benches"]),
    ("cudarc", &["warpweave-runtime"]),
    ("gemm", &["warpweave-runtime"]),
    ("indicatif", &["warpweave"]),
    ("libloading", &["warpweave-runtime"]),
    // The functions that define the scalar operations: of the reference, of the emulator, and of the host.
    ("libm", &["warpweave-graph", "warpweave-codegen", "warpweave-runtime"]),
    ("libtest-mimic", &["warpweave-tests"]),
    ("memmap2", &["warpweave-runtime"]),
    ("mimalloc", &["warpweave"]),
    ("nix", &["warpweave-runtime"]),
    ("nvml-wrapper", &["warpweave-runtime"]),
    ("postcard", &["warpweave-runtime"]),
    ("proptest", &["warpweave-fusion", "warpweave-tests"]),
    ("prost", &["warpweave-frontend"]),
    ("rayon", &["warpweave-fusion", "warpweave-plan"]),
    ("rlimit", &["warpweave"]),
    ("rustc-hash", &["warpweave-fusion", "warpweave-plan"]),
    ("safetensors", &["warpweave-runtime"]),
    // In tests of the scheduler alone: records of the lab.
    ("serde_json", &["warpweave-fusion", "warpweave-runtime", "warpweave-tests"]),
    ("zip", &["warpweave-runtime"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the workspace").to_owned()
}

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

fn arrows() {
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

fn homes() {
    let known: BTreeMap<&str, &[&str]> = HOMES.into_iter().collect();
    let mut strays = Vec::new();
    for (name, own) in dependencies() {
        for (package, only_tests) in own {
            let common = VOCABULARY.contains(&package.as_str());
            let internal = ARROWS.iter().any(|(name, ..)| *name == package);
            let at_home = known.get(package.as_str()).is_some_and(|homes| homes.contains(&name.as_str()));
            if !(common || internal || at_home) {
                strays.push(format!("{name} uses {package}{}", if only_tests { " in tests" } else { "" }));
            }
        }
    }
    assert!(strays.is_empty(), "{strays:#?}");
}

fn deployment() {
    let arguments = ["tree", "-p", "warpweave-runtime", "--no-default-features", "-e", "normal", "--prefix", "none"];
    let tree = cargo(&arguments);
    let reaches = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(reaches("warpweave-plan"), "{tree}");
    for compiler in ["warpweave-codegen", "warpweave-frontend", "warpweave-fusion"] {
        assert!(!reaches(compiler), "{compiler}: {tree}");
    }
}

/// Fails with every complaint about a source file.
fn each_source(complain: &dyn Fn(&Path, &str) -> Vec<String>) {
    check_files(&["rs", "hpp", "cuh"], complain);
}

/// Fails with every complaint about a text file.
fn each_text(complain: &dyn Fn(&Path, &str) -> Vec<String>) {
    check_files(&["rs", "hpp", "cuh", "toml", "md", "sh", "py", "txt", "yml"], complain);
}

fn check_files(extensions: &[&str], complain: &dyn Fn(&Path, &str) -> Vec<String>) {
    let mut files = Vec::new();
    collect(&root(), &mut files);
    files.retain(|path| path.extension().is_some_and(|end| extensions.iter().any(|known| end == *known)));
    assert!(files.len() > 50, "the workspace has files");
    let mut complaints = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let relative = path.strip_prefix(root()).expect("files lie in the workspace");
        complaints.extend(complain(relative, &text).into_iter().map(|what| format!("{}: {what}", relative.display())));
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        // Hidden folders and build products are not part of the source.
        if name.starts_with('.') || name == "target" || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn is_test(path: &Path) -> bool {
    path.components().any(|component| ["tests", "benches"].iter().any(|folder| component.as_os_str() == *folder))
}

/// The part of a source file that is compiled into the product.
fn product(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

fn too_long(_: &Path, text: &str) -> Vec<String> {
    const LIMIT: usize = 800;
    let lines = text.lines().count();
    (lines > LIMIT).then(|| format!("{lines} lines")).into_iter().collect()
}

fn open_ends(path: &Path, text: &str) -> Vec<String> {
    if is_test(path) {
        return Vec::new();
    }
    let needles = [".unwrap(", "todo!", "unimplemented!", "dbg!"];
    needles.into_iter().flat_map(|needle| lines_with(product(text), needle)).collect()
}

fn ignored_tests(text: &str) -> Vec<String> {
    lines_with(text, concat!("#[", "ignore"))
}

fn machine_paths(text: &str) -> Vec<String> {
    [concat!("/wor", "k/"), concat!("/far", "m/"), concat!("/hom", "e/")]
        .into_iter()
        .flat_map(|needle| lines_with(text, needle))
        .collect()
}

fn unsafe_code(path: &Path, text: &str) -> Vec<String> {
    if path.starts_with("runtime") {
        return Vec::new();
    }
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    // Comments and the insides of literals are no code.
    let code = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.split('"').step_by(2).collect::<Vec<_>>().join(" ")
    };
    let found = text
        .lines()
        .enumerate()
        .filter(|(_, line)| code(line).split(|character| !is_word(character)).any(|word| word == "unsafe"));
    found.map(|(number, line)| format!("line {}: {}", number + 1, line.trim())).collect()
}

fn lines_with(text: &str, needle: &str) -> Vec<String> {
    let found = text.lines().enumerate().filter(|(_, line)| line.contains(needle));
    found.map(|(number, line)| format!("line {}: {}", number + 1, line.trim())).collect()
}
