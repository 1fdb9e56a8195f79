//! The entry of persistent segments: the walk over a block's instruction stream.

use warpweave_graph::arena::Arena;
use warpweave_plan::tables::{
    CHUNK_INSTRUCTIONS, INSTRUCTION_WORDS, OPCODE_END, OPCODE_RUN, OPCODE_SIGNAL, OPCODE_WAIT, RING_INSTRUCTIONS,
    STREAM_WORDS,
};

use crate::kernel_ir::build::{any, assign, leave_if, on_first_thread, repeat, when};
use crate::kernel_ir::{
    ArrayId, BinaryOp, Block, Builtin, CallOperands, CallWaits, Constant, ControlWord, Expression, Function, KernelId,
    LocalId, MemoryOrder, MemoryType, Place, RegisterArray, ScalarType, SharedArray, SharedId, Statement, Table,
    UnaryOp, Width,
};
use crate::nodes::held_words;

/// The entry body of a program with these kernels.
///
/// Each block walks its stream. A wait is thread 0's acquire followed by a block barrier. A run is a kernel followed by
/// a block barrier. A signal is thread 0's release, which therefore always follows a block barrier. A kernel that does
/// its own waits is told where they stand, right after its run, and the walk goes on behind them. The last block to
/// leave advances the epoch, unless the launch was aborted.
///
/// What a block needs of the tables is in shared memory before it is needed. The operands of a run are fetched when the run
/// before it begins, into one of two slots. Instructions are fetched a chunk at a time into a ring: where the block enters a
/// chunk, the one behind the next is fetched. An instruction is read from the ring before the block meets behind the rTask in
/// front of it.
pub fn entry(kernels: &Arena<KernelId, Function>) -> Function {
    let mut kernel = Function::default();
    let walk = Walk::declare(&mut kernel, held_words(kernels.values()));
    let [left, aborted] = [(); 2].map(|()| kernel.locals.push(ScalarType::I32));
    let step = walk.step(kernels);
    let mut body = walk.begin();
    body.extend([repeat(step), Statement::AsyncWait { pending: 0 }, on_first_thread(leave(walk.epoch, left, aborted))]);
    kernel.body = body;
    kernel
}

/// Where a block stands in its stream, and what it has fetched.
#[derive(Clone, Copy)]
struct Walk {
    epoch: LocalId,
    /// The instruction, and the one that comes after it.
    position: LocalId,
    next: LocalId,
    /// Where the block stands behind the instruction and those that are its kernel's own.
    behind: LocalId,
    /// The first operand of the next run, and the element of [`Self::slots`] where it was fetched to.
    operands: LocalId,
    slot: LocalId,
    satisfied: LocalId,
    /// Whether a wait gave up.
    stopped: LocalId,
    /// Whether one did, or what comes next is in another chunk.
    turns: LocalId,
    /// The words of the instruction.
    words: ArrayId,
    ring: SharedId,
    slots: SharedId,
    /// Words of a slot.
    held: u32,
}

impl Walk {
    fn declare(kernel: &mut Function, held: u32) -> Self {
        let ring = (RING_INSTRUCTIONS * INSTRUCTION_WORDS) as u32;
        let mut shared = |length| kernel.shared.push(SharedArray { memory: MemoryType::I32, length });
        let (ring, slots) = (shared(ring), shared(2 * held));
        let words = RegisterArray { scalar: ScalarType::I32, length: INSTRUCTION_WORDS as u32 };
        let words = kernel.arrays.push(words);
        let locals = [(); 6].map(|()| kernel.locals.push(ScalarType::I32));
        let [epoch, position, next, behind, operands, slot] = locals;
        let [satisfied, stopped, turns] = [(); 3].map(|()| kernel.locals.push(ScalarType::Bool));
        Self { epoch, position, next, behind, operands, slot, satisfied, stopped, turns, words, ring, slots, held }
    }

    /// What a block does with an instruction, after which it stands at the next.
    fn step(&self, kernels: &Arena<KernelId, Function>) -> Block {
        let mut cases = vec![Block::new(); OPCODE_RUN as usize];
        cases[OPCODE_END as usize] = vec![Statement::Break];
        cases[OPCODE_WAIT as usize] = self.wait();
        cases[OPCODE_SIGNAL as usize] =
            vec![on_first_thread(vec![Statement::Signal { counter: self.word(1), order: MemoryOrder::Release }])];
        vec![
            assign(self.next, binary(BinaryOp::Add, self.position.into(), Expression::i32(1))),
            Statement::If {
                condition: not(binary(BinaryOp::Less, self.word(0), Expression::i32(OPCODE_RUN))),
                then: self.run(kernels),
                otherwise: self.synchronise(cases),
            },
            Statement::If {
                condition: self.turns.into(),
                then: self.turn(kernels.values().any(Function::takes_steps)),
                otherwise: vec![assign(self.position, self.behind.into())],
            },
        ]
    }

    /// Whether the block leaves its launch or its chunk.
    fn turns(&self) -> Statement {
        let changed = binary(BinaryOp::BitXor, self.position.into(), self.behind.into());
        let chunk = binary(BinaryOp::ShiftRight, changed, Expression::i32(CHUNK_INSTRUCTIONS.ilog2() as i32));
        let leaves_chunk = not(binary(BinaryOp::Equal, chunk, Expression::i32(0)));
        assign(self.turns, binary(BinaryOp::Or, self.stopped.into(), leaves_chunk))
    }

    /// Waits, signals, or ends.
    fn synchronise(&self, cases: Vec<Block>) -> Block {
        vec![
            assign(self.behind, self.next.into()),
            assign(self.stopped, Expression::Constant(Constant::Bool(false))),
            Statement::Switch { selector: self.word(0), cases },
            self.turns(),
            self.load(self.next.into()),
        ]
    }

    /// Leaves if a wait gave up, or goes on in another chunk; behind steps, in one that may not have been fetched.
    fn turn(&self, steps: bool) -> Block {
        let mut block = vec![leave_if(self.stopped)];
        if steps {
            let distance = binary(BinaryOp::Subtract, self.behind.into(), self.position.into());
            block.push(when(
                binary(BinaryOp::Less, Expression::i32(CHUNK_INSTRUCTIONS as i32), distance),
                vec![
                    self.fetch_chunk_from(self.behind, 0),
                    self.fetch_chunk_from(self.behind, 1),
                    Statement::AsyncCommit,
                ],
            ));
        }
        block.push(assign(self.position, self.behind.into()));
        block.extend(self.enter_chunk());
        block
    }

    /// A word of the instruction.
    fn word(&self, number: i32) -> Expression {
        Expression::Element(self.words, Box::new(Expression::i32(number)))
    }

    /// Fetches the chunk at which the stream begins, the one after it, and the operands of the first run.
    fn begin(&self) -> Block {
        let of_stream = |word: i32| {
            let block = Expression::Builtin(Builtin::Block);
            let first = binary(BinaryOp::Multiply, block, Expression::i32(STREAM_WORDS as i32));
            binary(BinaryOp::Add, first, Expression::i32(word))
        };
        let start = |place, word| Statement::LoadTable {
            place: Place::Local(place),
            table: Table::StreamStart,
            index: of_stream(word),
        };
        let mut block = vec![
            Statement::LoadControl { place: Place::Local(self.epoch), word: ControlWord::Epoch },
            start(self.position, 0),
            start(self.operands, 1),
            self.fetch_chunk(0),
            self.fetch_chunk(1),
            self.fetch_operands(Expression::i32(0), self.operands.into()),
            Statement::AsyncCommit,
            assign(self.slot, Expression::i32(0)),
        ];
        block.extend(self.enter_chunk());
        block
    }

    /// Makes the next chunk visible, and fetches the chunk behind it into a slot that has no remaining readers.
    fn enter_chunk(&self) -> Block {
        vec![
            Statement::AsyncWait { pending: 0 },
            Statement::BlockBarrier,
            self.load(self.position.into()),
            self.fetch_chunk(2),
            Statement::AsyncCommit,
        ]
    }

    /// Reads an instruction from the ring.
    fn load(&self, instruction: Expression) -> Statement {
        Statement::LoadShared {
            place: Place::Element(self.words, Expression::i32(0)),
            array: self.ring,
            width: Width::Four,
            index: ring_word(instruction),
        }
    }

    /// Fetches the chunk that comes so many after that of the instruction.
    fn fetch_chunk(&self, after: i32) -> Statement {
        self.fetch_chunk_from(self.position, after)
    }

    fn fetch_chunk_from(&self, position: LocalId, after: i32) -> Statement {
        let chunk = CHUNK_INSTRUCTIONS as i32;
        let start = binary(BinaryOp::BitAnd, position.into(), Expression::i32(-chunk));
        let start = binary(BinaryOp::Add, start, Expression::i32(after * chunk));
        let words = INSTRUCTION_WORDS as i32;
        Statement::Fetch {
            array: self.ring,
            index: ring_word(start.clone()),
            table: Table::Instructions,
            first: binary(BinaryOp::Multiply, start, Expression::i32(words)),
            words: (chunk * words) as u32,
        }
    }

    fn fetch_operands(&self, slot: Expression, first: Expression) -> Statement {
        Statement::Fetch { array: self.slots, index: slot, table: Table::Operands, first, words: self.held }
    }

    fn wait(&self) -> Block {
        let launches = binary(BinaryOp::Subtract, self.epoch.into(), Expression::i32(1));
        let base = binary(BinaryOp::Multiply, launches, self.word(2));
        let (satisfied, stopped) = (self.satisfied, self.stopped);
        vec![
            assign(satisfied, Expression::Constant(Constant::Bool(true))),
            on_first_thread(vec![Statement::Wait {
                place: Place::Local(satisfied),
                counter: self.word(1),
                target: binary(BinaryOp::Add, base, self.word(3)),
                order: MemoryOrder::Acquire,
                position: self.position.into(),
            }]),
            any(stopped, not(satisfied.into())),
        ]
    }

    /// Fetches the operands of the next run into the other slot, runs the kernel, and passes over the instructions that are the
    /// kernel's own.
    fn run(&self, kernels: &Arena<KernelId, Function>) -> Block {
        let other = binary(BinaryOp::Subtract, Expression::i32(self.held as i32), self.slot.into());
        let (mut behind, mut within_reach): (Expression, Expression) = (self.next.into(), self.next.into());
        if kernels.values().any(Function::owns_instructions) {
            // What is not within reach is read when its chunk is entered.
            let most = Expression::i32(CHUNK_INSTRUCTIONS as i32 - 1);
            within_reach = binary(BinaryOp::Add, within_reach, binary(BinaryOp::Minimum, self.word(3), most));
            behind = binary(BinaryOp::Add, behind, self.word(3));
        }
        vec![
            self.fetch_operands(other.clone(), self.word(1)),
            Statement::AsyncCommit,
            self.dispatch(),
            assign(self.operands, self.word(1)),
            assign(self.slot, other),
            assign(self.behind, behind),
            self.turns(),
            self.load(within_reach),
            Statement::AsyncWait { pending: 0 },
            Statement::BlockBarrier,
        ]
    }

    fn dispatch(&self) -> Statement {
        let number = binary(BinaryOp::Subtract, self.word(0), Expression::i32(OPCODE_RUN));
        let operands = CallOperands { array: self.slots, index: self.slot.into(), first: self.operands.into() };
        let (first, stopped) = (self.next.into(), Place::Local(self.stopped));
        let waits = CallWaits { ring: self.ring, first, count: self.word(3), stopped };
        Statement::Dispatch { number, operands, tile: self.word(2), waits }
    }
}

/// The element of the ring where an instruction lies.
fn ring_word(instruction: Expression) -> Expression {
    let place = binary(BinaryOp::BitAnd, instruction, Expression::i32(RING_INSTRUCTIONS as i32 - 1));
    binary(BinaryOp::Multiply, place, Expression::i32(INSTRUCTION_WORDS as i32))
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

fn not(condition: Expression) -> Expression {
    Expression::Unary(UnaryOp::Not, Box::new(condition))
}

fn binary(op: BinaryOp, left: Expression, right: Expression) -> Expression {
    Expression::binary(op, left, right)
}
