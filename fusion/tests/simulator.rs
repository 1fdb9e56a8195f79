//! The simulator against what was measured on an H200.

#[path = "simulator/products.rs"]
mod products;
#[path = "simulator/recurrent.rs"]
mod recurrent;
#[path = "simulator/sketch.rs"]
mod sketch;

use sketch::Sketch;
use warpweave_fusion::schedule::SyncCosts;
use warpweave_fusion::schedule::simulate::{Launch, kernel_sequence};

/// How far a prediction may be from a measurement.
const TOLERANCE: f64 = 0.15;

#[track_caller]
fn check(what: &str, predicted: f64, measured: f64) {
    let error = predicted / measured - 1.0;
    assert!(error.abs() <= TOLERANCE, "{what}: {predicted:.3} predicted, {measured:.3} measured, {error:+.3}");
}

#[test]
fn barriers_take_what_was_measured() {
    // Of all units, with blocks of 128, 256, 512 and 1,024 threads.
    let all = [0.936, 0.938, 0.947, 0.972].map(|measured| (132, measured));
    for (units, measured) in [(8, 0.607), (32, 0.878), (64, 0.895)].into_iter().chain(all) {
        let mut sketch = Sketch::new(units);
        (0..20).for_each(|_| sketch.meet(0..units));
        check(&format!("barrier of {units}"), sketch.microseconds(&[]) / 20.0, measured);
    }
}

#[test]
fn signals_take_what_was_measured() {
    let mut once = Sketch::new(2);
    let counter = once.counter();
    once.signal(0, counter);
    once.wait(1, counter);
    check("one way", once.microseconds(&[]), 0.586);

    let hops = 131;
    let mut chain = Sketch::new(hops + 1);
    for hop in 0..hops {
        let counter = chain.counter();
        chain.signal(hop, counter);
        chain.wait(hop + 1, counter);
    }
    check("a signal of a chain", chain.microseconds(&[]) / hops as f64, 0.553);
}

#[test]
fn launches_take_what_was_measured() {
    let costs = SyncCosts::h200();
    let empty = |count| std::iter::repeat_n(0.0, count);
    check("stream", kernel_sequence(empty(1000), Launch::Stream, &costs) / 1000.0, 3.629);
    check("graph of one", kernel_sequence(empty(1), Launch::Graph, &costs), 1.406);
    let node = kernel_sequence(empty(1000), Launch::Graph, &costs) / 1000.0;
    check("node", node, 0.545);
    check("node that is launched early", node, 0.508);
}

/// A chain of convolutions, each over 8 tiles whose reduction 16 units share: load 0.2 and multiply 1.4, wait for the
/// tile's partial sums, add them up 1.0, wait for all tiles.
#[test]
fn the_convolutions_with_shared_reductions() {
    const CHAIN: usize = 16;
    let mut sketch = Sketch::new(128);
    for _ in 0..CHAIN {
        (0..128).for_each(|unit| sketch.run(unit, 0));
        (0..8).for_each(|tile| sketch.meet(tile * 16..(tile + 1) * 16));
        (0..128).for_each(|unit| sketch.run(unit, 1));
        sketch.meet(0..128);
    }
    check("a convolution", sketch.microseconds(&[0.2 + 1.4, 1.0]) / CHAIN as f64, 5.4);
}
