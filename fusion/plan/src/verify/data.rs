//! Reads after their writes, and buffers used one after the other.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpweave_graph::program::TensorId;

use crate::plan::{BufferSpace, EdgeKind, MemoryPlan, OperatorId, RTask};
use crate::region::{Region, reads, writes_into};
use crate::verify::clash::clash;
use crate::verify::operators::Operators;
use crate::verify::order::{Order, PlanMoment};
use crate::verify::signalling::NeverSignalling;
use crate::verify::violation::Violation;
use crate::verify::writers::Writers;

/// Checks that what every rTask reads has been written before, or is polled; the number of pairs whose order was
/// proved.
pub(super) fn check_reads(
    operators: &Operators,
    memory: &MemoryPlan,
    written: &Writers,
    order: &Order,
    violations: &mut Vec<Violation>,
) -> usize {
    let ids: Vec<OperatorId> = operators.ids().collect();
    let check = |id: &OperatorId| check_operator(*id, operators, memory, written, order);
    let checked: Vec<(usize, Vec<Violation>)> = ids.par_iter().map(check).collect();
    let mut proved = 0;
    for (of_operator, found) in checked {
        proved += of_operator;
        violations.extend(found);
    }
    for output in memory.live_out() {
        if !written.covers(memory, output) {
            violations.push(Violation::Buffer(output));
        }
    }
    proved
}

/// The same of one rOperator's rTasks.
fn check_operator(
    id: OperatorId,
    operators: &Operators,
    memory: &MemoryPlan,
    written: &Writers,
    order: &Order,
) -> (usize, Vec<Violation>) {
    let operator = &operators[id];
    let (mut proved, mut violations, mut tiles) = (0, Vec::new(), Vec::new());
    for &operand in &operator.kernel.body().operands {
        if !written.covers(memory, operand) {
            violations.push(Violation::Uncovered { operator: id, tensor: operand });
        }
    }
    for tile in 0..operator.tasks() {
        let reader = RTask { operator: id, tile };
        let moment = order.moment(reader);
        let plain = |region: &Region| memory.tensors[region.root].edge == EdgeKind::Counter;
        for region in reads(operator, memory, reader).into_iter().filter(plain) {
            for writer_operator in written.of(&region) {
                written.tiles(writer_operator, &region, &mut tiles);
                for &tile in &tiles {
                    let writer = RTask { operator: writer_operator, tile };
                    if order.before(order.moment(writer), moment) {
                        proved += 1;
                    } else if writes_into(&operators[writer_operator], memory, writer, &region) {
                        violations.push(Violation::UnorderedRead { reader, writer, tensor: region.root });
                    }
                }
            }
        }
    }
    (proved, violations)
}

/// The uses of one root buffer.
#[derive(Default)]
struct Uses {
    /// Per unit, how many instructions of its stream happen before every write; absent while nothing writes.
    before_writes: Option<Vec<usize>>,
    /// Per unit, the last position that touches the buffer.
    last: BTreeMap<usize, usize>,
    input: bool,
    output: bool,
    /// The tag of its values, if they carry one.
    tag: Option<u32>,
    /// Whether its values are never taken for tags.
    never_signals: bool,
}

impl Uses {
    fn touch(&mut self, moment: PlanMoment) {
        let last = self.last.entry(moment.unit).or_insert(moment.position);
        *last = (*last).max(moment.position);
    }

    fn write(&mut self, moment: PlanMoment, order: &Order) {
        match &mut self.before_writes {
            None => self.before_writes = Some(order.before_moment(moment).collect()),
            Some(before) => {
                for (least, seen) in before.iter_mut().zip(order.before_moment(moment)) {
                    *least = (*least).min(seen);
                }
            }
        }
    }

    /// Whether this buffer is finished with before anything is written to the other.
    fn ends_before(&self, later: &Self) -> bool {
        let ended = |before: &Vec<usize>| self.last.iter().all(|(&unit, &last)| last < before[unit]);
        let given = self.input || later.input;
        let tagged = match (self.tag, later.tag) {
            (None, None) => true,
            (Some(own), Some(later)) => own < later,
            (Some(_), None) => later.never_signals,
            (None, Some(_)) => self.never_signals,
        };
        !self.output && !given && tagged && later.before_writes.as_ref().is_none_or(ended)
    }
}

/// Checks that buffers which share bytes follow one another, and that constants share none; the number of such pairs.
pub(super) fn check_buffers(
    operators: &Operators,
    memory: &MemoryPlan,
    order: &Order,
    violations: &mut Vec<Violation>,
) -> usize {
    let mut uses: BTreeMap<TensorId, Uses> = BTreeMap::new();
    let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
    for input in memory.live_in() {
        uses.entry(root(input)).or_default().input = true;
    }
    for output in memory.live_out() {
        uses.entry(root(output)).or_default().output = true;
    }
    for (id, operator) in operators.iter() {
        for tile in 0..operator.tasks() {
            let task = RTask { operator: id, tile };
            let (moment, ends) = (order.moment(task), order.ends(task));
            for &tensor in operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs) {
                let uses = uses.entry(root(tensor)).or_default();
                ends.iter().for_each(|end| uses.touch(*end));
            }
            for &tensor in &operator.kernel.body().outputs {
                uses.entry(root(tensor)).or_default().write(moment, order);
            }
        }
    }
    let never_signalling = NeverSignalling::of(operators, memory);
    for (&tensor, uses) in &mut uses {
        let planned = &memory.tensors[tensor];
        uses.never_signals = never_signalling.never_signals(tensor);
        uses.tag = (planned.edge == EdgeKind::Tagged).then_some(planned.tag);
    }
    let mut proved = 0;
    for space in [BufferSpace::Arena, BufferSpace::Weights] {
        let here = |tensor: &TensorId| {
            memory.tensors[*tensor].buffer.filter(|buffer| buffer.space == space && buffer.bytes > 0)
        };
        let mut placed: Vec<_> = uses.keys().filter_map(|tensor| Some((here(tensor)?, *tensor))).collect();
        placed.sort_by_key(|(buffer, tensor)| (buffer.offset, *tensor));
        for (at, &(buffer, tensor)) in placed.iter().enumerate() {
            let end = buffer.offset + buffer.bytes;
            for &(_, other) in placed[at + 1..].iter().take_while(|(next, _)| next.offset < end) {
                let (a, b) = (&uses[&tensor], &uses[&other]);
                let follow = a.ends_before(b) || b.ends_before(a);
                if follow && space == BufferSpace::Arena {
                    proved += 1;
                } else {
                    let tensors = (tensor, other);
                    violations.push(Violation::Alias { tensors, tasks: clash(operators, memory, order, tensors) });
                }
            }
        }
    }
    proved
}
