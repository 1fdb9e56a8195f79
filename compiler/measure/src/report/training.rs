//! A training step by phase, and what its memory holds.

use crate::bench::{BenchResult, Known, StepProfile, TrainingStep};
use warpweave::training::MemoryClass;

use super::chart::{Chart, Table, WIDTH, cells};
use warpweave::svg::scale::{short, time};
use warpweave::svg::{Anchor, Class, Drawing, fitted};

const ROW: f64 = 32.0;
/// Room for the figure at the right end of a row.
const VALUE_WIDTH: f64 = 90.0;

/// A bar: its name, its part of the longest, and its figure.
struct Bar {
    name: String,
    part: f64,
    value: String,
}

/// The busy time of each phase, run by run; `None` for inference.
pub fn phases(result: &BenchResult) -> Option<Chart> {
    let step = result.training.as_ref().filter(|step| !step.profiles.is_empty())?;
    let (mut bars, mut rows) = (Vec::new(), Vec::new());
    for profile in &step.profiles {
        for phase in &profile.phases {
            let name = format!("{}: {}", of(profile), phase.phase.name());
            let (busy, critical) = (percent(phase.busy_share), percent(phase.critical_share));
            bars.push(Bar { name, part: phase.busy_share, value: busy.clone() });
            let utilisation = percent(profile.utilisation);
            rows.push(cells![of(profile), phase.phase.name(), time(phase.busy_seconds), busy, critical, utilisation]);
        }
    }
    let headings = cells!["run", "phase", "busy", "share", "of the critical path", "units busy"];
    let note = format!(
        "Shares of the time in which units run rTasks; {} samples a second, {} and {}",
        short(step.samples_per_second),
        step.loss,
        step.optimizer
    );
    Some(draw("Phases of the training step", note, &bars, Table { headings, rows }))
}

/// What the memory of each run's plan holds; `None` for inference.
pub fn memory(result: &BenchResult) -> Option<Chart> {
    let step = result.training.as_ref().filter(|step| !step.profiles.is_empty())?;
    let largest = largest(step);
    let (mut bars, mut rows) = (Vec::new(), Vec::new());
    for profile in &step.profiles {
        for class in MemoryClass::ALL {
            let bytes = profile.memory.bytes(class);
            let value = format!("{}B", short(bytes as f64));
            let name = format!("{}: {}", profile.target, class.name());
            bars.push(Bar { name, part: bytes as f64 / largest, value });
            rows.push(cells![profile.target, class.name(), bytes]);
        }
    }
    let headings = cells!["target", "class", "bytes"];
    let note = "The arena and the constants of the plan; bytes that several classes use in turn count once".to_owned();
    Some(draw("Memory of the training step", note, &bars, Table { headings, rows }))
}

fn largest(step: &TrainingStep) -> f64 {
    let bytes = step.profiles.iter().flat_map(|profile| MemoryClass::ALL.map(|class| profile.memory.bytes(class)));
    bytes.max().unwrap_or(0).max(1) as f64
}

fn of(profile: &StepProfile) -> String {
    match profile.known {
        Known::Recorded => format!("{} recorded", profile.target),
        Known::Predicted => format!("{} predicted", profile.target),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 1e2)
}

fn draw(title: &str, note: String, bars: &[Bar], table: Table) -> Chart {
    let mut drawing = Drawing::new(WIDTH, bars.len() as f64 * ROW);
    for (position, Bar { name, part, value }) in bars.iter().enumerate() {
        let top = position as f64 * ROW;
        drawing.text(Class::Label, Anchor::Start, (0.0, top + 11.0), &fitted(name, WIDTH - VALUE_WIDTH));
        drawing.text(Class::Value, Anchor::End, (WIDTH, top + 11.0), &fitted(value, VALUE_WIDTH));
        drawing.line(Class::Grid, (0.0, top + 21.0), (WIDTH, top + 21.0));
        drawing.rectangle(Class::Bar, (0.0, top + 16.0), (part * WIDTH, top + 26.0), &format!("{name}: {value}"));
    }
    Chart { title: title.to_owned(), note, drawing, legend: Vec::new(), table }
}
