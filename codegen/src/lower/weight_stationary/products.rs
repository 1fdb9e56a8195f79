//! The sums of a tile's rows.

use std::collections::HashMap;

use warpweave_graph::expr::{Read, ReadId};
use warpweave_plan::template::row::rounds::{RUN, Round};
use warpweave_plan::template::weight_stationary::passes::{Passes, points, reducing_rounds, sums_products};
use warpweave_plan::template::weight_stationary::reads::{resident_reads, rows, sum_groups};

use super::poll::Polled;
use super::rows::RowAxes;
use super::runs::Run;
use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::memory::{WARP_SIZE, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::{Accumulator, Row, accumulate_point, emit_row, fetch_run_into, place_of, spread_across_lanes};
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

/// The array that holds a run, and the run's first element in it where it holds several.
type HeldRun = (ArrayId, Option<Expression>);

/// Columns that rows are multiplied by together.
struct ColumnRun {
    /// The number of the first.
    first: Expression,
    /// The coordinates of each along the column axes.
    coordinates: Vec<Vec<Expression>>,
}

/// The products of a tile.
pub(super) struct Products {
    warp: Warp,
    kept: SharedId,
    passes: Passes,
    axes: RowAxes,
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
        let rows = rows(emitter.kernel());
        let (mut reads, mut start) = (HashMap::new(), 0);
        for read in resident_reads(emitter.body()) {
            reads.insert((read.stage, read.id), KeptRead { start, length: read.length });
            start += rows * read.length;
        }
        let own = emitter.bind(ScalarType::I32, multiply(warp.lane, Expression::i32(RUN as i32)));
        let axes = RowAxes::of(emitter);
        let mut products = Self { warp, kept, passes, axes, rows: Vec::new(), last: None, reads, own };
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
        let row = emit_row(emitter, tile, &self.axes.rows, (number, self.warp.lane), self.passes.all * warps)?;
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
            self.each_run(emitter, round, true, |emitter, run| {
                let first = multiply(run.trip.clone(), Expression::i32(RUN as i32));
                let place = Place::Element(array, first.clone());
                let index = self.kept_run(row, (stage, id), &run.trip).expect("the read is kept");
                run.load(emitter, (array, first), |emitter| {
                    emitter.push(Statement::LoadShared { place, array: self.kept, width: Width::Four, index });
                    Ok(())
                })
            })?;
            row.registers.insert((stage, id), array);
        }
        Ok(())
    }

    /// The runs of a lane along a round's rows.
    fn each_run<'b>(
        &self,
        emitter: &mut Emitter<'b>,
        round: &Round,
        unroll: bool,
        mut body: impl FnMut(&mut Emitter<'b>, &Run) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let points = points(emitter.body(), round);
        let whole = points / WIDTH;
        if whole > 0 {
            emitter.repeat(Expression::i32(whole as i32), unroll, |emitter, trip| {
                body(emitter, &Run { trip: trip.into(), inside: None })
            })?;
        }
        let rest = (points % WIDTH) as i32;
        if rest == 0 {
            return Ok(());
        }
        let inside = emitter.bind(ScalarType::Bool, less(self.own, Expression::i32(rest)));
        body(emitter, &Run { trip: Expression::i32(whole as i32), inside: Some(inside.into()) })
    }

    /// The sums of the only column of the rows whose constants are in registers, not yet combined. Where there are several
    /// columns, there are none, and all sums are [`finish`](Self::finish)'s.
    pub(super) fn of_registers(
        &self,
        emitter: &mut Emitter,
        (tile, polled): (&TileAxes, &Polled),
    ) -> Result<Vec<Accumulator>, LowerError> {
        let rows: Vec<&KeptRow> = self.rows.iter().collect();
        if rows.is_empty() || self.passes.columns > 1 {
            return Ok(Vec::new());
        }
        let column = self.columns(emitter, tile, Expression::i32(0))?;
        self.products(emitter, (&rows, &column), true, polled)
    }

    /// All sums into shared memory: those of accumulators, and of the other rows.
    pub(super) fn finish(
        &self,
        emitter: &mut Emitter,
        (tile, polled): (&TileAxes, &Polled),
        accumulators: Vec<Accumulator>,
        sums: SharedId,
    ) -> Result<(), LowerError> {
        if self.passes.columns == 1 {
            let column = self.columns(emitter, tile, Expression::i32(0))?;
            return self.finish_columns(emitter, (tile, polled), (&column, accumulators), sums);
        }
        let runs = self.passes.columns / self.passes.together;
        if runs == 1 {
            return self.finish_run(emitter, (tile, polled), Expression::i32(0), sums);
        }
        emitter.repeat(Expression::i32(runs as i32), false, |emitter, run| {
            let first = multiply(run, Expression::i32(self.passes.together as i32));
            let first = emitter.bind(ScalarType::I32, first);
            self.finish_run(emitter, (tile, polled), first.into(), sums)
        })
    }

    /// The sums of the columns that are taken together, from one on, of all rows.
    fn finish_run(
        &self,
        emitter: &mut Emitter,
        (tile, polled): (&TileAxes, &Polled),
        first: Expression,
        sums: SharedId,
    ) -> Result<(), LowerError> {
        let columns = self.columns(emitter, tile, first)?;
        let last = self.last.iter().filter(|_| self.passes.last_joins);
        let rows: Vec<&KeptRow> = self.rows.iter().chain(last).collect();
        let accumulators = match rows.is_empty() {
            true => Vec::new(),
            false => self.products(emitter, (&rows, &columns), true, polled)?,
        };
        self.finish_columns(emitter, (tile, polled), (&columns, accumulators), sums)
    }

    /// The sums of some columns.
    fn finish_columns(
        &self,
        emitter: &mut Emitter,
        (tile, polled): (&TileAxes, &Polled),
        (columns, mut accumulators): (&ColumnRun, Vec<Accumulator>),
        sums: SharedId,
    ) -> Result<(), LowerError> {
        match &self.last {
            Some(_) if self.passes.last_joins => {}
            Some(last) => {
                let own = self.products(emitter, (&[last], columns), false, polled)?;
                if self.passes.columns == 1 {
                    accumulators.extend(own);
                } else {
                    self.combine(emitter, &own, (columns, Expression::i32(self.passes.in_registers as i32)), sums)?;
                }
            }
            None if self.passes.in_shared() > 0 => {
                let count = emitter.operand(self.passes.in_shared() as i64)?;
                emitter.repeat(count, false, |emitter, trip| {
                    let pass = add(trip, Expression::i32(self.passes.in_registers as i32));
                    let pass = emitter.bind(ScalarType::I32, pass);
                    let row = self.row(emitter, tile, pass.into())?;
                    let accumulators = self.products(emitter, (&[&row], columns), false, polled)?;
                    self.combine(emitter, &accumulators, (columns, pass.into()), sums)
                })?;
            }
            None => {}
        }
        self.combine(emitter, &accumulators, (columns, Expression::i32(0)), sums)
    }

    /// The columns that are taken together, from one on.
    fn columns(&self, emitter: &mut Emitter, tile: &TileAxes, first: Expression) -> Result<ColumnRun, LowerError> {
        let mut coordinates = Vec::with_capacity(self.passes.together);
        for column in 0..self.passes.together {
            coordinates.push(self.axes.column(emitter, tile, add(first.clone(), Expression::i32(column as i32)))?);
        }
        Ok(ColumnRun { first, coordinates })
    }

    /// The accumulators of rows, column by column and row by row; `unroll` if their constants are in registers.
    fn products(
        &self,
        emitter: &mut Emitter,
        (rows, columns): (&[&KeptRow], &ColumnRun),
        unroll: bool,
        polled: &Polled,
    ) -> Result<Vec<Accumulator>, LowerError> {
        let points = columns.coordinates.len() * rows.len();
        let mut found: Vec<Vec<Accumulator>> = vec![Vec::new(); points];
        for round in reducing_rounds(emitter.body()) {
            let mut accumulators: Vec<Vec<Accumulator>> = Vec::with_capacity(points);
            for _ in 0..points {
                let own: Result<_, LowerError> =
                    round.stages.clone().map(|stage| Accumulator::emit(emitter, stage)).collect();
                accumulators.push(own?);
            }
            // A warp without a row of its own leaves the paths to shared memory to the others.
            let real = if unroll { None } else { rows[0].row.real.clone() };
            emitter.when(real, |emitter| {
                self.each_run(emitter, &round, unroll, |emitter, run| {
                    self.products_of_run(emitter, &round, (rows, columns, &accumulators), run, polled)
                })
            })?;
            found.iter_mut().zip(accumulators).for_each(|(found, own)| found.extend(own));
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The products of a lane's run of every row and column. A lane without one adds products of zeros where it can, since
    /// lanes that part before they exchange sums cost registers.
    fn products_of_run(
        &self,
        emitter: &mut Emitter,
        round: &Round,
        (rows, columns, accumulators): (&[&KeptRow], &ColumnRun, &[Vec<Accumulator>]),
        run: &Run,
        polled: &Polled,
    ) -> Result<(), LowerError> {
        let body = emitter.body();
        let (reads, expr) = (round.reads(body), &body.stages[round.stages.start].expr);
        let apart = if sums_products(body, round) { None } else { run.inside.clone() };
        let lengths: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
        let number = add(self.own, multiply(run.trip.clone(), Expression::i32(WIDTH as i32)));
        let inner = decode_box(emitter, &lengths, number)?;
        let mut vectors: HashMap<((usize, ReadId), usize), ArrayId> = HashMap::new();
        for (at, kept) in rows.iter().enumerate() {
            let mut constants: HashMap<(usize, ReadId), ArrayId> = HashMap::new();
            for (column, coordinates) in columns.coordinates.iter().enumerate() {
                let coordinates = coordinates.iter().chain(&kept.row.coordinates).chain(&inner).cloned().collect();
                let mut runs: Vec<HeldRun> = Vec::with_capacity(reads.len());
                for &(stage, id, _) in &reads {
                    let name = (stage, id);
                    if let Some(&array) = kept.registers.get(&name) {
                        runs.push((array, Some(multiply(run.trip.clone(), Expression::i32(RUN as i32)))));
                        continue;
                    }
                    let of_columns = polled.columns_of(name);
                    let known = match of_columns {
                        Some(of_columns) => vectors.get(&(name, column % of_columns)),
                        None => constants.get(&name),
                    };
                    let array = match known {
                        Some(&array) => array,
                        None => self.fetch(emitter, (kept, &coordinates), (name, columns, column), run, polled)?,
                    };
                    if let Some(of_columns) = of_columns {
                        vectors.insert((name, column % of_columns), array);
                    } else if self.reads.contains_key(&name) {
                        constants.insert(name, array);
                    }
                    runs.push((array, None));
                }
                let accumulators = &accumulators[column * rows.len() + at];
                emitter.when(apart.clone(), |emitter| {
                    self.accumulate_run(emitter, (&coordinates, accumulators), (&reads, &runs))
                })?;
            }
        }
        Ok(())
    }

    /// Adds the products of a run of reads to the sums of a row in a column.
    fn accumulate_run<'b>(
        &self,
        emitter: &mut Emitter<'b>,
        (coordinates, accumulators): (&Vec<Expression>, &[Accumulator]),
        (reads, runs): (&[(usize, ReadId, &'b Read)], &[HeldRun]),
    ) -> Result<(), LowerError> {
        let body = emitter.body();
        emitter.repeat(Expression::i32(RUN as i32), true, |emitter, step| {
            let mut loaded = HashMap::new();
            for (&(stage, _, read), (array, first)) in reads.iter().zip(runs) {
                let at = first.clone().map_or(step.into(), |first| add(first, step));
                let value = emitter.bind(ScalarType::F32, Expression::Element(*array, Box::new(at)));
                loaded.insert(place_of(&body.stages[stage], read), value);
            }
            accumulate_point(emitter, coordinates, accumulators, &[], loaded)
        })
    }

    /// A run of a row or of a vector, from wherever it is.
    fn fetch(
        &self,
        emitter: &mut Emitter,
        (kept, coordinates): (&KeptRow, &Vec<Expression>),
        (name, columns, column): ((usize, ReadId), &ColumnRun, usize),
        run: &Run,
        polled: &Polled,
    ) -> Result<ArrayId, LowerError> {
        let array = emitter.array(ScalarType::F32, RUN);
        let first = Expression::i32(0);
        let (from, index) = match (self.kept_run(kept, name, &run.trip), polled.find(name)) {
            (Some(index), _) => (self.kept, index),
            (None, Some(vector)) => {
                let number = add(columns.first.clone(), Expression::i32(column as i32));
                let trips = multiply(run.trip.clone(), Expression::i32(WIDTH as i32));
                let own = add(add(self.own, polled.first), trips);
                (vector.array, add(own, polled.start_of(vector, number)))
            }
            (None, None) => {
                run.load(emitter, (array, first), |emitter| fetch_run_into(emitter, array, name, coordinates, &[]))?;
                return Ok(array);
            }
        };
        let place = Place::Element(array, first.clone());
        run.load(emitter, (array, first), |emitter| {
            emitter.push(Statement::LoadShared { place, array: from, width: Width::Four, index });
            Ok(())
        })?;
        Ok(array)
    }

    /// Combines accumulators across the lanes of the warp and puts the sums into shared memory, from those of a pass and
    /// of the first of some columns on.
    fn combine(
        &self,
        emitter: &mut Emitter,
        accumulators: &[Accumulator],
        (columns, pass): (&ColumnRun, Expression),
        sums: SharedId,
    ) -> Result<(), LowerError> {
        let of_column = self.passes.all * self.passes.sums;
        let of_warp = multiply(self.warp.number, Expression::i32(self.passes.sums_of_warp() as i32));
        let mut from = add(of_warp, multiply(pass, Expression::i32(self.passes.sums as i32)));
        if self.passes.columns > 1 {
            from = add(from, multiply(columns.first.clone(), Expression::i32(of_column as i32)));
        }
        let length = accumulators.len() / columns.coordinates.len();
        if length == of_column {
            return self.combine_side_by_side(emitter, accumulators, from, sums);
        }
        for (column, accumulators) in accumulators.chunks(length.max(1)).enumerate() {
            let from = add(from.clone(), Expression::i32((column * of_column) as i32));
            self.combine_side_by_side(emitter, accumulators, from, sums)?;
        }
        Ok(())
    }

    /// Combines accumulators whose sums lie side by side from an element on.
    fn combine_side_by_side(
        &self,
        emitter: &mut Emitter,
        accumulators: &[Accumulator],
        from: Expression,
        sums: SharedId,
    ) -> Result<(), LowerError> {
        let lane = self.warp.lane;
        let mut rest = accumulators;
        let mut position = 0;
        for count in sum_groups(accumulators.len()) {
            let (group, others) = rest.split_at(count);
            rest = others;
            let (sum, which) = spread_across_lanes(emitter, lane, group);
            let lanes = binary(BinaryOp::BitAnd, lane, Expression::i32(WARP_SIZE as i32 / count as i32 - 1));
            let first = binary(BinaryOp::Equal, lanes, Expression::i32(0));
            emitter.when(Some(first), |emitter| {
                let own = add(from.clone(), Expression::i32(position));
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
