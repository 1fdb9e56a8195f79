//! The floating point in which a program stores its singles.
//!
//! Nothing of what is computed changes: values are widened where they are read, computed and accumulated in singles, and rounded where
//! they are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::{Definition, Source, TensorId, TensorProgram};
use crate::expr::{BinaryOp, Literal, Read, ReadId, Reducer, Scalar, TensorExpr, UnaryOp};
use crate::program::TensorDefinition;
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// What singles are stored as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Precision {
    /// As singles.
    #[default]
    Fp32,
    /// In IEEE binary16, where nothing keeps them from it.
    Fp16,
    /// In the upper half of a single, where nothing keeps them from it.
    Bf16,
}

impl Precision {
    /// All, in declaration order.
    pub const ALL: [Self; 3] = [Self::Fp32, Self::Fp16, Self::Bf16];

    /// The name: `fp32`, `fp16`, `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }

    /// The type of what is stored in 16 bits, if anything is.
    pub fn storage(self) -> Option<ElementType> {
        match self {
            Self::Fp32 => None,
            Self::Fp16 => Some(ElementType::F16),
            Self::Bf16 => Some(ElementType::BF16),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|precision| precision.name() == name);
        found.ok_or_else(|| format!("expected one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Why a tensor stays in singles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kept {
    /// It is an input or an output.
    Interface,
    /// A launch leaves it to the next.
    State,
    /// It is a sum that is no product's: a mean, a variance, the total of a softmax.
    Statistic,
    /// Exponentials are taken of it, less its largest element.
    Logits,
    /// A constant with elements beyond the range of the type.
    Range,
    /// It leaves the range of the type on inputs that were given.
    Samples,
    /// It was named.
    Named,
    /// It is part of a tensor that stays.
    Part,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interface => "an input or output",
            Self::State => "a state",
            Self::Statistic => "a sum",
            Self::Logits => "the input of a softmax",
            Self::Range => "a constant beyond the range",
            Self::Samples => "beyond the range on samples",
            Self::Named => "named by the caller",
            Self::Part => "a part of another that stays",
        })
    }
}

/// The singles of a program that stay so in this storage, and why: those that the rules say, and those that are `wanted`. The
/// passes over the program have run.
pub fn kept_in_singles(
    program: &TensorProgram,
    storage: ElementType,
    wanted: &BTreeMap<TensorId, Kept>,
) -> BTreeMap<TensorId, Kept> {
    let is_single = |tensor: TensorId| program.tensors[tensor].ty.element == ElementType::F32;
    let mut kept: BTreeMap<TensorId, Kept> =
        wanted.iter().filter(|(tensor, _)| is_single(**tensor)).map(|(tensor, why)| (*tensor, *why)).collect();
    for &tensor in program.inputs.iter().chain(&program.outputs).filter(|tensor| is_single(**tensor)) {
        kept.insert(tensor, Kept::Interface);
    }
    for (id, tensor) in program.tensors.iter().filter(|(id, _)| is_single(*id)) {
        let why = match &tensor.source {
            Source::State(_) => Some(Kept::State),
            Source::Constant(value) => is_beyond(value, storage).then_some(Kept::Range),
            Source::Input(_) => Some(Kept::Interface),
            Source::Statement(_) => None,
        };
        why.map(|why| *kept.entry(id).or_insert(why));
    }
    for statement in program.statements.values() {
        let Definition::Compute(expr) = &statement.definition else { continue };
        if is_single(statement.output) && is_statistic(expr) {
            kept.entry(statement.output).or_insert(Kept::Statistic);
        }
    }
    for logits in logits(program).into_iter().filter(|tensor| is_single(*tensor)) {
        kept.entry(logits).or_insert(Kept::Logits);
    }
    keep_states_next(program, &mut kept);
    keep_parts(program, &mut kept);
    kept
}

/// The program whose singles but for those that are `kept` are stored as another type. Tensors and statements keep their ids.
pub fn stored_in(program: &TensorProgram, storage: ElementType, kept: &BTreeSet<TensorId>) -> TensorProgram {
    let mut narrow = program.clone();
    for (id, tensor) in program.tensors.iter().filter(|(id, _)| !kept.contains(id)) {
        narrow.tensors[id] = definition(tensor, storage);
    }
    let of = |tensor: &TensorId| narrow.tensors[*tensor].ty.element;
    for statement in narrow.statements.values_mut() {
        let operands: Vec<ElementType> = statement.operands.iter().map(of).collect();
        let output = of(&statement.output);
        statement.definition = match &statement.definition {
            Definition::Compute(expr) => Definition::Compute(converted(widened(expr, &operands), output)),
            opaque @ Definition::Opaque(_) => {
                let access = opaque.expr().expect("a procedure has an expression");
                opaque.with_expr(widened(access, &operands))
            }
            concat @ Definition::Concat { .. } => concat.clone(),
        };
    }
    narrow
}

fn definition(tensor: &TensorDefinition, storage: ElementType) -> TensorDefinition {
    if tensor.ty.element != ElementType::F32 {
        return tensor.clone();
    }
    let ty = TensorType { element: storage, shape: tensor.ty.shape.clone() };
    let narrowed = |value: &Tensor| Tensor::from_f64(ty.clone(), &value.to_f64());
    let source = match &tensor.source {
        Source::Constant(value) => Source::Constant(narrowed(value)),
        Source::State(state) => Source::State(super::State { initial: narrowed(&state.initial), ..state.clone() }),
        other @ (Source::Input(_) | Source::Statement(_)) => other.clone(),
    };
    TensorDefinition { ty, source }
}

/// The expression on operands of these types: what was read as a single becomes one.
fn widened(expr: &TensorExpr, operands: &[ElementType]) -> TensorExpr {
    let mut wide = expr.clone();
    for (operand, element) in wide.operands.iter_mut().zip(operands) {
        operand.element = *element;
    }
    for read in wide.reads.values_mut() {
        let element = operands[read.operand];
        if read.fill.element() != element {
            *read = Read { fill: Literal::new(element, read.fill.to_f64()), ..read.clone() };
        }
    }
    let element = |read: ReadId| operands[expr.reads[read].operand];
    let was = |read: ReadId| expr.operands[expr.reads[read].operand].element;
    let of = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => Scalar::Read(*read).cast(element(*read), was(*read)),
            other => other.clone(),
        })
    };
    (wide.body, wide.epilogue) = (of(&expr.body), expr.epilogue.as_ref().map(of));
    wide
}

/// The expression whose value becomes one of this type.
fn converted(expr: TensorExpr, element: ElementType) -> TensorExpr {
    if expr.element == element {
        return expr;
    }
    let cast = |value: Scalar| match value {
        // What is only moved is not converted there and back.
        Scalar::Cast(ElementType::F32, inner) if is_read_of(&expr, &inner, element) => *inner,
        value => Scalar::Cast(element, Box::new(value)),
    };
    match expr.reducer {
        Some(_) => {
            let epilogue = Some(cast(expr.epilogue.clone().unwrap_or(Scalar::Reduced)));
            TensorExpr { epilogue, element, ..expr }
        }
        None => TensorExpr { body: cast(expr.body.clone()), element, ..expr },
    }
}

fn is_read_of(expr: &TensorExpr, scalar: &Scalar, element: ElementType) -> bool {
    matches!(scalar, Scalar::Read(read) if expr.operands[expr.reads[*read].operand].element == element)
}

/// Whether an element is no number, or becomes infinite or none in the type.
fn is_beyond(value: &Tensor, storage: ElementType) -> bool {
    value.to_f64().into_iter().any(|value| !crate::arithmetic::round(storage, value).is_finite())
}

/// Whether a number becomes infinite in the type.
pub fn leaves_range(value: &Tensor, storage: ElementType) -> bool {
    value.to_f64().into_iter().any(|value| value.is_finite() && crate::arithmetic::round(storage, value).is_infinite())
}

/// Whether a value is a sum or a product of many, and not of products of two tensors.
fn is_statistic(expr: &TensorExpr) -> bool {
    let of_two = |scalar: &Scalar| match scalar {
        Scalar::Binary(BinaryOp::Multiply, left, right) => {
            let operands = |scalar: &Scalar| -> BTreeSet<usize> {
                expr.reads_of(scalar).into_iter().map(|read| expr.reads[read].operand).collect()
            };
            operands(left).is_disjoint(&operands(right))
        }
        _ => false,
    };
    match expr.reducer {
        Some(Reducer::Sum) => !of_two(&expr.body),
        Some(Reducer::Product) => true,
        Some(Reducer::Maximum | Reducer::Minimum) | None => false,
    }
}

/// What is read beside its own maximum by a statement that takes exponentials.
fn logits(program: &TensorProgram) -> BTreeSet<TensorId> {
    let mut maxima: BTreeMap<TensorId, &[TensorId]> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for statement in program.statements.values() {
        let Definition::Compute(expr) = &statement.definition else { continue };
        if expr.reducer == Some(Reducer::Maximum) {
            maxima.insert(statement.output, &statement.operands);
        }
        let mut takes_exponentials = false;
        for scalar in std::iter::once(&expr.body).chain(&expr.epilogue) {
            scalar.visit(&mut |scalar| takes_exponentials |= matches!(scalar, Scalar::Unary(UnaryOp::Exp, _)));
        }
        if takes_exponentials {
            let of_maxima = statement.operands.iter().filter_map(|operand| maxima.get(operand));
            found.extend(of_maxima.flat_map(|of| of.iter()).filter(|of| statement.operands.contains(of)));
        }
    }
    found
}

/// What a launch leaves as a state has the state's type.
fn keep_states_next(program: &TensorProgram, kept: &mut BTreeMap<TensorId, Kept>) {
    for tensor in program.tensors.values() {
        if let Source::State(state) = &tensor.source {
            state.next.map(|next| *kept.entry(next).or_insert(Kept::State));
        }
    }
}

/// Parts of a concat have its type.
fn keep_parts(program: &TensorProgram, kept: &mut BTreeMap<TensorId, Kept>) {
    let concats: Vec<_> = program
        .statements
        .values()
        .filter(|statement| matches!(statement.definition, Definition::Concat { .. }))
        .map(|statement| (statement.output, &statement.operands))
        .collect();
    loop {
        let before = kept.len();
        for (whole, parts) in &concats {
            let mut all = parts.iter().chain([whole]);
            if all.clone().any(|tensor| kept.contains_key(tensor)) {
                all.by_ref().for_each(|tensor| _ = kept.entry(*tensor).or_insert(Kept::Part));
            }
        }
        if kept.len() == before {
            return;
        }
    }
}
