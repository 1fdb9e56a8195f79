//! What the reductions along axes have in common.

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, axes};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The attributes of a reduction along axes, which are an attribute in older opsets and an input in newer ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    axes: Option<Vec<i64>>,
    keep: bool,
    none_means_none: bool,
}

impl Reduction {
    /// Takes the attributes that reductions share.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self {
            axes: attributes.ints("axes")?,
            keep: attributes.flag("keepdims")?.unwrap_or(true),
            none_means_none: attributes.flag("noop_with_empty_axes")?.unwrap_or(false),
        })
    }

    /// The attributes that reductions share.
    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let axes = self.axes.clone().map(|axes| ("axes", Attribute::Ints(axes)));
        let flags = [
            ("keepdims", Attribute::Int(i64::from(self.keep))),
            ("noop_with_empty_axes", Attribute::Int(i64::from(self.none_means_none))),
        ];
        flags.into_iter().chain(axes).collect()
    }

    /// The dimensions that are reduced.
    pub fn dimensions(&self, context: &Context) -> Result<Vec<usize>, InferError> {
        let rank = context.tensor(0)?.shape.len();
        let named = axes::given(self.axes.as_deref(), context, 1)?.unwrap_or_default();
        match (named.is_empty(), self.none_means_none) {
            (false, _) => axes::dimensions(&named, rank),
            (true, true) => Ok(Vec::new()),
            (true, false) => Ok((0..rank).collect()),
        }
    }

    /// The type of the output.
    pub fn infer(&self, context: &Context) -> Result<TensorType, InferError> {
        let dimensions = self.dimensions(context)?;
        let data = context.tensor(0)?;
        let extents = data.shape.iter().enumerate().filter_map(|(at, &extent)| match dimensions.contains(&at) {
            true => self.keep.then_some(1),
            false => Some(extent),
        });
        Ok(TensorType { element: data.element, shape: extents.collect() })
    }

    /// See [`Operator::follows`](crate::ops::Operator::follows).
    pub fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let reduced = self.dimensions(context).ok()?;
        let before = reduced.iter().filter(|&&reduced| !self.keep && reduced < dimension).count();
        (input == 0 && !reduced.contains(&dimension)).then_some(dimension - before)
    }

    /// Appends the reduction of `input`; `epilogue` is given the number of elements that are combined.
    pub fn reduce(
        &self,
        context: &Context,
        input: TensorId,
        program: &mut ProgramBuilder,
        reducer: Reducer,
        epilogue: impl FnOnce(usize) -> Option<Scalar>,
    ) -> TensorId {
        let dimensions = self.dimensions(context).expect("inference accepted the axes");
        let output = self.infer(context).expect("inference accepted the axes").shape;
        along(program, input, &dimensions, &output, reducer, epilogue)
    }
}

impl Reduction {
    /// Appends the largest or the smallest of elements of any type; of truth values that is whether any or all hold.
    pub fn extreme(
        &self,
        context: &Context,
        input: TensorId,
        program: &mut ProgramBuilder,
        reducer: Reducer,
    ) -> TensorId {
        if context.accepted(0).element != ElementType::Bool {
            return self.reduce(context, input, program, reducer, |_| None);
        }
        let number = |x: Scalar| x.cast(ElementType::Bool, ElementType::I32);
        let holds = Scalar::Reduced.cast(ElementType::I32, ElementType::Bool);
        self.reduce_of(context, input, program, reducer, number, Some(holds))
    }

    /// As [`Reduction::reduce`], of a function of the elements: both functions apply even where no axis is reduced.
    pub fn reduce_of(
        &self,
        context: &Context,
        input: TensorId,
        program: &mut ProgramBuilder,
        reducer: Reducer,
        body: impl FnOnce(Scalar) -> Scalar,
        epilogue: Option<Scalar>,
    ) -> TensorId {
        let dimensions = self.dimensions(context).expect("inference accepted the axes");
        let output = self.infer(context).expect("inference accepted the axes");
        let mut expr = ExprBuilder::new();
        let (read, _) = read_along(&mut expr, context.accepted(0), &dimensions, &output.shape);
        let body = body(read);
        let expr = if dimensions.is_empty() {
            let result = epilogue.unwrap_or(Scalar::Reduced);
            let replace = &mut |leaf: &Scalar| if *leaf == Scalar::Reduced { body.clone() } else { leaf.clone() };
            expr.map(output.element, result.map_leaves(replace))
        } else {
            expr.reduce(output.element, reducer, body, epilogue)
        };
        program.compute(expr, &[input])
    }
}

/// Appends the reduction of `input` along some dimensions; `epilogue` is given the number of elements that are combined.
/// The output's shape has the other dimensions in order, and may have extents of 1 for those that are reduced.
pub fn along(
    program: &mut ProgramBuilder,
    input: TensorId,
    dimensions: &[usize],
    output: &Shape,
    reducer: Reducer,
    epilogue: impl FnOnce(usize) -> Option<Scalar>,
) -> TensorId {
    let data = program.ty(input).clone();
    if dimensions.is_empty() {
        return input;
    }
    let mut expr = ExprBuilder::new();
    let (read, count) = read_along(&mut expr, &data, dimensions, output);
    program.compute(expr.reduce(data.element, reducer, read, epilogue(count)), &[input])
}

/// Declares the axes of a reduction of a tensor of type `data`, and reads it: the read, and the number of elements that
/// are combined. The tensor becomes the first operand.
pub fn read_along(expr: &mut ExprBuilder, data: &TensorType, dimensions: &[usize], output: &Shape) -> (Scalar, usize) {
    let kept = output.len() == data.shape.len();
    let mut parallel = expr.parallels(output).into_iter();
    let mut count = 1;
    let mut index = Vec::with_capacity(data.shape.len());
    for (at, &extent) in data.shape.iter().enumerate() {
        let reduced = dimensions.contains(&at);
        let axis = if reduced && !kept { None } else { parallel.next() };
        index.push(if reduced {
            count *= extent;
            Index::axis(expr.reduced(extent))
        } else {
            Index::axis(axis.expect("the output has the kept dimensions"))
        });
    }
    let operand = expr.operand(data);
    (expr.read(operand, index), count)
}

/// The root of a sum of squares. Its derivative at 0 is 0, as PyTorch's norms and distances have it there.
pub fn root_of_squares(element: ElementType) -> Scalar {
    let zero = Scalar::literal(element, 0.0);
    let is_zero = Scalar::Reduced.binary(BinaryOp::Equal, zero.clone());
    is_zero.select(zero, Scalar::Reduced.unary(UnaryOp::Sqrt))
}
