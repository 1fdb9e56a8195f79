//! `TfIdfVectorizer`: how often sequences contain certain short ones.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// For every sequence of integers, one or a row each, how often it has each of a pool of n-grams, whose elements may
/// stand some places apart. In other modes it is the weight of those that it has, or the weighted count. Every n-gram
/// has a column of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct TfIdfVectorizer {
    mode: Mode,
    /// The lengths of n-grams that are counted.
    lengths: [usize; 2],
    /// How many elements may lie between those of an n-gram.
    skips: usize,
    pool: Vec<i64>,
    /// Where the n-grams of each length begin in the pool.
    starts: Vec<i64>,
    /// The column of each n-gram.
    columns: Vec<i64>,
    /// The weight of each n-gram; 1 where there are none.
    weights: Vec<f32>,
}

/// What a column shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// The count.
    Tf,
    /// The weight, if the count is not 0.
    Idf,
    /// Both multiplied.
    TfIdf,
}

impl Mode {
    const NAMES: [(Self, &'static str); 3] = [(Self::Tf, "TF"), (Self::Idf, "IDF"), (Self::TfIdf, "TFIDF")];
}

/// Longest n-gram, and most elements that are left out between two.
const LIMIT: i64 = 64;

impl TfIdfVectorizer {
    /// The n-grams of each length from 1 on, one after another.
    fn grams(&self) -> Vec<&[i64]> {
        let ends = self.starts.iter().skip(1).map(|&end| end as usize).chain([self.pool.len()]);
        self.starts.iter().zip(ends).map(|(&start, end)| &self.pool[start as usize..end]).collect()
    }

    fn width(&self) -> usize {
        self.columns.iter().max().map_or(0, |&last| last as usize + 1)
    }

    /// Why the pool makes no sense, if it does not.
    fn fault(&self) -> Option<(&'static str, String)> {
        let ordered = self.starts.windows(2).all(|pair| pair[0] <= pair[1]);
        let inside = self.starts.iter().all(|&start| (0..=self.pool.len() as i64).contains(&start));
        if self.starts.is_empty() || !ordered || !inside {
            return Some(("ngram_counts", format!("{:?} are no places in the pool", self.starts)));
        }
        let grams = self.grams();
        let whole = grams.iter().enumerate().all(|(at, grams)| grams.len().is_multiple_of(at + 1));
        let count: usize = grams.iter().enumerate().map(|(at, grams)| grams.len() / (at + 1)).sum();
        if !whole || count != self.columns.len() {
            return Some(("ngram_indexes", format!("{} columns for {count} n-grams", self.columns.len())));
        }
        let distinct: BTreeSet<i64> = self.columns.iter().copied().collect();
        if distinct.len() != count || distinct.first().is_some_and(|&first| first < 0) || self.width() > 1 << 24 {
            return Some(("ngram_indexes", "columns of several n-grams are not supported".to_owned()));
        }
        if self.mode != Mode::Tf && !self.weights.is_empty() && self.weights.len() != count {
            return Some(("weights", format!("{} weights for {count} n-grams", self.weights.len())));
        }
        None
    }

    /// Appends how often every row has the n-grams of one length, `[rows, n-grams]`.
    fn counts(&self, program: &mut ProgramBuilder, rows: TensorId, grams: &[i64], length: usize) -> TensorId {
        let ty = program.ty(rows).clone();
        let number = grams.len() / length;
        let pool = Tensor::from_i64(TensorType::new(ty.element, [number, length]), grams);
        let pool = program.constant(pool);
        let skips = if length == 1 { 0 } else { self.skips };
        let fitting = (0..=skips).filter(|skip| (skip + 1) * (length - 1) < ty.shape[1]);
        let mut total: Option<TensorId> = None;
        for skip in fitting {
            let mut expr = ExprBuilder::new();
            let axes = expr.parallels(&[ty.shape[0], number]);
            let place = expr.reduced(ty.shape[1] - (skip + 1) * (length - 1));
            let (x, gram) = (expr.operand(&ty), expr.operand(program.ty(pool)));
            let mut is_there: Option<Scalar> = None;
            for at in 0..length {
                let index = Index::axis(place).plus(((skip + 1) * at) as i64);
                let element = expr.read(x, vec![Index::axis(axes[0]), index]);
                let wanted = expr.read(gram, vec![Index::axis(axes[1]), Index::constant(at as i64)]);
                let equal = element.binary(BinaryOp::Equal, wanted);
                is_there = Some(match is_there {
                    Some(all) => all.binary(BinaryOp::And, equal),
                    None => equal,
                });
            }
            let literal = |value: f64| Scalar::literal(ElementType::F32, value);
            let one = is_there.expect("an n-gram has elements").select(literal(1.0), literal(0.0));
            let mut operands = vec![rows, pool];
            let sum = total.map(|total| {
                let operand = expr.operand(program.ty(total));
                operands.push(total);
                Scalar::Reduced
                    .binary(BinaryOp::Add, expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect()))
            });
            total = Some(program.compute(expr.reduce(ElementType::F32, Reducer::Sum, one, sum), &operands));
        }
        total.unwrap_or_else(|| {
            let none = vec![0.0f32; ty.shape[0] * number];
            program.constant(Tensor::new([ty.shape[0], number], &none))
        })
    }
}

impl Operator for TfIdfVectorizer {
    const NAME: &'static str = "TfIdfVectorizer";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let wrong = |name: &'static str, reason: String| AttributeError::Value { name, reason };
        let name = attributes.string("mode")?.ok_or(AttributeError::Missing("mode"))?;
        let mode = Mode::NAMES.iter().find(|(_, known)| *known == name).map(|(mode, _)| *mode);
        if attributes.strings("pool_strings")?.is_some_and(|pool| !pool.is_empty()) {
            return Err(wrong("pool_strings", "strings are not supported".to_owned()));
        }
        let mut count = |name: &'static str, least: i64| {
            let value = attributes.int(name)?.ok_or(AttributeError::Missing(name))?;
            if (least..=LIMIT).contains(&value) {
                Ok(value as usize)
            } else {
                Err(wrong(name, format!("{value} is not possible")))
            }
        };
        let lengths = [count("min_gram_length", 1)?, count("max_gram_length", 1)?];
        let skips = count("max_skip_count", 0)?;
        let mut list = |name: &'static str| attributes.ints(name)?.ok_or(AttributeError::Missing(name));
        let (pool, starts, columns) = (list("pool_int64s")?, list("ngram_counts")?, list("ngram_indexes")?);
        let weights = attributes.floats("weights")?.unwrap_or_default();
        let mode = mode.ok_or_else(|| wrong("mode", format!("`{name}` is unknown")))?;
        let vectorizer = Self { mode, lengths, skips, pool, starts, columns, weights };
        match vectorizer.fault() {
            Some((name, reason)) => Err(AttributeError::Value { name, reason }),
            None => Ok(vectorizer),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = Mode::NAMES.iter().find(|(mode, _)| *mode == self.mode).map_or("", |(_, name)| name);
        let number = |value: usize| Attribute::Int(value as i64);
        let weights = (!self.weights.is_empty()).then(|| ("weights", Attribute::Floats(self.weights.clone())));
        let others = [
            ("mode", Attribute::String(mode.to_owned())),
            ("min_gram_length", number(self.lengths[0])),
            ("max_gram_length", number(self.lengths[1])),
            ("max_skip_count", number(self.skips)),
            ("pool_int64s", Attribute::Ints(self.pool.clone())),
            ("ngram_counts", Attribute::Ints(self.starts.clone())),
            ("ngram_indexes", Attribute::Ints(self.columns.clone())),
        ];
        others.into_iter().chain(weights).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let rows = data.shape.split_last().map(|(_, rows)| rows).filter(|rows| rows.len() < 2);
        match (rows, data.element) {
            (Some(rows), ElementType::I32 | ElementType::I64) => {
                let shape: Shape = rows.iter().copied().chain([self.width()]).collect();
                Ok(vec![TensorType { element: ElementType::F32, shape }.into()])
            }
            _ => Err(InferError::Mismatch(format!("{data} is not one sequence of integers or one a row"))),
        }
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (input, output) = (inputs[0].expect("inference found the input"), self.output(context));
        let length = context.accepted(0).shape.last().copied().unwrap_or(0);
        let count = output.shape.first().copied().filter(|_| output.shape.len() == 2).unwrap_or(1);
        let rows = movement::reshape(program, input, &[count, length].into());
        let mut parts = Vec::new();
        let mut columns = vec![-1; self.width()];
        let (mut gram, mut joined) = (0, 0);
        for (at, grams) in self.grams().into_iter().enumerate() {
            let number = grams.len() / (at + 1);
            if (self.lengths[0]..=self.lengths[1]).contains(&(at + 1)) && number > 0 {
                for (place, &column) in self.columns[gram..gram + number].iter().enumerate() {
                    columns[column as usize] = (joined + place) as i64;
                }
                joined += number;
                parts.push(self.counts(program, rows, grams, at + 1));
            }
            gram += number;
        }
        if parts.is_empty() || columns.is_empty() {
            return vec![program.constant(Tensor::from_f64(output.clone(), &vec![0.0; output.shape.elements()]))];
        }
        let counts = if parts.len() == 1 { parts[0] } else { program.concat(1, &parts) };
        let mut weights = vec![1.0; columns.len()];
        if self.mode != Mode::Tf {
            for (&column, &weight) in self.columns.iter().zip(&self.weights) {
                weights[column as usize] = weight;
            }
        }
        let weights = program.constant(Tensor::new([columns.len()], &weights));
        let columns = program.constant(Tensor::vector_i64(&columns));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[count, self.width()]);
        let [named, weight] = [columns, weights].map(|tensor| {
            let operand = expr.operand(program.ty(tensor));
            expr.read(operand, vec![Index::axis(axes[1])])
        });
        let operand = expr.operand(program.ty(counts));
        let place = expr.indirect(&named, joined);
        let found = expr.read(operand, vec![Index::axis(axes[0]), place]);
        let zero = || Scalar::literal(ElementType::F32, 0.0);
        let shown = match self.mode {
            Mode::Tf => found,
            Mode::TfIdf => found.binary(BinaryOp::Multiply, weight),
            Mode::Idf => zero().binary(BinaryOp::Less, found).select(weight, zero()),
        };
        let is_absent = named.binary(BinaryOp::Less, Scalar::literal(ElementType::I64, 0.0));
        let expr = expr.map(ElementType::F32, is_absent.select(zero(), shown));
        let result = program.compute(expr, &[columns, weights, counts]);
        vec![movement::reshape(program, result, &output.shape)]
    }
}
