//! Operators that treat every element alike.

use super::{Builder, Value};

/// An operator of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + e^−x)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    SquareRoot,
}

impl Unary {
    fn operator(self) -> &'static str {
        match self {
            Self::Relu => "Relu",
            Self::Sigmoid => "Sigmoid",
            Self::Tanh => "Tanh",
            Self::Erf => "Erf",
            Self::SquareRoot => "Sqrt",
        }
    }
}

/// An operator of two operands, broadcast against one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient.
    Divide,
}

impl Binary {
    fn operator(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Subtract => "Sub",
            Self::Multiply => "Mul",
            Self::Divide => "Div",
        }
    }
}

impl Builder {
    /// The operator applied to every element.
    pub(crate) fn unary(&mut self, operator: Unary, x: &Value) -> Value {
        self.node(operator.operator(), &[x], Vec::new(), x.shape.clone())
    }

    /// The operator applied to every pair of elements.
    pub(crate) fn binary(&mut self, operator: Binary, left: &Value, right: &Value) -> Value {
        self.node(operator.operator(), &[left, right], Vec::new(), broadcast(&left.shape, &right.shape))
    }

    /// The operator applied to every element and one number.
    pub(crate) fn with_scalar(&mut self, operator: Binary, x: &Value, number: f32) -> Value {
        let number = self.scalar(number);
        self.binary(operator, x, &number)
    }

    /// `max(x, 0)`.
    pub(crate) fn relu(&mut self, x: &Value) -> Value {
        self.unary(Unary::Relu, x)
    }

    /// The sum, broadcast.
    pub(crate) fn add(&mut self, left: &Value, right: &Value) -> Value {
        self.binary(Binary::Add, left, right)
    }

    /// The product, broadcast.
    pub(crate) fn multiply(&mut self, left: &Value, right: &Value) -> Value {
        self.binary(Binary::Multiply, left, right)
    }

    /// Every element kept between two numbers.
    pub(crate) fn clip(&mut self, x: &Value, least: f32, most: f32) -> Value {
        let (least, most) = (self.scalar(least), self.scalar(most));
        self.node("Clip", &[x, &least, &most], Vec::new(), x.shape.clone())
    }

    /// The Gaussian error linear unit, exact: `x/2 · (1 + erf(x/√2))` (Hendrycks and Gimpel, 2016).
    pub(crate) fn gelu(&mut self, x: &Value) -> Value {
        let scaled = self.with_scalar(Binary::Multiply, x, std::f32::consts::FRAC_1_SQRT_2);
        let error = self.unary(Unary::Erf, &scaled);
        let gate = self.with_scalar(Binary::Add, &error, 1.0);
        let product = self.multiply(x, &gate);
        self.with_scalar(Binary::Multiply, &product, 0.5)
    }

    /// The Gaussian error linear unit by its hyperbolic approximation (Hendrycks and Gimpel, 2016).
    pub(crate) fn gelu_tanh(&mut self, x: &Value) -> Value {
        // √(2/π)
        const SCALE: f32 = 0.797_884_6;
        let square = self.multiply(x, x);
        let cubic = self.with_scalar(Binary::Multiply, &square, 0.044_715);
        let shifted = self.with_scalar(Binary::Add, &cubic, 1.0);
        let inner = self.multiply(x, &shifted);
        let scaled = self.with_scalar(Binary::Multiply, &inner, SCALE);
        let squashed = self.unary(Unary::Tanh, &scaled);
        let gate = self.with_scalar(Binary::Add, &squashed, 1.0);
        let product = self.multiply(x, &gate);
        self.with_scalar(Binary::Multiply, &product, 0.5)
    }
}

/// The shape of two operands broadcast against one another.
pub(super) fn broadcast(left: &[usize], right: &[usize]) -> Vec<usize> {
    let rank = left.len().max(right.len());
    let extent = |shape: &[usize], at: usize| (at + shape.len()).checked_sub(rank).map_or(1, |own| shape[own]);
    let pick = |at: usize| match (extent(left, at), extent(right, at)) {
        (1, other) => other,
        (own, _) => own,
    };
    (0..rank).map(pick).collect()
}
