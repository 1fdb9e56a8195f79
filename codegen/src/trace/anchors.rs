//! Cycles of multiprocessors set against the clock that all of them share.
//!
//! A coarse clock says when it steps, and nothing between: a block waits for a step, and reads its own cycles there.

use super::{ANCHOR_WORDS, Moments, Trace, add, binary, read, store};
use crate::kernel_ir::build::{any, assign, leave_if, on_first_thread, repeat};
use crate::kernel_ir::{
    BinaryOp, Block, Builtin, Constant, Expression, Function, LocalId, ScalarType, SpecialRegister, Statement, UnaryOp,
};

/// Both clocks at one moment, modulo 2³².
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Anchor {
    /// The shared clock, in nanoseconds.
    pub time: u32,
    pub cycles: u32,
}

/// Makes each block of an entry store both clocks, at its begin and its end, from word `first` of the arena on. The two locals
/// may be written there.
pub(super) fn set(entry: &mut Function, clocks: [LocalId; 2], first: u32) {
    let before = entry.locals.push(ScalarType::I32);
    let [stepped, done] = [(); 2].map(|()| entry.locals.push(ScalarType::Bool));
    let anchor = |at: u32| {
        let [time, cycles] = clocks;
        let wait = repeat(step([before, time, cycles], stepped, done));
        let place =
            binary(BinaryOp::Multiply, Expression::Builtin(Builtin::Block), Expression::i32(ANCHOR_WORDS as i32));
        let record = store(add(first + at, place), vec![time.into(), cycles.into()]);
        let look = on_first_thread(vec![read(before, SpecialRegister::Time)]);
        [assign(before, Expression::i32(0)), look, wait, on_first_thread(vec![record])]
    };
    // Locals have been given their first values before.
    let start = entry.body.iter().position(|statement| matches!(statement, Statement::LoadControl { .. })).unwrap_or(0);
    entry.body.splice(start..start, anchor(0));
    entry.body.extend(anchor(2));
}

/// Reads both clocks on thread 0, and leaves the loop when the shared one has another value than before.
fn step([before, time, cycles]: [LocalId; 3], stepped: LocalId, done: LocalId) -> Block {
    let is_other = Expression::Unary(UnaryOp::Not, Box::new(binary(BinaryOp::Equal, time.into(), before.into())));
    let look =
        vec![read(time, SpecialRegister::Time), read(cycles, SpecialRegister::Cycles), assign(stepped, is_other)];
    vec![
        assign(stepped, Expression::Constant(Constant::Bool(false))),
        on_first_thread(look),
        // A loop's end is the same for the whole block.
        any(done, stepped.into()),
        leave_if(done),
    ]
}

impl Trace {
    /// The smallest step between moments, in ticks of the trace's clock; `None` if all are the same.
    pub fn step(&self) -> Option<u32> {
        let moments = || self.units.iter().flatten().flat_map(|moments| [moments.begin, moments.end]);
        let origin = moments().next()?;
        // Units begin shortly before and after one another.
        let mut ticks: Vec<i32> = moments().map(|moment| moment.wrapping_sub(origin).cast_signed()).collect();
        ticks.sort_unstable();
        ticks.windows(2).map(|pair| pair[1].abs_diff(pair[0])).filter(|step| *step > 0).min()
    }

    /// A trace by cycles as one by the shared clock, in nanoseconds.
    pub fn on_shared_clock(mut self) -> Self {
        for (unit, [begin, end]) in self.units.iter_mut().zip(&self.anchors) {
            let nanoseconds = f64::from(end.time.wrapping_sub(begin.time));
            let cycles = f64::from(end.cycles.wrapping_sub(begin.cycles).max(1));
            let time = |moment: u32| {
                let since = f64::from(moment.wrapping_sub(begin.cycles).cast_signed());
                let since = (since * nanoseconds / cycles).round() as i64;
                begin.time.wrapping_add(since as u32)
            };
            for Moments { begin, end } in unit {
                (*begin, *end) = (time(*begin), time(*end));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(unit: &[(u32, u32)], anchors: [Anchor; 2]) -> Trace {
        let unit = unit.iter().map(|&(begin, end)| Moments { begin, end }).collect();
        Trace { multiprocessors: vec![0], anchors: vec![anchors], units: vec![unit] }
    }

    #[test]
    fn cycles_become_nanoseconds_also_where_clocks_wrap() {
        let begin = Anchor { time: u32::MAX - 99, cycles: u32::MAX - 1 };
        let end = Anchor { time: 900, cycles: 1998 };
        let found = trace(&[(u32::MAX - 21, 98), (198, 1998)], [begin, end]).on_shared_clock();
        let expected = [(u32::MAX - 109, u32::MAX - 49), (0, 900)];
        assert_eq!(found.units, trace(&expected, [begin, end]).units);
    }

    #[test]
    fn the_step_is_the_smallest_one() {
        let anchors = [Anchor::default(); 2];
        assert_eq!(trace(&[(1024, 2048), (2048, 5120)], anchors).step(), Some(1024));
        assert_eq!(trace(&[(u32::MAX, 31), (31, 63)], anchors).step(), Some(32));
        assert_eq!(trace(&[(7, 7)], anchors).step(), None);
    }
}
