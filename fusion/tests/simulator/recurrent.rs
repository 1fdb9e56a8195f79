//! A recurrent network, 13 units a layer, a step of a layer after the step before and the layer below. What a step computes
//! is taken from the ten layers' wave under one edge kind, so that the other edge kind, and one layer by itself, are predicted.

use std::collections::BTreeMap;

use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_graph::arena::Id;
use warpweave_plan::plan::OperatorId;
use warpweave_plan::plan::{Instruction, RTask};
use warpweave_plan::streams::polls::Polls;

use super::check;
use super::sketch::Sketch;

const STEPS: usize = 100;
const WIDTH: usize = 13;

/// Microseconds of a wave of ten layers, measured.
const WAVE_TAGGED: f64 = 1.09;
const WAVE_COUNTERS: f64 = 1.90;

/// Microseconds that a step computes, by the wave through tagged values.
fn step_by_tagged_values() -> f64 {
    WAVE_TAGGED - SyncCosts::h200().tagged_value.value
}

/// Microseconds that a step computes, by the wave with counters, at which two layers meet.
fn step_by_counters() -> f64 {
    let costs = SyncCosts::h200();
    WAVE_COUNTERS - costs.drain.value - costs.exchange_microseconds(2 * WIDTH)
}

/// Microseconds with a counter a layer and step.
fn with_counters(layers: usize, step: f64) -> f64 {
    let mut sketch = Sketch::new(layers * WIDTH);
    let mut done = vec![vec![None; STEPS]; layers];
    for (time, layer) in (0..STEPS).flat_map(|time| (0..layers).map(move |layer| (time, layer))) {
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
    sketch.microseconds(&[step])
}

/// Microseconds where states are polled.
fn with_tagged_values(layers: usize, step: f64) -> f64 {
    let mut sketch = Sketch::new(layers * WIDTH);
    let mut writers = BTreeMap::new();
    let number = |layer: usize, time: usize, unit: usize| RTask {
        operator: OperatorId::from_index(0),
        tile: ((time * layers + layer) * WIDTH + unit) as u32,
    };
    for (time, layer) in (0..STEPS).flat_map(|time| (0..layers).map(move |layer| (time, layer))) {
        let own = time.checked_sub(1).map(|before| (layer, before));
        let below = layer.checked_sub(1).map(|below| (below, time));
        for unit in 0..WIDTH {
            let read = own.into_iter().chain(below);
            let polled = read.flat_map(|(layer, time)| (0..WIDTH).map(move |unit| number(layer, time, unit)));
            writers.insert(number(layer, time, unit), polled.collect());
            sketch.segment.streams[layer * WIDTH + unit].push(Instruction::Run(number(layer, time, unit)));
        }
    }
    sketch.polled(&Polls::new(writers), &[step])
}

#[test]
fn ten_layers_under_the_other_edge_kind() {
    check("ten layers with counters", with_counters(10, step_by_tagged_values()), 208.0);
    check("ten layers with tagged", with_tagged_values(10, step_by_counters()), 119.0);
}

#[test]
fn a_step_of_one_layer() {
    let a_step = |time: f64| time / STEPS as f64;
    check("a step with counters", a_step(with_counters(1, step_by_tagged_values())), 1.89);
    check("a step with tagged", a_step(with_tagged_values(1, step_by_tagged_values())), 0.97);
}
