//! What the losses over classes have in common.

use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar, UnaryOp};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, compose, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// What becomes of the losses of all elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Combination {
    /// They stay as they are.
    None,
    Sum,
    /// Their sum over the sum of weights.
    Mean,
}

impl Combination {
    const NAMES: [(Self, &'static str); 3] = [(Self::None, "none"), (Self::Sum, "sum"), (Self::Mean, "mean")];
}

/// The negative logarithm of the probability of one class an element: of `[N, C, …]` logarithms, `[N, …]` classes and `[C]`
/// optional weights. Elements of the class that is ignored count nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Likelihood {
    combination: Combination,
    ignored: Option<i64>,
}

impl Likelihood {
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("reduction")?.unwrap_or_else(|| "mean".to_owned());
        let combination = Combination::NAMES.iter().find(|(_, known)| *known == name).map(|(known, _)| *known);
        let reason = || format!("`{name}` is not one of none, sum and mean");
        Ok(Self {
            combination: combination.ok_or_else(|| AttributeError::Value { name: "reduction", reason: reason() })?,
            ignored: attributes.int("ignore_index")?,
        })
    }

    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let name = Combination::NAMES.iter().find(|(known, _)| *known == self.combination).map_or("", |(_, name)| name);
        let ignored = self.ignored.map(|class| ("ignore_index", Attribute::Int(class)));
        [("reduction", Attribute::String(name.to_owned()))].into_iter().chain(ignored).collect()
    }

    /// The type of the loss.
    pub fn infer(&self, context: &Context) -> Result<TensorType, InferError> {
        let (scores, classes) = (context.tensor(0)?, context.tensor(1)?);
        elementwise::floating(scores.element)?;
        let without: Shape = scores.shape.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, &e)| e).collect();
        let integers = matches!(classes.element, ElementType::I32 | ElementType::I64);
        if scores.shape.len() < 2 || !integers || without != classes.shape {
            return Err(InferError::Mismatch(format!("{classes} does not name a class an element of {scores}")));
        }
        let count = scores.shape[1];
        if let Some(weights) = context.optional(2)?
            && (*weights.shape != [count] || weights.element != scores.element)
        {
            return Err(InferError::Mismatch(format!("{weights} is not a weight a class of {scores}")));
        }
        Ok(match self.combination {
            Combination::None => TensorType { element: scores.element, shape: classes.shape.clone() },
            Combination::Sum | Combination::Mean => TensorType::new(scores.element, []),
        })
    }

    /// Appends the loss of logarithms of probabilities.
    pub fn lower(
        &self,
        program: &mut ProgramBuilder,
        logarithms: TensorId,
        classes: TensorId,
        weights: Option<TensorId>,
    ) -> TensorId {
        let element = program.ty(logarithms).element;
        let class = program.ty(classes).element;
        // The ignored class may be none of the classes: it must not be read.
        let safe = match self.ignored {
            None => classes,
            Some(ignored) => compose::map(program, [classes], class, |[x]| {
                let [ignored, first] = [ignored, 0].map(|value| Scalar::Literal(Literal::integer(class, value)));
                x.clone().binary(BinaryOp::Equal, ignored).select(first, x)
            }),
        };
        let own = self.picked(program, (classes, safe), Some(logarithms), None);
        let weight = (weights.is_some() || self.ignored.is_some())
            .then(|| self.picked(program, (classes, safe), None, Some((weights, element))));
        let losses = compose::map(program, [own], element, |[x]| x.unary(UnaryOp::Negate));
        let losses = match weight {
            Some(weight) => compose::map(program, [losses, weight], element, |[loss, weight]| {
                // An ignored element counts nothing even where its loss is infinite.
                let zero = Scalar::literal(element, 0.0);
                let ignored = weight.clone().binary(BinaryOp::Equal, zero.clone());
                ignored.select(zero, loss.binary(BinaryOp::Multiply, weight))
            }),
            None => losses,
        };
        let wide = element.compute();
        let all = |program: &mut ProgramBuilder, tensor: TensorId| {
            let tensor = compose::cast(program, tensor, wide);
            let dimensions: Vec<usize> = (0..program.ty(tensor).shape.len()).collect();
            let total = compose::reduce(program, tensor, &dimensions, Reducer::Sum);
            crate::ops::movement::reshape(program, total, &Shape::scalar())
        };
        match self.combination {
            Combination::None => losses,
            Combination::Sum => {
                let total = all(program, losses);
                compose::cast(program, total, element)
            }
            Combination::Mean => {
                let total = all(program, losses);
                match weight {
                    Some(weight) => {
                        let weight = all(program, weight);
                        compose::map(program, [total, weight], element, |[total, weight]| {
                            total.binary(BinaryOp::Divide, weight).cast(wide, element)
                        })
                    }
                    None => {
                        let count = program.ty(losses).shape.iter().product::<usize>();
                        compose::map(program, [total], element, |[total]| {
                            total.binary(BinaryOp::Divide, Scalar::literal(wide, count as f64)).cast(wide, element)
                        })
                    }
                }
            }
        }
    }

    /// What each element's class has in `data`, a dimension 1 of classes, or else in weights, which are 1 if there are
    /// none; 0 for weights of the ignored class.
    fn picked(
        &self,
        program: &mut ProgramBuilder,
        (classes, safe): (TensorId, TensorId),
        data: Option<TensorId>,
        weights: Option<(Option<TensorId>, ElementType)>,
    ) -> TensorId {
        let mut expr = ExprBuilder::new();
        let mut operands = vec![safe];
        let axes = expr.parallels(&program.ty(safe).shape);
        let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let operand = expr.operand(program.ty(safe));
        let class = expr.read(operand, own.clone());
        if let Some(data) = data {
            let ty = program.ty(data).clone();
            operands.push(data);
            let operand = expr.operand(&ty);
            let mut index = own;
            index.insert(1, expr.indirect(&class, ty.shape[1]));
            let body = expr.read(operand, index);
            return program.compute(expr.map(ty.element, body), &operands);
        }
        let (weights, element) = weights.expect("data or weights are read");
        let weight = match weights {
            None => Scalar::literal(element, 1.0),
            Some(weights) => {
                let ty = program.ty(weights).clone();
                operands.push(weights);
                let operand = expr.operand(&ty);
                let index = expr.indirect(&class, ty.shape[0]);
                expr.read(operand, vec![index])
            }
        };
        let body = match self.ignored {
            None => weight,
            Some(ignored) => {
                let ty = program.ty(classes).clone();
                operands.push(classes);
                let operand = expr.operand(&ty);
                let given = expr.read(operand, own);
                let ignored = Scalar::Literal(Literal::integer(ty.element, ignored));
                given.binary(BinaryOp::Equal, ignored).select(Scalar::literal(element, 0.0), weight)
            }
        };
        program.compute(expr.map(element, body), &operands)
    }
}
