//! The points of a thread side by side: what they read is asked for before the first value is used.

use std::collections::HashMap;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Guard, Index, Reducer, Scalar};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::template::pointwise::fetches::{Fetches, Moved, Points, SharedFetch};
use warpweave_plan::template::pointwise::runs::{Runs, VECTOR};
use warpweave_plan::template::pointwise::walk::{Rolled, Tap, Walk};

use crate::kernel_ir::expression::{Constant, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::lower::arithmetic::scalar_type;
use crate::lower::emitter::{Emitter, add, multiply};
use crate::lower::error::LowerError;
use crate::lower::pointwise::fetcher::{Fetched, Fetcher};
use crate::lower::reduce::{accumulate, neutral, reduced_value};
use crate::lower::scalar::Point;
use crate::lower::shared_values::SharedValues;
use crate::lower::store::{bind_value, output, store, store_neighbours};

/// Loads that are asked for together; those of the next taps are asked for before these are used.
const TOGETHER: usize = 32;

/// One of a thread's points.
pub(super) struct Place {
    /// Its coordinates along the tile axes.
    pub(super) coordinates: Vec<Expression>,
    /// Under which condition it exists; absent if it does wherever the first one is computed.
    pub(super) exists: Option<Expression>,
}

/// The points of a thread.
pub(super) struct Places {
    pub(super) list: Vec<Place>,
    pub(super) runs: Option<Runs>,
}

/// The loads of a scalar, what emits them, and where their values are.
struct Loaded {
    fetches: Fetches,
    fetchers: Vec<Fetcher>,
    values: Vec<Option<Fetched>>,
}

/// What stages have asked for, and where it is.
type Known = HashMap<SharedFetch, Fetched>;

impl Places {
    fn points(&self) -> Points {
        Points { count: self.list.len(), runs: self.runs }
    }

    /// Emits all stages.
    pub(super) fn emit(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let count = emitter.body().stages.len();
        let mut finals = Vec::with_capacity(count);
        let mut known = Known::new();
        for stage in 0..count {
            finals.push(self.load_once(emitter, stage, &mut known)?);
        }
        if self.runs.is_none() && self.list.len() > 1 {
            return emitter.alike(self.list.len(), |emitter, number| {
                let exists = self.list[number].exists.clone();
                emitter.when(exists, |emitter| self.finish_point(emitter, number, &finals))
            });
        }
        let mut values: Vec<Vec<Option<LocalId>>> = vec![Vec::with_capacity(count); self.list.len()];
        let mut shared = vec![SharedValues::new(emitter.body()); self.list.len()];
        for (stage, loaded) in finals.iter().enumerate() {
            let sums = self.reduce(emitter, stage, &values)?;
            emitter.alike(self.list.len(), |emitter, number| {
                let known = (&values[number][..], &mut shared[number]);
                let value = self.value(emitter, (stage, number), loaded, sums.get(number).copied(), known)?;
                values[number].push(Some(value));
                Ok::<(), LowerError>(())
            })?;
        }
        (0..count).try_for_each(|stage| self.store(emitter, stage, &values))
    }

    /// All stages at one point, none of which reduces, once what they read has been asked for.
    fn finish_point(&self, emitter: &mut Emitter, number: usize, finals: &[Loaded]) -> Result<(), LowerError> {
        let mut values: Vec<Option<LocalId>> = Vec::with_capacity(finals.len());
        let mut shared = SharedValues::new(emitter.body());
        for (stage, loaded) in finals.iter().enumerate() {
            let value = self.value(emitter, (stage, number), loaded, None, (&values, &mut shared))?;
            let mut point = Point::new(stage, self.list[number].coordinates.clone(), &[]);
            store(emitter, &mut point, stage, value)?;
            values.push(Some(value));
        }
        Ok(())
    }

    fn fetches(&self, emitter: &Emitter, stage: usize, scalar: &Scalar, walk: &Walk) -> Fetches {
        let body = emitter.body();
        let own: &Stage = &body.stages[stage];
        let is_wide = |read| {
            let read = &own.expr.reads[read];
            let StageSource::Operand(operand) = own.sources[read.operand] else { return false };
            let planned = &emitter.memory.tensors[body.operands[operand]];
            let place = Index::linear(&read.index, &planned.layout.strides, planned.layout.offset);
            let single = planned.ty.element.is_single() && !emitter.is_tagged(body.operands[operand]);
            single && self.runs.is_some_and(|runs| runs.is_wide(&own.expr, &place))
        };
        Fetches::of(own, scalar, self.points(), walk, &is_wide)
    }

    /// Asks for what a stage reads once a point, but for what an earlier stage has asked for.
    fn load_once(&self, emitter: &mut Emitter, stage: usize, known: &mut Known) -> Result<Loaded, LowerError> {
        let expr = &emitter.body().stages[stage].expr;
        let walk = Walk::default();
        let fetches = match (expr.reducer, &expr.epilogue) {
            (Some(_), None) => Fetches::default(),
            (_, Some(scalar)) => self.fetches(emitter, stage, scalar, &walk),
            (None, None) => self.fetches(emitter, stage, &expr.body, &walk),
        };
        let mut loaded =
            Loaded { values: vec![None; fetches.list.len()], fetches, fetchers: self.fetchers(stage, &[]) };
        if !expr.indirect_indices().is_empty() {
            loaded.fetchers.iter_mut().try_for_each(|fetcher| fetcher.load_places(emitter))?;
        }
        let shared: Vec<Option<SharedFetch>> =
            loaded.fetches.list.iter().map(|fetch| fetch.shared(emitter.body(), stage)).collect();
        for (value, shared) in loaded.values.iter_mut().zip(&shared) {
            *value = shared.as_ref().and_then(|shared| known.get(shared)).copied();
        }
        self.load(emitter, &mut loaded, 0..1)?;
        for (value, shared) in loaded.values.iter().zip(shared) {
            known.extend(shared.zip(*value));
        }
        Ok(loaded)
    }

    /// What emits loads from each point where one begins: from the first of a run.
    fn fetchers(&self, stage: usize, reduced: &[Expression]) -> Vec<Fetcher> {
        let from = |place: &Place| Fetcher::new(stage, place.coordinates.iter().chain(reduced).cloned().collect());
        let count = if self.runs.is_some() { 1 } else { self.list.len() };
        self.list[..count].iter().map(from).collect()
    }

    /// Asks for what taps need first.
    fn load(&self, emitter: &mut Emitter, loaded: &mut Loaded, taps: std::ops::Range<usize>) -> Result<(), LowerError> {
        let Loaded { fetches, fetchers, values } = loaded;
        emitter.alike(fetchers.len(), |emitter, number| {
            for (fetch, value) in fetches.list.iter().zip(values.iter_mut()) {
                let own = self.runs.is_some() || fetch.point == number;
                if own && value.is_none() && taps.contains(&fetch.tap) {
                    let exists = self.list[fetch.point].exists.as_ref();
                    *value = Some(fetchers[number].fetch(emitter, fetch, exists)?);
                }
            }
            Ok(())
        })
    }

    /// The value of a stage at a point.
    fn value(
        &self,
        emitter: &mut Emitter,
        (stage, number): (usize, usize),
        loaded: &Loaded,
        sum: Option<LocalId>,
        (known, shared): (&[Option<LocalId>], &mut SharedValues),
    ) -> Result<LocalId, LowerError> {
        let expr = &emitter.body().stages[stage].expr;
        let mut point = Point::new(stage, self.list[number].coordinates.clone(), known);
        loaded.hand_to(emitter, &mut point, number, 0);
        if let (Some(sum), Some(reducer)) = (sum, expr.reducer) {
            point.reduced = Some(reduced_value(emitter, reducer, expr.body_element(), sum));
        }
        let result = shared.emit(emitter, &mut point, stage)?;
        bind_value(emitter, stage, result)
    }

    /// The reduced values of a stage at all points; none if it does not reduce.
    fn reduce(
        &self,
        emitter: &mut Emitter,
        stage: usize,
        known: &[Vec<Option<LocalId>>],
    ) -> Result<Vec<LocalId>, LowerError> {
        let expr = &emitter.body().stages[stage].expr;
        let Some(reducer) = expr.reducer else { return Ok(Vec::new()) };
        let scalar = scalar_type(emitter, expr.body_element())?;
        let mut sums = Vec::with_capacity(self.list.len());
        for _ in &self.list {
            let start = neutral(emitter, reducer, expr.body_element())?;
            sums.push(emitter.bind(scalar, start));
        }
        let walk = Walk::of(expr, self.list.len());
        let fetches = self.fetches(emitter, stage, &expr.body, &walk);
        let start = vec![Expression::i32(0); expr.reduced().count()];
        let sum = Sum { places: self, stage, walk: &walk, reducer, scalar, sums: &sums, known };
        sum.loops(emitter, &walk.rolled, start, &fetches)?;
        Ok(sums)
    }

    /// Writes what leaves the group.
    fn store(&self, emitter: &mut Emitter, stage: usize, values: &[Vec<Option<LocalId>>]) -> Result<(), LowerError> {
        let value = |number: usize| values[number][stage].expect("every stage has its value");
        let Some((tensor, place)) = output(emitter, stage) else { return Ok(()) };
        let expr = &emitter.body().stages[stage].expr;
        let single = expr.element.is_single() && !emitter.is_tagged(tensor);
        let step = if single && self.runs.is_some_and(|runs| runs.is_wide(expr, &place)) { VECTOR } else { 1 };
        emitter.alike(self.list.len() / step, |emitter, vector| {
            let number = vector * step;
            let mut point = Point::new(stage, self.list[number].coordinates.clone(), &[]);
            if step > 1 {
                let vector = (number..number + step).map(|at| value(at).into()).collect();
                return store_neighbours(emitter, &mut point, stage, vector);
            }
            let exists = self.list[number].exists.clone();
            emitter.when(exists, |emitter| store(emitter, &mut point, stage, value(number)))
        })
    }
}

impl Loaded {
    /// Lets a point take what was fetched for it at a tap.
    fn hand_to(&self, emitter: &mut Emitter, point: &mut Point, number: usize, tap: usize) {
        let stage = point.stage.of(emitter.body());
        for (id, read) in stage.expr.reads.iter() {
            let Some((fetch, element)) = self.fetches.place(id, number, tap) else { continue };
            let local = match self.values[fetch].expect("it was asked for") {
                Fetched::One(local) => local,
                Fetched::Vector(array) => {
                    let scalar = scalar_type(emitter, stage.expr.operands[read.operand].element);
                    let value = Expression::Element(array, Box::new(Expression::i32(element as i32)));
                    emitter.bind(scalar.unwrap_or(ScalarType::F32), value)
                }
            };
            point.known_read(id, local);
        }
    }
}

/// The guards whose truth is part of a scalar's value.
fn guards(scalar: &Scalar) -> Vec<Guard> {
    let mut found = Vec::new();
    scalar.visit(&mut |part| {
        if let Scalar::Holds(guard) = part {
            found.push(guard.clone());
        }
    });
    found
}

/// The reduction of a stage at all points of a thread.
struct Sum<'s> {
    places: &'s Places,
    stage: usize,
    walk: &'s Walk,
    reducer: Reducer,
    scalar: ScalarType,
    sums: &'s [LocalId],
    known: &'s [Vec<Option<LocalId>>],
}

impl Sum<'_> {
    /// The loops, and the taps inside them; `reduced` are the coordinates of the reduced axes as far as loops give them.
    fn loops(
        &self,
        emitter: &mut Emitter,
        rolled: &[Rolled],
        reduced: Vec<Expression>,
        fetches: &Fetches,
    ) -> Result<(), LowerError> {
        let Some((&Rolled { axis, trips, step }, inner)) = rolled.split_first() else {
            return self.taps(emitter, &reduced, fetches);
        };
        let position = axis.index() - emitter.body().tile_rank;
        let trips = emitter.operand(trips as i64)?;
        emitter.repeat(trips, false, |emitter, trip| {
            let mut reduced = reduced;
            reduced[position] = match step {
                1 => trip.into(),
                _ => emitter.bind(ScalarType::I32, multiply(trip, Expression::i32(step as i32))).into(),
            };
            self.loops(emitter, inner, reduced, fetches)
        })
    }

    /// The taps in batches: each is computed when the next has been asked for.
    fn taps(&self, emitter: &mut Emitter, reduced: &[Expression], fetches: &Fetches) -> Result<(), LowerError> {
        let taps = self.walk.taps();
        let (values, fetchers) = (vec![None; fetches.list.len()], self.places.fetchers(self.stage, reduced));
        let mut loaded = Loaded { fetches: fetches.clone(), fetchers, values };
        let mut before = 0..0;
        let mut from = 0;
        while from < taps.len() {
            let mut until = from + 1;
            let count = |until: usize| fetches.list.iter().filter(|fetch| (from..until).contains(&fetch.tap)).count();
            while until < taps.len() && count(until + 1) <= TOGETHER {
                until += 1;
            }
            self.places.load(emitter, &mut loaded, from..until)?;
            self.accumulate(emitter, &mut loaded, reduced, &taps, before)?;
            before = from..until;
            from = until;
        }
        self.accumulate(emitter, &mut loaded, reduced, &taps, before)
    }

    fn accumulate(
        &self,
        emitter: &mut Emitter,
        loaded: &mut Loaded,
        reduced: &[Expression],
        taps: &[Tap],
        range: std::ops::Range<usize>,
    ) -> Result<(), LowerError> {
        let expr = &emitter.body().stages[self.stage].expr;
        let (body, guards) = (&expr.body, guards(&expr.body));
        for tap in range {
            for (number, place) in self.places.list.iter().enumerate() {
                let axes = self.coordinates(place, reduced, &taps[tap]);
                let mut point = Point::new(self.stage, axes, &self.known[number]);
                loaded.hand_to(emitter, &mut point, number, tap);
                let fetcher = if self.places.runs.is_some() { 0 } else { number };
                let moved = Moved { expr, runs: self.places.runs, walk: self.walk };
                for guard in &guards {
                    let at = moved.guard(guard, number, &taps[tap]);
                    let holds = loaded.fetchers[fetcher].guard(emitter, &at)?;
                    let holds = holds.unwrap_or(Expression::Constant(Constant::Bool(true)));
                    point.known_scalar(Scalar::Holds(guard.clone()), holds);
                }
                accumulate(emitter, &mut point, self.reducer, body, self.sums[number], self.scalar)?;
            }
        }
        Ok(())
    }

    /// The coordinates of all axes at a tap.
    fn coordinates(&self, place: &Place, reduced: &[Expression], tap: &Tap) -> Vec<Expression> {
        let rank = place.coordinates.len();
        let mut axes: Vec<Expression> = place.coordinates.iter().chain(reduced).cloned().collect();
        for &(axis, at) in tap {
            let shift = Expression::i32(at as i32);
            let position = axis.index();
            debug_assert!(position >= rank, "reduced axes follow the tile axes");
            axes[position] = match (self.walk.is_rolled(axis), at) {
                (true, 0) => axes[position].clone(),
                (true, _) => add(axes[position].clone(), shift),
                (false, _) => shift,
            };
        }
        axes
    }
}
