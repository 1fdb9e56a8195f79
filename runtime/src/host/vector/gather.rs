//! Places that elements name, many at a time.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, Index, IndirectIndex};

use super::frame::{Frame, Kind, Slot};
use super::place::{Here, Indirect, LaneAxes, named};

/// An index that is linear in axes and in named places, some of which change along the columns.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// The places that change along the columns.
    named: Vec<(IndirectIndex, Slot, i64)>,
    /// The rest, which moves along the columns by so much.
    rest: Index,
    column: i64,
}

impl Gather {
    /// An index on chunks along these axes, unless no place changes along the columns or it is no sum of axes and places.
    pub(crate) fn new(index: &Index, lanes: LaneAxes, indirect: &Indirect) -> Option<Self> {
        let mut gather = Self { named: Vec::new(), rest: index.clone(), column: 0 };
        for (atom, coefficient) in index.terms() {
            match atom {
                Atom::Axis(axis) if lanes.column == Some(axis.index()) => gather.column = *coefficient,
                Atom::Axis(_) => {}
                Atom::Indirect(place) => {
                    let of = named(indirect, *place);
                    if !of.is_still {
                        gather.named.push((*place, of.slot, *coefficient));
                        gather.rest = gather.rest.add(&Index::of(atom.clone()).times(-coefficient));
                    }
                }
                Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Clamp(..) => return None,
            }
        }
        (!gather.named.is_empty()).then_some(gather)
    }

    /// The offsets of elements of so many bytes behind a base, from a row, a column and a lane on.
    pub(crate) fn offsets(
        &self,
        here: &Here,
        [row, column, lane]: [usize; 3],
        [base, size]: [i64; 2],
        out: &mut [i64],
    ) {
        let first = base + here.index(&self.rest, row, column, lane) * size;
        for (at, out) in out.iter_mut().enumerate() {
            *out = first + at as i64 * self.column * size;
        }
        for (index, slot, coefficient) in &self.named {
            let by = coefficient * size;
            match slot.kind {
                Kind::Word => add(index, here.frame, *slot, lane, by, out, |value: i32| i64::from(value)),
                Kind::Long => add(index, here.frame, *slot, lane, by, out, |value: i64| value),
                Kind::Single | Kind::Double => unreachable!("indices are integers"),
            }
        }
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
