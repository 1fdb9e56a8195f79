//! Results of measurements as one page that needs nothing else: charts with a table behind each.

mod chart;
mod html;
mod latency;
mod roofline;
mod scale;
mod speed_up;
mod svg;
mod sweep;

use crate::bench::BenchResult;
use chart::Chart;

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// The whole document.
    pub html: String,
    /// Number of its charts; charts without data are left out.
    pub charts: usize,
}

/// The page of these results, in their order.
pub fn page(results: &[BenchResult]) -> Page {
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(speed_up::chart(results));
    for result in results {
        charts.extend(latency::chart(result));
        charts.extend(sweep::chart(result));
        charts.extend(roofline::chart(result));
    }
    Page { html: html::document(results, &charts), charts: charts.len() }
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
