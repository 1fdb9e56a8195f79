//! Sums of products outside the contraction template: matrix times vector, norms, weighted means.
//!
//! Factors are gathered along the innermost reduced axis into dense buffers and multiplied natively. The order of the
//! additions depends on the tile alone, so it is the same for any number of threads.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, BinaryOp, Reducer, Scalar};
use warpweave_plan::template::contraction::axes_of;

use super::contraction::kernel::Kernels;
use super::lane_program::{LaneProgram, Step};
use super::lanes::{LANES, Lanes};
use super::matrix_product::Number;
use super::memory::{Memory, SINGLE_BYTES};
use super::points::for_each_value;
use super::stage::{HostStage, Line, ReadSource, Run};

/// Innermost reductions below this length are cheaper point by point.
const LEAST_LENGTH: usize = 16;

/// The factors of a stage's sum.
pub(super) struct HostProduct {
    /// What is added up at every point: products.
    terms: Vec<[Factor; 2]>,
    /// Reduced axes but the innermost.
    outer: Vec<usize>,
    inner: usize,
    length: usize,
    /// Whether integers of 32 bits are summed, not singles.
    is_integer: bool,
}

struct Factor {
    /// The axes of the stage along which it varies.
    axes: Vec<usize>,
    program: LaneProgram,
    source: FactorSource,
}

enum FactorSource {
    /// One unguarded read of singles, in a sum of singles.
    Direct(Line),
    /// Anything else.
    Computed {
        /// Whether it uses the value of an earlier stage, which belongs to one point of the tile.
        reads_stages: bool,
    },
}

impl HostProduct {
    /// The product that a stage sums along a reduction that is long enough.
    pub(super) fn new(stage: &HostStage) -> Option<Self> {
        let expr = &stage.expr;
        let products = products(&expr.body)?;
        let element = expr.body_element();
        let is_integer = element == ElementType::I32;
        if expr.reducer != Some(Reducer::Sum) || !(element.is_half() || element == ElementType::F32 || is_integer) {
            return None;
        }
        let mut outer: Vec<usize> = expr.reduced().map(Id::index).collect();
        let inner = outer.pop()?;
        let length = expr.axes[AxisId::from_index(inner)].extent;
        let terms = products.into_iter().map(|factors| factors.map(|scalar| Factor::new(stage, scalar))).collect();
        (length >= LEAST_LENGTH).then_some(Self { terms, outer, inner, length, is_integer })
    }

    /// Whether a factor uses the value of an earlier stage: the points of a tile must then be taken one at a time.
    pub(super) fn reads_stages(&self) -> bool {
        self.terms.iter().flatten().any(|factor| matches!(factor.source, FactorSource::Computed { reads_stages: true }))
    }

    /// The sums at `count` points along `axis` from `point` on; every lane holds the first where `axis` is `None`.
    pub(super) fn sums(
        &self,
        stage: &HostStage,
        memory: &Memory,
        point: &mut [i64],
        lanes: (Option<usize>, usize),
        stages: &[Option<Lanes>],
    ) -> Lanes {
        if self.is_integer {
            return self.integer_sums(stage, memory, point, lanes, stages);
        }
        let (axis, count) = lanes;
        let mut sums = [0f32; LANES];
        let mut buffers: Option<[Vec<f32>; 2]> = None;
        for_each_value(stage, &self.outer, point, &mut |point| {
            for term in &self.terms {
                if !self.add_rows(term, axis, memory, point, &mut sums[..count]) {
                    let buffers = buffers.get_or_insert_with(|| [vec![0f32; self.length], vec![0f32; self.length]]);
                    self.add_gathered(term, (stage, stages), axis, memory, point, buffers, &mut sums[..count]);
                }
            }
        });
        if axis.is_none() {
            sums = [sums[0]; LANES];
        }
        Lanes::Float(sums)
    }

    /// Adds the sums of a term both factors of which lie side by side along the innermost reduced axis; whether they do.
    fn add_rows(
        &self,
        term: &[Factor; 2],
        axis: Option<usize>,
        memory: &Memory,
        point: &mut [i64],
        sums: &mut [f32],
    ) -> bool {
        let [FactorSource::Direct(left), FactorSource::Direct(right)] = [&term[0].source, &term[1].source] else {
            return false;
        };
        if [left, right].iter().any(|line| line.coefficient(self.inner) != 1) {
            return false;
        }
        point[self.inner] = 0;
        let kernels = Kernels::native();
        let firsts = [left, right].map(|line| line.address(point));
        let steps = [left, right].map(|line| SINGLE_BYTES as i64 * axis.map_or(0, |axis| line.coefficient(axis)));
        let row = |line: &Line, factor: usize, lane: usize| {
            memory.singles(line.space, firsts[factor] + lane as i64 * steps[factor], self.length)
        };
        if row(left, 0, sums.len() - 1).is_none() || row(right, 1, sums.len() - 1).is_none() {
            return false;
        }
        for (lane, sum) in sums.iter_mut().enumerate() {
            let Some((left, right)) = row(left, 0, lane).zip(row(right, 1, lane)) else { return false };
            *sum += kernels.dot(left, right);
        }
        true
    }

    /// Adds the sums of any term.
    #[expect(clippy::too_many_arguments, reason = "what a term is evaluated in")]
    fn add_gathered(
        &self,
        term: &[Factor; 2],
        (stage, stages): (&HostStage, &[Option<Lanes>]),
        axis: Option<usize>,
        memory: &Memory,
        point: &mut [i64],
        buffers: &mut [Vec<f32>; 2],
        sums: &mut [f32],
    ) {
        let varies = [0, 1].map(|factor| axis.is_some_and(|axis| term[factor].axes.contains(&axis)));
        for (factor, buffer) in term.iter().zip(&mut *buffers) {
            factor.gather(self.inner, stage, memory, point, stages, buffer);
        }
        if let Some((line, vector)) = self.across_lanes(term, axis, varies, buffers) {
            return add_scaled_rows(line, memory, point, self.inner, vector, sums);
        }
        let kernels = Kernels::native();
        sums[0] += kernels.dot(&buffers[0], &buffers[1]);
        let Some(axis) = axis else { return };
        let first = point[axis];
        for (lane, sum) in sums.iter_mut().enumerate().skip(1) {
            point[axis] = first + lane as i64;
            for ((factor, buffer), varies) in term.iter().zip(&mut *buffers).zip(varies) {
                if varies {
                    factor.gather(self.inner, stage, memory, point, stages, buffer);
                }
            }
            *sum += kernels.dot(&buffers[0], &buffers[1]);
        }
        point[axis] = first;
    }

    fn integer_sums(
        &self,
        stage: &HostStage,
        memory: &Memory,
        point: &mut [i64],
        (axis, count): (Option<usize>, usize),
        stages: &[Option<Lanes>],
    ) -> Lanes {
        let mut sums = [0i32; LANES];
        let mut buffers = vec![[vec![0i32; self.length], vec![0i32; self.length]]; self.terms.len()];
        for_each_value(stage, &self.outer, point, &mut |point| {
            let first = axis.map(|axis| point[axis]);
            for (lane, sum) in sums[..count].iter_mut().enumerate() {
                if let Some((axis, first)) = axis.zip(first) {
                    point[axis] = first + lane as i64;
                }
                for (term, buffers) in self.terms.iter().zip(&mut buffers) {
                    for (factor, buffer) in term.iter().zip(&mut *buffers) {
                        if lane == 0 || axis.is_some_and(|axis| factor.axes.contains(&axis)) {
                            factor.compute(self.inner, stage, memory, point, stages, buffer);
                        }
                    }
                    let products = buffers[0].iter().zip(&buffers[1]).map(|(left, right)| left.wrapping_mul(*right));
                    *sum = products.fold(*sum, i32::wrapping_add);
                }
            }
            if let Some((axis, first)) = axis.zip(first) {
                point[axis] = first;
            }
        });
        if axis.is_none() {
            sums = [sums[0]; LANES];
        }
        Number::lanes(&sums)
    }

    /// The factor whose elements lie side by side along the lanes, and the other, which is the same for all of them.
    fn across_lanes<'p>(
        &self,
        term: &'p [Factor; 2],
        axis: Option<usize>,
        varies: [bool; 2],
        buffers: &'p [Vec<f32>; 2],
    ) -> Option<(&'p Line, &'p [f32])> {
        let matrix = match varies {
            [true, false] => 0,
            [false, true] => 1,
            [true, true] | [false, false] => return None,
        };
        let FactorSource::Direct(line) = &term[matrix].source else { return None };
        let side_by_side = line.coefficient(axis?) == 1 && line.coefficient(self.inner) != 1;
        side_by_side.then_some((line, buffers[1 - matrix].as_slice()))
    }
}

impl Factor {
    fn new(stage: &HostStage, scalar: &Scalar) -> Self {
        let program = stage.program(scalar);
        let axes = axes_of(&stage.expr, scalar).into_iter().map(Id::index).collect();
        let direct = match program.steps.as_slice() {
            [Step::Read(read)] => stage.reads[*read].line(ElementType::F32),
            _ => None,
        };
        let reads_stages = program.steps.iter().any(|step| match step {
            Step::Read(read) => matches!(stage.reads[*read].source, ReadSource::Stage(_)),
            _ => false,
        });
        let source = direct.map_or(FactorSource::Computed { reads_stages }, FactorSource::Direct);
        Self { axes, program, source }
    }

    /// The elements at a point along the innermost reduced axis.
    fn gather(
        &self,
        inner: usize,
        stage: &HostStage,
        memory: &Memory,
        point: &mut [i64],
        stages: &[Option<Lanes>],
        buffer: &mut [f32],
    ) {
        match &self.source {
            FactorSource::Direct(line) => {
                point[inner] = 0;
                memory.load_singles(
                    line.space,
                    line.address(point),
                    SINGLE_BYTES as i64 * line.coefficient(inner),
                    buffer,
                );
            }
            FactorSource::Computed { .. } => self.compute(inner, stage, memory, point, stages, buffer),
        }
    }

    /// The same for any factor.
    fn compute<T: Number>(
        &self,
        inner: usize,
        stage: &HostStage,
        memory: &Memory,
        point: &mut [i64],
        stages: &[Option<Lanes>],
        buffer: &mut [T],
    ) {
        for (chunk, values) in buffer.chunks_mut(LANES).enumerate() {
            point[inner] = (chunk * LANES) as i64;
            let run = Run { point, axis: Some(inner), count: values.len() };
            T::copy(&stage.evaluate(&self.program, memory, &run, stages, None), values);
        }
        point[inner] = 0;
    }
}

/// Adds, for every step of the reduction, the row of the matrix that belongs to it times the vector's element.
fn add_scaled_rows(line: &Line, memory: &Memory, point: &mut [i64], inner: usize, vector: &[f32], sums: &mut [f32]) {
    let mut row = [0f32; LANES];
    let row = &mut row[..sums.len()];
    point[inner] = 0;
    let (first, step) = (line.address(point), SINGLE_BYTES as i64 * line.coefficient(inner));
    for (at, factor) in vector.iter().enumerate() {
        memory.load_singles(line.space, first + at as i64 * step, SINGLE_BYTES as i64, row);
        for (sum, element) in sums.iter_mut().zip(&*row) {
            *sum += factor * element;
        }
    }
}

/// The products that a scalar adds up.
fn products(scalar: &Scalar) -> Option<Vec<[&Scalar; 2]>> {
    match scalar {
        Scalar::Binary(BinaryOp::Multiply, left, right) => Some(vec![[left, right]]),
        Scalar::Binary(BinaryOp::Add, left, right) => Some([products(left)?, products(right)?].concat()),
        _ => None,
    }
}
