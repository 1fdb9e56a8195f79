//! The simulator against what was measured: by the lab, where it has a record in models/lab, else on an H200 by hand.

#[path = "simulator/products.rs"]
mod products;
#[path = "simulator/recorded.rs"]
mod recorded;
#[path = "simulator/recurrent.rs"]
mod recurrent;
#[path = "simulator/sketch.rs"]
mod sketch;

use std::path::{Path, PathBuf};

use recorded::{Edge, EdgeTime, edges};
use sketch::Sketch;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::schedule::simulation::{Launch, kernel_sequence};

/// How far a prediction may be from a measurement.
const TOLERANCE: f64 = 0.15;

#[track_caller]
fn check(what: &str, predicted: f64, measured: f64) {
    let error = predicted / measured - 1.0;
    assert!(error.abs() <= TOLERANCE, "{what}: {predicted:.3} predicted, {measured:.3} measured, {error:+.3}");
}

/// On an H200, where no record of the lab says otherwise. Barriers of all units have blocks of 128, 256, 512 and 1,024 threads.
const MEASURED: [(Edge, Option<usize>, f64); 13] = [
    (Edge::Barrier, Some(8), 0.607),
    (Edge::Barrier, Some(32), 0.878),
    (Edge::Barrier, Some(64), 0.895),
    (Edge::Barrier, Some(132), 0.936),
    (Edge::Barrier, Some(132), 0.938),
    (Edge::Barrier, Some(132), 0.947),
    (Edge::Barrier, Some(132), 0.972),
    (Edge::Signal, None, 0.586),
    (Edge::SignalChain, Some(131), 0.553),
    (Edge::StreamLaunch, None, 3.629),
    (Edge::GraphLaunch, None, 1.406),
    (Edge::GraphNode, None, 0.545),
    (Edge::ProgrammaticNode, None, 0.508),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

#[test]
fn exchanges_and_launches_take_what_was_measured() {
    let recorded = edges(&folder("models/lab"));
    if recorded.is_empty() {
        hold(&MEASURED.map(|(edge, units, microseconds)| row(edge, units, microseconds)), &SyncCosts::h200());
    }
    for record in recorded {
        hold(&record, &SyncCosts::h200().with_edges(&record));
    }
}

fn row(edge: Edge, units: Option<usize>, microseconds: f64) -> EdgeTime {
    EdgeTime { edge, units, microseconds, predicted_microseconds: None }
}

/// Holds the simulator with these costs against measured edges, as far as it knows them.
fn hold(rows: &[EdgeTime], costs: &SyncCosts) {
    for row in rows {
        if let Some(predicted) = predicted(*row, costs) {
            check(&format!("{row:?}"), predicted, row.microseconds);
        }
    }
}

/// The costs of a record take the place of those in the text, whatever they are.
#[test]
fn a_record_gives_the_costs() {
    let times = [
        (Edge::Signal, Some(2), 0.9),
        (Edge::SignalChain, Some(99), 0.91),
        (Edge::Barrier, Some(8), 1.0),
        (Edge::Barrier, Some(32), 1.4),
        (Edge::Barrier, Some(64), 1.7),
        (Edge::Barrier, Some(100), 2.1),
        (Edge::TaggedValue, Some(2), 0.5),
        (Edge::Drain, Some(100), 0.6),
        (Edge::Release, Some(100), 0.2),
        (Edge::StreamLaunch, None, 6.0),
        (Edge::GraphLaunch, None, 3.0),
        (Edge::GraphNode, None, 1.1),
        (Edge::ProgrammaticNode, None, 1.0),
        (Edge::CooperativeNode, None, 1.3),
        (Edge::EmptyGraph, None, 1.0),
        (Edge::Dispatch, None, 0.4),
    ];
    let rows = times.map(|(edge, units, microseconds)| row(edge, units, microseconds));
    let costs = SyncCosts::h200().with_edges(&rows);
    hold(&rows, &costs);
    assert!(rows.iter().filter(|row| predicted(**row, &costs).is_some()).count() >= 13);
    let differs =
        |row: &EdgeTime| predicted(*row, &SyncCosts::h200()).is_some_and(|other| other < 0.8 * row.microseconds);
    assert!(rows.iter().filter(|row| differs(row)).count() >= 10, "the record says something else than the text");
}

/// Microseconds of an exchange or a launch by the simulator; `None` of what it does not know.
fn predicted(EdgeTime { edge, units, .. }: EdgeTime, costs: &SyncCosts) -> Option<f64> {
    let empty = |count| std::iter::repeat_n(0.0, count);
    Some(match edge {
        Edge::Barrier => {
            let units = units.expect("a barrier has units");
            let mut sketch = Sketch::new(units);
            (0..20).for_each(|_| sketch.meet(0..units));
            sketch.microseconds_with(&[], costs) / 20.0
        }
        Edge::Signal => signals(1, costs),
        Edge::SignalChain => signals(units.expect("a chain has units"), costs),
        Edge::StreamLaunch => kernel_sequence(empty(1000), Launch::Stream, costs) / 1000.0,
        Edge::GraphLaunch => kernel_sequence(empty(1), Launch::Graph, costs),
        Edge::GraphNode | Edge::ProgrammaticNode => kernel_sequence(empty(1000), Launch::Graph, costs) / 1000.0,
        Edge::TaggedValue | Edge::Drain | Edge::Release | Edge::CooperativeNode | Edge::EmptyGraph | Edge::Dispatch => {
            return costs.edge_microseconds(edge, units);
        }
    })
}

/// Microseconds of a signal in a chain of so many.
fn signals(hops: usize, costs: &SyncCosts) -> f64 {
    let mut chain = Sketch::new(hops + 1);
    for hop in 0..hops {
        let counter = chain.counter();
        chain.signal(hop, counter);
        chain.wait(hop + 1, counter);
    }
    chain.microseconds_with(&[], costs) / hops as f64
}

#[test]
fn records_are_read() {
    let read = edges(&folder("tests/lab")).concat();
    assert_eq!(read.len(), 8);
    assert_eq!(
        read[..3],
        [row(Edge::Barrier, Some(8), 0.61), row(Edge::Barrier, Some(132), 0.95), row(Edge::Signal, None, 0.59)]
    );
    hold(&read, &SyncCosts::h200());
    assert!(edges(&folder("absent")).is_empty());
}

/// A chain of convolutions, each over 8 tiles whose reduction 16 units share. A unit loads in 0.2 and multiplies in
/// 1.4, waits for the tile's partial sums, adds them up in 1.0, and waits for all tiles.
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
