//! `GridSample`: an image read at places that another tensor names.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::ops::grid_padding::GridPadding;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// `[N, C, H, W]` or `[N, C, D, H, W]` at the places `[N, …, 2 or 3]`, innermost coordinate first, where −1 to 1 spans the
/// image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GridSample {
    sampling: Sampling,
    padding: GridPadding,
    align_corners: bool,
}

/// How values between pixels are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sampling {
    Nearest,
    Linear,
    Cubic,
}

/// What is read along one dimension: the places, −1 for none, and their weights; no weights stand for one of 1.
struct Taps {
    places: Vec<TensorId>,
    part: Option<TensorId>,
}

/// The coefficient of the cubic, PyTorch's.
const CUBIC: f64 = -0.75;

impl Sampling {
    /// Names, in the order of newest first.
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Nearest, "nearest"),
        (Self::Linear, "linear"),
        (Self::Cubic, "cubic"),
        (Self::Linear, "bilinear"),
        (Self::Cubic, "bicubic"),
    ];

    /// The first tap's distance from the place below, and the number of taps.
    fn reach(self) -> (f64, usize) {
        match self {
            Self::Nearest => (0.0, 1),
            Self::Linear => (0.0, 2),
            Self::Cubic => (-1.0, 4),
        }
    }

    /// The weights of the taps, at a distance of `part` from the place below.
    fn weights(self, part: &Scalar, literal: &impl Fn(f64) -> Scalar) -> Vec<Scalar> {
        let multiply = |x: Scalar, y: Scalar| x.binary(BinaryOp::Multiply, y);
        let rest = literal(1.0).binary(BinaryOp::Subtract, part.clone());
        let polynomial = |x: &Scalar, coefficients: [f64; 4]| {
            coefficients[1..].iter().fold(literal(coefficients[0]), |total, &next| {
                multiply(total, x.clone()).binary(BinaryOp::Add, literal(next))
            })
        };
        let near = [CUBIC + 2.0, -(CUBIC + 3.0), 0.0, 1.0];
        let far = [CUBIC, -5.0 * CUBIC, 8.0 * CUBIC, -4.0 * CUBIC];
        let beyond = |x: &Scalar| x.clone().binary(BinaryOp::Add, literal(1.0));
        match self {
            Self::Nearest => vec![literal(1.0)],
            Self::Linear => vec![rest, part.clone()],
            Self::Cubic => vec![
                polynomial(&beyond(part), far),
                polynomial(part, near),
                polynomial(&rest, near),
                polynomial(&beyond(&rest), far),
            ],
        }
    }
}

impl GridSample {
    /// Appends what is read along a dimension of an extent, which a coordinate of the grid names.
    fn taps(&self, program: &mut ProgramBuilder, grid: TensorId, coordinate: usize, extent: usize) -> Taps {
        let ty = program.ty(grid).clone();
        let element = if ty.element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
        let literal = |value: f64| Scalar::literal(element, value);
        let rank = ty.shape.len();
        let extents: Shape = ty.shape[..rank - 1].into();
        let border = self.padding.border(extent, self.align_corners);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents);
        let operand = expr.operand(&ty);
        let place = [Index::constant(coordinate as i64)];
        let given = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).chain(place).collect());
        let given = given.cast(ty.element, element).binary(BinaryOp::Add, literal(1.0));
        // −1 to 1 becomes 0 to the last pixel, or −½ to half a pixel behind it.
        let (factor, shift) = match self.align_corners {
            true => ((extent as f64 - 1.0) / 2.0, 0.0),
            false => (extent as f64 / 2.0, -0.5),
        };
        let mut place = given.binary(BinaryOp::Multiply, literal(factor)).binary(BinaryOp::Add, literal(shift));
        if self.sampling == Sampling::Nearest {
            place = place.unary(UnaryOp::RoundEven);
        }
        if self.sampling != Sampling::Cubic {
            // A cubic's pixels are brought to the image one by one, so that it goes on beyond the border.
            place = self.padding.place(place, &border, &literal);
        }
        let place = program.compute(expr.map(element, place), &[grid]);

        let (first, count) = self.sampling.reach();
        let below = |place: Scalar| place.unary(UnaryOp::Floor);
        let tap = |at: usize, program: &mut ProgramBuilder| {
            crate::ops::compose::map(program, [place], ElementType::I32, |[place]| {
                let pixel = below(place).binary(BinaryOp::Add, literal(first + at as f64));
                self.padding.pixel(pixel, &border, &literal).cast(element, ElementType::I32)
            })
        };
        let places = (0..count).map(|at| tap(at, program)).collect();
        let part = (count > 1).then(|| {
            crate::ops::compose::map(program, [place], element, |[place]| {
                place.clone().binary(BinaryOp::Subtract, below(place))
            })
        });
        Taps { places, part }
    }
}

impl Operator for GridSample {
    const NAME: &'static str = "GridSample";
    const OPSETS: RangeInclusive<i64> = 16..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("mode")?.unwrap_or_else(|| "linear".to_owned());
        let sampling = Sampling::NAMES.iter().find(|(_, known)| *known == name).map(|(sampling, _)| *sampling);
        let reason = || format!("`{name}` is not one of nearest, linear and cubic");
        Ok(Self {
            sampling: sampling.ok_or_else(|| AttributeError::Value { name: "mode", reason: reason() })?,
            padding: GridPadding::from_attributes(attributes)?,
            align_corners: attributes.flag("align_corners")?.unwrap_or(false),
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = Sampling::NAMES.iter().find(|(known, _)| *known == self.sampling).map_or("", |(_, name)| name);
        vec![
            ("mode", Attribute::String(mode.to_owned())),
            self.padding.attribute(),
            ("align_corners", Attribute::Int(i64::from(self.align_corners))),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, grid) = (context.tensor(0)?, context.tensor(1)?);
        elementwise::number(data.element)?;
        elementwise::floating(grid.element)?;
        let rank = data.shape.len();
        let spatial = rank.saturating_sub(2);
        let fits = (2..=3).contains(&spatial) && grid.shape.len() == rank && grid.shape[rank - 1] == spatial;
        if !fits || grid.shape[0] != data.shape[0] || data.shape[2..].contains(&0) {
            return Err(InferError::Mismatch(format!("{grid} names no places of {data}")));
        }
        if self.sampling == Sampling::Cubic && spatial == 3 {
            return Err(InferError::Unsupported("cubic sampling is supported in two dimensions only".to_owned()));
        }
        let shape: Shape = data.shape[..2].iter().chain(&grid.shape[1..rank - 1]).copied().collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let [data_id, grid] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let data = context.accepted(0);
        let spatial = &data.shape[2..];
        let along = |(at, &extent): (usize, &usize)| self.taps(program, grid, spatial.len() - 1 - at, extent);
        let taps: Vec<Taps> = spatial.iter().enumerate().map(along).collect();

        let wide = program.ty(taps[0].part.unwrap_or(taps[0].places[0])).element;
        let wide = if wide == ElementType::I32 { data.element } else { wide };
        let literal = |value: f64| Scalar::literal(wide, value);
        let mut operands = vec![data_id];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&self.output(context).shape);
        let source = expr.operand(data);
        let at: Vec<Index> =
            axes.iter().enumerate().filter(|(place, _)| *place != 1).map(|(_, &axis)| Index::axis(axis)).collect();
        let mut read = |tensor: TensorId, expr: &mut ExprBuilder| {
            operands.push(tensor);
            let operand = expr.operand(program.ty(tensor));
            expr.read(operand, at.clone())
        };
        let dimensions: Vec<Vec<(Scalar, Scalar)>> = taps
            .iter()
            .map(|taps| {
                let places: Vec<Scalar> = taps.places.iter().map(|&place| read(place, &mut expr)).collect();
                let part = taps.part.map_or(literal(0.0), |part| read(part, &mut expr));
                places.into_iter().zip(self.sampling.weights(&part, &literal)).collect()
            })
            .collect();
        let leading = vec![Index::axis(axes[0]), Index::axis(axes[1])];
        let mut terms: Vec<(Vec<Index>, Option<Scalar>, Option<Scalar>)> = vec![(leading, None, None)];
        for (taps, &extent) in dimensions.iter().zip(spatial) {
            let grown = terms.iter().flat_map(|(index, weight, outside)| {
                taps.iter().map(|(place, own)| {
                    let mut index = index.clone();
                    index.push(expr.indirect(place, extent));
                    let weight = match weight {
                        None => own.clone(),
                        Some(weight) => weight.clone().binary(BinaryOp::Multiply, own.clone()),
                    };
                    let here = place.clone().binary(BinaryOp::Less, Scalar::literal(ElementType::I32, 0.0));
                    let outside = match outside {
                        None => here,
                        Some(outside) => outside.clone().binary(BinaryOp::Or, here),
                    };
                    (index, Some(weight), Some(outside))
                })
            });
            terms = grown.collect();
        }
        let terms = terms.into_iter().map(|(index, weight, outside)| {
            let mut value = expr.read(source, index).cast(data.element, wide);
            if let Some(outside) = outside.filter(|_| self.padding == GridPadding::Zeros) {
                value = outside.select(literal(0.0), value);
            }
            match weight.filter(|_| self.sampling != Sampling::Nearest) {
                None => value,
                Some(weight) => value.binary(BinaryOp::Multiply, weight),
            }
        });
        let total = terms.reduce(|sum, term| sum.binary(BinaryOp::Add, term)).expect("there is a tap");
        let body = total.cast(wide, data.element);
        vec![program.compute(expr.map(data.element, body), &operands)]
    }
}
