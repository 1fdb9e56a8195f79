//! What `explain` says of a partition, as text and as JSON.

use std::fmt::Write;

use warpweave::explain::folding::{kinds, kinds_of_groups, repeated_groups};
use warpweave::explain::{ExplainedGroup, LevelFigures};
use warpweave::fusion::cost::PricedKernel;
use warpweave::fusion::partition::search::neighbours::Verdict;
use warpweave::fusion::partition::search::{FusionGroup, Partition};
use warpweave::graph::legible::counted;
use warpweave::graph::program::Names;
use warpweave::plan::template::opaque;
use warpweave::runtime::json::{Value, json};

use super::explain_text::{Listing, shortened};

/// Levels side by side, and the groups of one of them: all, or where the time goes.
pub fn partition(
    name: &str,
    levels: &[LevelFigures],
    partition: &Partition,
    names: &Names,
    listing: Listing,
) -> String {
    let microseconds: f64 = partition.groups.iter().map(|group| group.microseconds).sum();
    let (name, count) = (listing.name(name), partition.groups.len());
    let mut text = format!("{name}: {count} groups, {microseconds:.1} us predicted from the cost model\n");
    let _ = writeln!(text, "  level     kernels  activation bytes     weight bytes     estimate  search");
    for figures in levels {
        let _ = writeln!(
            text,
            "  {:<8} {:>8} {:>17} {:>16} {:>9.1} us {:>5.2} s",
            figures.level.to_string(),
            figures.kernels,
            figures.traffic.activations,
            figures.traffic.weights,
            figures.microseconds,
            figures.seconds
        );
    }
    match listing {
        Listing::Everything => {
            for (position, group) in partition.groups.iter().enumerate() {
                let _ = writeln!(text, "  {}", head(position, group, names));
            }
        }
        Listing::Summary { columns } => summary(&mut text, partition, names, columns),
    }
    text
}

/// Kinds of groups that a summary lists.
const KINDS: usize = 10;
/// Repeated blocks that a summary lists.
const BLOCKS: usize = 3;

/// What each template takes, the kinds of groups that take longest, and what is repeated.
fn summary(text: &mut String, partition: &Partition, names: &Names, columns: usize) {
    let groups = &partition.groups;
    let all: f64 = groups.iter().map(|group| group.microseconds).sum();
    let time = |kind: &[usize]| kind.iter().map(|&group| groups[group].microseconds).sum::<f64>();
    let percent = |kind: &[usize]| 100.0 * time(kind) / all.max(f64::MIN_POSITIVE);
    let _ = writeln!(text, "  template            groups       time     share");
    let mut templates = kinds(groups.iter().map(|group| group.kernel.rules().name()));
    templates.sort_by(|a, b| time(b).total_cmp(&time(a)));
    for kind in &templates {
        let (name, count) = (groups[kind[0]].kernel.rules().name(), kind.len());
        let _ = writeln!(text, "  {name:<17} {count:>8} {:>7.1} us {:>7.1} %", time(kind), percent(kind));
    }
    let kinds = kinds_of_groups(partition, names);
    let _ = writeln!(text, "  groups that take longest, equal ones together");
    for kind in kinds.iter().take(KINDS) {
        let group = &groups[kind[0]];
        let count = if kind.len() > 1 { format!(", × {}", kind.len()) } else { String::new() };
        let head = format!("  {:>5.1} % {:>8.1} us  {}{count}  ", percent(kind), time(kind), kind[0]);
        let room = columns.saturating_sub(head.chars().count());
        let _ = writeln!(text, "{head}{}", names.label_within(&group.origins, room));
        let _ = writeln!(text, "          {}", shortened(&group.kernel, columns.saturating_sub(10)));
    }
    let repeated = repeated_groups(partition, names).into_iter().filter(|stretch| stretch.times > 1);
    for stretch in repeated.take(BLOCKS) {
        let (first, last, times) = (stretch.first, stretch.end() - 1, stretch.times);
        let _ = writeln!(
            text,
            "  repeated             groups {first} to {last}: {times} times the same {}",
            stretch.length
        );
    }
    if groups.len() > kinds.iter().take(KINDS).map(Vec::len).sum() {
        text.push_str("  --all lists every group; -o DIR draws them\n");
    }
}

fn head(position: usize, group: &FusionGroup, names: &Names) -> String {
    let labelled = names.labelled(format_args!("group {position}"), &group.origins);
    let (params, microseconds) = (group.kernel.params(), group.microseconds);
    let procedure = group.kernel.body().procedure().map(|procedure| format!(" ({procedure})")).unwrap_or_default();
    let statements = counted(group.statements.len(), "statement");
    format!("{labelled}: {params}{procedure}, {statements}, {microseconds:.2} us")
}

/// One group: what it computes, what limits it, and what else there was.
pub fn group(position: usize, group: &FusionGroup, explained: &ExplainedGroup, names: &Names) -> String {
    let mut text = format!("{}\n{}", head(position, group, names), group.kernel.body());
    let members: Vec<String> = group.statements.iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "  of {}", members.join(" "));
    if let Some(work) = opaque::row_work(group.kernel.body()) {
        let _ = writeln!(text, "  {work}");
    }
    let bound = &explained.bound;
    let _ = writeln!(text, "  bound {:.4} of peak, limited by {}", bound.fraction, bound.limit);
    for PricedKernel { kernel, microseconds } in &explained.runners_up {
        let _ = writeln!(text, "  runner-up {kernel}, {microseconds:.2} us");
    }
    for neighbour in &explained.neighbours {
        let why = match neighbour.verdict {
            Verdict::Cycle => "a path leaves both and comes back".to_owned(),
            Verdict::NoKernel => "no template computes both".to_owned(),
            Verdict::Possible { together, apart } => {
                format!("{together:.2} us together, {apart:.2} us apart")
            }
        };
        let _ = writeln!(text, "  with group {}: {why}", neighbour.group);
    }
    let _ = match explained.timing {
        Some(timing) => {
            writeln!(text, "  measured {:.2} us where {:.2} us was estimated", timing.measured, timing.estimated)
        }
        None => writeln!(
            text,
            "  decided by estimates: constants of the device that are assumed or measured elsewhere, no measurement of this kernel"
        ),
    };
    text
}

/// Levels as JSON.
pub fn partition_value(name: &str, levels: &[LevelFigures], partition: &Partition, names: &Names) -> Value {
    let levels: Vec<Value> = levels
        .iter()
        .map(|figures| {
            json!({
                "level": figures.level.to_string(), "kernels": figures.kernels,
                "activation_bytes": figures.traffic.activations, "weight_bytes": figures.traffic.weights,
                "estimated_microseconds": figures.microseconds, "search_seconds": figures.seconds
            })
        })
        .collect();
    let groups: Vec<Value> = partition.groups.iter().map(|group| group_fields(group, names)).collect();
    json!({"model": name, "levels": levels, "groups": groups})
}

/// One group as JSON.
pub fn group_value(position: usize, group: &FusionGroup, explained: &ExplainedGroup, names: &Names) -> Value {
    let runners_up: Vec<Value> = explained
        .runners_up
        .iter()
        .map(|PricedKernel { kernel, microseconds }| json!({"params": kernel.to_string(), "estimated_microseconds": microseconds}))
        .collect();
    let neighbours: Vec<Value> = explained
        .neighbours
        .iter()
        .map(|neighbour| match neighbour.verdict {
            Verdict::Cycle => json!({"group": neighbour.group, "verdict": "cycle"}),
            Verdict::NoKernel => json!({"group": neighbour.group, "verdict": "no kernel"}),
            Verdict::Possible { together, apart } => json!({
                "group": neighbour.group, "verdict": "possible", "together_microseconds": together,
                "apart_microseconds": apart
            }),
        })
        .collect();
    let bound = &explained.bound;
    let bound = json!({
        "fraction": bound.fraction, "limit": bound.limit.to_string(), "global_memory": bound.global_memory,
        "shared_memory": bound.shared_memory, "work_balance": bound.work_balance
    });
    json!({
        "group": position, "chosen": group_fields(group, names), "bound": bound, "runners_up": runners_up,
        "measured_microseconds": explained.timing.map(|timing| timing.measured), "neighbours": neighbours
    })
}

fn group_fields(group: &FusionGroup, names: &Names) -> Value {
    let members: Vec<String> = group.statements.iter().map(ToString::to_string).collect();
    json!({
        "params": group.kernel.params().to_string(), "statements": members, "nodes": names.label(&group.origins), "estimated_microseconds": group.microseconds
    })
}
