//! Plans of programs with states: launches follow one another as the reference says, and the verifier protects what lives
//! between them.

use warpweave::OpenOptions;
use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::lower::LoweredProgram;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::choice::parts::SegmentGroups;
use warpweave::fusion::schedule::memory::ArenaPolicy;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::expr::{BinaryOp, UnaryOp};
use warpweave::graph::program::{Source, State, TensorId, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::plan::plan::backend::{Backend, BackendReason};
use warpweave::plan::plan::states::PlannedState;
use warpweave::plan::plan::{Buffer, BufferSpace, ExecutionPlan};
use warpweave::plan::verify::verify;
use warpweave::plan::verify::violation::Violation;
use warpweave::runtime::bundle::TargetPlan;
use warpweave::runtime::session::{DEFAULT_KERNEL_TARGET, Device, Kernels, open_kernels, pack_program};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile_parts, compile_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;

use crate::agreement::{Tally, check_all};

const UNITS: usize = 5;
const LAUNCHES: u64 = 4;

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    for level in [FusionLevel::None, FusionLevel::Register, FusionLevel::Full] {
        for arena in ArenaPolicy::ALL {
            suite.trial(format!("states: {level} level, {} arena", arena.name()), move || {
                let options = PlanOptions { arena, ..pipeline::options(UNITS) };
                check_launches(&compile_under(&step(), level, &options));
            });
        }
    }
    suite.trial("states: segments", || {
        let halves = |groups: usize| {
            let part = |range, backend| SegmentGroups { groups: range, backend };
            vec![part(0..groups / 2, Backend::CudaGraph), part(groups / 2..groups, Backend::Persistent)]
        };
        let compiled = compile_parts(&step(), FusionLevel::None, &pipeline::options(UNITS), halves);
        assert_eq!(compiled.plan.plan().segments.len(), 2);
        check_launches(&compiled);
    });
    for device in [Device::Emulator, Device::Text] {
        suite.trial(format!("states: sessions on {device}"), move || check_session(device));
    }
    suite.trial("states: verifier and closure", || {
        let mut tally = Tally::default();
        for arena in ArenaPolicy::ALL {
            let options = PlanOptions { arena, ..pipeline::options(UNITS) };
            check_all(compile_under(&step(), FusionLevel::None, &options).plan.plan(), |_| 40, &mut tally);
        }
        assert!(tally.total() > 0);
        tally.assert_agreement();
    });
    suite.trial("states: what is wrong is found", check_violations);
}

/// Weights that a product moves, their sum over launches, a counter that only launches change, and two states that swap.
fn step() -> TensorProgram {
    let mut sketch = Sketch::new(9);
    let mut random = Random::new(4);
    let input = sketch.input(&[8, 16]);
    let mut state = |sketch: &mut Sketch, shape: &[usize]| {
        let ty = TensorType::new(ElementType::F32, shape);
        sketch.builder.state(random::tensor(&mut random, &ty))
    };
    let weights = state(&mut sketch, &[16, 16]);
    let (sum, left, right) =
        (state(&mut sketch, &[16, 16]), state(&mut sketch, &[8, 16]), state(&mut sketch, &[8, 16]));
    let scale = sketch.builder.state(Tensor::new([8usize, 16], &[0.25f32; 128]));
    let scaled = sketch.binary(BinaryOp::Multiply, input, scale);
    let product = sketch.matmul(scaled, weights);
    let activated = sketch.unary(UnaryOp::Tanh, product);
    let output = sketch.binary(BinaryOp::Add, activated, left);
    let constant = sketch.weight(&[16, 16]);
    let moved = sketch.matmul(weights, constant);
    let moved = sketch.unary(UnaryOp::Tanh, moved);
    let summed = sketch.binary(BinaryOp::Add, sum, moved);
    sketch.builder.set_next(weights, moved);
    sketch.builder.set_next(sum, summed);
    sketch.builder.set_next(left, right);
    sketch.builder.set_next(right, output);
    sketch.finish(&[output])
}

/// Launches on the emulator give what the reference gives launch by launch.
fn check_launches(compiled: &Compiled) {
    let plan = compiled.plan.plan();
    assert_eq!(plan.memory.states.len(), 4, "the scale is only read");
    assert_eq!(format!("{plan}").matches("\nstate ").count(), 4);
    let machine = Machine::new(compiled);
    for seed in [3, 0x5eed] {
        let mut device = machine.device();
        let mut program = compiled.program.clone();
        for launch in 0..LAUNCHES {
            let inputs = random::inputs(&mut Random::new(launch), &program);
            let (report, outputs) = machine.launch_on(&mut device, &inputs, &LaunchOptions::seeded(seed + launch));
            assert!(report.is_clean(), "launch {launch}: {report}");
            assert_close(&outputs, &launched(&mut program, &inputs), 1e-4);
        }
    }
}

/// A session whose states advance gives what the reference gives launch by launch, while they change places. The plan of every
/// other launch is right by itself.
fn check_session(device: Device) {
    let Compiled { mut program, plan, lowered } =
        compile_under(&step(), FusionLevel::Register, &pipeline::options(UNITS));
    let memory = &plan.plan().memory;
    assert_eq!(memory.state_moves(), [], "what only moves has a tensor of its own, too");
    let exchanged = plan.exchanged().expect("all are exchanged");
    let evidence = verify(exchanged.plan().clone()).expect("other places change no order").evidence();
    assert_eq!(evidence, plan.evidence());
    let states =
        |program: &TensorProgram| program.states().map(|(state, _)| initial(program, state)).collect::<Vec<Tensor>>();
    let weights = pack_program(memory, &program).expect("all constants are there");
    let LoweredProgram { program: kernels, bindings, operands, relocations } = lowered;
    let plan = TargetPlan { plan, bindings, operands, relocations, reason: BackendReason::Asked };
    let kernels = Kernels { target: DEFAULT_KERNEL_TARGET, plan, program: kernels };
    let mut session =
        open_kernels(kernels, weights, device, &OpenOptions::default()).expect("the device needs nothing else");
    session.set_states(&states(&program)).expect("they are of the states' types");
    for launch in 0..LAUNCHES {
        let inputs = random::inputs(&mut Random::new(launch), &program);
        let outputs = session.run(&inputs).unwrap_or_else(|error| panic!("launch {launch}: {error}"));
        assert_close(&outputs, &launched(&mut program, &inputs), 1e-4);
        session.advance().expect("it has run");
        assert_close(&session.states().expect("it has run"), &states(&program), 1e-4);
    }
}

/// What a state is before the next launch.
fn initial(program: &TensorProgram, state: TensorId) -> Tensor {
    match &program.tensors[state].source {
        Source::State(State { initial, .. }) => initial.clone(),
        Source::Input(_) | Source::Constant(_) | Source::Statement(_) => unreachable!("{state} is no state"),
    }
}

/// What the reference gives for a launch, after which the program's states are what they became.
fn launched(program: &mut TensorProgram, inputs: &[Tensor]) -> Vec<Tensor> {
    let shown = program.outputs.len();
    let live_out: Vec<TensorId> = program.live_out().collect();
    let all = TensorProgram { outputs: live_out, ..program.clone() };
    let mut values = evaluate(&all, inputs).unwrap_or_else(|error| panic!("{error}"));
    let states: Vec<(TensorId, TensorId)> = program.states().collect();
    for ((state, next), initial) in states.into_iter().zip(values.split_off(shown)) {
        program.tensors[state].source = Source::State(State { initial, next: Some(next) });
    }
    values
}

fn check_violations() {
    let plan = || compile_under(&step(), FusionLevel::None, &pipeline::options(UNITS)).plan.plan().clone();
    let refused = |what: &str, change: &dyn Fn(&mut ExecutionPlan), expected: fn(&Violation) -> bool| {
        let mut changed = plan();
        change(&mut changed);
        let found = verify(changed).expect_err(what);
        assert!(found.iter().any(expected), "{what}: {found:?}");
    };
    let state = |plan: &ExecutionPlan| plan.memory.states[0];
    let place = |plan: &mut ExecutionPlan, tensor: TensorId, other: TensorId| {
        let from = plan.memory.tensors[other].buffer.expect("a buffer");
        let buffer = plan.memory.tensors[tensor].buffer.as_mut().expect("a buffer");
        *buffer = Buffer { offset: from.offset, ..*buffer };
    };
    refused("a state among no states", &|plan| _ = plan.memory.states.remove(0), |violation| {
        matches!(violation, Violation::Uncovered { .. })
    });
    refused(
        "what a state becomes in the state's bytes, which others still read",
        &|plan| {
            let PlannedState { tensor, next } = state(plan);
            place(plan, next, tensor);
        },
        |violation| matches!(violation, Violation::Alias { .. }),
    );
    refused(
        "what a state becomes overwritten",
        &|plan| {
            let (next, output) = (state(plan).next, plan.memory.outputs[0]);
            place(plan, output, next);
        },
        |violation| matches!(violation, Violation::Alias { .. }),
    );
    refused(
        "a state of another type",
        &|plan| {
            let output = plan.memory.outputs[0];
            plan.memory.states[0].next = output;
        },
        |violation| matches!(violation, Violation::Memory(_)),
    );
    refused(
        "a state that becomes what another one was",
        &|plan| plan.memory.states[2].next = plan.memory.states[3].tensor,
        |violation| matches!(violation, Violation::Memory(_)),
    );
    refused(
        "a state that the launch writes",
        &|plan| {
            let next = state(plan).next;
            plan.memory.states[0].tensor = next;
        },
        |violation| matches!(violation, Violation::WritesConstant(_)),
    );
    refused(
        "a state outside the memory",
        &|plan| {
            let tensor = state(plan).tensor;
            plan.memory.tensors[tensor].buffer = None;
        },
        |violation| matches!(violation, Violation::Buffer(_)),
    );
    let in_arena = |tensor: TensorId, plan: &ExecutionPlan| {
        plan.memory.tensors[tensor].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Arena)
    };
    let plan = plan();
    assert!(plan.memory.states.iter().all(|state| in_arena(state.tensor, &plan) && in_arena(state.next, &plan)));
}
