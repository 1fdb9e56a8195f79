//! What `CumSum` and `CumProd` have in common.

use crate::expr::{ExprBuilder, Guard, Index, Reducer};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, axes, compose, elementwise, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::MAX_RANK;

/// Most pairs of elements along an axis of which every result is computed by itself. Where there are more, elements are combined in
/// blocks, then over the blocks.
const MOST_PAIRS: usize = 1 << 20;

/// Elements of a block, at least.
const SHORTEST_BLOCK: usize = 64;

/// The elements along an axis, a constant second input, combined up to each element or from each on; without the element
/// itself if `exclusive`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefix {
    exclusive: bool,
    reverse: bool,
}

impl Prefix {
    /// Up to each element, itself included.
    pub const PLAIN: Self = Self { exclusive: false, reverse: false };

    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut flag = |name| Ok(attributes.flag(name)?.unwrap_or(false));
        Ok(Self { exclusive: flag("exclusive")?, reverse: flag("reverse")? })
    }

    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        [("exclusive", self.exclusive), ("reverse", self.reverse)]
            .map(|(name, flag)| (name, Attribute::Int(i64::from(flag))))
            .to_vec()
    }

    /// The dimension along which elements are combined.
    pub fn dimension(context: &Context) -> Result<usize, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        match context.integers(1)?.as_deref() {
            Some([axis]) => axes::dimension(*axis, data.shape.len()),
            Some(_) => Err(InferError::Mismatch("the axis is not one number".to_owned())),
            None => Err(InferError::Missing(1)),
        }
    }

    /// See [`Operator::follows`](crate::ops::Operator::follows).
    pub fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let along = Self::dimension(context).ok()? == dimension;
        (input == 0 && !(along && self.reverse)).then_some(dimension)
    }

    /// Appends the combined elements of the first input.
    pub fn lower(
        &self,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
        reducer: Reducer,
    ) -> TensorId {
        let dimension = Self::dimension(context).expect("inference accepted the axis");
        self.along(program, inputs[0].expect("inference found the input"), dimension, reducer)
    }

    /// Appends the elements of a tensor combined along a dimension.
    pub fn along(&self, program: &mut ProgramBuilder, data: TensorId, dimension: usize, reducer: Reducer) -> TensorId {
        let shape = program.ty(data).shape.clone();
        let pairs = shape.elements().saturating_mul(shape[dimension]);
        if shape[dimension] <= 2 * SHORTEST_BLOCK || pairs <= MOST_PAIRS {
            return self.by_themselves(program, data, dimension, reducer);
        }
        let element = program.ty(data).element;
        if element.compute() != element {
            // Sums of blocks are rounded once, with what is added to them.
            let wide = compose::cast(program, data, element.compute());
            let combined = self.along(program, wide, dimension, reducer);
            return compose::cast(program, combined, element);
        }
        if shape.len() < MAX_RANK {
            return self.over_blocks(program, data, dimension, reducer);
        }
        // Blocks are a dimension more.
        let (before, behind) = (&shape[..dimension], &shape[dimension + 1..]);
        let folded = [before.iter().product(), shape[dimension], behind.iter().product()].into();
        let data = movement::reshape(program, data, &folded);
        let combined = self.over_blocks(program, data, 1, reducer);
        movement::reshape(program, combined, &shape)
    }

    /// How far `place` stands behind `other`, or before it in reverse.
    fn distance(&self, place: &Index, other: &Index) -> Index {
        place.add(&other.times(-1)).times(if self.reverse { -1 } else { 1 })
    }

    fn by_themselves(
        &self,
        program: &mut ProgramBuilder,
        data: TensorId,
        dimension: usize,
        reducer: Reducer,
    ) -> TensorId {
        let ty = program.ty(data).clone();
        let extent = ty.shape[dimension];
        let mut expr = ExprBuilder::new();
        let mut index: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
        let along = Index::axis(expr.reduced(extent));
        let own = std::mem::replace(&mut index[dimension], along.clone());
        let guard = expr.guard(Guard::always(), self.distance(&own, &along), i64::from(self.exclusive), extent as i64);
        let operand = expr.operand(&ty);
        let body = expr.guarded_read(operand, index, guard, reducer.identity(ty.element));
        program.compute(expr.reduce(ty.element, reducer, body, None), &[data])
    }

    /// Elements and blocks alike are combined among few, so that the work grows with the extent and not with its square.
    fn over_blocks(
        &self,
        program: &mut ProgramBuilder,
        data: TensorId,
        dimension: usize,
        reducer: Reducer,
    ) -> TensorId {
        let inclusive = Self { exclusive: false, ..*self };
        let extent = program.ty(data).shape[dimension];
        let length = extent.isqrt().isqrt().next_power_of_two().max(SHORTEST_BLOCK);
        let within = inclusive.within_blocks(program, data, (dimension, length), reducer);
        let last = if self.reverse { 0 } else { length as i64 - 1 };
        let mut shape = program.ty(within).shape.to_vec();
        shape.remove(dimension + 1);
        let whole = movement::rearrange(program, within, &shape, |axes| {
            let mut index: Vec<Index> = axes.iter().copied().map(Index::axis).collect();
            index.insert(dimension + 1, Index::constant(last));
            index
        });
        let blocks = inclusive.along(program, whole, dimension, reducer);
        self.joined(program, [within, blocks], (dimension, extent), reducer)
    }

    /// The elements combined inside blocks of a length: the dimension becomes two.
    fn within_blocks(
        &self,
        program: &mut ProgramBuilder,
        data: TensorId,
        (dimension, length): (usize, usize),
        reducer: Reducer,
    ) -> TensorId {
        let ty = program.ty(data).clone();
        let extent = ty.shape[dimension];
        let mut shape = ty.shape.to_vec();
        shape[dimension] = extent.div_ceil(length);
        shape.insert(dimension + 1, length);
        let mut expr = ExprBuilder::new();
        let mut index: Vec<Index> = expr.parallels(&shape).into_iter().map(Index::axis).collect();
        let other = Index::axis(expr.reduced(length));
        let own = index.remove(dimension + 1);
        index[dimension] = index[dimension].times(length as i64).add(&other);
        let guard = expr.guard(Guard::always(), index[dimension].clone(), 0, extent as i64);
        let guard = expr.guard(guard, self.distance(&own, &other), 0, length as i64);
        let operand = expr.operand(&ty);
        let body = expr.guarded_read(operand, index, guard, reducer.identity(ty.element));
        program.compute(expr.reduce(ty.element, reducer, body, None), &[data])
    }

    /// What is combined inside a block, with all blocks before it or, in reverse, behind it.
    fn joined(
        &self,
        program: &mut ProgramBuilder,
        [within, blocks]: [TensorId; 2],
        (dimension, extent): (usize, usize),
        reducer: Reducer,
    ) -> TensorId {
        let ty = program.ty(blocks).clone();
        let (count, length) = (ty.shape[dimension] as i64, program.ty(within).shape[dimension + 1] as i64);
        let step = if self.reverse { 1 } else { -1 };
        let mut shape = ty.shape.to_vec();
        shape[dimension] = extent;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape);
        let place = Index::axis(axes[dimension]).plus(if self.exclusive { step } else { 0 });
        let there = expr.guard(Guard::always(), place.clone(), 0, extent as i64);
        let ranges = |axis| expr.range(axis);
        let (block, own) = (place.floor_div(length, &ranges), place.modulo(length, &ranges));
        let at = |block: Index| -> Vec<Index> {
            let mut index: Vec<Index> = axes.iter().copied().map(Index::axis).collect();
            index[dimension] = block;
            index
        };
        let (next, fill) = (block.plus(step), reducer.identity(ty.element));
        let has_next = expr.guard(Guard::always(), next.clone(), 0, count);
        let mut index = at(block);
        index.insert(dimension + 1, own);
        let operand = expr.operand(program.ty(within));
        let inside = expr.guarded_read(operand, index, there, fill);
        let operand = expr.operand(&ty);
        let before = expr.guarded_read(operand, at(next), has_next, fill);
        program.compute(expr.map(ty.element, inside.binary(reducer.op(), before)), &[within, blocks])
    }
}
