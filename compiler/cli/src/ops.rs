//! `warpweave ops`: the operators and what runs them.

use std::fmt::Write;

use clap::Args;
use warpweave::operators::{OperatorSupport, devices, markdown, operators};
use warpweave::runtime::json::{Value, json};

use super::error::{CliError, Passed};
use super::output::Output;

/// Arguments of `ops`.
#[derive(Args)]
pub struct Arguments {
    /// Print docs/operators.md
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let operators = operators();
    let text = if arguments.markdown { markdown(&operators) } else { text(&operators) };
    let value = json!({"operators": operators.iter().map(value).collect::<Vec<_>>()});
    output.result("ops", &value, &text);
    Ok(true)
}

fn value(operator: &OperatorSupport) -> Value {
    let names = |elements: Vec<_>| elements.iter().map(ToString::to_string).collect::<Vec<String>>();
    json!({
        "domain": operator.domain, "name": operator.name, "opsets": [operator.opsets.start(), operator.opsets.end()],
        "reference": names(operator.elements(|support| support.reference)),
        "host": names(operator.elements(|support| support.host)),
        "kernels": names(operator.elements(|support| support.kernels))
    })
}

fn text(operators: &[OperatorSupport]) -> String {
    let mut text = String::new();
    for operator in operators {
        let OperatorSupport { domain, name, opsets, .. } = operator;
        let name = if domain.is_empty() { (*name).to_owned() } else { format!("{domain}.{name}") };
        let [_, host, kernels] = devices(operator);
        let opsets = format!("{}–{}", opsets.start(), opsets.end());
        let _ = writeln!(text, "{name:<24} opset {opsets:<6} host: {host}; kernels: {kernels}");
    }
    let _ = writeln!(
        text,
        "{} operators; float is f16, bf16, f32 and f64, int is i8 to i64 and u8 to u64, float8 is f8e4m3fn, f8e4m3fnuz, f8e5m2 and \
         f8e5m2fnuz",
        operators.len()
    );
    text
}
