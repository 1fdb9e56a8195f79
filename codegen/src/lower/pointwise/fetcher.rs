//! Loads whose addresses differ by constants have one address, and conditions are computed once.

use std::collections::HashMap;

use warpweave_graph::expr::{Atom, Condition, Guard, Index, IndirectIndex};
use warpweave_plan::body::StageSource;
use warpweave_plan::template::pointwise::fetches::Fetch;

use crate::kernel_ir::expression::{Constant, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::Width;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::set;
use crate::lower::arithmetic::{emit_literal, scalar_type};
use crate::lower::emitter::{Emitter, add, both, multiply};
use crate::lower::error::LowerError;
use crate::lower::index::{Coordinates, bind_guard, emit_index};
use crate::lower::scalar::Point;

/// Where what was fetched is.
#[derive(Clone, Copy)]
pub(super) enum Fetched {
    One(LocalId),
    Vector(ArrayId),
}

/// Emits the loads of one stage in a block of statements, from the point where threads and loops stand.
pub(super) struct Fetcher {
    stage: usize,
    /// A coordinate an axis of the stage; which one an axis has that is written out does not matter.
    axes: Vec<Expression>,
    /// The places that reads name.
    places: HashMap<IndirectIndex, LocalId>,
    addresses: HashMap<(usize, Vec<Terms>), Address>,
    conditions: HashMap<Condition, Option<Expression>>,
    guards: HashMap<Guard, Option<Expression>>,
}

type Terms = Vec<(Atom, i64)>;

/// The address of a first load, and of those that differ from it by constants along dimensions.
struct Address {
    /// Elements from one place of a dimension to the next, absent for 1.
    strides: Vec<Option<Expression>>,
    offsets: Vec<i64>,
    /// By how far a place lies away along the dimensions whose neighbours are not neighbours in memory.
    rows: HashMap<Vec<i64>, LocalId>,
}

impl Fetcher {
    pub(super) fn new(stage: usize, axes: Vec<Expression>) -> Self {
        let (addresses, conditions, guards) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { stage, axes, places: HashMap::new(), addresses, conditions, guards }
    }

    /// Loads the places that the stage's reads name, and checks them.
    pub(super) fn load_places(&mut self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let mut point = Point::new(self.stage, self.axes.clone(), &[]);
        let reads = emitter.body().stages[self.stage].expr.reads.values();
        let indices = reads
            .flat_map(|read| read.index.iter().chain(read.guard.conditions().iter().map(|condition| &condition.index)));
        point.load_indirect(emitter, indices)?;
        self.places = point.places;
        Ok(())
    }

    /// Emits a load that takes place only where `exists` holds.
    pub(super) fn fetch(
        &mut self,
        emitter: &mut Emitter,
        fetch: &Fetch,
        exists: Option<&Expression>,
    ) -> Result<Fetched, LowerError> {
        let body = emitter.body();
        let stage = &body.stages[self.stage];
        let StageSource::Operand(operand) = stage.sources[fetch.at.operand] else {
            unreachable!("what is fetched is in memory")
        };
        let tensor = body.operands[operand];
        let index = self.address(emitter, operand, &fetch.at.index)?;
        let element = emitter.memory.tensors[tensor].ty.element;
        let (space, _) = emitter.place(tensor);
        let memory = emitter.memory_type(element)?;
        let scalar = scalar_type(emitter, element)?;
        if fetch.width > 1 {
            let array = emitter.array(scalar, fetch.width);
            let condition = self.guard(emitter, &fetch.at.guard)?;
            if condition.is_some() {
                let fill = emit_literal(emitter, fetch.at.fill)?;
                (0..fetch.width).for_each(|at| emitter.push(set(array, Expression::i32(at as i32), fill.clone())));
            }
            let place = Place::Element(array, Expression::i32(0));
            emitter.when(condition, |emitter| {
                emitter.push(Statement::LoadGlobal { place, space, memory, width: Width::Four, index });
                Ok::<(), LowerError>(())
            })?;
            return Ok(Fetched::Vector(array));
        }
        let value = emitter.declare(scalar);
        let condition = both(exists.cloned(), self.guard(emitter, &fetch.at.guard)?);
        if condition.is_some() {
            let fill = emit_literal(emitter, fetch.at.fill)?;
            emitter.assign(value, fill);
        }
        let (place, tag) = (Place::Local(value), emitter.mark(tensor)?);
        emitter.when(condition, |emitter| {
            emitter.push(match tag {
                Some(tag) => Statement::LoadTagged { place, count: 1, index, apart: None, tag },
                None => Statement::LoadGlobal { place, space, memory, width: Width::One, index },
            });
            Ok::<(), LowerError>(())
        })?;
        Ok(Fetched::One(value))
    }

    /// Whether a guard holds; `None` if it always does.
    pub(super) fn guard(&mut self, emitter: &mut Emitter, guard: &Guard) -> Result<Option<Expression>, LowerError> {
        if let Some(known) = self.guards.get(guard) {
            return Ok(known.clone());
        }
        let mut holds = None;
        for condition in guard.conditions() {
            holds = both(holds, self.condition(emitter, condition)?);
        }
        let holds = match holds {
            Some(holds @ Expression::Binary(..)) => Some(emitter.bind(ScalarType::Bool, holds).into()),
            simple => simple,
        };
        self.guards.insert(guard.clone(), holds.clone());
        Ok(holds)
    }

    fn condition(&mut self, emitter: &mut Emitter, condition: &Condition) -> Result<Option<Expression>, LowerError> {
        if let Some(known) = self.conditions.get(condition) {
            return Ok(known.clone());
        }
        let expr = &emitter.body().stages[self.stage].expr;
        let alone = Guard::always().and(condition.clone(), &|axis| expr.range(axis));
        let at = Coordinates { axes: &self.axes, places: &self.places };
        let holds = bind_guard(emitter, expr, &alone, &at)?;
        let holds = holds.map(|holds| match holds {
            local @ Expression::Local(_) => local,
            several => emitter.bind(ScalarType::Bool, several).into(),
        });
        self.conditions.insert(condition.clone(), holds.clone());
        Ok(holds)
    }

    /// The number of the element at an index.
    fn address(&mut self, emitter: &mut Emitter, operand: usize, index: &[Index]) -> Result<Expression, LowerError> {
        let offsets: Vec<i64> = index.iter().map(Index::offset).collect();
        let key = (operand, index.iter().map(|index| index.terms().to_vec()).collect());
        if !self.addresses.contains_key(&key) {
            let address = self.first_address(emitter, operand, index, &offsets)?;
            self.addresses.insert(key.clone(), address);
        }
        let address = self.addresses.get_mut(&key).expect("was inserted");
        let apart: Vec<i64> = offsets.iter().zip(&address.offsets).map(|(offset, first)| offset - first).collect();
        let along = |at: usize| if address.strides[at].is_none() { 0 } else { apart[at] };
        let row: Vec<i64> = (0..apart.len()).map(along).collect();
        let within: i64 = apart.iter().sum::<i64>() - row.iter().sum::<i64>();
        let start = match address.rows.get(&row) {
            Some(known) => *known,
            None => {
                let first = address.rows[&vec![0; row.len()]];
                let further = |sum: Expression, (at, stride): (&i64, &Option<Expression>)| match stride {
                    Some(stride) if *at != 0 => add(sum, multiply(stride.clone(), Expression::i32(*at as i32))),
                    Some(_) | None => sum,
                };
                let start = row.iter().zip(&address.strides).fold(first.into(), further);
                let start = emitter.bind(ScalarType::I32, start);
                address.rows.insert(row, start);
                start
            }
        };
        Ok(match within {
            0 => start.into(),
            _ => add(start, Expression::Constant(Constant::I32(within as i32))),
        })
    }

    fn first_address(
        &self,
        emitter: &mut Emitter,
        operand: usize,
        index: &[Index],
        offsets: &[i64],
    ) -> Result<Address, LowerError> {
        let tensor = emitter.body().operands[operand];
        let layout = &emitter.memory.tensors[tensor].layout;
        let linear = Index::linear(index, &layout.strides, layout.offset);
        let start = emitter.element(tensor, linear.offset())?;
        let relative = linear.plus(-linear.offset());
        let at = Coordinates { axes: &self.axes, places: &self.places };
        let start = match relative.terms() {
            [] => start,
            _ => add(emit_index(emitter, &emitter.body().stages[self.stage].expr, &relative, &at)?, start),
        };
        let start = emitter.bind(ScalarType::I32, start);
        let mut strides = Vec::with_capacity(layout.strides.len());
        for &stride in &layout.strides {
            strides.push(if stride == 1 { None } else { Some(emitter.operand(stride as i64)?) });
        }
        let rows = HashMap::from([(vec![0; index.len()], start)]);
        Ok(Address { strides, offsets: offsets.to_vec(), rows })
    }
}
