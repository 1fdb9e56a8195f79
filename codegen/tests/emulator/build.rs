//! Small programs for the tests.

use warpweave_codegen::kernel_ir::{
    BinaryOp, Block, Builtin, Entry, Expression, Function, GlobalSpace, KernelId, MemoryType, Place, Program,
    Statement, Width,
};
use warpweave_codegen::persistent;
use warpweave_graph::arena::Id;
use warpweave_plan::tables::{Launch, StreamLaunch, StreamStep, Tables};

pub fn thread() -> Expression {
    Expression::Builtin(Builtin::Thread)
}

pub fn operand(number: u32) -> Expression {
    Expression::Operand(number)
}

pub fn int(value: i32) -> Expression {
    Expression::i32(value)
}

pub fn add(x: Expression, y: Expression) -> Expression {
    Expression::binary(BinaryOp::Add, x, y)
}

pub fn subtract(x: Expression, y: Expression) -> Expression {
    Expression::binary(BinaryOp::Subtract, x, y)
}

pub fn multiply(x: Expression, y: Expression) -> Expression {
    Expression::binary(BinaryOp::Multiply, x, y)
}

pub fn less(x: Expression, y: Expression) -> Expression {
    Expression::binary(BinaryOp::Less, x, y)
}

pub fn when(condition: Expression, then: Block) -> Statement {
    Statement::If { condition, then, otherwise: Vec::new() }
}

pub fn load(place: Place, space: GlobalSpace, index: Expression) -> Statement {
    Statement::LoadGlobal { place, space, memory: MemoryType::F32, width: Width::One, index }
}

pub fn store(index: Expression, value: Expression) -> Statement {
    Statement::StoreGlobal { memory: MemoryType::F32, index, values: vec![value] }
}

pub fn program(threads: u32, kernels: Vec<Function>) -> Program {
    let kernels = kernels.into_iter().collect();
    let entry = Entry::Persistent(persistent::entry(&kernels));
    Program { threads, kernels, entry }
}

/// A step of a stream.
#[derive(Clone, Copy)]
pub enum Step {
    Run { kernel: i32, operands: i32, tile: i32 },
    Wait { counter: i32, arrivals: i32, n: i32 },
    Signal { counter: i32 },
}

pub fn run(kernel: usize, operands: i32, tile: i32) -> Step {
    Step::Run { kernel: KernelId::from_index(kernel).index() as i32, operands, tile }
}

pub fn tables(streams: &[Vec<Step>], operands: &[i32]) -> Tables {
    let launch = StreamLaunch { first_stream: 0, blocks: streams.len() as u32 };
    let launches = vec![Launch::Streams(launch)];
    let mut tables = Tables { operands: operands.to_vec(), launches, ..Tables::default() };
    for stream in streams {
        let steps = stream.iter().map(|step| match *step {
            Step::Run { kernel, operands, tile } => {
                StreamStep::Run { kernel: kernel as u32, operands: operands as u32, tile: tile as u32, own: 0 }
            }
            Step::Wait { counter, arrivals, n } => {
                StreamStep::Wait { counter: counter as u32, arrivals: arrivals as u32, signals: n as u32 }
            }
            Step::Signal { counter } => StreamStep::Signal(counter as u32),
        });
        tables.push_stream(&steps.collect::<Vec<StreamStep>>());
    }
    tables.close();
    tables
}
