//! Contractions on tensor cores: random ones of a seed, on the emulator, as text and as machine code, bit for bit what a scalar loop over
//! exact dot products gives.

mod exact;
mod mutants;

use std::cell::RefCell;
use std::sync::Arc;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::print::UnitSize;
use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer};
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave::plan::plan::ROperator;
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::shape::ContractionShape;
use warpweave::plan::template::contraction::tile_load::{SideLoad, plain_read};
use warpweave::plan::template::contraction::unit::ComputeUnit;
use warpweave::plan::template::contraction::{AxisClass, Contraction};
use warpweave::plan::tensor_core::sum::TensorCore;
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::session::Session;
use warpweave::runtime::target::Target;
use warpweave_tests::execute::{Executable, WithOptions};
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::{Compiled, compile_with};
use warpweave_tests::random::Random;
use warpweave_tests::sketch::Sketch;
use warpweave_tests::storage::stored_as;
use warpweave_tests::suite::{Suite, is_full};

use crate::tensor_cases::exact::Order;
use crate::text::run_text;
use crate::variants;

/// Cases of a full run.
const CASES: usize = 432;
/// One in so many is run by default, of all shapes; of these, one in so many as text and as machine code.
const STRIDE: usize = 25;
const CODE_STRIDE: usize = 4;
/// Cases of a trial.
const TOGETHER: usize = 36;
/// Cases of each tile of a warp, and of each way in which factors come, at least.
const FEWEST: usize = 5;
const UNITS: usize = 3;
/// No contractions of products and sums, which text and the emulator have not, either.
const EXACT: &[&str] = &["--fmad=false"];

/// Adds the cases by groups.
pub fn add(suite: &mut Suite) {
    let stride = if is_full() { 1 } else { STRIDE };
    for first in (0..CASES).step_by(TOGETHER * stride) {
        let numbers = (first..CASES).step_by(stride).take(TOGETHER);
        suite.trial(format!("tensor_cases {first}"), move || numbers.clone().for_each(check));
    }
    if is_full() {
        suite.trial("tensor_cases cover", covered);
    }
    mutants::add(suite);
}

/// A contraction, and the shape of its kernel.
struct Case {
    program: TensorProgram,
    inputs: Vec<Tensor>,
    shape: ContractionShape,
    /// Eighths of the tile's extents that a tile has.
    eighths: usize,
}

fn check(number: usize) {
    let case = case(number);
    let (compiled, order) = case.compile();
    let name = format!("case {number}, {:?}", compiled.params());
    assert_eq!(verify::verify(&compiled.lowered.program), [], "{name}");
    let machine = Machine::new(&compiled);
    for core in [TensorCore::Hopper, TensorCore::Ampere] {
        let expected = exact::evaluate(&compiled.program, &case.inputs, &order, core);
        let options = LaunchOptions { tensor_core: core, ..LaunchOptions::seeded(number as u64) };
        let (report, found) = machine.launch(&case.inputs, &options);
        assert!(report.is_clean(), "{name}: {report}");
        same(&found, &expected, &format!("{name} on the emulator, {core:?}"));
        if !is_full() && !(number / STRIDE).is_multiple_of(CODE_STRIDE) {
            continue;
        }
        let target = match core {
            TensorCore::Hopper => Target::Sm90a,
            TensorCore::Ampere => Target::Sm80,
        };
        let name = format!("{name} for {target}");
        same(&run_machine_code(&compiled, target, &case.inputs, &name), &expected, &name);
        if core == TensorCore::Hopper {
            same(&run_text(&machine, &case.inputs), &expected, &format!("{name} as text"));
        }
    }
}

fn run_machine_code(compiled: &Compiled, target: Target, inputs: &[Tensor], name: &str) -> Vec<Tensor> {
    let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    let executable = Executable::new(compiled, UnitSize::default(), target, &WithOptions(nvrtc, EXACT));
    let mut session = executable.session(None, ExecuteOptions::default());
    session.run(inputs).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[track_caller]
fn same(found: &[Tensor], expected: &[Tensor], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        let (found, expected) = (found.bytes(), expected.bytes());
        let differs = found.iter().zip(expected.iter()).position(|(found, expected)| found != expected);
        assert_eq!(differs, None, "{what}: a byte of {} differs", found.len());
    }
}

/// Every tile of a warp, every number of slices and of parts, and every way in which a factor comes is there often enough.
fn covered() {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut count = |what: String| match found.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += 1,
        None => found.push((what, 1)),
    };
    for number in 0..CASES {
        let (compiled, Order { shape, .. }) = case(number).compile();
        count(format!("warp {}x{}", 8 * shape.rows, 4 * shape.columns));
        count(format!("{} slices", shape.k_slices));
        count(format!("{} parts", shape.split_k));
        count(format!("{}", shape.pipeline));
        let operators = &compiled.plan.plan().persistent().operators;
        for operator in operators.values().filter(|operator| operator.kernel.contraction().is_some()) {
            let Some(contraction) = operator.kernel.contraction() else { continue };
            let (body, tile) = (operator.kernel.body(), operator.kernel.tile());
            for class in [AxisClass::Row, AxisClass::Column] {
                let side = SideLoad::new(body, contraction, class, &shape, tile);
                let copied = side.is_copied(body, contraction, (class, &shape));
                let computed = plain_read(&body.stages[0].expr, contraction.factor(class)).is_none();
                let width = match side.width {
                    1 => "one by one",
                    width if width < side.storage.access_elements() => "by fewer than an access",
                    _ => "by accesses",
                };
                count(format!("{:?} {width}, copied {copied}, computed {computed}", side.fetch));
            }
        }
    }
    found.sort();
    found.iter().for_each(|(what, count)| eprintln!("{what}: {count}"));
    let tiles = found.iter().filter(|(what, _)| what.starts_with("warp ")).count();
    assert_eq!(tiles, variants::matrices().len(), "a tile of a warp is in no case");
    for (what, count) in found {
        assert!(count >= FEWEST, "{what}: {count} cases");
    }
}

impl Case {
    /// The case with the kernel of its shape, and the order in which it sums.
    fn compile(&self) -> (Compiled, Order) {
        let chosen = RefCell::new(None);
        let compiled = compile_with(&self.program, UNITS, FusionLevel::Register, |body| {
            let params = self.params(body)?;
            let (shape, expr) = (params.rules().contraction_shape()?, &body.stages[0].expr);
            let reduction = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
            *chosen.borrow_mut() = Some(Order { shape, reduction });
            Some(params)
        });
        let operators = &compiled.plan.plan().persistent().operators;
        let multiplies = |operator: &ROperator| operator.kernel.rules().compute_unit() == ComputeUnit::Mma;
        assert_eq!(operators.values().filter(|operator| multiplies(operator)).count(), 1, "a case has one product");
        (compiled, chosen.into_inner().expect("the product of a case is one of halves"))
    }

    fn params(&self, body: &Arc<GroupBody>) -> Option<ScheduleParams> {
        let contraction = Contraction::of(body).filter(|own| ComputeUnit::Mma.multiplies(own.numerics()))?;
        let tile = self.shape.tile(body, &contraction);
        let tile = tile.iter().map(|&extent| (extent * self.eighths / 8).max(1)).collect();
        let reduced = &body.stages[0].expr;
        let divides = reduced.reduced().any(|axis| reduced.axes[axis].extent.is_multiple_of(self.shape.split_k));
        let split_k = if divides { self.shape.split_k } else { 1 };
        let params =
            ScheduleParams { template: Template::Contraction(ContractionShape { split_k, ..self.shape }), tile };
        if let Err(refused) = Kernel::of(Arc::clone(body), params.clone().in_one_part()) {
            panic!("{params}: {refused}: {body}");
        }
        Some(params)
    }
}

/// A case by its number: shapes of kernels by turns, all else at random.
fn case(number: usize) -> Case {
    let mut random = Random::new(0x7e45 + number as u64);
    let shapes = variants::matrices();
    let shape = shapes[number % shapes.len()];
    let mut pick = |among: &[usize]| among[random.below(among.len())];
    let split_k = pick(&[1, 1, 2, 4]);
    let eighths = pick(&[8, 8, 7, 3]);
    let storage = [ElementType::F16, ElementType::BF16][pick(&[0, 1])];
    let values = Values { one_sign: pick(&[0, 0, 1]) == 1 };
    let form = pick(&[0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8]);
    let end = pick(&[0, 1, 2]);
    let extents =
        [pick(&[1, 5, 16, 17, 33, 64, 100]), pick(&[3, 8, 16, 24, 40, 65, 96]), pick(&[7, 8, 16, 24, 72, 130, 256])];
    let window = Sliding {
        size: pick(&[1, 2, 3]),
        stride: pick(&[1, 1, 2]),
        dilation: pick(&[1, 1, 2]),
        groups: pick(&[1, 1, 2]),
        padding: pick(&[0, 1]),
    };
    let mut sketch = Sketch::new(number as u64);
    let (product, inputs) = form_of(&mut sketch, form, extents, window, (&mut random, values));
    let (output, more) = end_of(&mut sketch, product, end);
    let program = stored_as(&sketch.finish(&[output]), storage);
    let given = inputs.into_iter().chain(more).enumerate();
    let inputs = given.map(|(at, shape)| {
        let ty = program.tensors[program.inputs[at]].ty.clone();
        let elements: usize = shape.iter().product();
        Tensor::from_f64(ty, &values.some(&mut random, elements))
    });
    let inputs = inputs.collect();
    Case { program, inputs, shape: ContractionShape { split_k, ..shape }, eighths }
}

/// From which range the elements of factors are drawn.
#[derive(Clone, Copy)]
struct Values {
    /// All of one sign: sums grow, and what is truncated adds up.
    one_sign: bool,
}

impl Values {
    /// Numbers of many magnitudes, of more bits than a half has.
    fn some(self, random: &mut Random, count: usize) -> Vec<f64> {
        let number = |random: &mut Random| {
            let magnitude = (1.0 + random.below(1 << 12) as f64 / 4096.0) * 2f64.powi(random.below(9) as i32 - 6);
            if self.one_sign || random.below(2) == 0 { magnitude } else { -magnitude }
        };
        (0..count).map(|_| number(random)).collect()
    }
}

/// How a window slides over an image.
#[derive(Clone, Copy)]
struct Sliding {
    size: usize,
    stride: usize,
    dilation: usize,
    groups: usize,
    padding: usize,
}

impl Sliding {
    fn output(self, extent: usize) -> usize {
        (extent + 2 * self.padding - self.dilation * (self.size - 1) - 1) / self.stride + 1
    }
}

/// A product, and the shapes of the inputs.
fn form_of(
    sketch: &mut Sketch,
    form: usize,
    [rows, columns, depth]: [usize; 3],
    window: Sliding,
    (random, values): (&mut Random, Values),
) -> (TensorId, Vec<Vec<usize>>) {
    let constant = |sketch: &mut Sketch, random: &mut Random, shape: &[usize]| {
        let ty = TensorType::new(ElementType::F32, shape);
        sketch.builder.constant(Tensor::from_f64(ty, &values.some(random, shape.iter().product())))
    };
    let shapes: Vec<Vec<usize>>;
    let product = match form {
        0 => {
            shapes = vec![vec![rows, depth]];
            let (x, w) = (sketch.input(&shapes[0]), constant(sketch, random, &[depth, columns]));
            sketch.matmul(x, w)
        }
        1 => {
            shapes = vec![vec![rows, depth]];
            let (x, w) = (sketch.input(&shapes[0]), constant(sketch, random, &[columns, depth]));
            let w = sketch.transpose(w, &[1, 0]);
            sketch.matmul(x, w)
        }
        2 => {
            shapes = vec![vec![depth, rows], vec![depth, columns]];
            let (x, y) = (sketch.input(&shapes[0]), sketch.input(&shapes[1]));
            let x = sketch.transpose(x, &[1, 0]);
            sketch.matmul(x, y)
        }
        3 => {
            shapes = vec![vec![3, rows.min(40), depth], vec![3, depth, columns.min(48)]];
            let (x, y) = (sketch.input(&shapes[0]), sketch.input(&shapes[1]));
            sketch.matmul(x, y)
        }
        4 => {
            let channels = depth.min(24);
            shapes = vec![vec![2, window.groups * channels, 9, 11]];
            let x = sketch.input(&shapes[0]);
            let shape = [window.groups, columns.min(32), channels, window.size, window.size];
            let w = constant(sketch, random, &shape);
            convolution(sketch, (x, w), window, false)
        }
        6 => {
            shapes = vec![vec![rows, depth], vec![depth], vec![depth]];
            let [x, scale, shift] = [0, 1, 2].map(|at| sketch.input(&shapes[at]));
            let scaled = sketch.binary(BinaryOp::Multiply, x, scale);
            let shifted = sketch.binary(BinaryOp::Add, scaled, shift);
            let (x, w) = (sketch.relu(shifted), constant(sketch, random, &[depth, columns]));
            sketch.matmul(x, w)
        }
        7 => {
            shapes = vec![vec![rows, depth], vec![rows, 1]];
            let (x, scale) = (sketch.input(&shapes[0]), sketch.input(&shapes[1]));
            let (x, w) = (sketch.binary(BinaryOp::Multiply, x, scale), constant(sketch, random, &[columns, depth]));
            let w = sketch.transpose(w, &[1, 0]);
            sketch.matmul(x, w)
        }
        8 => {
            shapes = vec![vec![depth, rows], vec![rows], vec![depth, columns]];
            let [x, scale, y] = [0, 1, 2].map(|at| sketch.input(&shapes[at]));
            let x = sketch.binary(BinaryOp::Multiply, x, scale);
            let x = sketch.transpose(x, &[1, 0]);
            sketch.matmul(x, y)
        }
        _ => {
            let channels = depth.min(24);
            shapes = vec![vec![2, 9, 11, window.groups * channels]];
            let x = sketch.input(&shapes[0]);
            let shape = [window.groups, columns.min(32), window.size, window.size, channels];
            let w = constant(sketch, random, &shape);
            convolution(sketch, (x, w), window, true)
        }
    };
    (product, shapes)
}

/// A grouped convolution of an image with channels first, or last, with weights that have a dimension of groups.
fn convolution(sketch: &mut Sketch, (x, w): (TensorId, TensorId), window: Sliding, channels_last: bool) -> TensorId {
    let (image, weights) = (sketch.builder.ty(x).clone(), sketch.builder.ty(w).clone());
    let (batch, outputs) = (image.shape[0], weights.shape[1]);
    let channels = image.shape[if channels_last { 3 } else { 1 }] / window.groups;
    let [height, width] =
        if channels_last { [image.shape[1], image.shape[2]] } else { [image.shape[2], image.shape[3]] };
    let mut expr = ExprBuilder::new();
    let extents = [batch, window.groups, outputs, window.output(height), window.output(width)];
    let outer = expr.parallels(&extents);
    let inner: Vec<_> = match channels_last {
        true => [window.size, window.size, channels].map(|extent| expr.reduced(extent)).to_vec(),
        false => [channels, window.size, window.size].map(|extent| expr.reduced(extent)).to_vec(),
    };
    let [channel, down, along] =
        if channels_last { [inner[2], inner[0], inner[1]] } else { [inner[0], inner[1], inner[2]] };
    let slide = |output, inside| {
        let moved = Index::axis(inside).times(window.dilation as i64);
        Index::axis(output).times(window.stride as i64).add(&moved).plus(-(window.padding as i64))
    };
    let own = Index::axis(outer[1]).times(channels as i64).add(&Index::axis(channel));
    let (row, column) = (slide(outer[3], down), slide(outer[4], along));
    let place = match channels_last {
        true => vec![Index::axis(outer[0]), row, column, own],
        false => vec![Index::axis(outer[0]), own, row, column],
    };
    let (image, kernel) = (expr.operand(&image), expr.operand(&weights));
    let pixel = expr.padded_read(image, place, Literal::new(ElementType::F32, 0.0));
    let of_weights = [vec![outer[1], outer[2]], inner].concat().into_iter().map(Index::axis).collect();
    let factor = expr.read(kernel, of_weights);
    let product = pixel.binary(BinaryOp::Multiply, factor);
    sketch.builder.compute(expr.reduce(ElementType::F32, Reducer::Sum, product, None), &[x, w])
}

/// What follows a product, and the shapes of further inputs.
fn end_of(sketch: &mut Sketch, product: TensorId, end: usize) -> (TensorId, Vec<Vec<usize>>) {
    let shape = sketch.shape(product);
    match end {
        0 => (product, Vec::new()),
        1 => (sketch.relu(product), Vec::new()),
        _ => {
            let other = sketch.input(&shape);
            let sum = sketch.binary(BinaryOp::Add, product, other);
            (sketch.relu(sum), vec![shape])
        }
    }
}
