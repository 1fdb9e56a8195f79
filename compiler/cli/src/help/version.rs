//! What `--version` tells: the program, and what it compiles with and for.

use warpweave::runtime::json::{Value, json};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::target::Target;

/// The program's version and its commit, in a line.
pub const LINE: &str = env!("WARPWEAVE_VERSION");

/// All that is told, for people.
pub fn text() -> String {
    let compiler = match Nvrtc::locate() {
        Ok(found) => format!("NVRTC: {}, {}", number(&found), found.path().display()),
        Err(error) => error.to_string(),
    };
    format!("warpweave {LINE}\n{compiler}\ntargets: {}\n", targets().join(", "))
}

/// All that is told, for programs.
pub fn value() -> Value {
    let compiler = Nvrtc::locate().ok();
    json!({
        "passed": true, "version": LINE, "nvrtc": compiler.as_ref().map(number),
        "nvrtc_path": compiler.map(|found| found.path().display().to_string()), "targets": targets()
    })
}

fn number(compiler: &Nvrtc) -> String {
    let (major, minor) = compiler.version();
    format!("{major}.{minor}")
}

/// The names of all targets: the host, and GPUs' architectures, oldest first.
pub fn targets() -> Vec<String> {
    std::iter::once("host".to_owned()).chain(Target::ALL.map(|target| target.to_string())).collect()
}
