//! What `explain --machine-code --rejected` says: the prices of kernels that the search did not choose.

use std::fmt::Write;

use warpweave::Build;
use warpweave::explain::rejected::{RejectedKernel, RejectedKernels, rejected};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::nvrtc::Nvrtc;

use super::device_compile::ChildProcess;
use super::explain_machine_code::TARGET;
use super::explain_text::explained_by;
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Draws so many candidates by a seed, and prices them.
pub fn execute(name: &str, build: &Build, drawn: (usize, u64), output: &Output) -> Result<Passed, CliError> {
    let nvrtc = Nvrtc::locate()?;
    let found = rejected(build, (TARGET, &ChildProcess::new(&nvrtc)), drawn)?;
    explained_by(build, value(name, &found), text(name, &found), output);
    Ok(true)
}

fn value(name: &str, found: &RejectedKernels) -> Value {
    let kernel = |kernel: &RejectedKernel| {
        json!({
            "template": kernel.params.to_string(),
            "search_microseconds": kernel.searched,
            "code_microseconds": kernel.priced,
        })
    };
    let kernels: Vec<Value> = found.kernels.iter().map(kernel).collect();
    json!({ "model": name, "target": TARGET.to_string(), "rejected": kernels, "unpriced": found.unpriced })
}

fn text(name: &str, found: &RejectedKernels) -> String {
    let mut text = format!("{name} for {TARGET}: microseconds of one rTask of kernels that the search rejected\n");
    for RejectedKernel { params, searched, priced } in &found.kernels {
        let _ = writeln!(
            text,
            "  {searched:9.3} by the search {priced:9.3} by the code, ratio {:5.2}  {params}",
            priced / searched
        );
    }
    if found.unpriced > 0 {
        let _ = writeln!(text, "  without a price: {}", found.unpriced);
    }
    text
}
