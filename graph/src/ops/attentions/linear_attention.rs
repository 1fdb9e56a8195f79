//! `LinearAttention`: attention through a state that every place updates.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use crate::ops::normalization::precision;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose, elementwise,
    movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Queries `[B, T, heads · k]` of a state `[B, groups, k, v]`, unrolled over the places. Place after place the state
/// decays and takes in the product of the place's key and value, or of its key and what its value lacks. The inputs are
/// queries, keys, values, the state before, the decay's logarithm and the rate; the outputs are the answers
/// `[B, T, heads · v]` and the last state.
#[derive(Clone, PartialEq, Debug)]
pub struct LinearAttention {
    heads: usize,
    groups: usize,
    rule: Rule,
    scale: Option<f32>,
}

/// How a place updates the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rule {
    name: &'static str,
    /// Whether the state decays first.
    decays: bool,
    /// Whether what the state answers to the key is taken off the value.
    corrects: bool,
}

const RULES: [Rule; 4] = [
    Rule { name: "linear", decays: false, corrects: false },
    Rule { name: "gated", decays: true, corrects: false },
    Rule { name: "delta", decays: false, corrects: true },
    Rule { name: "gated_delta", decays: true, corrects: true },
];

const PAST: usize = 3;
const DECAY: usize = 4;
const RATE: usize = 5;

/// Most places that are unrolled.
const MOST_STEPS: usize = 1 << 13;

#[derive(Clone, Copy)]
struct Extents {
    batch: usize,
    steps: usize,
    keys: usize,
    values: usize,
}

impl LinearAttention {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let [queries, keys, values] = [context.tensor(0)?, context.tensor(1)?, context.tensor(2)?];
        elementwise::floating(queries.element)?;
        let mismatch = || InferError::Mismatch(format!("{queries}, {keys} and {values} do not go together"));
        let &[batch, steps, width] = &queries.shape[..] else { return Err(mismatch()) };
        let value_width = values.shape.last().copied().unwrap_or(0);
        let extents = Extents { batch, steps, keys: width / self.heads, values: value_width / self.groups };
        let fits = width == extents.keys * self.heads
            && *keys.shape == [batch, steps, extents.keys * self.groups]
            && *values.shape == [batch, steps, extents.values * self.groups]
            && keys.element == queries.element
            && values.element == queries.element;
        if !fits || extents.keys == 0 {
            return Err(mismatch());
        }
        if steps == 0 || steps > MOST_STEPS {
            return Err(InferError::Unsupported(format!("{steps} places are not supported: 1 to {MOST_STEPS} are")));
        }
        let wide = [batch, steps, extents.keys * self.groups];
        let narrow = [batch, steps, self.groups];
        let single = [batch, steps, 1];
        let state = [batch, self.groups, extents.keys, extents.values];
        let check = |input: usize, needed: Option<bool>, shapes: &[&[usize]]| match (context.optional(input)?, needed) {
            (None, Some(true)) => Err(InferError::Missing(input)),
            (Some(_), Some(false)) => Err(InferError::Mismatch(format!("`{}` has no input {input}", self.rule.name))),
            (Some(ty), _) if !shapes.contains(&&*ty.shape) || !ty.element.is_float() => Err(InferError::Mismatch(
                format!("input {input} is {ty}, which does not go with {queries} and {values}"),
            )),
            _ => Ok(()),
        };
        check(PAST, None, &[&state])?;
        check(DECAY, Some(self.rule.decays), &[&narrow, &wide])?;
        check(RATE, Some(self.rule.corrects), &[&narrow, &single])?;
        Ok(extents)
    }

    /// The type of the state.
    fn state(&self, context: &Context, extents: &Extents) -> TensorType {
        let given = context.optional(PAST).ok().flatten();
        let element = given.map_or(context.accepted(0).element, |ty| ty.element);
        TensorType::new(element, [extents.batch, self.groups, extents.keys, extents.values])
    }
}

/// What one place reads: an expression over operands of which each is indexed by batch, step and part.
struct Cell<'a> {
    expr: ExprBuilder,
    operands: Vec<TensorId>,
    program: &'a ProgramBuilder,
    step: usize,
    element: ElementType,
}

impl<'a> Cell<'a> {
    fn new(program: &'a ProgramBuilder, step: usize, element: ElementType) -> Self {
        Self { expr: ExprBuilder::new(), operands: Vec::new(), program, step, element }
    }

    /// Reads a tensor `[batch, steps, groups · extent]` at this step.
    fn part(&mut self, tensor: TensorId, batch: AxisId, group: &Index, (at, extent): (Index, usize)) -> Scalar {
        let place = group.times(extent as i64).add(&at);
        self.read(tensor, vec![Index::axis(batch), Index::constant(self.step as i64), place])
    }

    fn read(&mut self, tensor: TensorId, index: Vec<Index>) -> Scalar {
        let ty = self.program.ty(tensor);
        let operand = self.expr.operand(ty);
        self.operands.push(tensor);
        self.expr.read(operand, index).cast(ty.element, self.element)
    }
}

impl LinearAttention {
    /// Appends the state after a place: `[batch, groups, keys, values]`.
    fn update(
        &self,
        program: &mut ProgramBuilder,
        inputs: &[Option<TensorId>],
        extents: &Extents,
        (step, state): (usize, TensorId),
    ) -> TensorId {
        let element = program.ty(state).element;
        let Extents { batch, keys, values, .. } = *extents;
        let input = |at: usize| inputs.get(at).copied().flatten().expect("inference found the inputs");
        let multiply = |x: Scalar, y: Scalar| x.binary(BinaryOp::Multiply, y);
        let wide_decay = self.rule.decays && program.ty(input(DECAY)).shape[2] == keys * self.groups && keys > 1;
        // The state as it has decayed, at one key.
        let decayed = |cell: &mut Cell, [n, g]: [AxisId; 2], key: AxisId, value: AxisId| {
            let before = cell.read(state, [n, g, key, value].map(Index::axis).to_vec());
            if !self.rule.decays {
                return before;
            }
            let at = if wide_decay { (Index::axis(key), keys) } else { (Index::constant(0), 1) };
            let decay = cell.part(input(DECAY), n, &Index::axis(g), at);
            multiply(decay.unary(UnaryOp::Exp), before)
        };
        let fresh = self.rule.corrects.then(|| {
            let mut cell = Cell::new(program, step, element);
            let [n, g, v] = [batch, self.groups, values].map(|extent| cell.expr.parallel(extent));
            let k = cell.expr.reduced(keys);
            let before = decayed(&mut cell, [n, g], k, v);
            let key = cell.part(input(1), n, &Index::axis(g), (Index::axis(k), keys));
            let value = cell.part(input(2), n, &Index::axis(g), (Index::axis(v), values));
            let shared = program.ty(input(RATE)).shape[2] == 1;
            let group = if shared { Index::constant(0) } else { Index::axis(g) };
            let rate = cell.part(input(RATE), n, &group, (Index::constant(0), 1));
            let lacking = multiply(rate, value.binary(BinaryOp::Subtract, Scalar::Reduced));
            let Cell { expr, operands, .. } = cell;
            (expr.reduce(element, Reducer::Sum, multiply(before, key), Some(lacking)), operands)
        });
        let fresh = fresh.map(|(expr, operands)| program.compute(expr, &operands));
        let mut cell = Cell::new(program, step, element);
        let [n, g, k, v] = [batch, self.groups, keys, values].map(|extent| cell.expr.parallel(extent));
        let before = decayed(&mut cell, [n, g], k, v);
        let key = cell.part(input(1), n, &Index::axis(g), (Index::axis(k), keys));
        let value = match fresh {
            Some(fresh) => cell.read(fresh, [n, g, v].map(Index::axis).to_vec()),
            None => cell.part(input(2), n, &Index::axis(g), (Index::axis(v), values)),
        };
        let body = before.binary(BinaryOp::Add, multiply(key, value));
        let Cell { expr, operands, .. } = cell;
        program.compute(expr.map(element, body), &operands)
    }

    /// Appends the answers of a place, `[batch, 1, heads, values]`.
    fn answer(
        &self,
        program: &mut ProgramBuilder,
        queries: TensorId,
        extents: &Extents,
        (step, state): (usize, TensorId),
    ) -> TensorId {
        let (element, output) = (program.ty(state).element, program.ty(queries).element);
        let Extents { batch, keys, values, .. } = *extents;
        let mut cell = Cell::new(program, step, element);
        let [n, _, h, v] = [batch, 1, self.heads, values].map(|extent| cell.expr.parallel(extent));
        let k = cell.expr.reduced(keys);
        let each = (self.heads / self.groups) as i64;
        let group = Index::axis(h).floor_div(each, &|axis| cell.expr.range(axis));
        let query = cell.part(queries, n, &Index::axis(h), (Index::axis(k), keys));
        let held = cell.read(state, vec![Index::axis(n), group, Index::axis(k), Index::axis(v)]);
        let scale = self.scale.map_or(1.0 / (keys as f64).sqrt(), f64::from);
        let scaled = Scalar::Reduced.binary(BinaryOp::Multiply, Scalar::literal(element, scale));
        let Cell { expr, operands, .. } = cell;
        let product = query.binary(BinaryOp::Multiply, held);
        program.compute(expr.reduce(output, Reducer::Sum, product, Some(scaled.cast(element, output))), &operands)
    }
}

impl Operator for LinearAttention {
    const NAME: &'static str = "LinearAttention";
    const OPSETS: RangeInclusive<i64> = 27..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=6;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        attributes.int("chunk_size")?;
        let mut count = |name: &'static str| {
            let count = attributes.int(name)?.ok_or(AttributeError::Missing(name))?;
            let reason = || format!("{count} heads are not possible");
            let valid = usize::try_from(count).ok().filter(|&count| count > 0);
            valid.ok_or_else(|| AttributeError::Value { name, reason: reason() })
        };
        let (heads, groups) = (count("q_num_heads")?, count("kv_num_heads")?);
        if !heads.is_multiple_of(groups) {
            let reason = format!("{groups} heads of keys do not divide {heads}");
            return Err(AttributeError::Value { name: "kv_num_heads", reason });
        }
        let name = attributes.string("update_rule")?.unwrap_or_else(|| "gated_delta".to_owned());
        let rule = RULES.into_iter().find(|rule| rule.name == name);
        let reason = || format!("`{name}` is unknown");
        let rule = rule.ok_or_else(|| AttributeError::Value { name: "update_rule", reason: reason() })?;
        Ok(Self { heads, groups, rule, scale: attributes.float("scale")?.filter(|&scale| scale != 0.0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let scale = self.scale.map(|scale| ("scale", Attribute::Float(scale)));
        let others = [
            ("q_num_heads", Attribute::Int(self.heads as i64)),
            ("kv_num_heads", Attribute::Int(self.groups as i64)),
            ("update_rule", Attribute::String(self.rule.name.to_owned())),
        ];
        others.into_iter().chain(scale).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = self.extents(context)?;
        let element = context.tensor(0)?.element;
        let output = TensorType::new(element, [extents.batch, extents.steps, self.heads * extents.values]);
        let all = [output, self.state(context, &extents)];
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let ty = self.state(context, &extents);
        let inner = TensorType { element: precision(context.accepted(0).element), shape: ty.shape.clone() };
        let mut state = match inputs.get(PAST).copied().flatten() {
            Some(past) => compose::cast(program, past, inner.element),
            None => {
                let zeros = vec![0.0; inner.shape.elements()];
                program.constant(Tensor::from_f64(inner, &zeros))
            }
        };
        let queries = inputs[0].expect("inference found the queries");
        let mut answers = Vec::with_capacity(extents.steps);
        for step in 0..extents.steps {
            state = self.update(program, inputs, &extents, (step, state));
            answers.push(self.answer(program, queries, &extents, (step, state)));
        }
        let joined = if answers.len() == 1 { answers[0] } else { program.concat(1, &answers) };
        let shape = [extents.batch, extents.steps, self.heads * extents.values].into();
        let output = movement::reshape(program, joined, &shape);
        vec![output, compose::cast(program, state, ty.element)]
    }
}
