//! A measurement for people.

use std::fmt::Write;

use super::bench_training;
use warpweave::graph::legible::counted;
use warpweave_measure::bench::{Achieved, Against, BenchResult, Distribution, PeerComparison, PlanProfile, Sweep};

/// The result as text, in lines.
pub fn text(result: &BenchResult) -> String {
    let mut text = String::new();
    let model = &result.model;
    let _ = write!(text, "{} on {}", model.name, result.device);
    if let Some(product) = &result.product {
        let _ = write!(text, " ({product})");
    }
    if let Some(precision) = model.precision {
        let _ = write!(text, ", {precision}");
    }
    if let Some(batch) = model.batch {
        let _ = write!(text, ", batch {batch}");
    }
    let method = &result.method;
    let _ = write!(text, ", {}", counted(method.input_sets, "input set"));
    let _ = writeln!(text, "{}", if method.cold_l2 { ", cold caches" } else { "" });
    let warmup = &result.warmup;
    let settled = if warmup.stable { "settled" } else { "not settled" };
    let _ = writeln!(text, "warm-up: {} in {:.2} s, {settled}", counted(warmup.runs, "run"), warmup.seconds);
    let heading = ["min", "mean", "p50", "p90", "p95", "p99", "max"].map(|name| format!("{name:>10}")).concat();
    let _ = writeln!(text, "{:<14}{heading}{:>8}", "ms", "CV");
    row(&mut text, "latency", Some(&result.latency));
    row(&mut text, "device time", result.device_time.as_ref());
    row(&mut text, "transfers", result.transfers.as_ref());
    let _ = write!(text, "throughput: {:.2} runs a second", result.throughput);
    if let Some(items) = result.items_per_second {
        let _ = write!(text, ", {items:.2} items a second");
    }
    let _ = writeln!(text, "; {} in {:.2} s", counted(result.runs, "run"), result.seconds);
    if let Some(soak) = &result.soak {
        let _ = write!(
            text,
            "soak: {} in {:.2} s, {} with other bits",
            counted(soak.launches, "launch"),
            soak.seconds,
            soak.different
        );
        if let Some(Against { device, excess, .. }) = &soak.against {
            let _ = match excess {
                Some(excess) => write!(text, "; largest difference from {device}: {excess:.3} of what passes"),
                None => write!(text, "; not comparable with {device}"),
            };
        }
        let _ = writeln!(text, "{}", if soak.is_spoiled { ", outputs spoiled before each" } else { "" });
    }
    if let Some(priced_for) = &result.priced_for {
        let _ = writeln!(text, "priced for {priced_for}");
    }
    if let Some(plan) = &result.plan {
        of_plan(&mut text, plan, result.median_seconds());
    }
    if let Some(achieved) = &result.achieved {
        rates(&mut text, achieved);
    }
    if let Some(step) = &result.training {
        bench_training::text(&mut text, step);
    }
    if let Some(clocks) = &result.clocks {
        let _ = write!(text, "clocks: {} MHz, memory {} MHz", clocks.multiprocessor_mhz, clocks.memory_mhz);
        let reasons = clocks.throttle_reasons.join(", ");
        let _ = writeln!(text, "; {}", if reasons.is_empty() { "not held back" } else { reasons.as_str() });
    }
    peers(&mut text, &result.peers, "");
    if let Some(sweep) = &result.sweep {
        of_sweep(&mut text, sweep);
    }
    text
}

fn row(text: &mut String, name: &str, times: Option<&Distribution>) {
    let Some(times) = times else { return };
    let _ = write!(text, "{name:<14}");
    for time in [times.min, times.mean, times.p50, times.p90, times.p95, times.p99, times.max] {
        let _ = write!(text, "{:>10.4}", time * 1e3);
    }
    let _ = writeln!(text, "{:>6.1} %", times.coefficient_of_variation * 1e2);
}

fn of_plan(text: &mut String, plan: &PlanProfile, median: f64) {
    let _ = write!(text, "plan: ");
    if let Some(backend) = plan.backend {
        let _ = write!(text, "{backend}, ");
    }
    let _ = write!(text, "launches {}, groups {}", plan.launches, plan.groups.len());
    let _ = writeln!(text, ", rTasks {} on {} vEUs, waits {}", plan.tasks, plan.units, plan.waits);
    let _ = writeln!(text, "memory: arena {} bytes, weights {} bytes", plan.arena_bytes, plan.weights_bytes);
    if let Some(estimated) = plan.estimated_seconds.filter(|seconds| *seconds > 0.0) {
        let _ = writeln!(
            text,
            "estimated (sum of the groups' costs): {:.4} ms; the measured median is {:.2} times that",
            estimated * 1e3,
            median / estimated
        );
    }
}

fn rates(text: &mut String, achieved: &Achieved) {
    let (operations, bytes) = (achieved.operations_per_second, achieved.bytes_per_second);
    let _ = write!(text, "achieved: {}FLOP/s", scaled(operations));
    if let Some(limits) = achieved.limits {
        let _ = write!(text, " ({:.1} % of fp32)", operations / limits.operations_per_second * 1e2);
    }
    let _ = write!(text, ", {}B/s", scaled(bytes));
    if let Some(limits) = achieved.limits {
        let _ = write!(text, " ({:.1} % of memory)", bytes / limits.bytes_per_second * 1e2);
    }
    text.push('\n');
}

/// A rate with the prefix of its unit.
fn scaled(rate: f64) -> String {
    let (scale, prefix) = match rate {
        _ if rate >= 1e12 => (1e-12, "T"),
        _ if rate >= 1e9 => (1e-9, "G"),
        _ if rate >= 1e6 => (1e-6, "M"),
        _ => (1e-3, "k"),
    };
    format!("{:.2} {prefix}", rate * scale)
}

fn peers(text: &mut String, peers: &[PeerComparison], indent: &str) {
    for peer in peers {
        let _ = write!(text, "{indent}peer {} {}", peer.peer, peer.mode);
        if let (Some(device), Some(precision), Some(batch)) = (&peer.device, peer.precision, peer.batch) {
            let _ = write!(text, " on {device}, {precision}, batch {batch}");
        }
        let _ = writeln!(text, ": {:.4} ms, speed-up {:.2}", peer.median_seconds * 1e3, peer.speed_up);
    }
}

fn of_sweep(text: &mut String, sweep: &Sweep) {
    let _ = writeln!(text, "{:>6}{:>14}{:>16}", "batch", "p50 ms", "items/s");
    for point in &sweep.points {
        let median = point.device_time.unwrap_or(point.latency).p50;
        let _ = writeln!(text, "{:>6}{:>14.4}{:>16.2}", point.batch, median * 1e3, point.items_per_second);
        peers(text, &point.peers, "      ");
    }
    let _ = match sweep.saturation_batch {
        Some(batch) => writeln!(text, "saturated from batch {batch}: the next one gains less than 10 %"),
        None => writeln!(text, "not saturated: every batch gains at least 10 %"),
    };
}
