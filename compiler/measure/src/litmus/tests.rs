//! Every litmus program tries what it is named for, and passes where memory does what is assumed.

use std::time::Duration;

use warpweave_plan::plan::backend::Backend;
use warpweave_plan::plan::{EdgeKind, ExecutionPlan};
use warpweave_runtime::session::{DEFAULT_KERNEL_TARGET, DEFAULT_UNITS, Device};

use super::{Chain, Litmus, Planned, Rounds, run};

#[test]
fn all_that_is_sent_arrives_on_the_emulator() {
    let none = || Err("there is no compiler".to_owned());
    let rounds = Rounds { messages: 1, limit: Duration::from_secs(60) };
    for litmus in Litmus::ALL {
        let outcome =
            run(litmus, Device::Emulator, rounds, &none).unwrap_or_else(|error| panic!("{litmus:?}: {error}"));
        assert!(outcome.passed() && outcome.messages > 0, "{litmus:?}: {outcome:?}");
    }
}

#[test]
fn plans_have_the_edges_that_are_tried() {
    for (chain, units) in [(Chain::SMALL, DEFAULT_UNITS), (Chain::LARGE, 132)] {
        for (litmus, features) in Litmus::ALL.map(|litmus| (litmus, features(litmus, chain, units))) {
            let Features { waits, tags, shared, tags_share, nodes, streams } = features;
            let tagged = matches!(litmus, Litmus::TaggedValues | Litmus::TaggedReusedBytes);
            assert_eq!(tags > 0, tagged, "{litmus:?} of {chain:?}: {tags} tensors are tagged");
            match litmus {
                Litmus::Bands | Litmus::Operators | Litmus::Barriers => assert!(waits > 0 && shared == 0, "{litmus:?}"),
                Litmus::ReusedBytes => assert!(waits > 0 && shared > 0, "{litmus:?}"),
                Litmus::TaggedValues => assert_eq!(tags_share, 0, "{litmus:?}"),
                Litmus::TaggedReusedBytes => assert!(tags_share > 0, "{litmus:?} of {chain:?}"),
                Litmus::ProgrammaticEdges => assert!(nodes > 0 && streams == 0, "{litmus:?}"),
                Litmus::Segments => assert!(nodes > 0 && streams > 0, "{litmus:?}"),
            }
        }
    }
}

/// What a plan uses.
struct Features {
    waits: usize,
    /// Tensors whose values carry their own validity.
    tags: usize,
    /// Pairs of tensors in the arena with bytes in common.
    shared: usize,
    /// Those of a tagged tensor and one that is not.
    tags_share: usize,
    nodes: usize,
    streams: usize,
}

fn features(litmus: Litmus, chain: Chain, units: usize) -> Features {
    let planned = Planned::new(litmus, chain, DEFAULT_KERNEL_TARGET, units);
    let planned = planned.unwrap_or_else(|error| panic!("{litmus:?}: {error}"));
    let plan: &ExecutionPlan = planned.kernels.plan.plan.plan();
    let owners: Vec<_> = plan
        .memory
        .tensors
        .iter()
        .filter(|(id, tensor)| tensor.layout.root == *id)
        .filter_map(|(_, tensor)| Some((tensor.edge, tensor.buffer?)))
        .filter(|(_, buffer)| buffer.space == warpweave_plan::plan::BufferSpace::Arena)
        .collect();
    let (mut shared, mut tags_share) = (0, 0);
    for (at, (edge, buffer)) in owners.iter().enumerate() {
        for (other_edge, other) in &owners[..at] {
            let overlap = buffer.offset < other.offset + other.bytes && other.offset < buffer.offset + buffer.bytes;
            shared += usize::from(overlap);
            tags_share += usize::from(overlap && edge != other_edge);
        }
    }
    let persistent = plan.segments.iter().filter(|segment| segment.backend() == Backend::Persistent).count();
    Features {
        waits: plan.waits(),
        tags: owners.iter().filter(|(edge, _)| *edge == EdgeKind::Tagged).count(),
        shared,
        tags_share,
        nodes: plan.segments.len() - persistent,
        streams: persistent,
    }
}
