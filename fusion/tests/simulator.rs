//! The simulator against what was measured on an H200.

#[path = "simulator/products.rs"]
mod products;
#[path = "simulator/sketch.rs"]
mod sketch;

use std::collections::BTreeMap;

use sketch::Sketch;
use warpweave_fusion::schedule::plan::OperatorId;
use warpweave_fusion::schedule::simulate::{Launch, kernel_sequence};
use warpweave_fusion::schedule::{Instruction, Polls, RTask, SyncCosts};
use warpweave_graph::arena::Id;

/// How far a prediction may be from a measurement.
const TOLERANCE: f64 = 0.15;

#[track_caller]
fn check(what: &str, predicted: f64, measured: f64) {
    let error = predicted / measured - 1.0;
    assert!(error.abs() <= TOLERANCE, "{what}: {predicted:.3} predicted, {measured:.3} measured, {error:+.3}");
}

#[test]
fn barriers_take_what_was_measured() {
    for (units, measured) in [(8, 0.607), (32, 0.878), (64, 0.895), (132, 0.936)] {
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
    check("node", kernel_sequence(empty(1000), Launch::Graph, &costs) / 1000.0, 0.545);
}

/// Ten layers of 100 steps on 13 units each. What a step computes is taken from the program that exchanges state through
/// sentinels, 1.09 µs a wave, so that the program with counters is predicted.
#[test]
fn the_recurrent_network_with_counters() {
    const LAYERS: usize = 10;
    const STEPS: usize = 100;
    const WIDTH: usize = 13;
    let step = 1.09 - SyncCosts::h200().sentinel.value;
    let mut sketch = Sketch::new(LAYERS * WIDTH);
    let mut done = vec![vec![None; STEPS]; LAYERS];
    for time in 0..STEPS {
        for layer in 0..LAYERS {
            let counter = sketch.counter();
            for unit in layer * WIDTH..(layer + 1) * WIDTH {
                let own = time.checked_sub(1).and_then(|before| done[layer][before]);
                let below = layer.checked_sub(1).and_then(|below| done[below][time]);
                own.into_iter().chain(below).for_each(|counter| sketch.wait(unit, counter));
                sketch.run(unit, 0);
                sketch.signal(unit, counter);
            }
            done[layer][time] = Some(counter);
        }
    }
    check("LSTM with counters", sketch.microseconds(&[step]), 208.0);
}

/// The same network through sentinels, a wave of all layers after another. What a step computes is taken from the
/// program with counters, 1.90 µs a wave, so that the exchange through sentinels is predicted.
#[test]
fn the_recurrent_network_with_sentinels() {
    const LAYERS: usize = 10;
    const STEPS: usize = 100;
    const WIDTH: usize = 13;
    let costs = SyncCosts::h200();
    let step = 1.90 - costs.drain.value - costs.exchange_microseconds(2 * WIDTH);
    let mut sketch = Sketch::new(LAYERS * WIDTH);
    let mut writers = BTreeMap::new();
    let number = |layer: usize, time: usize, unit: usize| RTask {
        operator: OperatorId::from_index(0),
        tile: ((time * LAYERS + layer) * WIDTH + unit) as u32,
    };
    for (time, layer, unit) in
        (0..STEPS).flat_map(|time| (0..LAYERS).flat_map(move |layer| (0..WIDTH).map(move |unit| (time, layer, unit))))
    {
        let own = time.checked_sub(1).map(|before| (layer, before));
        let below = layer.checked_sub(1).map(|below| (below, time));
        let read = own.into_iter().chain(below);
        let polled = read.flat_map(|(layer, time)| (0..WIDTH).map(move |unit| number(layer, time, unit)));
        writers.insert(number(layer, time, unit), polled.collect());
        sketch.segment.streams[layer * WIDTH + unit].push(Instruction::Run(number(layer, time, unit)));
    }
    check("LSTM with sentinels", sketch.polled(&Polls::new(writers), &[step]), 119.0);
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
