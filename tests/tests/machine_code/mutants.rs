//! Changed instructions: each must show in the outputs, as a fault, or as a wait that gives up.

use std::collections::BTreeMap;

use warpweave::codegen::emulate::mutate::PlanMutation;
use warpweave::codegen::print::UnitSize;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::Tensor;
use warpweave::plan::tables::Tables;
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::sass::execute::mutation::{Mutation, MutationKind, mutations};
use warpweave::runtime::sass::instruction::Code;
use warpweave::runtime::sass::operation::{Operation, Pipe};
use warpweave::runtime::session::machine_code::MachineCodeSession;
use warpweave::runtime::session::{Session, SessionError};
use warpweave::runtime::target::Target;
use warpweave_tests::execute::Executable;
use warpweave_tests::gates;
use warpweave_tests::pipeline::compile;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::{Suite, is_full};

/// How many changes of each kind are tried.
fn wanted() -> usize {
    if is_full() { 250 } else { 13 }
}

/// The share of the changes of values that must show: what is reached, at either size. The goal is 0.95. What is hidden are mostly
/// branches around work that is done twice without harm, and bounds that no extent of the samples meets.
const LEAST_CAUGHT: f64 = 0.88;
/// The kinds that change values.
const OF_VALUES: [MutationKind; 4] =
    [MutationKind::Offset, MutationKind::Predicate, MutationKind::Exchange, MutationKind::Immediate];
/// The kinds that leave out what orders accesses, with the share that must show. Signals are all needed. Of the others it is not
/// decided which are: the last fence of a block orders nothing that a launch's end does not, and a cache is emptied for nothing
/// where nothing old is in it.
const OF_ORDER: [(MutationKind, f64); 4] = [
    (MutationKind::Signal, 1.0),
    (MutationKind::BlockBarrier, 0.6),
    (MutationKind::Fence, 0.35),
    (MutationKind::Invalidation, 0.07),
];
const UNITS: usize = 4;
/// Seeds of weak memory under which a change of order, and one of values, may show.
const SEEDS_OF_ORDER: u64 = 24;
const SEEDS_OF_VALUES: u64 = 3;
const LAUNCHES: usize = 2;
/// The number of a launch at which control words and counters are not what they are at first.
const LATE_EPOCH: i32 = 1000;
/// One worker executes the same places in every run. A warp that executes more instructions counts as endless.
const PLAIN: ExecuteOptions = ExecuteOptions { workers: 1, weak: None, starved: None, nudge: None, limit: 1 << 22 };

/// A trial a kind of changes of order, and one of all changes of values.
pub fn add(suite: &mut Suite) {
    // Of caches that are not emptied few show, under many seeds: in a full run.
    for (kind, least) in OF_ORDER.into_iter().filter(|(kind, _)| is_full() || *kind != MutationKind::Invalidation) {
        suite.trial(format!("without a {kind:?}"), move || {
            let found = try_changes(&subjects(&[FusionLevel::None]), kind);
            assert!(found.share() >= least, "{kind:?}: {} of {} show", found.caught, found.count);
        });
    }
    suite.trial("changes of values", || {
        let subjects = subjects(&[FusionLevel::None, FusionLevel::Full]);
        let found = OF_VALUES.map(|kind| try_changes(&subjects, kind));
        let found = found.into_iter().reduce(Found::and).expect("there are kinds");
        assert!(found.share() >= LEAST_CAUGHT, "{} of {} show", found.caught, found.count);
    });
}

/// How many changes that change anything were tried, and how many show.
struct Found {
    count: usize,
    caught: usize,
}

impl Found {
    fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, caught: self.caught + other.caught }
    }

    fn share(&self) -> f64 {
        self.caught as f64 / self.count as f64
    }
}

/// A sample and what it leaves unchanged.
struct Subject {
    name: String,
    executable: Executable,
    inputs: [Vec<Tensor>; LAUNCHES],
    expected: Vec<Left>,
    /// Streams that lack a signal, and what a launch of them leaves: a wait gives up.
    stalled: Option<(Tables, Stalled)>,
    executed: Vec<usize>,
}

/// The error of a launch whose wait gives up, and what it leaves.
type Stalled = (String, [Vec<u8>; 4]);

/// What a launch gives and leaves in memory, where the next one finds it.
type Left = (Vec<Tensor>, [Vec<u8>; 4]);

fn subjects(levels: &[FusionLevel]) -> Vec<Subject> {
    let compiler = gates::compiler().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    let subject = |(sample, level): (samples::Sample, FusionLevel)| {
        let compiled = compile(&sample.program, UNITS, level);
        let executable = Executable::new(&compiled, UnitSize::default(), Target::Sm90a, compiler.as_ref());
        let inputs = [3, 4].map(|seed| random::inputs(&mut Random::new(seed), &compiled.program));
        let mut session = executable.session(None, PLAIN);
        let expected = launches(&mut session, &inputs).map(|left| left.unwrap_or_else(|error| panic!("{error}")));
        let expected = expected.collect();
        let executed = session.image().executed();
        let lacking = PlanMutation::DropSignal { number: 0 }.apply(&executable.tables(executable.plan()));
        let stalled = lacking.map(|tables| {
            let left = stalled(&executable, None, PLAIN, &tables, &inputs[0]).expect("a wait gives up");
            (tables, left)
        });
        Subject { name: format!("{} {level:?}", sample.name), executable, inputs, expected, stalled, executed }
    };
    let of_levels = |sample: samples::Sample| levels.iter().map(move |level| (sample.clone(), *level));
    samples::all().into_iter().flat_map(of_levels).map(subject).collect()
}

/// What a launch of these streams leaves if it fails; nothing if it does not.
fn stalled(
    executable: &Executable,
    change: Option<&Mutation>,
    execute: ExecuteOptions,
    streams: &Tables,
    inputs: &[Tensor],
) -> Option<Stalled> {
    let mut session = executable.session(change, execute);
    session.set_streams(streams);
    let error = session.run(inputs).err()?;
    Some((error.to_string(), session.left_in_memory()))
}

/// What each of some launches leaves: one an input, and one of a late number.
fn launches<'s>(
    session: &'s mut MachineCodeSession,
    inputs: &'s [Vec<Tensor>; LAUNCHES],
) -> impl Iterator<Item = Result<Left, SessionError>> + 's {
    (0..=LAUNCHES).map(move |launch| {
        if launch == LAUNCHES {
            session.start_at(LATE_EPOCH)?;
        }
        let outputs = session.run(&inputs[launch % LAUNCHES])?;
        Ok((outputs, session.left_in_memory()))
    })
}

impl Subject {
    /// Whether a change shows: in order, while each unit is held back, or under weak memory.
    fn shows(&self, mutation: &Mutation) -> bool {
        let differs = |execute| {
            let mut session = self.executable.session(Some(mutation), execute);
            let mut left = launches(&mut session, &self.inputs).zip(&self.expected);
            left.any(|(left, expected)| left.map_or(true, |left| left != *expected))
        };
        let seeds = if mutation.kind.is_of_synchronisation() { SEEDS_OF_ORDER } else { SEEDS_OF_VALUES };
        let held_back = (0..UNITS as u32).map(|unit| ExecuteOptions { starved: Some(unit), ..PLAIN });
        let weak = (0..seeds).map(|seed| ExecuteOptions { weak: Some(seed), ..PLAIN });
        [PLAIN].into_iter().chain(held_back).chain(weak).any(differs) || self.shows_where_a_wait_gives_up(mutation)
    }

    /// Whether a change shows in what is told of a wait that gives up.
    fn shows_where_a_wait_gives_up(&self, mutation: &Mutation) -> bool {
        let Some((streams, expected)) = &self.stalled else { return false };
        stalled(&self.executable, Some(mutation), PLAIN, streams, &self.inputs[0]).as_ref() != Some(expected)
    }

    /// Whether the changed instruction leaves every warp as the unchanged one does, whenever it is executed: then all that
    /// follows is the same. What it does to memory is no part of that.
    fn is_equivalent(&self, mutation: &Mutation) -> bool {
        let machine = self.executable.machine_code();
        if machine.code[mutation.place].operation.pipe() == Pipe::Memory && !is_load(&machine.code[mutation.place]) {
            return false;
        }
        let noted = |mutation: Option<&Mutation>, place: usize| {
            let mut session = self.executable.session(mutation, PLAIN);
            session.image_mut().watch(place);
            let has_run = launches(&mut session, &self.inputs).all(|left| left.is_ok());
            has_run.then(|| session.image().noted())
        };
        let changed = noted(Some(mutation), mutation.place);
        changed.is_some() && changed == noted(None, mutation.place)
    }

    fn describe(&self, mutation: &Mutation) -> String {
        let machine = self.executable.machine_code();
        let function = machine.function_at(mutation.place).map_or("", |function| function.name.as_str());
        format!("{} {function} `{}`", self.name, machine.code[mutation.place].text)
    }
}

fn is_load(code: &Code) -> bool {
    matches!(code.operation, Operation::Ldg | Operation::Lds | Operation::Ldl | Operation::Shfl)
}

/// Tries some changes of a kind, and prints those that do not show.
fn try_changes(subjects: &[Subject], kind: MutationKind) -> Found {
    let of_subject =
        |subject: &Subject| mutations(subject.executable.machine_code(), kind, subject.executed.iter().copied());
    let changes: Vec<Vec<Mutation>> = subjects.iter().map(of_subject).collect();
    let all: Vec<(&Subject, &Mutation)> = subjects
        .iter()
        .zip(&changes)
        .flat_map(|(subject, own)| own.iter().map(move |change| (subject, change)))
        .collect();
    assert!(!all.is_empty(), "nothing can be changed");
    let mut random = Random::new(kind as u64 + 1);
    let count = wanted().min(all.len());
    let chosen: BTreeMap<usize, (&Subject, &Mutation)> = if count == all.len() {
        all.iter().copied().enumerate().collect()
    } else {
        let mut chosen = BTreeMap::new();
        while chosen.len() < count {
            let position = random.below(all.len());
            chosen.insert(position, all[position]);
        }
        chosen
    };
    let hidden: Vec<&(&Subject, &Mutation)> =
        chosen.values().filter(|(subject, mutation)| !subject.shows(mutation)).collect();
    let (equivalent, survivors): (Vec<_>, Vec<_>) =
        hidden.into_iter().partition(|(subject, mutation)| subject.is_equivalent(mutation));
    let count = count - equivalent.len();
    let caught = count - survivors.len();
    let described = |found: &[&(&Subject, &Mutation)]| -> Vec<String> {
        found.iter().map(|(subject, mutation)| subject.describe(mutation)).collect()
    };
    let (equivalent, survivors) = (described(&equivalent), described(&survivors));
    eprintln!("{kind:?}: {caught} of {count} show; {} change nothing; of {} possible", equivalent.len(), all.len());
    equivalent.iter().for_each(|one| eprintln!("  changes nothing: {one}"));
    survivors.iter().for_each(|one| eprintln!("  survives: {one}"));
    Found { count, caught }
}
