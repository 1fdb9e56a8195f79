//! Runs on the caller's memory: nothing is allocated, and nothing but what the model computes is written.
#![expect(unsafe_code, reason = "counts what is allocated")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::ops::activations::relu::Relu;
use warpweave_graph::ops::products::matmul::MatMul;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::{ProgramBuilder, TensorId};
use warpweave_graph::{ElementType, Tensor, TensorProgram, TensorType};
use warpweave_plan::verify::Verified;
use warpweave_runtime::aligned::AlignedBytes;
use warpweave_runtime::host::{HostError, HostProgram, HostSession, ThreadPool};
use warpweave_runtime::session::bound::{BoundError, BoundInput, BoundOutput};
use warpweave_runtime::session::pack_program;

/// The system's allocator, which counts.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by this function's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: by this function's contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test: what others allocate meanwhile would count.
#[test]
fn runs_on_memory_of_the_caller() {
    bound_runs_allocate_nothing_and_agree_with_others();
    an_output_that_stands_twice_is_written_twice();
    memory_that_cannot_be_bound_is_refused();
    sessions_share_a_program_and_a_pool();
}

fn single(shape: impl Into<Vec<usize>>) -> TensorType {
    TensorType::new(ElementType::F32, shape.into())
}

fn waves(ty: &TensorType, step: f32) -> Tensor {
    let values: Vec<f32> = (0..ty.shape.elements()).map(|at| (at as f32 * step).sin()).collect();
    Tensor::new(ty.shape.to_vec(), &values)
}

/// Layers of products and rectifiers on so many rows.
fn layers(rows: usize, widths: &[usize]) -> TensorProgram {
    let mut builder = ProgramBuilder::new();
    let mut value = builder.input(single([rows, widths[0]]));
    for pair in widths.windows(2) {
        let weights = builder.constant(waves(&single([pair[0], pair[1]]), 0.37));
        let product = builder.apply(&MatMul, &[Some(value), Some(weights)], 1)[0];
        value = builder.apply(&Relu, &[Some(product)], 1)[0];
    }
    builder.finish(vec![value])
}

/// A rectifier alone.
fn rectified(elements: usize) -> TensorProgram {
    let mut builder = ProgramBuilder::new();
    let input = builder.input(single([elements]));
    let output = builder.apply(&Relu, &[Some(input)], 1)[0];
    builder.finish(vec![output])
}

/// A program whose output is one of its inputs, and another output twice.
fn repeated() -> TensorProgram {
    let mut program = rectified(9);
    program.outputs = vec![program.outputs[0], program.outputs[0]];
    program
}

fn planned(program: TensorProgram) -> (Verified, Arc<[u8]>) {
    let prepared = PreparedProgram::new(program);
    let options = PlanOptions::new(4, Arc::new(EstimatedCost { arch: GpuArch::h200() }), SyncCosts::h200());
    let partition = partition(&prepared, &*options.cost, FusionLevel::Register);
    let plan = warpweave_fusion::schedule::choice::plan(&prepared, &partition, &options).plan;
    let plan = warpweave_plan::verify::verify(plan).expect("the schedule is sound");
    let weights = pack_program(&plan.plan().memory, &prepared.program).expect("the constants are there");
    (plan, weights)
}

fn types(plan: &Verified, tensors: impl Fn(&Verified) -> Vec<TensorId>) -> Vec<TensorType> {
    tensors(plan).into_iter().map(|tensor| plan.plan().memory.tensors[tensor].ty.clone()).collect()
}

fn bound_runs_allocate_nothing_and_agree_with_others() {
    let programs = [layers(33, &[64, 48, 96, 8]), layers(1, &[512, 256, 10]), rectified(100_003)];
    for program in programs {
        let (plan, weights) = planned(program);
        let inputs = types(&plan, |plan| plan.plan().memory.inputs.clone());
        let outputs = types(&plan, |plan| plan.plan().memory.outputs.clone());
        let mut session = HostSession::new(&plan, weights, 2).expect("the plan folds");
        let inputs: Vec<Tensor> = inputs.iter().map(|ty| waves(ty, 0.21)).collect();
        let wanted = session.run(&inputs).expect("it runs");
        let inputs: Vec<AlignedBytes> = inputs.iter().map(|input| AlignedBytes::copy_of(input.bytes())).collect();
        let mut written: Vec<AlignedBytes> = outputs.iter().map(|ty| AlignedBytes::filled(ty.bytes(), 0xff)).collect();
        let read: Vec<BoundInput<'_>> = inputs.iter().map(|input| BoundInput::from(input.as_ref())).collect();
        let mut bound: Vec<BoundOutput<'_>> =
            written.iter_mut().map(|bytes| BoundOutput::from(bytes.as_mut())).collect();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..1000 {
            session.run_bound(&read, &mut bound).expect("it runs");
        }
        let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert_eq!(allocated, 0, "bound runs allocate nothing");
        session.run(&[waves(&types(&plan, |plan| plan.plan().memory.inputs.clone())[0], 0.1)]).expect("it runs");
        assert!(ALLOCATIONS.load(Ordering::Relaxed) > before, "a copy is counted");
        drop(bound);
        for (written, wanted) in written.iter().zip(&wanted) {
            assert_eq!(written.as_ref(), &wanted.bytes()[..], "the same bits, in the caller's memory");
        }
    }
}

fn an_output_that_stands_twice_is_written_twice() {
    let (plan, weights) = planned(repeated());
    let mut session = HostSession::new(&plan, weights, 1).expect("the plan folds");
    let input = waves(&single([9]), 0.7);
    let outputs = session.run(&[input]).expect("it runs");
    assert_eq!(outputs[0], outputs[1]);
    assert!(outputs[0].to_f64().iter().any(|&value| value > 0.0));
}

fn memory_that_cannot_be_bound_is_refused() {
    let (plan, weights) = planned(rectified(8));
    let mut session = HostSession::new(&plan, weights, 1).expect("the plan folds");
    let (input, mut output) = (AlignedBytes::filled(40, 0), AlignedBytes::filled(40, 0));
    let input = input.as_ref();
    let mut run = |input: &[u8], output: &mut [u8]| session.run_bound(&[input.into()], &mut [output.into()]);
    let ran = run(&input[..32], &mut output.as_mut()[..32]);
    assert_eq!(ran, Ok(()));
    let ran = run(&input[..28], &mut output.as_mut()[..32]);
    assert!(matches!(ran, Err(HostError::Bound(BoundError::Bytes { found: 28, .. }))), "{ran:?}");
    let ran = run(&input[..32], &mut output.as_mut()[1..33]);
    assert!(matches!(ran, Err(HostError::Bound(BoundError::Unaligned { alignment: 4, .. }))), "{ran:?}");
    let words = Tensor::new([8usize], &[0i32; 8]);
    let ran = session.run(&[words]).map(drop);
    assert!(matches!(ran, Err(HostError::InputType { position: 0, .. })), "{ran:?}");
    let ran = session.run_bound(&[], &mut []);
    assert!(matches!(ran, Err(HostError::Bound(BoundError::Count { .. }))), "{ran:?}");
}

fn sessions_share_a_program_and_a_pool() {
    let (plan, weights) = planned(layers(33, &[64, 48, 96, 8]));
    let program = Arc::new(HostProgram::new(&plan, weights, 3).expect("the plan folds"));
    let pool = Arc::new(ThreadPool::new(3).expect("there are threads"));
    let input = waves(&single([33, 64]), 0.21);
    let session = || HostSession::on_pool(Arc::clone(&program), Arc::clone(&pool)).expect("the pool has the threads");
    let wanted = session().run(std::slice::from_ref(&input)).expect("it runs");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = session();
                for _ in 0..200 {
                    assert_eq!(session.run(std::slice::from_ref(&input)).as_ref(), Ok(&wanted));
                }
            });
        }
    });
    let small = Arc::new(ThreadPool::new(1).expect("there are threads"));
    let refused = HostSession::on_pool(Arc::clone(&program), small).map(drop);
    assert_eq!(
        refused,
        if program.threads() > 1 { Err(HostError::Pool { wanted: program.threads(), found: 1 }) } else { Ok(()) }
    );
}
