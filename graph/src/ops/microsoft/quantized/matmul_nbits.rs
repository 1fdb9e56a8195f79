//! `com.microsoft.MatMulNBits`: the matrix product with a weight of few bits.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::add::Add;
use crate::ops::matmul::MatMul;
use crate::ops::microsoft::DOMAIN;
use crate::ops::microsoft::quantized::packed::half_of_byte;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// NumPy's matrix product of the first input with a weight of 4 or 8 bits, whose columns are quantised in blocks, plus
/// an optional bias. The inputs are a, b `[columns, blocks, bytes]` with the earlier element in the lower bits, and a
/// scale a block. Then come a zero point a block packed like b, no order of the groups, and the bias. Zero points are
/// half of the range where they are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatMulNBits {
    inner: usize,
    columns: usize,
    bits: usize,
    block: usize,
}

const SCALES: usize = 2;
const ZEROS: usize = 3;
const GROUPS: usize = 4;
const BIAS: usize = 5;

impl MatMulNBits {
    fn blocks(&self) -> usize {
        self.inner.div_ceil(self.block)
    }

    /// Elements of a byte.
    fn packed(&self) -> usize {
        8 / self.bits
    }

    /// The weight as the product has it.
    fn weight(&self, element: ElementType) -> TensorType {
        TensorType::new(element, [self.inner, self.columns])
    }

    /// The element at a place of what is packed: `index` is the byte's, `place` the element's in its row.
    fn unpacked(&self, byte: Scalar, place: &Index, expr: &ExprBuilder) -> Scalar {
        let byte = byte.cast(ElementType::U8, ElementType::I32);
        if self.bits == 8 { byte } else { half_of_byte(byte, place, expr) }
    }

    /// Appends the weight.
    fn dequantize(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> TensorId {
        let element = context.accepted(0).element;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[self.inner, self.columns]);
        let (inner, column) = (Index::axis(axes[0]), Index::axis(axes[1]));
        let block = inner.floor_div(self.block as i64, &|axis| expr.range(axis));
        let within = inner.modulo(self.block as i64, &|axis| expr.range(axis));
        let byte = within.floor_div(self.packed() as i64, &|axis| expr.range(axis));
        let operand = expr.operand(context.accepted(1));
        let byte = expr.read(operand, vec![column.clone(), block.clone(), byte]);
        let value = self.unpacked(byte, &within, &expr);
        let row = |width: usize, place: &Index| column.times(width as i64).add(place);
        let scales = context.accepted(SCALES);
        let operand = expr.operand(scales);
        let scale = match scales.shape.len() {
            1 => vec![row(self.blocks(), &block)],
            _ => vec![column.clone(), block.clone()],
        };
        let scale = expr.read(operand, scale);
        let mut operands = vec![inputs[1], inputs[SCALES]];
        let zero = match context.optional(ZEROS).ok().flatten() {
            None => Scalar::literal(ElementType::I32, f64::from(1u32 << (self.bits - 1))),
            Some(zeros) => {
                operands.push(inputs[ZEROS]);
                let width = self.blocks().div_ceil(self.packed());
                let byte = block.floor_div(self.packed() as i64, &|axis| expr.range(axis));
                let operand = expr.operand(zeros);
                let place = match zeros.shape.len() {
                    1 => vec![row(width, &byte)],
                    _ => vec![column.clone(), byte],
                };
                let byte = expr.read(operand, place);
                self.unpacked(byte, &block, &expr)
            }
        };
        let steps = value.binary(BinaryOp::Subtract, zero).cast(ElementType::I32, element);
        let body = steps.binary(BinaryOp::Multiply, scale);
        let operands: Vec<TensorId> = operands.into_iter().flatten().collect();
        program.compute(expr.map(element, body), &operands)
    }
}

impl Operator for MatMulNBits {
    const NAME: &'static str = "MatMulNBits";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=6;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        attributes.int("accuracy_level")?;
        if attributes.flag("weight_prepacked")? == Some(true) {
            return Err(AttributeError::Value { name: "weight_prepacked", reason: "only 0 is supported".to_owned() });
        }
        let mut positive = |name: &'static str, default: Option<i64>| {
            let value = attributes.int(name)?.or(default).ok_or(AttributeError::Missing(name))?;
            let reason = || format!("{value} is not possible");
            let possible = usize::try_from(value).ok().filter(|&value| value > 0 && value < 1 << 32);
            possible.ok_or_else(|| AttributeError::Value { name, reason: reason() })
        };
        let (inner, columns) = (positive("K", None)?, positive("N", None)?);
        let (bits, block) = (positive("bits", Some(4))?, positive("block_size", None)?);
        if (bits != 4 && bits != 8) || !block.is_multiple_of(8 / bits) {
            let reason = format!("{bits} bits in blocks of {block} are not supported");
            return Err(AttributeError::Value { name: "bits", reason });
        }
        Ok(Self { inner, columns, bits, block })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let all = [("K", self.inner), ("N", self.columns), ("bits", self.bits), ("block_size", self.block)];
        all.into_iter().map(|(name, value)| (name, Attribute::Int(value as i64))).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, packed, scales) = (context.tensor(0)?, context.tensor(1)?, context.tensor(SCALES)?);
        let blocks = self.blocks();
        let per_block =
            |ty: &TensorType, width: usize| *ty.shape == [self.columns, width] || *ty.shape == [self.columns * width];
        let bytes = *packed.shape == [self.columns, blocks, self.block / self.packed()];
        let fits = bytes && packed.element == ElementType::U8 && data.element.is_float();
        if !fits || scales.element != data.element || !per_block(scales, blocks) {
            let reason = format!("{data}, {packed} and scales of {scales} are no product of {} bits", self.bits);
            return Err(InferError::Mismatch(reason));
        }
        if context.fact(GROUPS).is_some() {
            return Err(InferError::Unsupported("groups in another order are not supported".to_owned()));
        }
        match context.optional(ZEROS)? {
            Some(zeros) if zeros.element != ElementType::U8 || !per_block(zeros, blocks.div_ceil(self.packed())) => {
                return Err(InferError::Unsupported(format!("zero points of {zeros} are not supported")));
            }
            Some(_) | None => {}
        }
        if let Some(bias) = context.optional(BIAS)?
            && (bias.element != data.element || *bias.shape != [self.columns])
        {
            return Err(InferError::Mismatch(format!("a bias of {bias} does not go with {} columns", self.columns)));
        }
        let weight = Some(Fact { ty: self.weight(data.element).into(), value: None });
        MatMul.infer(&Context::new(&[context.fact(0).cloned(), weight], 1))
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let weight = self.dequantize(context, inputs, program);
        let product = program.apply(&MatMul, &[inputs[0], Some(weight)], 1);
        match inputs.get(BIAS).copied().flatten() {
            Some(bias) => program.apply(&Add, &[Some(product[0]), Some(bias)], 1),
            None => product,
        }
    }
}
