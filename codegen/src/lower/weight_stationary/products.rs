//! The sums of a tile's rows.

use std::collections::HashMap;

use warpweave_graph::expr::ReadId;
use warpweave_plan::template::row::rounds::{RUN, Round};
use warpweave_plan::template::weight_stationary::passes::{Passes, points, reducing_rounds};
use warpweave_plan::template::weight_stationary::reads::{resident_reads, shared_vectors, sum_groups};

use super::poll::Polled;
use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::memory::{WARP_SIZE, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::{Accumulator, Row, accumulate_point, emit_row, fetch_run, place_of, spread_across_lanes};
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
    /// By the length of a read's rows, the element of shared memory where the lane's part of this one begins, from the
    /// first row of the read on.
    firsts: HashMap<usize, LocalId>,
    /// By stage and read, the registers that hold them.
    registers: HashMap<(usize, ReadId), ArrayId>,
}

/// Where the first row of a read lies in shared memory, and how long a row is.
#[derive(Clone, Copy)]
struct KeptRead {
    start: usize,
    length: usize,
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
    /// By stage and read, where constants lie.
    reads: HashMap<(usize, ReadId), KeptRead>,
    /// The first element of a row that a lane takes.
    own: LocalId,
}

impl Products {
    /// Loads what registers hold.
    pub(super) fn load(
        emitter: &mut Emitter,
        tile: &TileAxes,
        warp: Warp,
        (kept, passes): (SharedId, Passes),
    ) -> Result<Self, LowerError> {
        let rows: usize = emitter.operator.params.tile.iter().product();
        let (mut reads, mut start) = (HashMap::new(), 0);
        for read in resident_reads(emitter.body()) {
            reads.insert((read.stage, read.id), KeptRead { start, length: read.length });
            start += rows * read.length;
        }
        let own = emitter.bind(ScalarType::I32, multiply(warp.lane, Expression::i32(RUN as i32)));
        let mut products = Self { warp, kept, passes, rows: Vec::new(), last: None, reads, own };
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
        let mut firsts = HashMap::new();
        for read in resident_reads(emitter.body()) {
            firsts.entry(read.length).or_insert_with(|| {
                let first = multiply(own, Expression::i32(read.length as i32));
                emitter.bind(ScalarType::I32, add(first, self.own))
            });
        }
        Ok(KeptRow { row, firsts, registers: HashMap::new() })
    }

    /// The element of shared memory where the lane's run of a trip begins; `None` if it is not kept.
    fn kept_run(&self, row: &KeptRow, name: (usize, ReadId), trip: &Expression) -> Option<Expression> {
        let &KeptRead { start, length } = self.reads.get(&name)?;
        let from = add(row.firsts[&length], multiply(trip.clone(), Expression::i32(WIDTH as i32)));
        Some(add(from, Expression::i32(start as i32)))
    }

    fn load_row(&self, emitter: &mut Emitter, round: &Round, row: &mut KeptRow) -> Result<(), LowerError> {
        let length = points(emitter.body(), round).div_ceil(WIDTH) * RUN;
        for (stage, id, _) in round.reads(emitter.body()) {
            if !self.reads.contains_key(&(stage, id)) {
                continue;
            }
            let array = emitter.array(ScalarType::F32, length);
            self.each_run(emitter, round, true, |emitter, trip| {
                let place = Place::Element(array, multiply(trip.clone(), Expression::i32(RUN as i32)));
                let index = self.kept_run(row, (stage, id), trip).expect("the read is kept");
                emitter.push(Statement::LoadShared { place, array: self.kept, width: Width::Four, index });
                Ok(())
            })?;
            row.registers.insert((stage, id), array);
        }
        Ok(())
    }

    /// The runs of a lane along a round's rows; `body` gets the trip.
    fn each_run<'b>(
        &self,
        emitter: &mut Emitter<'b>,
        round: &Round,
        unroll: bool,
        mut body: impl FnMut(&mut Emitter<'b>, &Expression) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let points = points(emitter.body(), round);
        let whole = points / WIDTH;
        if whole > 0 {
            emitter.repeat(Expression::i32(whole as i32), unroll, |emitter, trip| body(emitter, &trip.into()))?;
        }
        let rest = (points % WIDTH) as i32;
        if rest == 0 {
            return Ok(());
        }
        let inside = less(self.own, Expression::i32(rest));
        emitter.when(Some(inside), |emitter| body(emitter, &Expression::i32(whole as i32)))
    }

    /// The accumulators of the rows whose constants are in registers.
    pub(super) fn of_registers(&self, emitter: &mut Emitter, polled: &Polled) -> Result<Vec<Accumulator>, LowerError> {
        let rows: Vec<&KeptRow> = self.rows.iter().collect();
        if rows.is_empty() { Ok(Vec::new()) } else { self.products(emitter, &rows, true, polled) }
    }

    /// All sums into shared memory: those of accumulators, and of the other rows.
    pub(super) fn finish(
        &self,
        emitter: &mut Emitter,
        (tile, polled): (&TileAxes, &Polled),
        mut accumulators: Vec<Accumulator>,
        sums: SharedId,
    ) -> Result<(), LowerError> {
        match &self.last {
            Some(last) => accumulators.extend(self.products(emitter, &[last], false, polled)?),
            None if self.passes.in_shared() > 0 => {
                let count = emitter.operand(self.passes.in_shared() as i64)?;
                emitter.repeat(count, false, |emitter, trip| {
                    let pass = add(trip, Expression::i32(self.passes.in_registers as i32));
                    let pass = emitter.bind(ScalarType::I32, pass);
                    let row = self.row(emitter, tile, pass.into())?;
                    let accumulators = self.products(emitter, &[&row], false, polled)?;
                    let first = multiply(pass, Expression::i32(self.passes.sums as i32));
                    self.combine(emitter, &accumulators, first, sums)
                })?;
            }
            None => {}
        }
        self.combine(emitter, &accumulators, Expression::i32(0), sums)
    }

    /// The accumulators of rows, row by row; `unroll` if their constants are in registers.
    fn products(
        &self,
        emitter: &mut Emitter,
        rows: &[&KeptRow],
        unroll: bool,
        polled: &Polled,
    ) -> Result<Vec<Accumulator>, LowerError> {
        let mut found: Vec<Vec<Accumulator>> = vec![Vec::new(); rows.len()];
        for round in reducing_rounds(emitter.body()) {
            let mut accumulators: Vec<Vec<Accumulator>> = Vec::with_capacity(rows.len());
            for _ in rows {
                let own: Result<_, LowerError> =
                    round.stages.clone().map(|stage| Accumulator::emit(emitter, stage)).collect();
                accumulators.push(own?);
            }
            // A warp without a row of its own leaves the paths to shared memory to the others.
            let real = if unroll { None } else { rows[0].row.real.clone() };
            emitter.when(real, |emitter| {
                self.each_run(emitter, &round, unroll, |emitter, trip| {
                    self.products_of_run(emitter, &round, (rows, &accumulators), trip, polled)
                })
            })?;
            found.iter_mut().zip(accumulators).for_each(|(found, own)| found.extend(own));
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The products of a lane's run of every row.
    fn products_of_run(
        &self,
        emitter: &mut Emitter,
        round: &Round,
        (rows, accumulators): (&[&KeptRow], &[Vec<Accumulator>]),
        trip: &Expression,
        polled: &Polled,
    ) -> Result<(), LowerError> {
        let body = emitter.body();
        let (reads, expr) = (round.reads(body), &body.stages[round.stages.start].expr);
        let lengths: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
        let number = add(self.own, multiply(trip.clone(), Expression::i32(WIDTH as i32)));
        let inner = decode_box(emitter, &lengths, number)?;
        let mut vectors: HashMap<(usize, ReadId), ArrayId> = HashMap::new();
        for (kept, accumulators) in rows.iter().zip(accumulators) {
            let coordinates: Vec<_> = kept.row.coordinates.iter().cloned().chain(inner.iter().cloned()).collect();
            let mut runs = Vec::with_capacity(reads.len());
            for &(stage, id, _) in &reads {
                let name = (stage, id);
                if let Some(&array) = kept.registers.get(&name) {
                    runs.push((array, Some(multiply(trip.clone(), Expression::i32(RUN as i32)))));
                    continue;
                }
                let array = match vectors.get(&name) {
                    Some(&array) => array,
                    None => self.fetch(emitter, (kept, &coordinates), name, trip, polled)?,
                };
                if shared_vectors(body, &emitter.operator.params).iter().any(|vector| (vector.stage, vector.id) == name)
                {
                    vectors.insert(name, array);
                }
                runs.push((array, None));
            }
            emitter.repeat(Expression::i32(RUN as i32), true, |emitter, step| {
                let mut loaded = HashMap::new();
                for (&(stage, _, read), (array, first)) in reads.iter().zip(&runs) {
                    let at = first.clone().map_or(step.into(), |first| add(first, step));
                    let value = emitter.bind(ScalarType::F32, Expression::Element(*array, Box::new(at)));
                    loaded.insert(place_of(&body.stages[stage], read), value);
                }
                accumulate_point(emitter, &coordinates, accumulators, &[], loaded)
            })?;
        }
        Ok(())
    }

    /// A run of a row or of a vector, from wherever it is.
    fn fetch(
        &self,
        emitter: &mut Emitter,
        (kept, coordinates): (&KeptRow, &[Expression]),
        name: (usize, ReadId),
        trip: &Expression,
        polled: &Polled,
    ) -> Result<ArrayId, LowerError> {
        let vector = polled.find(name);
        let (from, index) = match (self.kept_run(kept, name, trip), vector) {
            (Some(index), _) => (self.kept, index),
            (None, Some(vector)) => {
                let own = add(add(self.own, polled.first), multiply(trip.clone(), Expression::i32(WIDTH as i32)));
                (vector.array, own)
            }
            (None, None) => return fetch_run(emitter, name.0, name.1, coordinates, &[]),
        };
        let array = emitter.array(ScalarType::F32, RUN);
        let place = Place::Element(array, Expression::i32(0));
        emitter.push(Statement::LoadShared { place, array: from, width: Width::Four, index });
        Ok(array)
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
