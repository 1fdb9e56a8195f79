//! Results of measurements as one page that needs nothing else: charts with a table behind each.

mod chart;
mod html;
mod latency;
mod roofline;
mod speed_up;
mod sweep;
mod training;

use crate::bench::BenchResult;
use chart::Chart;

pub use html::GENERATOR;

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The whole document.
    pub html: String,
    /// Number of its charts; charts without data are left out.
    pub charts: usize,
}

/// Charts under a heading.
struct Section {
    heading: String,
    charts: Vec<Chart>,
}

/// The page of these results, in their order.
pub fn page(results: &[BenchResult]) -> Page {
    let overview =
        speed_up::overview(results).map(|chart| Section { heading: "All models".to_owned(), charts: vec![chart] });
    let own = results.iter().map(|result| {
        let charts = [
            latency::chart(result),
            speed_up::chart(result),
            sweep::chart(result),
            roofline::chart(result),
            training::phases(result),
            training::memory(result),
        ];
        Section { heading: label(result), charts: charts.into_iter().flatten().collect() }
    });
    let mut sections: Vec<Section> = overview.into_iter().chain(own).collect();
    sections.retain(|section| !section.charts.is_empty());
    let charts = sections.iter().map(|section| section.charts.len()).sum();
    Page { html: html::document(results, &sections), charts }
}

/// A measurement's short name: model, batch, precision, device.
fn label(result: &BenchResult) -> String {
    let mut label = result.model.name.clone();
    if let Some(batch) = result.model.batch {
        label.push_str(&format!(" b{batch}"));
    }
    if let Some(precision) = result.model.precision {
        label.push_str(&format!(" {precision}"));
    }
    label.push_str(&format!(" {}", result.device));
    label
}
