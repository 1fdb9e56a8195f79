//! The device's quotients and square roots are rounded as IEEE 754 wants: their text, compiled for the host. Needs a C++
//! compiler.

use std::path::Path;
use std::process::Command;

#[test]
fn quotients_and_roots_are_rounded_to_nearest() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("division");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-O2", "-ffp-contract=off", "-I"])
        .arg(folder.join("../codegen/src/prelude"))
        .arg(folder.join("tests/division.cpp"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("there is a C++ compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = Command::new(&program).output().expect("the program starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}
