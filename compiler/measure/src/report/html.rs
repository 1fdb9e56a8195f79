//! The page around the charts.

use std::fmt::Write;

use crate::bench::BenchResult;

use super::Section;
use super::chart::{Chart, Table};
use super::speed_up::left_out;
use warpweave::svg::scale::{digits, short, time};
use warpweave::svg::{Class, escape};

const STYLE: &str = "
:root { color-scheme: light dark; --page: #fcfcfb; --card: #ffffff; --ink: #14181f; --soft: #5a6372; --line: #dde1e7;
  --own: #1f6fc4; --worse: #b8541a; --peer: #b8541a; --rest: #9aa4b2; --mark: #6b4fb3; --warn: #8a5300; }
@media (prefers-color-scheme: dark) {
  :root { --page: #12151a; --card: #1a1e25; --ink: #e9edf3; --soft: #a3adbb; --line: #323945;
    --own: #5aa5ef; --worse: #e88b4d; --peer: #e88b4d; --rest: #6d7786; --mark: #ab92f0; --warn: #f0b45c; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 20px 14px 40px; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif; }
main { max-width: 1240px; margin: 0 auto; }
h1 { font-size: 22px; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 28px 0 10px; overflow-wrap: anywhere; }
p { margin: 0 0 12px; color: var(--soft); }
.warning { color: var(--warn); margin: 0 0 6px; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); gap: 14px;
  align-items: start; }
.pairs { grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); max-width: 1000px; }
figure { margin: 0; padding: 12px 14px; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  min-width: 0; }
figcaption { font-weight: 600; overflow-wrap: anywhere; margin-bottom: 8px; }
.note { font-size: 13px; color: var(--soft); margin: 6px 0; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; margin: 6px 0; list-style: none; font-size: 13px; }
.legend svg { width: 12px; height: 12px; margin-right: 6px; }
.legend span { color: var(--soft); }
svg { display: block; width: 100%; height: auto; }
.legend svg { display: inline-block; vertical-align: -1px; }
svg text { font: 11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif; fill: var(--soft); }
svg .label, svg .value { fill: var(--ink); }
svg .value { font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.bar, .dot { fill: var(--own); }
.dot { fill-opacity: 0.75; }
.worse { fill: var(--worse); }
.rest { fill: var(--rest); }
.whole { fill: var(--mark); stroke: var(--card); stroke-width: 1.5; }
.peer-dot { fill: var(--peer); }
.line, .peer-line { fill: none; stroke: var(--own); stroke-width: 2; }
.peer-line { stroke: var(--peer); stroke-dasharray: 5 3; }
.mark { fill: none; stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 4 3; }
.scroll { overflow-x: auto; }
details .scroll { max-height: 320px; overflow-y: auto; }
summary { cursor: pointer; color: var(--soft); font-size: 13px; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%; }
th, td { text-align: right; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 600; }
";

/// What says of a page that this program has written it.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"warpweave\">";

/// The whole document.
pub fn document(results: &[BenchResult], sections: &[Section]) -> String {
    let mut html = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let _ = writeln!(html, "{GENERATOR}");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let _ = writeln!(html, "<title>warpweave measurements</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>");
    let _ = writeln!(html, "<h1>Measurements</h1>\n<p>{}</p>", escape(&origin(results)));
    for (result, warning) in results.iter().flat_map(|result| result.warnings.iter().map(move |text| (result, text))) {
        let _ = writeln!(html, "<p class=\"warning\">{}: {}</p>", escape(&super::label(result)), escape(warning));
    }
    for (result, count) in results.iter().map(|result| (result, left_out(result))).filter(|(_, count)| *count > 0) {
        let text =
            format!("{count} peers are left out: not known to be on the same device, at the same precision and batch");
        let _ = writeln!(html, "<p class=\"warning\">{}: {text}</p>", escape(&super::label(result)));
    }
    html.push_str("<div class=\"scroll\">\n");
    table(&mut html, &summary(results));
    html.push_str("</div>\n");
    for section in sections {
        // An even number of charts leaves no gap in two columns.
        let columns = if section.charts.len().is_multiple_of(2) { "charts pairs" } else { "charts" };
        let _ = writeln!(html, "<h2>{}</h2>\n<div class=\"{columns}\">", escape(&section.heading));
        section.charts.iter().for_each(|chart| figure(&mut html, &section.heading, chart));
        html.push_str("</div>\n");
    }
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn origin(results: &[BenchResult]) -> String {
    let mut producers: Vec<&str> = results.iter().map(|result| result.producer.as_str()).collect();
    producers.sort_unstable();
    producers.dedup();
    let mut products: Vec<&str> = results.iter().filter_map(|result| result.product.as_deref()).collect();
    products.sort_unstable();
    products.dedup();
    let mut text = format!("{} measurements by {}", results.len(), producers.join(", "));
    if !products.is_empty() {
        text.push_str(&format!(" on {}", products.join(", ")));
    }
    text
}

fn summary(results: &[BenchResult]) -> Table {
    let headings = [
        "model",
        "device",
        "batch",
        "precision",
        "p50",
        "p99",
        "CV",
        "runs / s",
        "estimated",
        "groups",
        "rTasks",
        "arena",
        "weights",
    ];
    let row = |result: &BenchResult| {
        let none = || "–".to_owned();
        let times = result.device_time.unwrap_or(result.latency);
        let plan = result.plan.as_ref();
        let of_plan = |value: &dyn Fn(&crate::bench::PlanProfile) -> String| plan.map_or_else(none, value);
        vec![
            result.model.name.clone(),
            result.device.clone(),
            result.model.batch.map_or_else(none, |batch| batch.to_string()),
            result.model.precision.map_or_else(none, |precision| precision.to_string()),
            time(times.p50),
            time(times.p99),
            format!("{:.1} %", times.coefficient_of_variation * 1e2),
            digits(result.throughput),
            plan.and_then(|plan| plan.estimated_seconds).map_or_else(none, time),
            of_plan(&|plan| plan.groups.len().to_string()),
            of_plan(&|plan| plan.tasks.to_string()),
            of_plan(&|plan| format!("{}B", short(plan.arena_bytes as f64))),
            of_plan(&|plan| format!("{}B", short(plan.weights_bytes as f64))),
        ]
    };
    Table { headings: headings.map(str::to_owned).to_vec(), rows: results.iter().map(row).collect() }
}

fn figure(html: &mut String, heading: &str, chart: &Chart) {
    let title = escape(&chart.title);
    let _ = writeln!(html, "<figure>\n<figcaption>{title}</figcaption>");
    let (width, height) = chart.drawing.size();
    let _ = writeln!(
        html,
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}, {}\">",
        escape(heading)
    );
    let _ = writeln!(html, "{}</svg>", chart.drawing.body());
    if !chart.legend.is_empty() {
        html.push_str("<ul class=\"legend\">\n");
        for entry in &chart.legend {
            let (class, text) = (entry.class.name().replace(" point", ""), escape(&entry.text));
            let sample = "<svg viewBox=\"0 0 12 12\" aria-hidden=\"true\">";
            let shape = match entry.class {
                Class::Mark => format!("<line class=\"{class}\" x1=\"0\" y1=\"6\" x2=\"12\" y2=\"6\"/>"),
                _ => format!("<circle class=\"{class}\" cx=\"6\" cy=\"6\" r=\"5\"/>"),
            };
            let _ = writeln!(html, "<li>{sample}{shape}</svg><span>{text}</span></li>");
        }
        html.push_str("</ul>\n");
    }
    let _ = writeln!(html, "<div class=\"note\">{}</div>", escape(&chart.note));
    let _ = writeln!(html, "<details>\n<summary>{} values</summary>\n<div class=\"scroll\">", chart.table.rows.len());
    table(html, &chart.table);
    html.push_str("</div>\n</details>\n</figure>\n");
}

fn table(html: &mut String, table: &Table) {
    html.push_str("<table>\n<thead>\n<tr>");
    table.headings.iter().for_each(|heading| _ = write!(html, "<th>{}</th>", escape(heading)));
    html.push_str("</tr>\n</thead>\n<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        row.iter().for_each(|cell| _ = write!(html, "<td>{}</td>", escape(cell)));
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n");
}
