//! Random kernels and expressions, whether they mean anything or not, parse back.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warpweave::codegen::kernel_ir::{
    ArrayId, BinaryOp, Block, Builtin, CallOperands, Constant, ControlWord, Entry, Expression, Function, GlobalSpace,
    Half, KernelId, LocalId, Matrices, MemoryOrder, MemoryType, MixedEntries, Place, Program, RegisterArray,
    ScalarType, SharedArray, SharedId, ShuffleMode, SpecialRegister, Statement, Table, UnaryOp, Width, text,
};
use warpweave::graph::arena::{Arena, Id};
use warpweave_tests::printed::parses_back;
use warpweave_tests::suite::Suite;

const CASES: u32 = 300;

/// Locals, arrays and shared arrays of a random body.
const DECLARED: usize = 3;

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    suite.trial("random kernels parse back", || run(&program(), |program| parses_back(program, text::parse)));
}

/// Checks random values, the same on every run.
pub fn run<S: Strategy>(strategy: &S, check: impl Fn(&S::Value)) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]));
    let result = runner.run(strategy, |value| {
        check(&value);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

fn program() -> impl Strategy<Value = Program> {
    (any::<u32>(), kernel(), kernel(), select(Launched::ALL.to_vec())).prop_map(|(threads, kernel, entry, launched)| {
        let body = [entry.body, vec![call(Expression::Tile, Expression::Operand(0))]].concat();
        let entry = Function { body, ..entry };
        let kernels = Arena::from_iter([kernel, Function::default()]);
        let entry = match launched {
            Launched::Streams => Entry::Persistent(entry),
            Launched::Nodes => Entry::Nodes(Arena::from_iter([entry, Function::default()])),
            Launched::Both => {
                let nodes = [(KernelId::from_index(1), entry.clone())].into();
                Entry::Mixed(MixedEntries { persistent: entry, nodes })
            }
        };
        Program { threads, kernels, entry }
    })
}

/// What a random program launches.
#[derive(Clone, Copy, Debug)]
enum Launched {
    Streams,
    Nodes,
    Both,
}

impl Launched {
    const ALL: [Self; 3] = [Self::Streams, Self::Nodes, Self::Both];
}

fn call(first: Expression, tile: Expression) -> Statement {
    let operands = CallOperands { array: SharedId::from_index(1), index: Expression::i32(4), first };
    Statement::Call { kernel: KernelId::from_index(1), operands, tile }
}

fn kernel() -> impl Strategy<Value = Function> {
    let scalars = || select(vec![ScalarType::Bool, ScalarType::I32, ScalarType::I64, ScalarType::F32]);
    let arrays = (scalars(), any::<u32>()).prop_map(|(scalar, length)| RegisterArray { scalar, length });
    let shared = (memory(), any::<u32>()).prop_map(|(memory, length)| SharedArray { memory, length });
    let declared = (vec(scalars(), DECLARED), vec(arrays, DECLARED), vec(shared, DECLARED));
    (declared, vec(statement(), 0..6)).prop_map(|((locals, arrays, shared), body)| Function {
        locals: locals.into_iter().collect(),
        arrays: arrays.into_iter().collect(),
        kept: (!shared.is_empty()).then_some(Id::from_index(0)),
        shared: shared.into_iter().collect(),
        body,
    })
}

fn id<I: Id>() -> impl Strategy<Value = I> {
    (0..DECLARED).prop_map(I::from_index)
}

fn memory() -> impl Strategy<Value = MemoryType> {
    select(MemoryType::ALL.to_vec())
}

fn expression() -> BoxedStrategy<Expression> {
    let constant = prop_oneof![
        any::<bool>().prop_map(Constant::Bool),
        any::<i32>().prop_map(Constant::I32),
        any::<i64>().prop_map(Constant::I64),
        any::<u32>().prop_map(Constant::F32),
        any::<f32>().prop_map(|value| Constant::F32(value.to_bits())),
    ];
    let leaf = prop_oneof![
        constant.prop_map(Expression::Constant),
        id::<LocalId>().prop_map(Expression::Local),
        select(vec![Builtin::Thread, Builtin::Block, Builtin::Grid, Builtin::FirstOperand])
            .prop_map(Expression::Builtin),
        any::<u32>().prop_map(Expression::Operand),
        Just(Expression::Tile),
    ];
    let deeper = leaf.prop_recursive(4, 24, 3, |inner| {
        let boxed = move || inner.clone().prop_map(Box::new);
        let unary = select(vec![UnaryOp::Not, UnaryOp::Exp, UnaryOp::RoundEven, UnaryOp::ToF16]);
        let binary = select(vec![BinaryOp::Or, BinaryOp::BitXor, BinaryOp::Less, BinaryOp::ShiftRight]);
        prop_oneof![
            (id::<ArrayId>(), boxed()).prop_map(|(array, index)| Expression::Element(array, index)),
            (unary, boxed()).prop_map(|(op, value)| Expression::Unary(op, value)),
            (binary, boxed(), boxed()).prop_map(|(op, left, right)| Expression::Binary(op, left, right)),
            (boxed(), boxed(), boxed()).prop_map(|(x, y, z)| Expression::FusedMultiplyAdd(x, y, z)),
            (boxed(), boxed(), boxed()).prop_map(|(x, y, z)| Expression::Select(x, y, z)),
            boxed().prop_map(|value| Expression::Cast(ScalarType::I64, value)),
            (boxed(), any::<u32>()).prop_map(|(value, divisor)| Expression::FastDivide(value, divisor)),
        ]
    });
    deeper.boxed()
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        id::<LocalId>().prop_map(Place::Local),
        (id::<ArrayId>(), expression()).prop_map(|(array, index)| Place::Element(array, index)),
    ]
}

fn order() -> impl Strategy<Value = MemoryOrder> {
    select(vec![MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release])
}

fn statement() -> BoxedStrategy<Statement> {
    let leaf = prop_oneof![access(), exchange(), synchronisation()];
    let deeper = leaf.prop_recursive(3, 12, 3, |inner| {
        let block = move || vec(inner.clone(), 0..3);
        prop_oneof![
            (id::<LocalId>(), expression(), any::<bool>(), block())
                .prop_map(|(variable, extent, unroll, body)| Statement::For { variable, extent, unroll, body }),
            (expression(), block(), block()).prop_map(|(condition, then, otherwise)| Statement::If {
                condition,
                then,
                otherwise
            }),
            block().prop_map(|body: Block| Statement::Loop { body }),
            (order(), block()).prop_map(|(order, body)| Statement::Steps { order, body }),
            (expression(), vec(block(), 0..3)).prop_map(|(selector, cases)| Statement::Switch { selector, cases }),
        ]
    });
    deeper.boxed()
}

fn access() -> impl Strategy<Value = Statement> {
    let width = || select(vec![Width::One, Width::Two, Width::Four]);
    let space = || select(vec![GlobalSpace::Arena, GlobalSpace::Weights]);
    let values = || vec(expression(), 0..4);
    prop_oneof![
        (place(), space(), memory(), width(), expression()).prop_map(|(place, space, memory, width, index)| {
            Statement::LoadGlobal { place, space, memory, width, index }
        }),
        (memory(), expression(), values()).prop_map(|(memory, index, values)| Statement::StoreGlobal {
            memory,
            index,
            values
        }),
        (place(), 1..9u32, expression(), option::of(expression()), expression())
            .prop_map(|(place, count, index, apart, tag)| Statement::LoadTagged { place, count, index, apart, tag }),
        (expression(), expression(), expression()).prop_map(|(index, tag, value)| Statement::StoreTagged {
            index,
            tag,
            value
        }),
        (place(), expression(), expression(), expression(), expression()).prop_map(
            |(place, value, extent, element, record)| Statement::CheckIndex { place, value, extent, element, record }
        ),
        (place(), id::<SharedId>(), width(), expression())
            .prop_map(|(place, array, width, index)| Statement::LoadShared { place, array, width, index }),
        (id::<SharedId>(), expression(), values()).prop_map(|(array, index, values)| Statement::StoreShared {
            array,
            index,
            values
        }),
        (id::<SharedId>(), expression(), space(), expression(), width(), expression()).prop_map(
            |(array, index, space, source, width, exists)| {
                Statement::AsyncCopy { array, index, space, source, width, exists }
            }
        ),
    ]
}

fn exchange() -> impl Strategy<Value = Statement> {
    let values = || vec(expression(), 0..4);
    let table = || select(vec![Table::StreamStart, Table::Instructions, Table::Operands]);
    let word = || select(vec![ControlWord::Epoch, ControlWord::Left, ControlWord::Abort]);
    let register = select(vec![SpecialRegister::Time, SpecialRegister::Multiprocessor, SpecialRegister::Cycles]);
    let mode = prop_oneof![any::<u32>().prop_map(ShuffleMode::Xor), any::<u32>().prop_map(ShuffleMode::Broadcast)];
    prop_oneof![
        (place(), expression()).prop_map(|(place, value)| Statement::Assign { place, value }),
        (place(), expression(), mode).prop_map(|(place, value, mode)| Statement::Shuffle { place, value, mode }),
        (place(), id::<SharedId>(), select(Matrices::ALL.to_vec()), expression(), any::<bool>()).prop_map(
            |(place, array, matrices, index, transposed)| {
                Statement::LoadMatrices { place, array, matrices, index, transposed }
            }
        ),
        (place(), select(Half::ALL.to_vec()), values(), values(), values()).prop_map(
            |(place, factors, left, right, sums)| Statement::MultiplyMatrices { place, factors, left, right, sums }
        ),
        (place(), expression()).prop_map(|(place, condition)| Statement::BlockBarrierOr { place, condition }),
        (id::<SharedId>(), expression(), table(), expression(), any::<u32>())
            .prop_map(|(array, index, table, first, words)| Statement::Fetch { array, index, table, first, words }),
        (place(), table(), expression()).prop_map(|(place, table, index)| Statement::LoadTable { place, table, index }),
        (place(), word()).prop_map(|(place, word)| Statement::LoadControl { place, word }),
        (place(), register).prop_map(|(place, register)| Statement::ReadSpecial { place, register }),
        (word(), expression()).prop_map(|(word, value)| Statement::StoreControl { word, value }),
        (place(), word(), expression()).prop_map(|(place, word, value)| Statement::AddControl { place, word, value }),
    ]
}

fn synchronisation() -> impl Strategy<Value = Statement> {
    let position = expression();
    prop_oneof![
        Just(Statement::AsyncCommit),
        any::<u32>().prop_map(|pending| Statement::AsyncWait { pending }),
        Just(Statement::Break),
        Just(Statement::BlockBarrier),
        Just(Statement::WarpBarrier),
        Just(Statement::DependencyWait),
        Just(Statement::DependentLaunch),
        (order(), vec(id(), 0..3)).prop_map(|(order, loaded)| Statement::Await { order, loaded }),
        (place(), expression(), expression(), order(), position).prop_map(
            |(place, counter, target, order, position)| Statement::Wait { place, counter, target, order, position }
        ),
        (expression(), order()).prop_map(|(counter, order)| Statement::Signal { counter, order }),
    ]
}
