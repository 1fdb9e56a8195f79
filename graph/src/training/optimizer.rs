//! What optimizers make of tensors and their gradients.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::compose;
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::ElementType;

/// What precedes the names of the states that optimizers keep.
pub const OPTIMIZER_STATES: &str = "optimizer.";

/// A rule by which tensors follow their gradients, with PyTorch's names and defaults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Optimizer {
    /// `torch.optim.SGD`.
    Sgd {
        /// How much of the step before is kept.
        momentum: f64,
        /// How much of the gradient the momentum leaves out.
        dampening: f64,
        /// How much of the tensor is added to its gradient.
        weight_decay: f64,
        /// Whether the step looks ahead by Nesterov's rule.
        nesterov: bool,
    },
    /// `torch.optim.Adam`, and `torch.optim.AdamW` where the decay is decoupled.
    Adam {
        /// How much of the mean of gradients is kept, and of that of their squares.
        betas: [f64; 2],
        /// Added to the root of the mean of squares.
        epsilon: f64,
        /// How much of the tensor is added to its gradient, or taken from the tensor.
        weight_decay: f64,
        /// Whether the tensor loses the decay itself, times the learning rate.
        decoupled: bool,
    },
}

/// A tensor that is trained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trained<'n> {
    /// Its name in the model.
    pub name: &'n str,
    pub tensor: TensorId,
    pub gradient: TensorId,
}

impl Optimizer {
    /// `torch.optim.SGD` with its defaults.
    pub const SGD: Self = Self::Sgd { momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    /// `torch.optim.Adam` with its defaults.
    pub const ADAM: Self = Self::Adam { betas: [0.9, 0.999], epsilon: 1e-8, weight_decay: 0.0, decoupled: false };
    /// `torch.optim.AdamW` with its defaults.
    pub const ADAM_W: Self = Self::Adam { betas: [0.9, 0.999], epsilon: 1e-8, weight_decay: 1e-2, decoupled: true };

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd { .. } => "sgd",
            Self::Adam { decoupled: false, .. } => "adam",
            Self::Adam { decoupled: true, .. } => "adamw",
        }
    }

    /// Appends what becomes of each tensor and of what the optimizer keeps of it, with a learning rate, a scalar single.
    pub(super) fn append(self, program: &mut ProgramBuilder, trained: &[Trained<'_>], rate: TensorId) {
        match self {
            Self::Sgd { momentum, dampening, .. } => {
                let share = (momentum != 0.0 && dampening != 0.0).then(|| share_of_gradients(program, dampening));
                trained.iter().for_each(|trained| self.append_sgd(program, *trained, rate, share));
            }
            Self::Adam { betas, .. } => {
                let corrections = corrections(program, betas);
                trained.iter().for_each(|trained| self.append_adam(program, *trained, rate, corrections));
            }
        }
    }

    fn append_sgd(self, program: &mut ProgramBuilder, trained: Trained<'_>, rate: TensorId, share: Option<TensorId>) {
        let Self::Sgd { momentum, weight_decay, nesterov, .. } = self else { return };
        let Trained { name, tensor, gradient } = trained;
        let element = program.ty(tensor).element;
        let literal = |value: f64| Scalar::literal(element, value);
        let step = |x: Scalar, direction: Scalar, rate: Scalar| {
            let rate = rate.cast(ElementType::F32, element);
            x.binary(BinaryOp::Subtract, direction.binary(BinaryOp::Multiply, rate))
        };
        let next = if momentum == 0.0 {
            compose::map(program, [tensor, gradient, rate], element, |[x, gradient, rate]| {
                step(x.clone(), decayed(element, gradient, x, weight_decay), rate)
            })
        } else {
            let buffer = kept(program, "momentum_buffer", name, tensor);
            let carried = |buffer: Scalar| buffer.binary(BinaryOp::Multiply, literal(momentum));
            let blended = match share {
                None => compose::map(program, [tensor, gradient, buffer], element, |[x, gradient, buffer]| {
                    carried(buffer).binary(BinaryOp::Add, decayed(element, gradient, x, weight_decay))
                }),
                Some(share) => {
                    let operands = [tensor, gradient, buffer, share];
                    compose::map(program, operands, element, |[x, gradient, buffer, share]| {
                        let share = share.cast(ElementType::F32, element);
                        let fresh = decayed(element, gradient, x, weight_decay).binary(BinaryOp::Multiply, share);
                        carried(buffer).binary(BinaryOp::Add, fresh)
                    })
                }
            };
            program.set_next(buffer, blended);
            if nesterov {
                let operands = [tensor, gradient, blended, rate];
                compose::map(program, operands, element, |[x, gradient, buffer, rate]| {
                    let gradient = decayed(element, gradient, x.clone(), weight_decay);
                    let ahead = buffer.binary(BinaryOp::Multiply, literal(momentum));
                    step(x, gradient.binary(BinaryOp::Add, ahead), rate)
                })
            } else {
                compose::map(program, [tensor, blended, rate], element, |[x, buffer, rate]| step(x, buffer, rate))
            }
        };
        program.set_next(tensor, next);
    }

    fn append_adam(
        self,
        program: &mut ProgramBuilder,
        trained: Trained<'_>,
        rate: TensorId,
        corrections: [TensorId; 2],
    ) {
        let Self::Adam { betas, epsilon, weight_decay, decoupled } = self else { return };
        let Trained { name, tensor, gradient } = trained;
        let element = program.ty(tensor).element;
        let literal = |value: f64| Scalar::literal(element, value);
        let coupled = if decoupled { 0.0 } else { weight_decay };
        let means = ["exp_avg", "exp_avg_sq"].map(|kind| kept(program, kind, name, tensor));
        let blend = |beta: f64, old: Scalar, new: Scalar| {
            let fresh = new.binary(BinaryOp::Multiply, literal(1.0 - beta));
            old.binary(BinaryOp::Multiply, literal(beta)).binary(BinaryOp::Add, fresh)
        };
        let [mean, square] = [0, 1].map(|moment| {
            let next = compose::map(program, [tensor, gradient, means[moment]], element, |[x, gradient, mean]| {
                let gradient = decayed(element, gradient, x, coupled);
                let power = match moment {
                    0 => gradient,
                    _ => gradient.clone().binary(BinaryOp::Multiply, gradient),
                };
                blend(betas[moment], mean, power)
            });
            program.set_next(means[moment], next);
            next
        });
        let operands = [tensor, mean, square, rate, corrections[0], corrections[1]];
        let next = compose::map(program, operands, element, |[x, mean, square, rate, first, second]| {
            let [rate, first, second] = [rate, first, second].map(|scalar| scalar.cast(ElementType::F32, element));
            let size = square.unary(UnaryOp::Sqrt).binary(BinaryOp::Divide, second.unary(UnaryOp::Sqrt));
            let size = size.binary(BinaryOp::Add, literal(epsilon));
            let step = rate.clone().binary(BinaryOp::Divide, first);
            let step = step.binary(BinaryOp::Multiply, mean.binary(BinaryOp::Divide, size));
            let x = if decoupled && weight_decay != 0.0 {
                let loss = rate.binary(BinaryOp::Multiply, literal(weight_decay));
                x.binary(BinaryOp::Multiply, literal(1.0).binary(BinaryOp::Subtract, loss))
            } else {
                x
            };
            x.binary(BinaryOp::Subtract, step)
        });
        program.set_next(tensor, next);
    }
}

/// A state of zeros that the optimizer keeps beside a tensor.
fn kept(program: &mut ProgramBuilder, kind: &str, name: &str, tensor: TensorId) -> TensorId {
    let ty = program.ty(tensor).clone();
    let zeros = Tensor::from_f64(ty.clone(), &vec![0.0; ty.shape.elements()]);
    let state = program.state(zeros);
    program.names().tensors.insert(state, format!("{OPTIMIZER_STATES}{kind}.{name}"));
    state
}

/// By what gradients are multiplied before they join the momentum: 1 in the first step, what dampening leaves from then on.
fn share_of_gradients(program: &mut ProgramBuilder, dampening: f64) -> TensorId {
    let literal = |value: f64| Scalar::literal(ElementType::F32, value);
    let state = program.state(Tensor::scalar(1f32));
    program.names().tensors.insert(state, format!("{OPTIMIZER_STATES}share_of_gradients"));
    let next = compose::map(program, [state], ElementType::F32, |[share]| {
        share.binary(BinaryOp::Multiply, literal(0.0)).binary(BinaryOp::Add, literal(1.0 - dampening))
    });
    program.set_next(state, next);
    state
}

/// `1 − βⁿ` of each factor after n steps, this one among them: `β · (1 − βⁿ⁻¹) + (1 − β)`, in which nothing cancels.
fn corrections(program: &mut ProgramBuilder, betas: [f64; 2]) -> [TensorId; 2] {
    let literal = |value: f64| Scalar::literal(ElementType::F32, value);
    [0, 1].map(|moment: usize| {
        let state = program.state(Tensor::scalar(0f32));
        program.names().tensors.insert(state, format!("{OPTIMIZER_STATES}bias_correction{}", moment + 1));
        let beta = betas[moment];
        let next = compose::map(program, [state], ElementType::F32, |[before]| {
            before.binary(BinaryOp::Multiply, literal(beta)).binary(BinaryOp::Add, literal(1.0 - beta))
        });
        program.set_next(state, next);
        next
    })
}

fn decayed(element: ElementType, gradient: Scalar, x: Scalar, decay: f64) -> Scalar {
    if decay == 0.0 { gradient } else { gradient.binary(BinaryOp::Add, scaled(element, x, decay)) }
}

fn scaled(element: ElementType, x: Scalar, factor: f64) -> Scalar {
    if factor == 1.0 { x } else { x.binary(BinaryOp::Multiply, Scalar::literal(element, factor)) }
}
