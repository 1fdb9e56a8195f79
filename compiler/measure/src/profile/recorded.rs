//! Recorded moments as a run in time, in the form of simulated ones.

use std::collections::BTreeMap;

use warpweave_codegen::trace::{Moments, Trace};
use warpweave_fusion::schedule::simulation::{Event, Simulation};
use warpweave_plan::plan::{CounterId, Instruction, PersistentSegment};
use warpweave_runtime::host::HostMoments;

/// A run of the host back end, in microseconds from its first instruction.
pub fn of_host(segment: &PersistentSegment, moments: &[Vec<HostMoments>]) -> Simulation {
    let units = moments.iter().map(|unit| {
        let at = |moments: &HostMoments| [moments.begin, moments.polled, moments.end].map(|time| time as i64);
        unit.iter().map(at).collect()
    });
    simulation(segment, units.collect(), 1e-3)
}

/// A run of a traced program; `scale` turns the clock's ticks into what the run is told in. Times that a program polls for
/// are part of its rTasks.
pub fn of_trace(segment: &PersistentSegment, trace: &Trace, scale: f64) -> Simulation {
    let origin = trace.units.iter().find_map(|unit| unit.first()).map_or(0, |first| first.begin);
    let units = trace.units.iter().map(|unit| unwrapped(unit, origin));
    simulation(segment, units.collect(), scale)
}

/// Begin, the same, and end of a unit's instructions in ticks from `origin`, where the clock's 32 bits wrap.
fn unwrapped(unit: &[Moments], origin: u32) -> Vec<[i64; 3]> {
    let mut last = origin;
    let mut ticks = 0;
    let mut next = |moment: u32, is_first: bool| {
        let step = moment.wrapping_sub(last);
        // Another unit may have begun before the one that the origin is taken from.
        ticks += if is_first { i64::from(step.cast_signed()) } else { i64::from(step) };
        last = moment;
        ticks
    };
    let pairs = unit.iter().enumerate().map(|(position, moments)| {
        let begin = next(moments.begin, position == 0);
        [begin, begin, next(moments.end, false)]
    });
    pairs.collect()
}

/// Begin, end of polling and end of the instructions of every unit as events.
fn simulation(segment: &PersistentSegment, units: Vec<Vec<[i64; 3]>>, scale: f64) -> Simulation {
    let first = units.iter().flatten().map(|[begin, ..]| *begin).min().unwrap_or(0);
    let at = |ticks: i64| (ticks - first) as f64 * scale;
    let events = |(stream, moments): (&Vec<_>, &Vec<[i64; 3]>)| {
        let event = |(&instruction, &[begin, polled, end]): (&_, &[i64; 3])| Event {
            instruction,
            start: at(begin),
            polled: at(polled) - at(begin),
            end: at(end),
            released_by: None,
        };
        stream.iter().zip(moments).map(event).collect::<Vec<Event>>()
    };
    let mut units: Vec<Vec<Event>> = segment.streams.iter().zip(&units).map(events).collect();
    release(&mut units);
    let ends = units.iter().filter_map(|events| events.last()).map(|event| event.end);
    Simulation { makespan: ends.fold(0.0, f64::max), units }
}

/// When a signal was given, and by which unit and position.
type Given = (f64, (usize, usize));

/// Finds which signal ended each wait that lasted: the last of those that it waits for.
fn release(units: &mut [Vec<Event>]) {
    let mut signals: BTreeMap<CounterId, Vec<Given>> = BTreeMap::new();
    for (unit, events) in units.iter().enumerate() {
        for (position, event) in events.iter().enumerate() {
            if let Instruction::Signal(counter) = event.instruction {
                signals.entry(counter).or_default().push((event.end, (unit, position)));
            }
        }
    }
    signals.values_mut().for_each(|signals| signals.sort_by(|one, other| one.0.total_cmp(&other.0)));
    for event in units.iter_mut().flatten() {
        let Instruction::Wait { counter, signals: wanted } = event.instruction else { continue };
        let last = wanted.checked_sub(1).and_then(|last| signals.get(&counter)?.get(last as usize));
        // A signal that was there before the wait began decided nothing.
        event.released_by = last.filter(|(end, _)| event.start < *end && *end < event.end).map(|&(_, at)| at);
    }
}

#[cfg(test)]
mod tests {
    use warpweave_graph::arena::Id;
    use warpweave_plan::plan::{OperatorId, RTask};

    use super::*;

    #[test]
    fn a_wait_ends_by_the_last_signal_that_it_waits_for() {
        let event = |instruction, start, end| Event { instruction, start, polled: 0.0, end, released_by: None };
        let counter = CounterId::from_index(0);
        let run = Instruction::Run(RTask { operator: OperatorId::from_index(0), tile: 0 });
        let (wait, signal) = (Instruction::Wait { counter, signals: 2 }, Instruction::Signal(counter));
        let mut units = vec![
            vec![event(run, 0.0, 4.0), event(signal, 4.0, 5.0)],
            vec![event(run, 0.0, 1.0), event(signal, 1.0, 2.0), event(wait, 2.0, 6.0), event(wait, 6.0, 7.0)],
        ];
        release(&mut units);
        assert_eq!(units[1][2].released_by, Some((0, 1)));
        assert_eq!(units[1][3].released_by, None);
        let run = Simulation { makespan: 7.0, units };
        assert_eq!(run.critical_path(), [(1, 3), (1, 2), (0, 1), (0, 0)]);
    }

    #[test]
    fn a_clock_that_wraps_goes_on() {
        let unit = [(u32::MAX - 1, 1), (1, 9)].map(|(begin, end)| Moments { begin, end });
        assert_eq!(unwrapped(&unit, u32::MAX), [[-1, -1, 2], [2, 2, 10]]);
    }
}
