//! Who chooses the constants of a device.

use std::path::Path;

use super::{collect, root};

/// What makes the constants of one device, whatever is used.
const CHOSEN: [&str; 11] = [
    "GpuArch::v100(",
    "GpuArch::rtx_2080(",
    "GpuArch::a100",
    "GpuArch::h100",
    "GpuArch::h200(",
    "SyncCosts::a100(",
    "SyncCosts::h100(",
    "SyncCosts::h200(",
    "MachineModel::h200(",
    "CpuArch::avx2(",
    "GpuProduct::",
];

/// Where constants are at home, and the file that chooses among them.
const HOMES: [&str; 3] = ["fusion/src/cost", "runtime/src/sass/machine.rs", "compiler/src/prices.rs"];

/// Fails where code outside of the selector takes a device's built-in constants.
pub fn check() {
    let mut files = Vec::new();
    collect(&root(), &mut files);
    let (mut complaints, mut chosen) = (Vec::new(), 0);
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let path = path.strip_prefix(root()).expect("files lie in the workspace");
        if is_test(path) {
            continue;
        }
        let text = std::fs::read_to_string(root().join(path)).expect("a readable file");
        let found = found(product(&text));
        if HOMES.iter().any(|home| path.starts_with(home)) {
            chosen += found.len();
            continue;
        }
        complaints
            .extend(found.into_iter().map(|what| format!("{}: {what}…) is no device's that is used", path.display())));
    }
    assert!(chosen >= 8, "the selector takes the constants: {chosen}");
    assert!(complaints.is_empty(), "ask `prices` for constants: {complaints:#?}");
}

/// The rule finds what it is for.
pub fn check_rule() {
    assert_eq!(found("let arch = GpuArch::h200();"), ["GpuArch::h200("]);
    assert_eq!(found("prices::of_target(target).arch"), [] as [&str; 0]);
}

/// The constants of one device that a text takes.
fn found(text: &str) -> Vec<&'static str> {
    CHOSEN.into_iter().filter(|what| text.contains(what)).collect()
}

fn product(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

fn is_test(path: &Path) -> bool {
    let is_folder = path.components().any(|part| ["tests", "benches"].iter().any(|folder| part.as_os_str() == *folder));
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    is_folder || name == "tests.rs" || name.ends_with("_tests.rs")
}
