//! What `explain --plan` says of the code of a plan.

use std::fmt::Write;

use warpweave::explain::code_fetches::CODE_CACHE_BYTES;
use warpweave::explain::plan_code::PlanCode;
use warpweave::runtime::json::{Value, json};

use super::explain_machine_code::{fetched, fetched_value};

/// The code as lines of the plan's figures.
pub fn text(code: &PlanCode) -> String {
    let PlanCode { kernels, switches, text } = code;
    let mut lines = format!("  kernel bodies        {kernels}; the busiest unit switches them {switches} times\n");
    let Some(text) = text else {
        lines += "  code                 not compiled: --machine-code has its bytes and what that unit fetches of it\n";
        return lines;
    };
    let _ = writeln!(lines, "  code                 {}", fetched(&text.fetches));
    for (kernel, bytes) in &text.bytes {
        let _ = writeln!(lines, "    k{kernel}: {bytes} bytes");
    }
    lines
}

/// The code as JSON. What only machine code tells is null without it.
pub fn value(code: &PlanCode) -> Value {
    let mut value = match &code.text {
        Some(text) => fetched_value(&text.fetches),
        None => json!({
            "text_bytes": Value::Null, "cache_bytes": CODE_CACHE_BYTES, "kernel_switches": code.switches,
            "kernel_fetches": Value::Null, "fetched_bytes": Value::Null
        }),
    };
    let bytes = code.text.iter().flat_map(|text| &text.bytes);
    let kernels = bytes.map(|(kernel, bytes)| json!({ "kernel": format!("k{kernel}"), "text_bytes": bytes }));
    value["kernel_bodies"] = json!(code.kernels);
    value["kernels"] = json!(kernels.collect::<Vec<Value>>());
    value
}
