//! The plan verifier: proves, before anything is emitted or run, that a plan cannot deadlock or race.
//!
//! The verifier checks that:
//! - expressions are well typed, and each template computes its body;
//! - every index that is read is checked, and its record touches no buffer;
//! - every rTask runs exactly once, where its unit holds the constants that it keeps on chip;
//! - counters count what their waits assume;
//! - what an rTask loads before its waits are constants;
//! - the streams run to their end whatever the interleaving. Counters only grow, so if one order of execution ends,
//!   every order does;
//! - every element that an rTask reads is written by rTasks that happen before it;
//! - buffers that share bytes are used strictly one after the other;
//! - outputs and inputs survive;
//! - every tagged value that is polled is written by an rTask that stands before the one which polls in the order of
//!   execution;
//! - the bytes of a polled value hold nothing which could be taken for its tag. Later tagged values carry larger ones,
//!   and other values are no signalling NaNs.
//!
//! "Happens before" is stream order, closed under waits. A wait is credited with the signals that every admissible
//! order implies: all of a counter's, or the first n of a single unit's. A poll is a wait inside an rTask, but no part
//! of what happens before. It is sure of the value that it fetches, and that what this was computed from has been read.
//! So an rTask that writes nothing but tagged values, all of which are polled, is done with its memory when those that
//! poll it have ended.
//!
//! Of a CUDA graph the same is checked where "happens before" is the order of its nodes. Every block of a node waits
//! for the whole node before it, before it touches memory. The blocks of that node have waited likewise.
//!
//! Of a plan of several segments the same is checked of each, and of all rOperators together, where a segment happens
//! before the next as a whole:
//! - nothing reads what a later segment writes;
//! - no element is written in two;
//! - bytes are shared one after the other;
//! - a tagged value stays in its segment, whose launches number its tags.

mod clash;
mod clocks;
pub mod completion;
mod data;
mod indices;
mod nodes;
mod operators;
mod order;
mod polls;
mod segments;
pub mod signalling;
mod structure;
mod types;
pub mod violation;
mod writers;

use crate::verify::violation::Evidence;
use crate::verify::violation::Violation;

use std::sync::Arc;

use crate::plan::{ExecutionPlan, GraphSegment, PersistentSegment, Segment};
use crate::verify::clocks::Clocks;
use crate::verify::completion::TaskCompletions;
use crate::verify::order::Order;
use crate::verify::segments::Numbering;
use crate::verify::writers::Writers;

/// A plan that has been verified; the only way to one is [`verify`].
#[derive(Clone, PartialEq, Debug)]
pub struct Verified {
    plan: ExecutionPlan,
    evidence: Evidence,
}

impl Verified {
    /// The plan.
    pub fn plan(&self) -> &ExecutionPlan {
        &self.plan
    }

    /// What was proved.
    pub fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// The plan of every other launch, where states and what they become lie in each other's places; none where no states
    /// are exchanged. What was proved of the one holds of the other, because nothing else ever lies there.
    pub fn exchanged(&self) -> Option<Self> {
        if self.plan.memory.exchange().is_empty() {
            return None;
        }
        let plan = ExecutionPlan { memory: self.plan.memory.exchanged(), ..self.plan.clone() };
        Some(Self { plan, evidence: self.evidence })
    }
}

/// Verifies a plan; all violations that are found, in a stable order, if there are any.
pub fn verify(mut plan: ExecutionPlan) -> Result<Verified, Vec<Violation>> {
    // What is known of kernels comes from the search. The proof finds it by itself.
    for segment in &mut plan.segments {
        let operators = match segment {
            Segment::Persistent(PersistentSegment { operators, .. })
            | Segment::CudaGraph(GraphSegment { operators, .. }) => operators,
        };
        for operator in operators.values_mut() {
            operator.kernel = operator.kernel.with_body(Arc::clone(operator.kernel.shared_body()));
        }
    }
    let numbering = Numbering::of(&plan);
    check_structure(&plan, &numbering)?;
    let mut evidence =
        Evidence { tasks: plan.tasks(), waits: plan.waits(), ordered_reads: 0, polls: 0, ordered_buffers: 0 };
    let operators = plan.operators();
    let written = Writers::new(&operators, &plan.memory);
    let order = order(&plan, &numbering, &written, &mut evidence)?;
    let mut violations = Vec::new();
    evidence.ordered_reads += data::check_reads(&operators, &plan.memory, &written, &order, &mut violations);
    evidence.ordered_buffers += data::check_buffers(&operators, &plan.memory, &order, &mut violations);
    drop(operators);
    match violations.is_empty() {
        true => Ok(Verified { plan, evidence }),
        false => Err(numbering.of_segments(violations)),
    }
}

/// Everything but order: of each segment by itself, then of all rOperators together.
fn check_structure(plan: &ExecutionPlan, numbering: &Numbering) -> Result<(), Vec<Violation>> {
    let of_each = |check: &dyn Fn(&Segment) -> Vec<Violation>| -> Vec<Violation> {
        let found = plan.numbered().flat_map(|(id, segment)| check(segment).into_iter().map(move |one| (id, one)));
        found.map(|(id, violation)| numbering.within(id, violation)).collect()
    };
    let operators = plan.operators();
    types::check(&operators, &plan.memory).map_err(|found| numbering.of_segments(vec![found]))?;
    let tiles = of_each(&|segment| structure::check_tiles(segment.operators()));
    if !tiles.is_empty() {
        return Err(tiles);
    }
    types::check_templates(&operators).map_err(|found| numbering.of_segments(vec![found]))?;
    let mut violations = of_each(&|segment| match segment {
        Segment::Persistent(segment) => structure::check(segment, &plan.memory),
        Segment::CudaGraph(segment) => nodes::check(segment, &plan.memory),
    });
    let mut whole = structure::check_whole(&operators, &plan.memory);
    whole.extend(segments::check_tagged(plan));
    violations.extend(numbering.of_segments(whole));
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// What happens before what.
fn order(
    plan: &ExecutionPlan,
    numbering: &Numbering,
    written: &Writers,
    evidence: &mut Evidence,
) -> Result<Order, Vec<Violation>> {
    let mut clocks = Vec::new();
    for (id, segment) in plan.numbered() {
        clocks.push(match segment {
            Segment::Persistent(segment) => {
                let polls = match plan.only_segment() {
                    Some(_) => polls::polls(segment, &plan.memory, written),
                    None => polls::polls(segment, &plan.memory, &Writers::new(&segment.operators, &plan.memory)),
                };
                evidence.polls += polls.pairs();
                let within = |found: Vec<Violation>| found.into_iter().map(|one| numbering.within(id, one)).collect();
                let clocks = clocks::run(segment, &polls).map_err(|found| -> Vec<Violation> { within(found) })?;
                let completions = TaskCompletions::new(&segment.operators, &plan.memory, &polls, &clocks);
                (clocks, completions)
            }
            Segment::CudaGraph(segment) => {
                let clocks = Clocks::of_positions(&segment.operators, &nodes::positions(segment));
                (clocks, TaskCompletions::default())
            }
        });
    }
    Ok(Order::of(clocks))
}
