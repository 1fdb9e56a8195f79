//! What `explain --machine-code` says: the price of each kernel by the search and by its machine code, and its listing.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpweave::codegen::print::ENTRY_NAME;
use warpweave::explain::code_fetches::{CODE_CACHE_BYTES, CodeFetches};
use warpweave::explain::machine_code::{KernelPrice, PricedCode, price_kernels};
use warpweave::explain::stored_bytes::{FloatBytes, StoredBytes};
use warpweave::graph::TensorProgram;
use warpweave::plan::plan::ROperator;
use warpweave::plan::tables::node_name;
use warpweave::plan::template::text::names;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::operation::Operation;
use warpweave::runtime::sass::price::TaskPrice;
use warpweave::runtime::sass::program::Function;
use warpweave::runtime::sass::simulate::Cause;
use warpweave::runtime::target::Target;
use warpweave::{Build, BuildError, TargetPart, compile};

use super::device_compile::ChildProcess;
use super::explain_text::explained_by;
use crate::error::{CliError, Passed};
use crate::output::Output;

/// What the timing model describes.
pub(super) const TARGET: Target = Target::Sm90a;

/// Operations of a kernel's mix that are listed.
const LISTED: usize = 4;

/// Prices all kernels, or shows the listing of one, `k7`.
pub fn execute(name: &str, build: &Build, kernel: Option<&str>, output: &Output) -> Result<Passed, CliError> {
    let nvrtc = Nvrtc::locate()?;
    let part = compile(build, BundleTarget::Gpu(TARGET), Some(&ChildProcess::new(&nvrtc)), &mut |_| {})?;
    let compiled = part.code.as_ref().ok_or(BuildError::NoCompiler(TARGET))?;
    let priced = price_kernels(&part.plan, compiled, &build.prices(TARGET))?;
    let Some(wanted) = kernel else {
        let program = &build.prepared().program;
        explained_by(build, kernels_value(name, (&part, program), &priced), kernels(name, &part, &priced), output);
        return Ok(true);
    };
    let found = priced.kernels.iter().find(|kernel| format!("k{}", kernel.kernel) == wanted);
    let kernel = found.ok_or_else(|| {
        let names: Vec<String> = priced.kernels.iter().map(|kernel| format!("k{}", kernel.kernel)).collect();
        CliError::Usage(format!("there is no kernel `{wanted}`; the kernels are {}", names.join(", ")))
    })?;
    explained_by(build, kernel_value(&part, &priced, kernel), listing(&part, &priced, kernel), output);
    Ok(true)
}

fn operator(part: &TargetPart, kernel: &KernelPrice) -> ROperator {
    part.plan.plan.plan().operators()[kernel.operator].clone()
}

fn kernels(name: &str, part: &TargetPart, priced: &PricedCode) -> String {
    let mut text = format!("{name} for {TARGET}: microseconds of one rTask, by the search and by its machine code\n");
    let _ = writeln!(
        text,
        "  {:<5} {:<26} {:>6} {:>9} {:>9} {:>6} {:>7} {:>6} {:>6} {:>5} {:>6}  waits for, instructions",
        "", "template", "rTasks", "search", "code", "ratio", "issued", "slots", "FFMA", "regs", "bytes"
    );
    let unknown = priced.kernels.iter().filter(|kernel| kernel.priced_all.is_none()).count();
    for kernel in &priced.kernels {
        let template = operator(part, kernel).kernel.to_string();
        let _ = write!(text, "  k{:<4} {template:<26} {:>6} {:>9.3}", kernel.kernel, kernel.tasks, kernel.searched);
        match (&kernel.price, kernel.priced) {
            (Ok(price), Some(code)) => {
                let _ = writeln!(
                    text,
                    " {code:>9.3} {:>6.2} {:>7} {:>4.0} % {:>4.0} % {:>5} {:>6}  {}, {}",
                    code / kernel.searched,
                    price.issues,
                    100.0 * price.issue_share(&priced.machine),
                    100.0 * price.share(Operation::Ffma),
                    kernel.registers,
                    kernel.text.bytes,
                    price.waits_for().map_or("nothing", Cause::name),
                    mix(price)
                );
            }
            (Err(error), _) => {
                let _ = writeln!(text, "         –      –  {error}");
            }
            (Ok(_), None) => {}
        }
    }
    let _ = writeln!(text, "  all rTasks, one after another");
    for (template, Totals { kernels, searched, priced }) in totals(part, priced) {
        let ratio = priced / searched;
        let _ = writeln!(
            text,
            "  {template:<18} {kernels:>3} kernels {searched:>12.1} by the search {priced:>12.1} by the code, ratio {ratio:.2}"
        );
    }
    if let Some(code) = priced.priced {
        let _ = writeln!(
            text,
            "  the schedule, launch left out: {:.1} by the search, {code:.1} with the prices of the code, ratio {:.2}",
            priced.searched,
            code / priced.searched
        );
    }
    let _ = writeln!(text, "  code: {}", fetched(&priced.fetches));
    for kernel in priced.kernels.iter().filter(|kernel| kernel.local_bytes > 0) {
        let _ = writeln!(text, "  k{} uses {} bytes of local memory a thread: slow", kernel.kernel, kernel.local_bytes);
    }
    if unknown > 0 {
        let _ = writeln!(text, "  {unknown} kernels have no price by their code");
    }
    text
}

/// What the code of all kernels is, and what the busiest unit fetches of it.
pub(super) fn fetched(code: &CodeFetches) -> String {
    let CodeFetches { text_bytes, switches, fetches, fetched_bytes } = code;
    format!(
        "{text_bytes} bytes of all kernels; the busiest unit switches kernels {switches} times, and fetches {fetches} kernels, \
         {fetched_bytes} bytes, if it keeps {CODE_CACHE_BYTES} bytes of whole kernels"
    )
}

/// The same as JSON.
pub(super) fn fetched_value(code: &CodeFetches) -> Value {
    json!({
        "text_bytes": code.text_bytes,
        "cache_bytes": CODE_CACHE_BYTES,
        "kernel_switches": code.switches,
        "kernel_fetches": code.fetches,
        "fetched_bytes": code.fetched_bytes,
    })
}

/// Sums over kernels that have a price by their code, in microseconds.
#[derive(Default)]
struct Totals {
    kernels: usize,
    searched: f64,
    priced: f64,
}

/// The sums by template, and over all.
fn totals(part: &TargetPart, priced: &PricedCode) -> BTreeMap<String, Totals> {
    let mut sums: BTreeMap<String, Totals> = BTreeMap::new();
    for kernel in &priced.kernels {
        let Some(code) = kernel.priced_all else { continue };
        let params = operator(part, kernel).kernel.to_string();
        let name = names().find(|name| params.starts_with(name)).unwrap_or("other");
        for name in [name, "all"] {
            let sum = sums.entry(name.to_owned()).or_default();
            sum.kernels += 1;
            sum.searched += kernel.searched_all;
            sum.priced += code;
        }
    }
    sums
}

fn mix(price: &TaskPrice) -> String {
    let part = |(operation, issues): &(Operation, u64)| {
        format!("{} {:.0} %", operation.name(), 100.0 * *issues as f64 / price.issues.max(1) as f64)
    };
    price.mix.iter().take(LISTED).map(part).collect::<Vec<_>>().join(", ")
}

fn kernels_value(name: &str, (part, program): (&TargetPart, &TensorProgram), priced: &PricedCode) -> Value {
    let operators = part.plan.plan.plan().operators();
    let figures = |kernel: &KernelPrice| {
        let mut value = kernel_figures(part, priced, kernel);
        let nodes = kernel.operators.iter().map(|operator| program.names.label(&operators[*operator].origins));
        value["operator_nodes"] = json!(nodes.collect::<Vec<String>>());
        value
    };
    let kernels: Vec<Value> = priced.kernels.iter().map(figures).collect();
    let templates: Vec<Value> = totals(part, priced)
        .into_iter()
        .map(|(template, sum)| {
            json!({
                "template": template,
                "kernels": sum.kernels,
                "search_microseconds": sum.searched,
                "code_microseconds": sum.priced,
            })
        })
        .collect();
    json!({
        "model": name,
        "target": TARGET.to_string(),
        "search_makespan_microseconds": priced.searched,
        "code_makespan_microseconds": priced.priced,
        "code": fetched_value(&priced.fetches),
        "stored": stored_value(&StoredBytes::of(&part.plan.plan.plan().memory, program.tensors.len())),
        "templates": templates,
        "kernels": kernels,
    })
}

fn stored_value(stored: &StoredBytes) -> Value {
    let value = |bytes: FloatBytes| json!({ "bytes": bytes.all, "half_bytes": bytes.half });
    json!({ "weights": value(stored.weights), "activations": value(stored.activations), "partial_sums": value(stored.partial_sums) })
}

fn kernel_figures(part: &TargetPart, priced: &PricedCode, kernel: &KernelPrice) -> Value {
    let template = operator(part, kernel).kernel.to_string();
    let mut value = json!({
        "kernel": format!("k{}", kernel.kernel),
        "template": template,
        "operator": kernel.operator.to_string(),
        "operators": kernel.operators.len(),
        "operator_names": kernel.operators.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "tasks": kernel.tasks,
        "active_units": kernel.active,
        "search_microseconds": kernel.searched,
        "code_microseconds": kernel.priced,
        "search_microseconds_of_all": kernel.searched_all,
        "code_microseconds_of_all": kernel.priced_all,
        "registers": kernel.registers,
        "own_registers": kernel.own_registers,
        "text_bytes": kernel.text.bytes,
        "matrix_instructions": kernel.text.matrix_products,
        "conversions_in_matrix_loops": kernel.text.conversions_in_products,
        "conversions_in_inner_matrix_loops": kernel.text.conversions_beside_products,
        "multiply_adds": kernel.products.all,
        "tensor_multiply_adds": kernel.products.on_tensor_cores,
        "excepted_multiply_adds": kernel.products.excepted,
        "local_bytes": kernel.local_bytes,
        "dispatch_cycles": kernel.dispatch.map(|dispatch| dispatch.behind_stores),
        "dispatch_cycles_behind_data": kernel.dispatch.map(|dispatch| dispatch.behind_data),
    });
    match &kernel.price {
        Ok(price) => {
            let causes: Vec<Value> = Cause::ALL
                .into_iter()
                .filter(|cause| price.idle.of(*cause) > 0)
                .map(|cause| json!({ "waits_for": cause.name(), "scheduler_cycles": price.idle.of(cause) }))
                .collect();
            let mix: Vec<Value> = price
                .mix
                .iter()
                .map(|(operation, issues)| json!({ "operation": operation.name(), "issues": issues }))
                .collect();
            value["cycles"] = json!(price.cycles);
            value["issues"] = json!(price.issues);
            value["issue_share"] = json!(price.issue_share(&priced.machine));
            value["idle"] = json!(causes);
            value["mix"] = json!(mix);
            value["unknown"] = json!({
                "polls": price.unknowns.polls,
                "jumps": price.unknowns.jumps,
                "guards": price.unknowns.guards,
                "addresses": price.unknowns.addresses,
            });
        }
        Err(error) => value["error"] = json!(error.to_string()),
    }
    value
}

/// The functions that a kernel's rTask runs through.
fn functions<'a>(priced: &'a PricedCode, kernel: &KernelPrice) -> Vec<&'a Function> {
    let node = node_name(kernel.kernel);
    let own = format!("k{}", kernel.kernel);
    let names = [own.as_str(), node.as_str(), ENTRY_NAME];
    let functions = priced.code.functions.iter().filter(|function| names.contains(&function.name.as_str()));
    let mut functions: Vec<&Function> = functions.collect();
    functions.sort_by_key(|function| names.iter().position(|name| *name == function.name));
    functions
}

fn listing(part: &TargetPart, priced: &PricedCode, kernel: &KernelPrice) -> String {
    let price = match &kernel.price {
        Ok(price) => price,
        Err(error) => return format!("k{} has no price: {error}\n", kernel.kernel),
    };
    let template = operator(part, kernel).kernel.to_string();
    let mut text = format!(
        "k{}, {template}: {} cycles, {:.3} microseconds by the search, {:.3} by the code\n",
        kernel.kernel,
        price.cycles,
        kernel.searched,
        kernel.priced.unwrap_or(0.0)
    );
    let _ = writeln!(text, "  cycles of the schedulers: {}", shares(price));
    let stalled: u64 = price.instructions.iter().map(|cost| cost.stalls.total()).sum();
    let _ = writeln!(text, "  {:>7} {:>9} {:>5} {:<10} {:>6}", "issues", "stalls", "", "most for", "passes");
    for function in functions(priced, kernel) {
        let places = function.start..function.end;
        if price.instructions[places.clone()].iter().all(|cost| cost.issues == 0) {
            continue;
        }
        let _ = writeln!(text, "{}:", function.name);
        for place in places {
            let cost = &price.instructions[place];
            if cost.issues == 0 {
                continue;
            }
            let _ = writeln!(
                text,
                "  {:>7} {:>9} {:>3.0} % {:<10} {:>6}  {:05x} {}",
                cost.issues,
                cost.stalls.total(),
                100.0 * cost.stalls.total() as f64 / stalled.max(1) as f64,
                cost.stalls.most().map_or("", Cause::name),
                cost.wavefronts,
                16 * (place - function.start),
                priced.code.code[place].text
            );
        }
    }
    text
}

/// Where the cycles of all schedulers go, most first.
fn shares(price: &TaskPrice) -> String {
    let all = (price.idle.total() + price.issues).max(1) as f64;
    let idle = Cause::ALL.into_iter().map(|cause| (cause.name(), price.idle.of(cause)));
    let mut parts: Vec<(&str, u64)> = idle.chain([("issue", price.issues)]).filter(|(_, cycles)| *cycles > 0).collect();
    parts.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
    let part = |(name, cycles): &(&str, u64)| format!("{name} {:.1} %", 100.0 * *cycles as f64 / all);
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn kernel_value(part: &TargetPart, priced: &PricedCode, kernel: &KernelPrice) -> Value {
    let mut value = kernel_figures(part, priced, kernel);
    let Ok(price) = &kernel.price else { return value };
    let mut instructions = Vec::new();
    for function in functions(priced, kernel) {
        for place in (function.start..function.end).filter(|place| price.instructions[*place].issues > 0) {
            let cost = &price.instructions[place];
            instructions.push(json!({
                "function": function.name,
                "address": 16 * (place - function.start),
                "text": priced.code.code[place].text,
                "issues": cost.issues,
                "stalls": cost.stalls.total(),
                "waits_for": cost.stalls.most().map(Cause::name),
                "passes": cost.wavefronts,
            }));
        }
    }
    value["instructions"] = json!(instructions);
    value
}
