//! Whether a plan does harm: the brute-force counterpart of the plan verifier.
//!
//! Harm is:
//! - a read that is not ordered after the unique writers of its elements;
//! - two accesses of the same bytes in no order or in the wrong one;
//! - an input or output that does not survive;
//! - a wait that starves;
//! - an rTask that does not run exactly once;
//! - a wait that does not say for what;
//! - constants that are not on chip where they are used;
//! - a value that carries its own validity in bytes which hold something that could be taken for its tag;
//! - memory that is not as a plan promises.
//!
//! An rTask whose every value is polled is over where all that poll it are.

use std::collections::{BTreeMap, BTreeSet};

use warpweave::graph::program::TensorId;
use warpweave::plan::plan::{BUFFER_ALIGNMENT, Buffer, BufferSpace, EdgeKind, ExecutionPlan, Instruction};
use warpweave::plan::template::Template;
use warpweave::plan::verify::signalling::NeverSignalling;

use crate::closure::accesses::{Accesses, NO_TASK, TaskNumber};
use crate::closure::order::{Disorder, Order};

/// What is found of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It does harm, for this reason.
    Harmful(String),
    /// It does none, and buffers that share bytes are used strictly one after the other.
    Harmless,
    /// It does none, but two buffers that share bytes are in use at the same time, in different places.
    Interleaved,
}

/// Judges a plan whose operators have these accesses.
pub fn judge(plan: &ExecutionPlan, accesses: &Accesses) -> Verdict {
    match find(plan, accesses) {
        Err(reason) => Verdict::Harmful(reason),
        Ok(false) => Verdict::Harmless,
        Ok(true) => Verdict::Interleaved,
    }
}

/// Whether buffers are interleaved, or the harm.
fn find(plan: &ExecutionPlan, accesses: &Accesses) -> Result<bool, String> {
    if let Some(fault) = accesses.faults.first() {
        return Err(fault.clone());
    }
    check_memory(plan, accesses)?;
    let order = Order::new(plan.persistent(), accesses).map_err(|disorder| describe(&disorder))?;
    check_residents(plan, accesses)?;
    check_prefetches(plan)?;
    for (reader, sources) in accesses.sources.iter().enumerate() {
        for &writer in sources.iter().flat_map(|writers| writers.iter()) {
            if !order.before(writer, reader as TaskNumber) {
                return Err(format!("{:?} may read before {:?}", accesses.tasks[reader], task(accesses, writer)));
            }
        }
    }
    let mut interleaved = false;
    let pollers = pollers(plan, accesses);
    let never_signalling = NeverSignalling::of(&plan.persistent().operators, &plan.memory);
    for (first, second) in sharing(plan, accesses) {
        let touching = |root: TensorId| {
            let of = &accesses.roots[&root];
            let ends = |task: &TaskNumber| ends(plan, accesses, &pollers, *task);
            of.readers.union(&of.writers).flat_map(ends).collect::<BTreeSet<_>>()
        };
        let output = |tensor: TensorId| plan.memory.live_out().any(|live| live == tensor);
        let kept = is_given(plan, first) || is_given(plan, second);
        let follows = |first: TensorId, second: TensorId| {
            let writers = &accesses.roots[&second].writers;
            !kept
                && !output(first)
                && order.all_before(&touching(first), writers)
                && tells(plan, &never_signalling, first, second)
        };
        let carries_tag = |root: TensorId| plan.memory.tensors[root].edge == EdgeKind::Tagged;
        if !follows(first, second) && !follows(second, first) {
            if carries_tag(first) || carries_tag(second) {
                let ends = |task: TaskNumber| ends(plan, accesses, &pollers, task);
                let tells = |first: TensorId, second: TensorId| !kept && tells(plan, &never_signalling, first, second);
                check_tagged_bytes(plan, accesses, (&order, &ends, &tells), [first, second])?;
            } else {
                check_bytes(plan, accesses, &order, first, second)?;
                check_bytes(plan, accesses, &order, second, first)?;
            }
            interleaved = true;
        }
    }
    Ok(interleaved)
}

/// Whether tags of either of two roots tell it from the other, which has its bytes before or after it.
fn tells(plan: &ExecutionPlan, never_signalling: &NeverSignalling, first: TensorId, second: TensorId) -> bool {
    let tag = |root: TensorId| {
        let planned = &plan.memory.tensors[root];
        (planned.edge == EdgeKind::Tagged).then_some(planned.tag)
    };
    match (tag(first), tag(second)) {
        (None, None) => true,
        (Some(first), Some(second)) => first < second,
        (Some(_), None) => never_signalling.never_signals(second),
        (None, Some(_)) => never_signalling.never_signals(first),
    }
}

/// Those whose ends together show that an rTask has ended: itself, those that poll all that it writes, or in their place
/// those that show of them. Rows that keep constants on chip stand for themselves.
fn ends(
    plan: &ExecutionPlan,
    accesses: &Accesses,
    pollers: &BTreeMap<TaskNumber, Vec<TaskNumber>>,
    task: TaskNumber,
) -> BTreeSet<TaskNumber> {
    let (mut found, mut met, mut open) = (BTreeSet::new(), BTreeSet::from([task]), vec![task]);
    while let Some(number) = open.pop() {
        let operator = &plan.persistent().operators[accesses.tasks[number as usize].operator];
        let stays = number != task && *operator.kernel.template() == Template::WeightStationary;
        match pollers.get(&number).filter(|_| !stays) {
            Some(pollers) => open.extend(pollers.iter().filter(|poller| met.insert(**poller))),
            None => _ = found.insert(number),
        }
    }
    found
}

/// Per rTask that writes nothing but values which carry their own validity, all of them polled, those that poll them.
fn pollers(plan: &ExecutionPlan, accesses: &Accesses) -> BTreeMap<TaskNumber, Vec<TaskNumber>> {
    let mut pollers: BTreeMap<TaskNumber, BTreeSet<TaskNumber>> = BTreeMap::new();
    let mut seen_by_nobody: BTreeSet<TaskNumber> = BTreeSet::new();
    for (&root, uses) in &accesses.roots {
        let carries_tag = plan.memory.tensors[root].edge == EdgeKind::Tagged;
        let mut polled = vec![false; uses.owner.len()];
        for &reader in uses.readers.iter().filter(|_| carries_tag) {
            for (first, length) in accesses.reads(reader, root) {
                polled[first..first + length].fill(true);
                for &owner in &uses.owner[first..first + length] {
                    pollers.entry(owner).or_default().insert(reader);
                }
            }
        }
        let missed = uses.owner.iter().zip(&polled).filter(|(_, polled)| !**polled);
        seen_by_nobody.extend(missed.map(|(owner, _)| *owner));
    }
    let all_seen = pollers.into_iter().filter(|(task, _)| !seen_by_nobody.contains(task));
    all_seen.map(|(task, pollers)| (task, pollers.into_iter().collect())).collect()
}

fn describe(disorder: &Disorder) -> String {
    format!("{disorder:?}")
}

fn task(accesses: &Accesses, number: TaskNumber) -> String {
    format!("{:?}", accesses.tasks[number as usize])
}

/// Every rTask that expects constants on chip finds those of its own matrices there.
fn check_residents(plan: &ExecutionPlan, accesses: &Accesses) -> Result<(), String> {
    let segment = plan.persistent();
    for stream in &segment.streams {
        let mut held = None;
        for instruction in stream {
            match *instruction {
                Instruction::Hold(task) => held = accesses.number(task),
                Instruction::Run(task)
                    if *segment.operators[task.operator].kernel.template() == Template::WeightStationary =>
                {
                    let of = |task| accesses.constants(&plan.memory, task);
                    if held.map(of) != accesses.number(task).map(of) {
                        return Err(format!("{task:?} does not find its constants on chip"));
                    }
                }
                Instruction::Run(_) | Instruction::Prefetch(_) | Instruction::Wait { .. } | Instruction::Signal(_) => {}
            }
        }
    }
    Ok(())
}

/// The next thing that a unit does after a prefetch, waits apart, is the rTask whose constants it loads.
fn check_prefetches(plan: &ExecutionPlan) -> Result<(), String> {
    for stream in &plan.persistent().streams {
        let mut loading = None;
        for instruction in stream {
            match *instruction {
                Instruction::Wait { .. } => continue,
                Instruction::Run(task) if loading == Some(task) => loading = None,
                Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) | Instruction::Signal(_) => {}
            }
            if let Some(task) = loading {
                return Err(format!("{task:?} does not run after its prefetch"));
            }
            if let Instruction::Prefetch(task) = *instruction {
                loading = Some(task);
            }
        }
        if let Some(task) = loading {
            return Err(format!("{task:?} does not run after its prefetch"));
        }
    }
    Ok(())
}

/// Every root lies in its memory, aligned; nothing writes what must stay as it is.
fn check_memory(plan: &ExecutionPlan, accesses: &Accesses) -> Result<(), String> {
    let memory = &plan.memory;
    for (&root, uses) in &accesses.roots {
        let Some(buffer) = memory.tensors[root].buffer else { return Err(format!("{root} has no buffer")) };
        let limit = match buffer.space {
            BufferSpace::Arena => memory.arena_bytes,
            BufferSpace::Weights => memory.weights_bytes,
        };
        let long_enough = buffer.bytes == memory.tensors[root].bytes();
        if buffer.offset % BUFFER_ALIGNMENT != 0 || !long_enough || buffer.offset + buffer.bytes > limit {
            return Err(format!("{root} does not lie in its memory"));
        }
        if is_given(plan, root) && !uses.writers.is_empty() {
            return Err(format!("{root} is written"));
        }
    }
    Ok(())
}

/// Whether a root holds values before the launch, which must last.
fn is_given(plan: &ExecutionPlan, root: TensorId) -> bool {
    let in_weights = |buffer: Buffer| buffer.space == BufferSpace::Weights;
    plan.memory.is_live_in(root) || plan.memory.tensors[root].buffer.is_some_and(in_weights)
}

/// Pairs of roots that share bytes.
fn sharing(plan: &ExecutionPlan, accesses: &Accesses) -> Vec<(TensorId, TensorId)> {
    let mut placed: Vec<(Buffer, TensorId)> =
        accesses.roots.keys().filter_map(|&root| Some((plan.memory.tensors[root].buffer?, root))).collect();
    placed.retain(|(buffer, _)| buffer.bytes > 0);
    placed.sort_by_key(|(buffer, root)| (buffer.space == BufferSpace::Weights, buffer.offset, *root));
    let mut pairs = Vec::new();
    for (at, (buffer, root)) in placed.iter().enumerate() {
        let end = buffer.offset + buffer.bytes;
        let next = placed[at + 1..].iter().take_while(|(next, _)| next.space == buffer.space && next.offset < end);
        pairs.extend(next.map(|(_, other)| (*root, *other)));
    }
    pairs
}

/// The rTasks whose ends together show that one has ended.
type Ends<'e> = dyn Fn(TaskNumber) -> BTreeSet<TaskNumber> + 'e;

/// Checks, word by word, that two roots, values of which carry their own validity, have their words one after the other, so
/// that tags tell whose are there.
fn check_tagged_bytes(
    plan: &ExecutionPlan,
    accesses: &Accesses,
    (order, ends, tells): (&Order, &Ends, &dyn Fn(TensorId, TensorId) -> bool),
    roots: [TensorId; 2],
) -> Result<(), String> {
    let users = roots.map(|root| users_of_words(plan, accesses, root));
    let mut known = BTreeSet::new();
    for (word, first) in &users[0] {
        let Some(second) = users[1].get(word).filter(|second| known.insert((first, *second))) else { continue };
        let all_before = |users: &WordUsers, writer: TaskNumber| {
            writer != NO_TASK && users.all.iter().flat_map(|user| ends(*user)).all(|end| order.before(end, writer))
        };
        let is_first = all_before(first, second.owner) && tells(roots[0], roots[1]);
        let is_last = all_before(second, first.owner) && tells(roots[1], roots[0]);
        if !is_first && !is_last {
            let [first, second] = roots;
            return Err(format!("{first} and {second} have a word at the same time, or tags do not tell whose it is"));
        }
    }
    Ok(())
}

/// Who writes a word, and all who write or read it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WordUsers {
    owner: TaskNumber,
    all: BTreeSet<TaskNumber>,
}

/// The users of every word of a root, by address.
fn users_of_words(plan: &ExecutionPlan, accesses: &Accesses, root: TensorId) -> BTreeMap<usize, WordUsers> {
    let (uses, bytes) = (&accesses.roots[&root], Bytes::new(plan, root));
    let owner = |owner: &TaskNumber| Some(*owner).filter(|owner| *owner != NO_TASK).into_iter().collect();
    let mut all: Vec<BTreeSet<TaskNumber>> = uses.owner.iter().map(owner).collect();
    for &reader in &uses.readers {
        for (first, length) in accesses.reads(reader, root) {
            all[first..first + length].iter_mut().for_each(|users| _ = users.insert(reader));
        }
    }
    let users = |byte: usize| {
        let element = bytes.element(byte)?;
        Some((byte, WordUsers { owner: uses.owner[element], all: all[element].clone() }))
    };
    let start = bytes.buffer.offset as usize;
    (start..start + bytes.buffer.bytes as usize).step_by(4).filter_map(users).collect()
}

/// Checks, byte by byte, that no write to `second` destroys what is read from `first`.
fn check_bytes(
    plan: &ExecutionPlan,
    accesses: &Accesses,
    order: &Order,
    first: TensorId,
    second: TensorId,
) -> Result<(), String> {
    let (kept, changed) = (Bytes::new(plan, first), Bytes::new(plan, second));
    if is_given(plan, first) && (is_given(plan, second) || !accesses.roots[&second].writers.is_empty()) {
        return Err(format!("{first} is given and loses bytes to {second}"));
    }
    let owner = |root: TensorId, element: usize| accesses.roots[&root].owner[element];
    let is_output = plan.memory.live_out().any(|live| live == first);
    let readers: Vec<(TaskNumber, BTreeSet<usize>)> = accesses.roots[&first]
        .readers
        .iter()
        .map(|&reader| (reader, kept.bytes(&accesses.reads(reader, first))))
        .collect();
    for &writer in &accesses.roots[&second].writers {
        let written = changed.bytes(&accesses.writes(writer, second));
        for &byte in &written {
            let Some(element) = kept.element(byte) else { continue };
            let source = owner(first, element);
            let before_source = source != NO_TASK && order.before(writer, source);
            let after_source = source == NO_TASK || order.before(source, writer);
            if source == writer || !(before_source || after_source) {
                return Err(format!("{} and {} write the same bytes", task(accesses, source), task(accesses, writer)));
            }
            if is_output && !before_source {
                return Err(format!("output {first} loses bytes to {}", task(accesses, writer)));
            }
        }
        for (reader, read) in &readers {
            let clash = read.intersection(&written).copied().find(|&byte| {
                let element = kept.element(byte).expect("read bytes belong to the root");
                let source = owner(first, element);
                let before_source = source != NO_TASK && order.before(writer, source);
                !before_source && !order.before(*reader, writer)
            });
            if clash.is_some() {
                return Err(format!("{} may overwrite what {} reads", task(accesses, writer), task(accesses, *reader)));
            }
        }
    }
    Ok(())
}

/// The addresses of a root's elements.
struct Bytes {
    buffer: Buffer,
    size: usize,
}

impl Bytes {
    fn new(plan: &ExecutionPlan, root: TensorId) -> Self {
        let planned = &plan.memory.tensors[root];
        Self { buffer: planned.buffer.expect("roots that share bytes have buffers"), size: planned.pitch() }
    }

    fn bytes(&self, runs: &[(usize, usize)]) -> BTreeSet<usize> {
        let start = self.buffer.offset as usize;
        let bytes = |&(first, length): &(usize, usize)| start + first * self.size..start + (first + length) * self.size;
        runs.iter().flat_map(bytes).collect()
    }

    fn element(&self, byte: usize) -> Option<usize> {
        let (start, bytes) = (self.buffer.offset as usize, self.buffer.bytes as usize);
        (start..start + bytes).contains(&byte).then(|| (byte - start) / self.size)
    }
}
