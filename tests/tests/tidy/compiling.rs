//! There is one way from a model to a bundle.

use super::rust_files;

/// What makes plans.
const PLANNING: &str = "schedule::choice";

/// Where plans are made: in the way from a model to a bundle, of several plans beside one another, of one kernel, and of programs that
/// measure a device.
const PLANNERS: [&str; 6] = [
    "compiler/measure/src/litmus/mod.rs",
    "compiler/measure/src/microbench/mod.rs",
    "compiler/src/compiler.rs",
    "compiler/src/explain/comparison.rs",
    "compiler/src/explain/mod.rs",
    "compiler/src/kernel_program.rs",
];

/// Each step of the way: a file, and the call that leads to the next.
const STEPS: [(&str, &str); 4] = [
    ("compiler/cli/src/compiling/compile.rs", "write_bundle::<"),
    ("compiler/src/bundles/write_bundle.rs", "compile(build, target, compiler,"),
    ("compiler/src/open.rs", "compile(build, "),
    ("compiler/src/check.rs", "compile(build, "),
];

/// Fails where a plan is made beside the one way, or a step of it calls something else.
pub fn check() {
    let files = rust_files("compiler");
    let plans =
        |text: &str| text.lines().any(|line| line.starts_with("use ") && line.contains(PLANNING) && names_plan(line));
    let planners: Vec<String> =
        files.iter().filter(|(_, text)| plans(text)).map(|(path, _)| path.display().to_string()).collect();
    let is_test = |path: &&String| path.ends_with("tests.rs");
    let mut planners: Vec<&String> = planners.iter().filter(|path| !is_test(path)).collect();
    planners.sort();
    assert_eq!(planners, PLANNERS, "plans are made by `compiler::compile`");
    for (file, call) in STEPS {
        let (_, text) = files.iter().find(|(path, _)| path.ends_with(file)).expect("the file is there");
        assert!(text.contains(call), "{file} calls `{call}…)`");
    }
}

/// Whether an import names the function that plans.
fn names_plan(line: &str) -> bool {
    line.split(|character: char| !character.is_alphanumeric() && character != '_').any(|word| word == "plan")
}
