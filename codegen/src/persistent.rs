//! The entry of persistent segments: the walk over a block's instruction stream.

use warpweave_graph::arena::Arena;
use warpweave_plan::tables::{INSTRUCTION_WORDS, OPCODE_END, OPCODE_RUN, OPCODE_SIGNAL, OPCODE_WAIT};

use crate::kernel_ir::build::{any, assign, leave_if, on_first_thread, repeat, when};
use crate::kernel_ir::{
    BinaryOp, Block, Builtin, CallWaits, Constant, ControlWord, Expression, Kernel, KernelId, LocalId, MemoryOrder,
    Place, ScalarType, Statement, Table, UnaryOp,
};

/// The entry body of a program with these kernels.
///
/// Each block walks its stream: a wait is thread 0's acquire followed by a block barrier, a run is a kernel followed by
/// a block barrier, and a signal is thread 0's release, which therefore always follows a block barrier. A kernel that does
/// its own waits is told where they stand, right after its run, and the walk goes on behind them. The last block
/// to leave advances the epoch, unless the launch was aborted.
pub fn entry(kernels: &Arena<KernelId, Kernel>) -> Kernel {
    let mut locals = Arena::new();
    let epoch: LocalId = locals.push(ScalarType::I32);
    let position = locals.push(ScalarType::I32);
    let words: Vec<LocalId> = (0..INSTRUCTION_WORDS).map(|_| locals.push(ScalarType::I32)).collect();
    let satisfied = locals.push(ScalarType::Bool);
    let stopped = locals.push(ScalarType::Bool);
    let left = locals.push(ScalarType::I32);
    let aborted = locals.push(ScalarType::I32);

    let mut cases = vec![Block::new(); OPCODE_RUN as usize];
    cases[OPCODE_END as usize] = vec![Statement::Break];
    cases[OPCODE_WAIT as usize] = wait(epoch, position, &words, satisfied, stopped);
    cases[OPCODE_SIGNAL as usize] =
        vec![on_first_thread(vec![Statement::Signal { counter: words[1].into(), order: MemoryOrder::Release }])];
    cases.extend(kernels.iter().map(|(id, kernel)| match kernel.owns_instructions() {
        false => run(id, &words, None),
        true => run_with_waits(id, &words, position, stopped),
    }));

    let mut step: Block = (0..INSTRUCTION_WORDS as i32)
        .map(|word| Statement::LoadTable {
            place: Place::Local(words[word as usize]),
            table: Table::Instructions,
            index: binary(
                BinaryOp::Add,
                binary(BinaryOp::Multiply, position.into(), Expression::i32(INSTRUCTION_WORDS as i32)),
                Expression::i32(word),
            ),
        })
        .collect();
    step.push(Statement::Switch { selector: words[0].into(), cases });
    step.push(assign(position, binary(BinaryOp::Add, position.into(), Expression::i32(1))));

    let body = vec![
        Statement::LoadControl { place: Place::Local(epoch), word: ControlWord::Epoch },
        Statement::LoadTable {
            place: Place::Local(position),
            table: Table::StreamStart,
            index: Expression::Builtin(Builtin::Block),
        },
        repeat(step),
        on_first_thread(leave(epoch, left, aborted)),
    ];
    Kernel { locals, body, ..Kernel::default() }
}

fn wait(epoch: LocalId, position: LocalId, words: &[LocalId], satisfied: LocalId, stopped: LocalId) -> Block {
    let launches = binary(BinaryOp::Subtract, epoch.into(), Expression::i32(1));
    let base = binary(BinaryOp::Multiply, launches, words[2].into());
    vec![
        assign(satisfied, Expression::Constant(Constant::Bool(true))),
        on_first_thread(vec![Statement::Wait {
            place: Place::Local(satisfied),
            counter: words[1].into(),
            target: binary(BinaryOp::Add, base, words[3].into()),
            order: MemoryOrder::Acquire,
            position: position.into(),
        }]),
        any(stopped, Expression::Unary(UnaryOp::Not, Box::new(satisfied.into()))),
        leave_if(stopped),
    ]
}

fn run(kernel: KernelId, words: &[LocalId], waits: Option<CallWaits>) -> Block {
    vec![Statement::Call { kernel, operands: words[1].into(), tile: words[2].into(), waits }, Statement::BlockBarrier]
}

fn run_with_waits(kernel: KernelId, words: &[LocalId], position: LocalId, stopped: LocalId) -> Block {
    let first = binary(BinaryOp::Add, position.into(), Expression::i32(1));
    let waits = CallWaits { first, count: words[3].into(), stopped: Place::Local(stopped) };
    let mut block = run(kernel, words, Some(waits));
    block.push(leave_if(stopped));
    block.push(assign(position, binary(BinaryOp::Add, position.into(), words[3].into())));
    block
}

fn leave(epoch: LocalId, left: LocalId, aborted: LocalId) -> Block {
    let gone = binary(BinaryOp::Add, left.into(), Expression::i32(1));
    let advance = Statement::StoreControl {
        word: ControlWord::Epoch,
        value: binary(BinaryOp::Add, epoch.into(), Expression::i32(1)),
    };
    let everyone = binary(BinaryOp::Multiply, epoch.into(), Expression::Builtin(Builtin::Grid));
    vec![
        Statement::AddControl { place: Place::Local(left), word: ControlWord::Left, value: Expression::i32(1) },
        when(
            binary(BinaryOp::Equal, gone, everyone),
            vec![
                Statement::LoadControl { place: Place::Local(aborted), word: ControlWord::Abort },
                when(binary(BinaryOp::Equal, aborted.into(), Expression::i32(0)), vec![advance]),
            ],
        ),
    ]
}

fn binary(op: BinaryOp, left: Expression, right: Expression) -> Expression {
    Expression::binary(op, left, right)
}
