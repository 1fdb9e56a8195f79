//! Counts that estimates take, and prices that follow from what the code does.

#[path = "prices/counted.rs"]
mod counted;
#[path = "prices/dispatch.rs"]
mod dispatch;
#[path = "prices/joined.rs"]
mod joined;
#[path = "prices/named.rs"]
mod named;
#[path = "prices/points.rs"]
mod points;
#[path = "prices/products.rs"]
mod products;
#[path = "prices/rows.rs"]
mod rows;
#[path = "prices/sorts.rs"]
mod sorts;
#[path = "prices/threads.rs"]
mod threads;

use std::sync::Arc;
use warpweave_graph::pipeline::PreparedProgram;

use warpweave_fusion::cost::KernelCost;
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_graph::program::text::parse;
use warpweave_graph::text::Tensors;
use warpweave_graph::views::{inline_views, place_concats};
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::{Kernel, ScheduleParams};

fn estimate() -> EstimatedCost {
    EstimatedCost { arch: GpuArch::h200() }
}

/// The body of the only group of a program.
fn body(program: &str) -> Arc<GroupBody> {
    let program = parse(&format!("program\n{program}"), &Tensors::new()).expect("a program");
    let (program, layouts) = place_concats(&inline_views(&program));
    let prepared = PreparedProgram { program, layouts };
    let mut groups = partition(&prepared, &estimate(), FusionLevel::Register).groups;
    assert_eq!(groups.len(), 1);
    Arc::clone(groups.remove(0).kernel.shared_body())
}

fn params(text: &str) -> ScheduleParams {
    text.parse().expect("parameters")
}

/// The only group of a program under these parameters.
fn kernel(program: &str, under: &str) -> Kernel {
    Kernel::of(body(program), params(under)).expect("the template computes it")
}

/// Cycles of a tile.
fn cycles(program: &str, under: &str) -> f64 {
    let cost = estimate();
    cost.task_microseconds(&kernel(program, under)) * cost.arch.cycles_per_microsecond.value
}
