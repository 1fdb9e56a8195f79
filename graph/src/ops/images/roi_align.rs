//! `RoiAlign`: regions of an image pooled to one size.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Regions `[R, 4]` of images `[N, C, H, W]`, each of the image that a third input names, divided into as many cells as
/// the output has. A cell is the mean or the largest of samples in it, which are interpolated. The number of samples
/// along each side of a cell is an attribute, or 0. Where it is 0, there are as many as the length of the cell in
/// pixels, rounded up. There may be as many as in a cell of a region as long as the image; a run with a longer region
/// fails.
#[derive(Clone, PartialEq, Debug)]
pub struct RoiAlign {
    mode: Mode,
    /// Whether regions are moved by half a pixel.
    half_pixel: bool,
    output: [usize; 2],
    /// The samples along a side of a cell; 0 where the region says how many.
    samples: usize,
    scale: f32,
}

/// What a cell is of its samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Their mean.
    Average,
    /// The largest of the weighted neighbours of all samples, as ONNX defines it.
    Maximum,
}

/// The neighbours of the samples along one side, each `[R, cells, samples]`.
struct Side {
    /// The pixel before a sample, −1 where it lies outside.
    low: TensorId,
    /// The pixel behind it.
    high: TensorId,
    /// The distance from the pixel before it.
    part: TensorId,
    /// How many samples of a cell count, `[R]`, if regions say so.
    counts: Option<TensorId>,
}

/// Where a region lies along a side.
struct Reach {
    start: Scalar,
    length: Scalar,
}

/// Largest output and number of samples.
const LIMIT: i64 = 1 << 12;

impl RoiAlign {
    /// The most samples along a side of a cell.
    fn most(&self, extent: usize, side: usize) -> usize {
        if self.samples > 0 { self.samples } else { (extent + 1).div_ceil(self.output[side]) }
    }

    /// Where the region that is the first axis lies along a side: 0 for rows, 1 for columns.
    fn reach(&self, expr: &mut ExprBuilder, regions: usize, side: usize) -> Reach {
        let literal = |value: f64| Scalar::literal(ElementType::F32, value);
        let region = Index::axis(expr.parallel_axes()[0]);
        // A region is x, y of one corner, then of the other.
        let mut corner = |at: usize| {
            let read = expr.read(regions, vec![region.clone(), Index::constant((at + 1 - side) as i64)]);
            let scaled = read.binary(BinaryOp::Multiply, literal(f64::from(self.scale)));
            scaled.binary(BinaryOp::Subtract, literal(if self.half_pixel { 0.5 } else { 0.0 }))
        };
        let (start, end) = (corner(0), corner(2));
        let length = end.binary(BinaryOp::Subtract, start.clone());
        if self.half_pixel {
            return Reach { start, length };
        }
        Reach { start, length: length.binary(BinaryOp::Maximum, literal(1.0)) }
    }

    /// Appends how many samples along a side of a cell count in each region, at most `most`.
    fn counts(&self, program: &mut ProgramBuilder, regions: TensorId, side: usize, most: usize) -> TensorId {
        let ty = program.ty(regions).clone();
        let mut expr = ExprBuilder::new();
        expr.parallel(ty.shape[0]);
        let operand = expr.operand(&ty);
        let cells = Scalar::literal(ElementType::F32, self.output[side] as f64);
        let length = self.reach(&mut expr, operand, side).length.binary(BinaryOp::Divide, cells).unary(UnaryOp::Ceil);
        let none = Scalar::literal(ElementType::F32, 0.0);
        let count = length.binary(BinaryOp::Maximum, none).cast(ElementType::F32, ElementType::I32);
        let counts = program.compute(expr.map(ElementType::I32, count), &[regions]);
        // A count is checked as an index is.
        let mut expr = ExprBuilder::new();
        let own = expr.parallel(ty.shape[0]);
        let operand = expr.operand(program.ty(counts));
        let count = expr.read(operand, vec![Index::axis(own)]);
        let body = Scalar::Index(expr.indirect(&count, most + 1), ElementType::I32);
        program.compute(expr.map(ElementType::I32, body), &[counts])
    }

    /// Appends the samples of a side: 0 for rows, 1 for columns.
    fn side(&self, program: &mut ProgramBuilder, regions: TensorId, side: usize, extent: usize) -> Side {
        let ty = program.ty(regions).clone();
        let literal = |value: f64| Scalar::literal(ElementType::F32, value);
        let (cells, most) = (self.output[side], self.most(extent, side));
        let counts = (self.samples == 0).then(|| self.counts(program, regions, side, most));
        let mut operands = vec![regions];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[ty.shape[0], cells, most]);
        let operand = expr.operand(&ty);
        let Reach { start, length } = self.reach(&mut expr, operand, side);
        let number = |index: Index| Scalar::Index(index, ElementType::I32).cast(ElementType::I32, ElementType::F32);
        let parts = match counts {
            // The middle of part `s` of cell `c`, in parts: 2 (c S + s) + 1 of 2 C S.
            None => {
                let place = Index::axis(axes[1]).times(most as i64).add(&Index::axis(axes[2])).times(2).plus(1);
                number(place).binary(BinaryOp::Divide, literal((2 * cells * most) as f64))
            }
            Some(counts) => {
                let operand = expr.operand(program.ty(counts));
                operands.push(counts);
                let count = expr.read(operand, vec![Index::axis(axes[0])]).cast(ElementType::I32, ElementType::F32);
                let middle = number(Index::axis(axes[2])).binary(BinaryOp::Add, literal(0.5));
                let within = middle.binary(BinaryOp::Divide, count.binary(BinaryOp::Maximum, literal(1.0)));
                let place = number(Index::axis(axes[1])).binary(BinaryOp::Add, within);
                place.binary(BinaryOp::Divide, literal(cells as f64))
            }
        };
        let body = start.binary(BinaryOp::Add, length.binary(BinaryOp::Multiply, parts));
        let places = program.compute(expr.map(ElementType::F32, body), &operands);

        let last = literal(extent as f64 - 1.0);
        let inside = compose::map(program, [places], ElementType::F32, |[place]| {
            place.binary(BinaryOp::Maximum, literal(0.0)).binary(BinaryOp::Minimum, last.clone())
        });
        let whole = |x: Scalar| x.cast(ElementType::F32, ElementType::I32);
        let low = compose::map(program, [places, inside], ElementType::I32, |[place, inside]| {
            let before = place.clone().binary(BinaryOp::Less, literal(-1.0));
            let behind = literal(extent as f64).binary(BinaryOp::Less, place);
            let outside = before.binary(BinaryOp::Or, behind);
            outside.select(Scalar::literal(ElementType::I32, -1.0), whole(inside.unary(UnaryOp::Floor)))
        });
        let high = compose::map(program, [inside], ElementType::I32, |[inside]| {
            let next = inside.unary(UnaryOp::Floor).binary(BinaryOp::Add, literal(1.0));
            whole(next.binary(BinaryOp::Minimum, last.clone()))
        });
        let part = compose::map(program, [inside], ElementType::F32, |[inside]| {
            inside.clone().binary(BinaryOp::Subtract, inside.unary(UnaryOp::Floor))
        });
        Side { low, high, part, counts }
    }
}

impl Operator for RoiAlign {
    const NAME: &'static str = "RoiAlign";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let old = attributes.opset() < 16;
        let unknown =
            |name: &'static str, value: &str| AttributeError::Value { name, reason: format!("`{value}` is unknown") };
        let mode = match attributes.string("mode")?.as_deref() {
            None | Some("avg") => Mode::Average,
            Some("max") => Mode::Maximum,
            Some(other) => return Err(unknown("mode", other)),
        };
        let half_pixel = match attributes.string("coordinate_transformation_mode")?.as_deref() {
            None => !old,
            Some("half_pixel") => true,
            Some("output_half_pixel") => false,
            Some(other) => return Err(unknown("coordinate_transformation_mode", other)),
        };
        let mut count = |name: &'static str, default: i64| match attributes.int(name)?.unwrap_or(default) {
            value @ 1..=LIMIT => Ok(value as usize),
            0 if name == "sampling_ratio" => Ok(0),
            value => Err(AttributeError::Value { name, reason: format!("{value} is not possible") }),
        };
        let output = [count("output_height", 1)?, count("output_width", 1)?];
        let samples = count("sampling_ratio", 0)?;
        Ok(Self { mode, half_pixel, output, samples, scale: attributes.float("spatial_scale")?.unwrap_or(1.0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let text = |text: &str| Attribute::String(text.to_owned());
        let count = |value: usize| Attribute::Int(value as i64);
        vec![
            ("mode", text(if self.mode == Mode::Average { "avg" } else { "max" })),
            ("coordinate_transformation_mode", text(if self.half_pixel { "half_pixel" } else { "output_half_pixel" })),
            ("output_height", count(self.output[0])),
            ("output_width", count(self.output[1])),
            ("sampling_ratio", count(self.samples)),
            ("spatial_scale", Attribute::Float(self.scale)),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, regions, images) = (context.tensor(0)?, context.tensor(1)?, context.tensor(2)?);
        elementwise::floating(data.element)?;
        let mismatch = || InferError::Mismatch(format!("regions {regions} of images {images} do not go with {data}"));
        let (&[_, channels, height, width], &[count, 4]) = (&*data.shape, &*regions.shape) else {
            return Err(mismatch());
        };
        let singles = data.element == ElementType::F32 && regions.element == ElementType::F32;
        if *images.shape != [count] || images.element != ElementType::I64 || !singles || height == 0 || width == 0 {
            return Err(mismatch());
        }
        Ok(vec![TensorType::new(data.element, [count, channels, self.output[0], self.output[1]]).into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input > 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let [data_id, regions, images] = [0, 1, 2].map(|input| inputs[input].expect("inference found the inputs"));
        let data = context.accepted(0);
        let sides = [0, 1].map(|side| self.side(program, regions, side, data.shape[side + 2]));
        let mut operands = vec![data_id, images];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&self.output(context).shape);
        let samples: [AxisId; 2] = [0, 1].map(|side| expr.reduced(self.most(data.shape[side + 2], side)));
        let (source, images_operand) = (expr.operand(data), expr.operand(context.accepted(2)));
        let image = expr.read(images_operand, vec![Index::axis(axes[0])]);
        let image = expr.indirect(&image, data.shape[0]);
        let mut read = |tensor: TensorId, side: usize, expr: &mut ExprBuilder| {
            operands.push(tensor);
            let operand = expr.operand(program.ty(tensor));
            expr.read(operand, [axes[0], axes[side + 2], samples[side]].map(Index::axis).to_vec())
        };
        let [rows, columns] = [0, 1].map(|side| {
            let Side { low, high, part, .. } = sides[side];
            [low, high, part].map(|tensor| read(tensor, side, &mut expr))
        });
        let literal = |value: f64| Scalar::literal(ElementType::F32, value);
        let weights = |part: &Scalar| [literal(1.0).binary(BinaryOp::Subtract, part.clone()), part.clone()];
        let (row_weights, column_weights) = (weights(&rows[2]), weights(&columns[2]));
        let mut terms = Vec::with_capacity(4);
        for (row, row_weight) in rows.iter().zip(&row_weights) {
            for (column, column_weight) in columns.iter().zip(&column_weights) {
                let place = [expr.indirect(row, data.shape[2]), expr.indirect(column, data.shape[3])];
                let index = [image.clone(), Index::axis(axes[1])].into_iter().chain(place).collect();
                let weight = row_weight.clone().binary(BinaryOp::Multiply, column_weight.clone());
                terms.push(expr.read(source, index).binary(BinaryOp::Multiply, weight));
            }
        }
        let (combine, reducer) = match self.mode {
            Mode::Average => (BinaryOp::Add, Reducer::Sum),
            Mode::Maximum => (BinaryOp::Maximum, Reducer::Maximum),
        };
        let sample =
            terms.into_iter().reduce(|all, term| all.binary(combine, term)).expect("there are four neighbours");
        let outside = |low: &Scalar| low.clone().binary(BinaryOp::Less, Scalar::literal(ElementType::I32, 0.0));
        let is_outside = outside(&rows[0]).binary(BinaryOp::Or, outside(&columns[0]));
        let mut body = is_outside.select(literal(0.0), sample);
        let mut count = literal((self.samples * self.samples) as f64);
        let counted: Vec<Scalar> = sides
            .iter()
            .filter_map(|side| side.counts)
            .map(|counts| {
                let operand = expr.operand(program.ty(counts));
                operands.push(counts);
                expr.read(operand, vec![Index::axis(axes[0])])
            })
            .collect();
        if let [rows, columns] = &counted[..] {
            let counts = |count: &Scalar, sample: AxisId| {
                Scalar::Index(Index::axis(sample), ElementType::I32).binary(BinaryOp::Less, count.clone())
            };
            let is_sample = counts(rows, samples[0]).binary(BinaryOp::And, counts(columns, samples[1]));
            body = is_sample.select(body, Scalar::Literal(reducer.identity(ElementType::F32)));
            let product = rows.clone().binary(BinaryOp::Multiply, columns.clone());
            count = product.cast(ElementType::I32, ElementType::F32).binary(BinaryOp::Maximum, literal(1.0));
        }
        let epilogue = match (self.mode, &counted[..]) {
            (Mode::Average, _) => Some(Scalar::Reduced.binary(BinaryOp::Divide, count)),
            (Mode::Maximum, [rows, columns]) => {
                let product = rows.clone().binary(BinaryOp::Multiply, columns.clone());
                let is_empty = product.binary(BinaryOp::Equal, Scalar::literal(ElementType::I32, 0.0));
                Some(is_empty.select(literal(0.0), Scalar::Reduced))
            }
            (Mode::Maximum, _) => None,
        };
        vec![program.compute(expr.reduce(ElementType::F32, reducer, body, epilogue), &operands)]
    }
}
