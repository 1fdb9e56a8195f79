//! The sums of a tile's rows.

use std::collections::HashMap;

use warpweave_graph::expr::ReadId;
use warpweave_plan::template::row::rounds::{RUN, Round};
use warpweave_plan::template::weight_stationary::passes::{Passes, points, reducing_rounds};
use warpweave_plan::template::weight_stationary::reads::{resident_reads, shared_vectors, sum_groups};

use super::poll::PolledVector;
use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::memory::{WARP_SIZE, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::{
    Accumulator, Row, RunSource, accumulate_point, accumulate_runs, emit_row, fetch_run, place_of, spread_across_lanes,
};
use crate::lower::tile::{TileAxes, decode_box};

/// The warp that a thread is of.
#[derive(Clone, Copy)]
pub(super) struct Warp {
    pub(super) number: LocalId,
    pub(super) lane: LocalId,
}

/// A row and where its constants are.
struct KeptRow {
    row: Row,
    /// By stage and read, the first element in shared memory.
    firsts: HashMap<(usize, ReadId), LocalId>,
    /// By stage and read, the registers that hold them.
    registers: HashMap<(usize, ReadId), ArrayId>,
}

/// The products of a tile.
pub(super) struct Products {
    warp: Warp,
    kept: SharedId,
    passes: Passes,
    /// Those of the first passes; their constants are in registers.
    rows: Vec<KeptRow>,
    /// That of the last pass where it is the only one whose constants are not.
    last: Option<KeptRow>,
}

impl Products {
    /// Loads what registers hold.
    pub(super) fn load(
        emitter: &mut Emitter,
        tile: &TileAxes,
        warp: Warp,
        (kept, passes): (SharedId, Passes),
    ) -> Result<Self, LowerError> {
        let mut products = Self { warp, kept, passes, rows: Vec::new(), last: None };
        for pass in 0..passes.in_registers {
            let mut row = products.row(emitter, tile, Expression::i32(pass as i32))?;
            for round in reducing_rounds(emitter.body()) {
                products.load_row(emitter, &round, &mut row)?;
            }
            products.rows.push(row);
        }
        if passes.in_shared() == 1 {
            products.last = Some(products.row(emitter, tile, Expression::i32(passes.in_registers as i32))?);
        }
        Ok(products)
    }

    /// The warp's row of a pass.
    fn row(&self, emitter: &mut Emitter, tile: &TileAxes, pass: Expression) -> Result<KeptRow, LowerError> {
        let warps = emitter.warps();
        let number = add(multiply(pass, Expression::i32(warps as i32)), self.warp.number);
        let number = emitter.bind(ScalarType::I32, number);
        let row = emit_row(emitter, tile, number, self.warp.lane, self.passes.all * warps)?;
        // A warp without a row of its own repeats the first.
        let own = match &row.real {
            Some(real) => {
                Expression::Select(Box::new(real.clone()), Box::new(number.into()), Box::new(Expression::i32(0)))
            }
            None => number.into(),
        };
        let own = emitter.bind(ScalarType::I32, own);
        let rows: usize = emitter.operator.params.tile.iter().product();
        let (mut firsts, mut offset) = (HashMap::new(), 0);
        for read in resident_reads(emitter.body()) {
            let (start, length) = (emitter.operand(offset as i64)?, emitter.operand(read.length as i64)?);
            let first = emitter.bind(ScalarType::I32, add(multiply(own, length), start));
            firsts.insert((read.stage, read.id), first);
            offset += rows * read.length;
        }
        Ok(KeptRow { row, firsts, registers: HashMap::new() })
    }

    fn load_row(&self, emitter: &mut Emitter, round: &Round, row: &mut KeptRow) -> Result<(), LowerError> {
        let length = points(emitter.body(), round).div_ceil(WIDTH) * RUN;
        for (stage, id, _) in round.reads(emitter.body()) {
            let Some(&first) = row.firsts.get(&(stage, id)) else { continue };
            let array = emitter.array(ScalarType::F32, length);
            row.registers.insert((stage, id), array);
            self.each_run(emitter, round, |emitter, trip, number| {
                let place = Place::Element(array, multiply(trip, Expression::i32(RUN as i32)));
                let index = add(first, number);
                emitter.push(Statement::LoadShared { place, array: self.kept, width: Width::Four, index });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The runs of a lane along a round's rows, written out; `body` gets the trip and the number of the run's first point.
    fn each_run<'b>(
        &self,
        emitter: &mut Emitter<'b>,
        round: &Round,
        mut body: impl FnMut(&mut Emitter<'b>, Expression, LocalId) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let (points, lane) = (points(emitter.body(), round), self.warp.lane);
        let at_trip = |emitter: &mut Emitter<'b>, trip: Expression| {
            let own = multiply(lane, Expression::i32(RUN as i32));
            let number = add(multiply(trip.clone(), Expression::i32(WIDTH as i32)), own);
            let number = emitter.bind(ScalarType::I32, number);
            Ok::<_, LowerError>((trip, number))
        };
        let whole = points / WIDTH;
        if whole > 0 {
            emitter.repeat(Expression::i32(whole as i32), true, |emitter, trip| {
                let (trip, number) = at_trip(emitter, trip.into())?;
                body(emitter, trip, number)
            })?;
        }
        if points.is_multiple_of(WIDTH) {
            return Ok(());
        }
        let (trip, number) = at_trip(emitter, Expression::i32(whole as i32))?;
        let limit = Expression::i32(points as i32);
        emitter.when(Some(less(number, limit)), |emitter| body(emitter, trip, number))
    }

    /// All sums, into shared memory.
    pub(super) fn emit(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        polled: &[PolledVector],
        sums: SharedId,
    ) -> Result<(), LowerError> {
        let mut own: Vec<Vec<Accumulator>> = vec![Vec::new(); self.rows.len()];
        if !self.rows.is_empty() {
            for round in reducing_rounds(emitter.body()) {
                let accumulators = self.register_products(emitter, &round, polled)?;
                own.iter_mut().zip(accumulators).for_each(|(own, round)| own.extend(round));
            }
        }
        let mut accumulators: Vec<Accumulator> = own.into_iter().flatten().collect();
        match &self.last {
            Some(last) => accumulators.extend(self.shared_products(emitter, last, polled)?),
            None if self.passes.in_shared() > 0 => {
                let count = emitter.operand(self.passes.in_shared() as i64)?;
                emitter.repeat(count, false, |emitter, trip| {
                    let pass = add(trip, Expression::i32(self.passes.in_registers as i32));
                    let pass = emitter.bind(ScalarType::I32, pass);
                    let row = self.row(emitter, tile, pass.into())?;
                    let accumulators = self.shared_products(emitter, &row, polled)?;
                    let first = multiply(pass, Expression::i32(self.passes.sums as i32));
                    self.combine(emitter, &accumulators, first, sums)
                })?;
            }
            None => {}
        }
        self.combine(emitter, &accumulators, Expression::i32(0), sums)
    }

    /// Per row, the accumulators of a round of the rows whose constants are in registers.
    fn register_products(
        &self,
        emitter: &mut Emitter,
        round: &Round,
        polled: &[PolledVector],
    ) -> Result<Vec<Vec<Accumulator>>, LowerError> {
        let mut accumulators: Vec<Vec<Accumulator>> = Vec::with_capacity(self.rows.len());
        for _ in &self.rows {
            let own: Result<_, LowerError> =
                round.stages.clone().map(|stage| Accumulator::emit(emitter, stage)).collect();
            accumulators.push(own?);
        }
        let reads = round.reads(emitter.body());
        let expr = &emitter.body().stages[round.stages.start].expr;
        let lengths: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
        self.each_run(emitter, round, |emitter, trip, number| {
            let inner = decode_box(emitter, &lengths, number.into())?;
            let mut vectors: HashMap<(usize, ReadId), ArrayId> = HashMap::new();
            for (kept, accumulators) in self.rows.iter().zip(&accumulators) {
                let coordinates: Vec<_> = kept.row.coordinates.iter().cloned().chain(inner.iter().cloned()).collect();
                let mut runs = Vec::with_capacity(reads.len());
                for &(stage, id, _) in &reads {
                    runs.push(match (kept.registers.get(&(stage, id)), vectors.get(&(stage, id))) {
                        (Some(&array), _) => (array, Some(multiply(trip.clone(), Expression::i32(RUN as i32)))),
                        (None, Some(&array)) => (array, None),
                        (None, None) => {
                            let polled = polled.iter().find(|vector| (vector.stage, vector.id) == (stage, id));
                            let array = match polled {
                                Some(vector) => {
                                    let array = emitter.array(ScalarType::F32, RUN);
                                    let place = Place::Element(array, Expression::i32(0));
                                    let (width, index) = (Width::Four, number.into());
                                    emitter.push(Statement::LoadShared { place, array: vector.array, width, index });
                                    array
                                }
                                None => fetch_run(emitter, stage, id, &coordinates, &[])?,
                            };
                            if self.is_common(emitter, stage, id) {
                                vectors.insert((stage, id), array);
                            }
                            (array, None)
                        }
                    });
                }
                emitter.repeat(Expression::i32(RUN as i32), true, |emitter, step| {
                    let mut loaded = HashMap::new();
                    for (&(stage, _, read), (array, first)) in reads.iter().zip(&runs) {
                        let at = match first {
                            Some(first) => add(first.clone(), step),
                            None => step.into(),
                        };
                        let value = emitter.bind(ScalarType::F32, Expression::Element(*array, Box::new(at)));
                        loaded.insert(place_of(&emitter.body().stages[stage], read), value);
                    }
                    accumulate_point(emitter, &coordinates, accumulators, &[], loaded)
                })?;
            }
            Ok(())
        })?;
        Ok(accumulators)
    }

    /// Whether a read is the same for every row.
    fn is_common(&self, emitter: &Emitter, stage: usize, id: ReadId) -> bool {
        shared_vectors(emitter.body()).iter().any(|vector| (vector.stage, vector.id) == (stage, id))
    }

    /// The accumulators of a row whose constants are in shared memory.
    fn shared_products(
        &self,
        emitter: &mut Emitter,
        kept: &KeptRow,
        polled: &[PolledVector],
    ) -> Result<Vec<Accumulator>, LowerError> {
        let mut found = Vec::new();
        for round in reducing_rounds(emitter.body()) {
            let mut accumulators: Vec<Accumulator> = Vec::with_capacity(round.stages.len());
            for stage in round.stages.clone() {
                accumulators.push(Accumulator::emit(emitter, stage)?);
            }
            let mut sources = Vec::new();
            for (stage, id, _) in round.reads(emitter.body()) {
                let vector = polled.iter().find(|vector| (vector.stage, vector.id) == (stage, id));
                sources.push(match (kept.firsts.get(&(stage, id)), vector) {
                    (Some(&first), _) => RunSource::Shared { array: self.kept, first },
                    (None, Some(vector)) => {
                        let first = emitter.bind(ScalarType::I32, Expression::i32(0));
                        RunSource::Shared { array: vector.array, first }
                    }
                    (None, None) => RunSource::Memory,
                });
            }
            // A warp without a row of its own leaves the paths to shared memory to the others.
            emitter.when(kept.row.real.clone(), |emitter| {
                accumulate_runs(emitter, &kept.row, &round, &accumulators, &sources, &[])
            })?;
            found.extend(accumulators);
        }
        Ok(found)
    }

    /// Combines accumulators across the lanes of the warp and puts the sums into shared memory, from the warp's element of
    /// number `from` on.
    fn combine(
        &self,
        emitter: &mut Emitter,
        accumulators: &[Accumulator],
        from: Expression,
        sums: SharedId,
    ) -> Result<(), LowerError> {
        let Warp { number, lane } = self.warp;
        let of_warp = multiply(number, Expression::i32((self.passes.all * self.passes.sums) as i32));
        let mut rest = accumulators;
        let mut position = 0;
        for count in sum_groups(accumulators.len()) {
            let (group, others) = rest.split_at(count);
            rest = others;
            let (sum, which) = spread_across_lanes(emitter, lane, group);
            let lanes = binary(BinaryOp::BitAnd, lane, Expression::i32(WARP_SIZE as i32 / count as i32 - 1));
            let first = binary(BinaryOp::Equal, lanes, Expression::i32(0));
            emitter.when(Some(first), |emitter| {
                let own = add(add(of_warp.clone(), from.clone()), Expression::i32(position));
                let index = add(own, which);
                emitter.push(Statement::StoreShared { array: sums, index, values: vec![sum.into()] });
                Ok::<(), LowerError>(())
            })?;
            position += count as i32;
        }
        Ok(())
    }
}

/// Points of a row that a warp takes at once.
const WIDTH: usize = WARP_SIZE as usize * RUN;
