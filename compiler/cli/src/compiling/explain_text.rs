//! What `explain` says, as text and as JSON.

use std::fmt::Write;

use warpweave::Build;
use warpweave::explain::folding::kinds;
use warpweave::explain::{Comparison, CriticalOperator, ExplainedPlan, WayFigures, Win};
use warpweave::fusion::schedule::choice::lower_bounds::LowerBounds;
use warpweave::graph::legible::{counted, legible};
use warpweave::graph::program::Names;
use warpweave::plan::kernel::Kernel;
use warpweave::plan::plan::backend::PlanBackend;
use warpweave::plan::plan::{EdgeKind, ROperator};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::DEFAULT_KERNEL_TARGET;

use crate::output::Output;
use crate::terminal::{cut, cut_before, wrapped};

/// How much of a result is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Where most of the time goes, in lines of at most so many columns.
    Summary { columns: usize },
    /// Everything, in lines of any length.
    Everything,
}

/// Columns of a summary's first line beside the model's name.
const BESIDE_NAME: usize = 60;

impl Listing {
    /// A model's name in the first line.
    pub fn name(self, name: &str) -> String {
        match self {
            Self::Everything => legible(name).into_owned(),
            Self::Summary { columns } => cut(&legible(name), columns.saturating_sub(BESIDE_NAME)),
        }
    }
}

/// Kinds of rOperators of the critical path that a summary lists.
const LISTED: usize = 8;

/// Prints what is explained, and whose constants it follows from.
pub fn explained_by(build: &Build, mut value: Value, mut text: String, output: &Output) {
    let priced_for = build.prices(DEFAULT_KERNEL_TARGET).priced_for();
    let _ = writeln!(text, "  priced for           {priced_for}");
    value["priced_for"] = priced_for.into();
    output.result("explain", &value, &text);
}

/// A plan as text.
pub fn plan(name: &str, explained: &ExplainedPlan, names: &Names, listing: Listing) -> String {
    let (plan, evidence) = (explained.plan.plan(), explained.plan.evidence());
    let operators = plan.operators();
    let simulation = &explained.simulation;
    let shares = explained.shares();
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (mut text, name) = (String::new(), listing.name(name));
    let (units, sync) = (counted(plan.units(), "unit"), explained.sync.name());
    let _ = match plan.backend() {
        PlanBackend::Persistent => writeln!(text, "{name} on {units}, waits by {sync}"),
        PlanBackend::CudaGraph => writeln!(text, "{name} on {units}, {} of a graph", counted(plan.launches(), "node")),
        PlanBackend::Mixed => {
            let segments = counted(plan.segments.len(), "segment");
            writeln!(text, "{name} on {units}, {segments}, {}", counted(plan.launches(), "launch"))
        }
    };
    let columns = if let Listing::Summary { columns } = listing { columns } else { usize::MAX };
    text += &wrapped("  back end             ", &format!("{}, {}", plan.backend(), explained.reason), columns);
    for (number, segment) in plan.segments.iter().enumerate().filter(|_| plan.segments.len() > 1) {
        let counts = (segment.operators().len(), segment.tasks());
        let _ = writeln!(
            text,
            "  segment {number:<12} {}, {}, {}",
            segment.backend(),
            counted(counts.0, "rOperator"),
            counted(counts.1, "rTask")
        );
    }
    let _ = writeln!(text, "  scheduled in         {:.3} s", explained.seconds);
    let _ = writeln!(text, "  rOperators, rTasks   {}, {}", operators.len(), evidence.tasks);
    let _ =
        writeln!(text, "  waits                {} of {} needed, all proved to end", evidence.waits, explained.needs);
    let _ = writeln!(text, "  counters             {}", plan.arrivals().len());
    let _ = writeln!(text, "  prefetches           {} rTasks load constants before they wait", plan.prefetches());
    let tagged_values = plan.memory.tensors.values().filter(|tensor| tensor.edge == EdgeKind::Tagged).count();
    if tagged_values > 0 {
        let polls = evidence.polls;
        let _ = writeln!(text, "  tagged values        {tagged_values} tensors, {polls} polls proved to end");
    }
    let _ = writeln!(text, "  proved               {} reads follow their writes", evidence.ordered_reads);
    let _ = writeln!(
        text,
        "  arena                {} bytes, {} in use at once",
        plan.memory.arena_bytes, explained.arena_bound_bytes
    );
    let _ = writeln!(text, "  makespan             {:.1} us predicted, launch left out", simulation.makespan);
    let _ = writeln!(
        text,
        "  units run            {}, wait {}, signal {}",
        percent(shares.running),
        percent(shares.waiting),
        percent(shares.signalling)
    );
    let utilisation = simulation.utilisation();
    let busiest = utilisation.iter().copied().fold(0.0, f64::max);
    let idlest = utilisation.iter().copied().fold(1.0, f64::min).abs();
    let _ = writeln!(text, "  busiest, idlest unit {}, {}", percent(busiest), percent(idlest));
    let _ =
        writeln!(text, "  critical path        {}; most of its time in", counted(simulation.critical_steps(), "rTask"));
    match listing {
        Listing::Everything => {
            for part in explained.critical_operators() {
                let ROperator { kernel, origins, .. } = &operators[part.operator];
                let labelled = names.labelled(part.operator, origins);
                let _ = writeln!(
                    text,
                    "    {labelled}: {}, {:.1} us, {kernel}",
                    counted(part.steps, "rTask"),
                    part.microseconds
                );
            }
        }
        Listing::Summary { columns } => critical(&mut text, explained, names, columns),
    }
    text
}

/// The kinds of rOperators of which most of the critical path consists.
fn critical(text: &mut String, explained: &ExplainedPlan, names: &Names, columns: usize) {
    let operators = explained.plan.plan().operators();
    let mut parts = explained.critical_operators();
    parts.sort_by_key(|part| part.operator);
    let key = |part: &CriticalOperator| {
        let ROperator { kernel, origins, .. } = &operators[part.operator];
        let known = origins.iter().filter_map(|&origin| names.origins.get(origin));
        (kernel.to_string(), known.map(|origin| (origin.phase, origin.operator.clone())).collect::<Vec<_>>())
    };
    let time = |kind: &[usize]| kind.iter().map(|&part| parts[part].microseconds).sum::<f64>();
    let mut kinds = kinds(parts.iter().map(key));
    kinds.sort_by(|a, b| time(b).total_cmp(&time(a)));
    for kind in kinds.iter().take(LISTED) {
        let ROperator { kernel, origins, .. } = &operators[parts[kind[0]].operator];
        let steps: usize = kind.iter().map(|&part| parts[part].steps).sum();
        let count = if kind.len() > 1 { format!(", × {}", kind.len()) } else { String::new() };
        let head = format!("  {:>8.1} us  {steps:>5} rTasks  {}{count}  ", time(kind), parts[kind[0]].operator);
        let room = columns.saturating_sub(head.chars().count());
        let _ = writeln!(text, "{head}{}", names.label_within(origins, room));
        let _ = writeln!(text, "             {}", shortened(kernel, columns.saturating_sub(13)));
    }
    if kinds.len() > LISTED || kinds.iter().any(|kind| kind.len() > 1) {
        text.push_str("  --all lists every rOperator of the critical path\n");
    }
}

/// The parameters of a kernel in at most so many columns, with the tile.
pub fn shortened(kernel: &Kernel, columns: usize) -> String {
    let text = kernel.to_string();
    let tile = text.rfind(" tile ").map_or("", |place| &text[place..]);
    cut_before(tile, &text, columns)
}

/// A plan as JSON.
pub fn plan_value(name: &str, explained: &ExplainedPlan, names: &Names) -> Value {
    let (plan, evidence) = (explained.plan.plan(), explained.plan.evidence());
    let operators = plan.operators();
    let shares = explained.shares();
    let critical: Vec<Value> = explained
        .critical_operators()
        .iter()
        .map(|part| {
            let nodes = names.label(&operators[part.operator].origins);
            let operator = part.operator.to_string();
            json!({"operator": operator, "nodes": nodes, "steps": part.steps, "microseconds": part.microseconds})
        })
        .collect();
    let path: Vec<String> = explained
        .simulation
        .critical_path()
        .into_iter()
        .rev()
        .map(|(unit, position)| format!("vEU {unit}: {}", explained.simulation.units[unit][position].instruction))
        .collect();
    json!({
        "model": name, "units": plan.units(), "backend": plan.backend().to_string(),
        "segments": plan.segments.iter().map(|segment| segment.backend().to_string()).collect::<Vec<String>>(),
        "backend_reason": explained.reason.to_string(), "sync": explained.sync.name(),
        "scheduling_seconds": explained.seconds, "operators": plan.operators().len(),
        "tasks": evidence.tasks, "waits": evidence.waits, "polls": evidence.polls, "needs": explained.needs,
        "counters": plan.arrivals().len(), "prefetches": plan.prefetches(),
        "ordered_reads": evidence.ordered_reads,
        "arena_bytes": plan.memory.arena_bytes, "arena_bound_bytes": explained.arena_bound_bytes,
        "predicted_makespan_microseconds": explained.simulation.makespan,
        "running": shares.running, "waiting": shares.waiting, "signalling": shares.signalling,
        "utilisation": explained.simulation.utilisation(),
        "critical_steps": explained.simulation.critical_steps(), "critical_operators": critical,
        "critical_path": path
    })
}

/// The heading of [`comparison`].
const COMPARED: [&str; 7] = [
    "Model",
    "Waits by",
    "Steps on the critical path",
    "Waits",
    "Units run",
    "Makespan, µs predicted",
    "Arena / bound",
];

/// A comparison as text: a Markdown table and an empty line.
pub fn comparison(name: &str, comparison: &Comparison) -> String {
    let mut text = format!("| {} |\n|{}\n", COMPARED.join(" | "), "---|".repeat(COMPARED.len()));
    let LowerBounds { critical_path, with_exchanges, work, one_by_one } = comparison.limits;
    let _ = writeln!(text, "| {name} | kernel an operator, each its best | | | | {one_by_one:.1} | |");
    let _ = writeln!(
        text,
        "| | *path {critical_path:.1}, with exchanges {with_exchanges:.1}; work over units {work:.1}* | | | | ≥ {:.1} | |",
        comparison.limits.bound()
    );
    for figures in &comparison.ways {
        let WayFigures { way, critical_steps, waits, utilisation, makespan, range, .. } = figures;
        let arena = figures.arena_bytes as f64 / figures.arena_bound_bytes.max(1) as f64;
        let _ = writeln!(
            text,
            "| | {} | {critical_steps} | {waits} | {:.0} % | {makespan:.1} ({:.1} … {:.1}) | {arena:.2} |",
            way.name(),
            utilisation * 100.0,
            range.0,
            range.1
        );
    }
    let all = comparison.ways.last().map_or(0.0, |figures| figures.makespan);
    let gains = [
        ("tile over barrier", win(comparison.tile_over_barrier)),
        ("tile over operator", win(comparison.tile_over_operator)),
        ("prefetch over tile", win(comparison.prefetch_over_tile)),
        ("residency over prefetch", win(comparison.residency_over_prefetch)),
        ("all over barrier with all", win(comparison.all_over_barrier)),
        ("all over kernels that are fastest alone", ratio(comparison.fastest_alone, all)),
        ("all over a kernel an operator", ratio(one_by_one, all)),
    ];
    for (name, gain) in gains {
        let _ = writeln!(text, "| | *{name}* | | | | {gain} | |");
    }
    text.push('\n');
    text
}

/// How many times as long one takes as another; nothing of what takes no time.
fn ratio(longer: f64, shorter: f64) -> String {
    if shorter > 0.0 { format!("{:.2}×", longer / shorter) } else { "–".to_owned() }
}

fn win(win: Win) -> String {
    match win {
        Win::Faster(least, most) => format!("{least:.2} … {most:.2}×"),
        Win::Slower(least, most) => format!("slower, {least:.2} … {most:.2}×"),
        Win::Equal => "equal".to_owned(),
        Win::Undetermined(least, most) => format!("*undetermined*, {least:.2} … {most:.2}×"),
    }
}

/// A comparison as JSON.
pub fn comparison_value(name: &str, comparison: &Comparison) -> Value {
    let way = |figures: &WayFigures| {
        json!({
            "way": figures.way.name(), "critical_steps": figures.critical_steps, "waits": figures.waits,
            "prefetches": figures.prefetches,
            "utilisation": figures.utilisation, "predicted_makespan_microseconds": figures.makespan,
            "least": figures.range.0, "most": figures.range.1, "arena_bytes": figures.arena_bytes,
            "arena_bound_bytes": figures.arena_bound_bytes, "scheduling_seconds": figures.seconds
        })
    };
    json!({
        "model": name, "ways": comparison.ways.iter().map(way).collect::<Vec<_>>(),
        "kernel_per_operator_microseconds": comparison.limits.one_by_one,
        "fastest_alone_microseconds": comparison.fastest_alone,
        "critical_path_microseconds": comparison.limits.critical_path,
        "critical_path_with_exchanges_microseconds": comparison.limits.with_exchanges,
        "work_over_units_microseconds": comparison.limits.work,
        "tile_over_barrier": win(comparison.tile_over_barrier),
        "tile_over_operator": win(comparison.tile_over_operator),
        "prefetch_over_tile": win(comparison.prefetch_over_tile),
        "residency_over_prefetch": win(comparison.residency_over_prefetch),
        "all_over_barrier": win(comparison.all_over_barrier)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_leaves_room_in_its_line() {
        let name = "x".repeat(300);
        assert_eq!(Listing::Summary { columns: 100 }.name(&name).chars().count(), 100 - BESIDE_NAME);
        assert_eq!(Listing::Summary { columns: 100 }.name("lstm"), "lstm");
    }
}
