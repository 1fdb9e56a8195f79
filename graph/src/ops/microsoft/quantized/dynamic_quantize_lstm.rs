//! `com.microsoft.DynamicQuantizeLSTM`: an LSTM whose inputs and states are quantised as they come.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::dequantize_linear::DequantizeLinear;
use crate::ops::dynamic_quantize_linear::DynamicQuantizeLinear;
use crate::ops::lstm::Lstm;
use crate::ops::microsoft::DOMAIN;
use crate::ops::quantization::{centered_factor, quantized};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, broadcast, elementwise, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// `LSTM` of the input as `DynamicQuantizeLinear` quantises it, with weights of bytes, and of states that are quantised
/// so before they are multiplied, those of a step together. The inputs are those of `LSTM` with the last two dimensions
/// of the weights exchanged. Then come scale and zero point of either weight, one a direction or one a direction and
/// row.
#[derive(Clone, PartialEq, Debug)]
pub struct DynamicQuantizeLstm {
    layer: Lstm,
}

/// The weights, each with the position of its scale.
const WEIGHTS: [(usize, usize); 2] = [(1, 8), (2, 10)];

/// The shape with which a scale or zero point broadcasts to `[directions, columns, rows]`.
fn placed(ty: &TensorType, weight: &TensorType) -> Result<Shape, InferError> {
    let &[directions, _, rows] = &weight.shape[..] else {
        return Err(InferError::Mismatch(format!("{weight} is no weight of a recurrent layer")));
    };
    if *ty.shape == [directions] {
        return Ok([directions, 1, 1].into());
    }
    if *ty.shape == [directions, rows] {
        return Ok([directions, 1, rows].into());
    }
    Err(InferError::Mismatch(format!("{ty} does not go with {weight}")))
}

/// What is known of the layer's inputs, the weights as singles in the layer's order.
fn facts(context: &Context) -> Result<Vec<Option<Fact>>, InferError> {
    let mut facts: Vec<Option<Fact>> = (0..context.inputs().min(8)).map(|at| context.fact(at).cloned()).collect();
    for (weight, scale) in WEIGHTS {
        let ty = context.tensor(weight)?;
        let scales = context.tensor(scale)?;
        quantized(ty.element)?;
        placed(scales, ty)?;
        let zeros = context.optional(scale + 1)?;
        if let Some(zeros) = zeros {
            placed(zeros, ty)?;
        }
        if scales.element != ElementType::F32 || zeros.is_some_and(|zeros| zeros.element != ty.element) {
            return Err(InferError::Mismatch(format!("scales of {scales} do not go with {ty}")));
        }
        let ty = TensorType::new(ElementType::F32, [ty.shape[0], ty.shape[2], ty.shape[1]]);
        facts[weight] = Some(Fact { ty: ty.into(), value: None });
    }
    DynamicQuantizeLinear.infer(&Context::new(&facts[..1], 3))?;
    Ok(facts)
}

/// Appends a weight as singles in the layer's order.
fn weight(
    context: &Context,
    inputs: &[Option<TensorId>],
    program: &mut ProgramBuilder,
    (weight, scale): (usize, usize),
) -> TensorId {
    let ty = context.accepted(weight);
    let place = |at: usize| placed(context.accepted(at), ty).expect("inference accepted scale and zero point");
    let zero = inputs.get(scale + 1).copied().flatten().map(|zero| (zero, place(scale + 1)));
    let steps = centered_factor(program, inputs[weight].expect("inference found the weight"), zero);
    let scales = inputs[scale].expect("inference found the scale");
    let scales = movement::reshape(program, scales, &place(scale));
    let real = broadcast::map(&[Some(steps), Some(scales)], program, ElementType::F32, |operands| {
        let [steps, scale]: [Scalar; 2] = elementwise::operands(operands);
        steps.cast(ElementType::I32, ElementType::F32).binary(BinaryOp::Multiply, scale)
    });
    movement::transpose(program, real, &[0, 2, 1])
}

/// Appends a tensor as it is after quantisation by its own extremes.
fn through_bytes(program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
    let parts = program.apply(&DynamicQuantizeLinear, &[Some(tensor)], 3);
    let parts: Vec<Option<TensorId>> = parts.into_iter().map(Some).collect();
    program.apply(&DequantizeLinear::of_one_scale(), &parts, 1)[0]
}

impl Operator for DynamicQuantizeLstm {
    const NAME: &'static str = "DynamicQuantizeLSTM";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 11..=12;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { layer: Lstm::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.layer.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.layer.infer(&Context::new(&facts(context)?, context.outputs()))
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let facts = facts(context).expect("inference accepted the inputs");
        let mut operands: Vec<Option<TensorId>> = inputs.iter().take(facts.len()).copied().collect();
        operands[0] = operands[0].map(|x| through_bytes(program, x));
        for place in WEIGHTS {
            operands[place.0] = Some(weight(context, inputs, program, place));
        }
        let context = Context::new(&facts, context.outputs());
        self.layer.lower_with(&context, &operands, program, through_bytes)
    }
}
