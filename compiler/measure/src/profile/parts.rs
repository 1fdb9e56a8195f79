//! A run by what its time goes to: units, templates, kernels.

use std::collections::BTreeMap;

use warpweave_fusion::schedule::simulation::Simulation;
use warpweave_plan::plan::OperatorId;

use super::{OperatorTimes, Profile};

/// Shares of all units' time; together 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UnitTime {
    /// rTasks run.
    pub running: f64,
    /// Units wait for signals or poll.
    pub waiting: f64,
    /// They give signals.
    pub signalling: f64,
    /// They go from one instruction to the next.
    pub dispatching: f64,
    /// They have not begun, or are done.
    pub idle: f64,
}

impl UnitTime {
    /// Of a run.
    pub fn of(run: &Simulation) -> Self {
        let shares = run.shares();
        let gaps = run.units.iter().flat_map(|events| events.windows(2));
        // `sum` of no floats is -0.
        let gaps = gaps.map(|pair| (pair[1].start - pair[0].end).max(0.0)).fold(0.0, |all, own| all + own);
        let total = run.makespan * run.units.len() as f64;
        let dispatching = if total > 0.0 { gaps / total } else { 0.0 };
        let (running, waiting, signalling) = (shares.running, shares.waiting, shares.signalling);
        let idle = (1.0 - running - waiting - signalling - dispatching).max(0.0);
        Self { running, waiting, signalling, dispatching, idle }
    }
}

/// The rTasks of several rOperators in both runs.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PartTimes {
    pub operators: usize,
    /// Their rTasks.
    pub tasks: usize,
    /// Their predicted microseconds, polls left out.
    pub predicted: f64,
    /// Their recorded microseconds or steps.
    pub recorded: f64,
}

impl Profile {
    /// The rOperators of each template, by its name.
    pub fn templates(&self) -> BTreeMap<&'static str, PartTimes> {
        let operators = &self.plan.persistent().operators;
        self.grouped(|operator| Some(operators[operator].kernel.rules().name()))
    }

    /// The rOperators of each kernel, by its number in the program; none on the host, which has no kernels.
    pub fn kernels(&self) -> BTreeMap<u32, PartTimes> {
        self.grouped(|operator| self.bindings.get(operator).map(|binding| binding.kernel))
    }

    fn grouped<K: Ord>(&self, key: impl Fn(OperatorId) -> Option<K>) -> BTreeMap<K, PartTimes> {
        let mut parts: BTreeMap<K, PartTimes> = BTreeMap::new();
        for OperatorTimes { operator, tasks, predicted, recorded } in self.operators() {
            let Some(key) = key(operator) else { continue };
            let part = parts.entry(key).or_default();
            part.operators += 1;
            part.tasks += tasks;
            part.predicted += predicted;
            part.recorded += recorded;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use warpweave_fusion::schedule::simulation::Event;
    use warpweave_graph::arena::Id;
    use warpweave_plan::plan::{CounterId, Instruction, RTask};

    use super::*;

    fn event(instruction: Instruction, start: f64, end: f64) -> Event {
        Event { instruction, start, polled: 0.0, end, released_by: None }
    }

    #[test]
    fn time_between_instructions_is_dispatch() {
        let run = Instruction::Run(RTask { operator: OperatorId::from_index(0), tile: 0 });
        let counter = CounterId::from_index(0);
        let (wait, signal) = (Instruction::Wait { counter, signals: 1 }, Instruction::Signal(counter));
        let first = vec![event(run, 0.0, 4.0), event(signal, 5.0, 6.0)];
        let second = vec![event(wait, 1.0, 6.0), event(run, 6.5, 10.0)];
        let found = UnitTime::of(&Simulation { makespan: 10.0, units: vec![first, second] });
        let expected =
            UnitTime { running: 7.5 / 20.0, waiting: 0.25, signalling: 0.05, dispatching: 1.5 / 20.0, idle: 0.25 };
        let pairs = [
            (found.running, expected.running),
            (found.waiting, expected.waiting),
            (found.signalling, expected.signalling),
            (found.dispatching, expected.dispatching),
            (found.idle, expected.idle),
        ];
        assert!(pairs.iter().all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }
}
