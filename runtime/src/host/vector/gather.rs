//! Elements that lie each at a place of its own, many at a time.

use std::sync::Arc;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, Index, IndirectIndex};

use super::frame::{Frame, Kind, Slot};
use super::lanes::Extent;
use super::place::{Here, Indirect, named};

/// The most places of columns that are kept.
const MOST_COLUMNS: usize = 1 << 14;
/// Elements of a segment from which they are rather loaded segment by segment.
const LONG_SEGMENT: usize = 8;

/// An index whose value moves along the columns with named places, or with quotients, remainders and bounds of the column.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// The places that change along the columns.
    named: Vec<(IndirectIndex, Slot, i64)>,
    /// How far the index moves from one column to the next beside that, or what it has at each of them; the axis of columns.
    columns: Columns,
    axis: usize,
    /// The rest, which is the same for all columns.
    rest: Index,
}

#[derive(Clone, Debug)]
enum Columns {
    Step(i64),
    /// Values beyond the least of them, and what none is beyond.
    Table {
        values: Arc<[i64]>,
        least: i64,
        reach: i64,
    },
}

impl Columns {
    /// The values of an index that depends on the column alone.
    fn table(index: &Index, extent: usize) -> Self {
        let values: Vec<i64> = (0..extent).map(|column| index.evaluate(&|_| column as i64, &|_| 0)).collect();
        let (least, most) = (values.iter().min().copied(), values.iter().max().copied());
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        Self::Table { values: values.iter().map(|value| value - least).collect(), least, reach: most - least }
    }

    /// Whether segments along which the values are linear are short.
    fn turn_often(&self) -> bool {
        let Self::Table { values, .. } = self else { return false };
        let turns = values.windows(3).filter(|of| of[2] - of[1] != of[1] - of[0]).count();
        turns * LONG_SEGMENT > values.len()
    }
}

impl Gather {
    /// An index on chunks along these axes, unless nothing changes along the columns but by long segments, or what does is not known
    /// of each column by itself.
    pub(crate) fn new(index: &Index, (axis, extent): Extent, indirect: &Indirect) -> Option<Self> {
        let (mut own, mut rest, mut places) = (Index::constant(0), index.clone(), Vec::new());
        for (atom, coefficient) in index.terms() {
            let term = Index::of(atom.clone()).times(*coefficient);
            let (mut is_column, mut is_other, mut is_named) = (false, false, false);
            term.visit(
                &mut |inner| if inner.index() == axis { is_column = true } else { is_other = true },
                &mut |_| is_named = true,
            );
            match atom {
                Atom::Indirect(place) => {
                    let of = named(indirect, *place);
                    if of.is_still {
                        continue;
                    }
                    places.push((*place, of.slot, *coefficient));
                }
                _ if is_named || is_column && is_other => return None,
                _ if is_column => own = own.add(&term),
                _ => continue,
            }
            rest = rest.add(&term.times(-1));
        }
        let columns = match own.terms() {
            [] => Columns::Step(0),
            [(Atom::Axis(_), step)] => Columns::Step(*step),
            _ if extent > MOST_COLUMNS => return None,
            _ => Columns::table(&own, extent),
        };
        let is_scattered = !places.is_empty() || columns.turn_often();
        is_scattered.then_some(Self { named: places, columns, axis, rest })
    }

    /// The places of elements from a row, a column and a lane on: what the least of them is not below, how far each is beyond that,
    /// and what none of them is beyond. There are at most `count`, and at least one; `own` may hold them.
    pub(crate) fn places<'p>(
        &'p self,
        here: &Here,
        [row, column, lane]: [usize; 3],
        count: usize,
        own: &'p mut [i64],
    ) -> (i64, &'p [i64], i64) {
        let first = here.index(&self.rest, row, column, lane);
        let start = here.point[self.axis] as usize + column;
        let count = match &self.columns {
            Columns::Table { values, least, reach } if self.named.is_empty() => {
                return (first + least, &values[start..][..count], *reach);
            }
            _ => count.min(own.len()),
        };
        let own = &mut own[..count];
        match &self.columns {
            Columns::Step(step) => own.iter_mut().zip(start as i64..).for_each(|(own, at)| *own = at * step),
            Columns::Table { values, least, .. } => {
                own.iter_mut().zip(&values[start..]).for_each(|(own, value)| *own = value + least);
            }
        }
        for (index, slot, coefficient) in &self.named {
            match slot.kind {
                Kind::Word => add(index, here.frame, *slot, lane, *coefficient, own, |value: i32| i64::from(value)),
                Kind::Long => add(index, here.frame, *slot, lane, *coefficient, own, |value: i64| value),
                Kind::Single | Kind::Double => unreachable!("indices are integers"),
            }
        }
        let (least, most) = own.iter().fold((i64::MAX, i64::MIN), |(least, most), at| (least.min(*at), most.max(*at)));
        own.iter_mut().for_each(|at| *at -= least);
        (first + least, own, most - least)
    }
}

fn add<T: super::frame::Number>(
    index: &IndirectIndex,
    frame: &Frame,
    slot: Slot,
    lane: usize,
    by: i64,
    out: &mut [i64],
    value: impl Fn(T) -> i64,
) {
    let values = &frame.values::<T>(slot)[lane..][..out.len()];
    for (out, &named) in out.iter_mut().zip(values) {
        *out += index.nearest(value(named)) * by;
    }
}
