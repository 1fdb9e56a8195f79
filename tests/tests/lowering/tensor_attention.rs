//! Attention of halves on tensor cores: head sizes, masks, lengths and layouts, on the emulator, as text and as machine code.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::print::UnitSize;
use warpweave::codegen::verify;
use warpweave::graph::expr::{BinaryOp, Read, Scalar};
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::{ElementType, Tensor};
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::Kernel;
use warpweave::plan::template::attention::{self, AttentionGeometry};
use warpweave::plan::template::staged::blocked::dense;
use warpweave::plan::template::staged::matrices::{FactorPath, MatrixPhase, MatrixProduct, PhaseSpan, StepOrder, Walk};
use warpweave::plan::template::staged::padded::PaddedBody;
use warpweave::plan::template::staged::phase::{self, Method, ProductStep};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::sass::execute::grid::ExecuteOptions;
use warpweave::runtime::session::Session;
use warpweave::runtime::target::Target;
use warpweave_tests::execute::{Executable, WithOptions};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{Compiled, compile_staged};
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::storage::stored_as;
use warpweave_tests::suite::{Suite, is_full};

use crate::attention::{Mask, Shape, masked, scaled};
use crate::counts::check_tensor_products;
use crate::text::run_text;

/// Cases of a full run.
const CASES: usize = 72;
/// One in so many is run by default, and of these one in so many as text and as machine code.
const STRIDE: usize = 7;
const CODE_STRIDE: usize = 3;
/// Cases in which each way of a factor is taken, at least.
const FEWEST: usize = 5;
const UNITS: usize = 3;

/// Fewer than a matrix has; the softmax of one is no softmax.
const FEWEST_KEYS: usize = 5;
/// Multiplications of a head's scores; cases of more have few rows.
const MOST_PRODUCTS: usize = 6 << 20;

const DEPTHS: [usize; 9] = [16, 32, 64, 80, 128, 40, 96, 20, 256];
const LENGTHS: [usize; 5] = [17, 128, 197, 1, 384];
const MASKS: [Mask; 5] = [Mask::None, Mask::Added, Mask::Causal, Mask::Chosen, Mask::Blind];

/// Adds the cases.
pub fn add(suite: &mut Suite) {
    for number in (0..CASES).step_by(if is_full() { 1 } else { STRIDE }) {
        suite.trial(format!("tensor_attention {number}"), move || Case::new(number).check());
    }
    suite.trial("tensor_attention cover", covered);
}

struct Case {
    number: usize,
    program: TensorProgram,
    inputs: Vec<Tensor>,
    element: ElementType,
}

impl Case {
    fn new(number: usize) -> Self {
        let mut random = Random::new(number as u64 + 70);
        let mask = MASKS[number / 3 % MASKS.len()];
        let rows = LENGTHS[random.below(LENGTHS.len())];
        let keys = match mask {
            Mask::Causal => rows.max(FEWEST_KEYS),
            _ => LENGTHS[number % LENGTHS.len()].max(FEWEST_KEYS),
        };
        let rows = if matches!(mask, Mask::Causal) { keys } else { rows };
        let depth = DEPTHS[number % DEPTHS.len()];
        let rows = if rows * keys * depth > MOST_PRODUCTS { LENGTHS[0] } else { rows };
        let shape = Shape::new(1 + number % 2, rows, depth, keys);
        let element = if number.is_multiple_of(4) { ElementType::BF16 } else { ElementType::F16 };
        let mut sketch = Sketch::new(number as u64);
        let turned = if random.below(3) > 0 { Origin::Turned } else { Origin::Given };
        let values = if random.below(3) == 0 { Origin::Turned } else { Origin::Given };
        let [queries, values] = match number % 4 {
            1 => [Origin::Projected, values],
            3 => [Origin::Given, Origin::Projected],
            _ => [Origin::Given, values],
        };
        let outputs = attend(&mut sketch, shape, mask, [queries, turned, values]);
        let program = stored_as(&sketch.finish(&outputs), element);
        let inputs = random::inputs(&mut Random::new(number as u64 + 1), &program);
        Self { number, program, inputs, element }
    }

    /// The case under parameters from all over the space of one of both templates.
    fn compile(&self) -> Compiled {
        let choose = |body: &Arc<GroupBody>| {
            let kernels = if self.number % 3 == 2 { phase::candidates(body) } else { attention::candidates(body) };
            let mut kernels: Vec<Kernel> = kernels.into_iter().filter(|kernel| !products(kernel).is_empty()).collect();
            if kernels.is_empty() {
                kernels = attention::candidates(body);
            }
            let at = self.number * 29 % kernels.len();
            Some(kernels.swap_remove(at).params().clone())
        };
        compile_staged(&self.program, UNITS, choose).expect("the case is attention")
    }

    fn check(&self) {
        let compiled = self.compile();
        let name = format!("case {}, {:?}", self.number, compiled.params());
        // Four units in the last place of what is stored.
        let tolerance = if self.element == ElementType::F16 { 2e-3 } else { 1.6e-2 };
        let expected = evaluate(&self.program, &self.inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(verify::verify(&compiled.lowered.program), [], "{name}");
        let machine = Machine::new(&compiled);
        let options = LaunchOptions { count: true, ..LaunchOptions::seeded(self.number as u64) };
        let (report, found) = machine.launch(&self.inputs, &options);
        assert!(report.is_clean(), "{name}: {report}");
        check_tensor_products(&name, &compiled, &report);
        assert_close(&found, &expected, tolerance);
        if !is_full() && !(self.number / STRIDE).is_multiple_of(CODE_STRIDE) {
            return;
        }
        assert_close(&run_text(&machine, &self.inputs), &expected, tolerance);
        let target = if self.number.is_multiple_of(2) { Target::Sm90a } else { Target::Sm80 };
        let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
        let executable = Executable::new(&compiled, UnitSize::default(), target, &WithOptions(nvrtc, &[]));
        let mut session = executable.session(None, ExecuteOptions::default());
        let found = session.run(&self.inputs).unwrap_or_else(|error| panic!("{name} for {target}: {error}"));
        assert_close(&found, &expected, tolerance);
    }
}

/// How a factor comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An input, as it is multiplied.
    Given,
    /// An input whose other dimension is innermost.
    Turned,
    /// A product, which a phase of the kernel computes.
    Projected,
}

/// Columns of what is projected.
const PROJECTED: usize = 24;

fn attend(sketch: &mut Sketch, shape: Shape, mask: Mask, origins: [Origin; 3]) -> Vec<TensorId> {
    let Shape { heads, rows, depth, keys } = shape;
    let mut factor = |origin: Origin, [outer, inner]: [usize; 2]| match origin {
        Origin::Given => sketch.input(&[heads, outer, inner]),
        Origin::Turned => {
            let turned = sketch.input(&[heads, inner, outer]);
            sketch.transpose(turned, &[0, 2, 1])
        }
        Origin::Projected => {
            let (memory, projection) =
                (sketch.input(&[heads, outer, PROJECTED]), sketch.input(&[heads, PROJECTED, inner]));
            // As large as what is given.
            let product = sketch.matmul(memory, projection);
            sketch.map(product, |x| x.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, 0.2)))
        }
    };
    let extents = [[rows, depth], [depth, keys], [keys, depth]];
    let [query, key, value] = [0, 1, 2].map(|at| factor(origins[at], extents[at]));
    let scores = scaled(sketch, query, key);
    let scores = masked(sketch, scores, shape, mask);
    let weights = sketch.softmax(scores);
    vec![sketch.matmul(weights, value)]
}

/// The sums of products of a kernel that tensor cores compute.
fn products(kernel: &Kernel) -> Vec<MatrixProduct> {
    let padded = kernel.with_body(PaddedBody::of(kernel.shared_body()).body);
    let (body, grid) = (padded.body(), padded.grid());
    let of = |stage: &warpweave::plan::body::Stage, spans: &[PhaseSpan], boxes: &[_], method: Method| {
        let Method::Matrices(block) = method else { return None };
        let walk = Walk::whole(&stage.expr);
        MatrixPhase { stage, spans, boxes, walk }.product(block, &|read: &Read| dense(&stage.expr, read))
    };
    if let Some(geometry) = AttentionGeometry::of(kernel) {
        let phases = attention::phase::phases(&padded, &geometry);
        let staged = phases.into_iter().enumerate().filter_map(|(position, phase)| match phase {
            attention::phase::AttentionPhase::Before(method) | attention::phase::AttentionPhase::Block(method) => {
                let spans = attention::phase::spans(&geometry, position, &grid);
                of(&body.staged[position], &spans, &geometry.boxes, method)
            }
            _ => None,
        });
        let sum = match &geometry.product {
            ProductStep::Matrices(step) => Some(step.product.clone()),
            ProductStep::Blocked(_) => None,
        };
        return staged.chain(sum).collect();
    }
    let Some(boxes) = kernel.boxes() else { return Vec::new() };
    let (methods, lead) = phase::methods(&padded, boxes);
    let staged = body.staged.iter().zip(boxes).zip(methods);
    let staged = staged.filter_map(|((stage, own), method)| of(stage, &PhaseSpan::of_box(own, &grid), boxes, method));
    let lead = of(&body.stages[0], &PhaseSpan::of_tile(padded.tile(), &grid), boxes, lead);
    staged.chain(lead).collect()
}

/// Every way in which a factor comes, and both orders of steps, are there often enough; all but a few cases are on tensor
/// cores.
fn covered() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut on_tensor_cores = 0;
    for number in 0..CASES {
        let compiled = Case::new(number).compile();
        let kernels = compiled.plan.plan().persistent().operators.values().map(|operator| &operator.kernel);
        let products: Vec<MatrixProduct> = kernels.flat_map(products).collect();
        on_tensor_cores += usize::from(!products.is_empty());
        for product in products {
            *found.entry(format!("{:?}", product.order)).or_default() += 1;
            product.sides.iter().for_each(|side| *found.entry(format!("{:?}", side.path)).or_default() += 1);
        }
    }
    let paths = [
        FactorPath::Steps,
        FactorPath::Elements(1),
        FactorPath::Elements(2),
        FactorPath::Elements(4),
        FactorPath::Elements(8),
        FactorPath::Matrices { transposed: false },
        FactorPath::Matrices { transposed: true },
    ];
    let orders = [StepOrder::Product, StepOrder::Neighbours].map(|order| format!("{order:?}"));
    eprintln!("{found:?}");
    for name in paths.iter().map(|path| format!("{path:?}")).chain(orders) {
        let times = found.get(&name).copied().unwrap_or(0);
        assert!(times >= FEWEST, "{name} is there {times} times: {found:?}");
    }
    assert!(on_tensor_cores >= 60, "{on_tensor_cores} of {CASES} cases are on tensor cores");
}
