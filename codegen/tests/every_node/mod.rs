//! A program that holds every node, operator and access of the kernel IR at least once. It means nothing, but every
//! value is defined and stored, so that no compiler may drop anything.

use warpweave_codegen::kernel_ir::{
    BinaryOp, Block, Builtin, CallOperands, CallWaits, Constant, ControlWord, Entry, Expression, Function, GlobalSpace,
    Half, LocalId, Matrices, MemoryOrder, MemoryType, Place, Program, RegisterArray, ScalarType, SharedArray,
    ShuffleMode, SpecialRegister, Statement, Table, UnaryOp, Width,
};
use warpweave_graph::arena::Arena;

const THREADS: u32 = 128;
const SCALARS: [ScalarType; 4] = [ScalarType::Bool, ScalarType::I32, ScalarType::I64, ScalarType::F32];

/// The program.
pub fn program() -> Program {
    let kernels = Arena::from_iter([
        expressions(),
        accesses(),
        copies(),
        matrices(),
        control_flow(),
        own_waits(MemoryOrder::Relaxed),
        own_waits(MemoryOrder::Acquire),
        steps(MemoryOrder::Relaxed),
        steps(MemoryOrder::Release),
    ]);
    let mut entry = Function::default();
    entry.shared.push(SharedArray { memory: MemoryType::U8, length: 5 });
    let ring = entry.shared.push(SharedArray { memory: MemoryType::I32, length: 1024 });
    let words: Vec<LocalId> = (0..2).map(|_| entry.locals.push(ScalarType::I32)).collect();
    let flag = entry.locals.push(ScalarType::Bool);
    let place = || Place::Local(words[0]);
    let value = || Expression::Local(words[0]);
    entry.body.extend(words.iter().map(|word| assign(*word, Expression::Builtin(Builtin::Block))));
    let operands = || CallOperands { array: ring, index: Expression::i32(64), first: value() };
    let tile = || Expression::i32(3);
    for (kernel, _) in kernels.iter().filter(|(_, body)| !body.owns_instructions()) {
        entry.body.push(Statement::Call { kernel, operands: operands(), tile: tile() });
    }
    let waits = CallWaits { ring, first: value(), count: Expression::i32(1), stopped: Place::Local(flag) };
    entry.body.push(Statement::Dispatch { number: value(), operands: operands(), tile: tile(), waits });
    for (table, words) in [(Table::StreamStart, 4), (Table::Instructions, 64), (Table::Operands, 516)] {
        entry.body.push(Statement::Fetch { array: ring, index: Expression::i32(8), table, first: value(), words });
        entry.body.push(Statement::LoadTable { place: place(), table, index: value() });
    }
    for word in [ControlWord::Epoch, ControlWord::Left, ControlWord::Abort] {
        entry.body.extend([
            Statement::LoadControl { place: place(), word },
            Statement::AddControl { place: place(), word, value: value() },
            Statement::StoreControl { word, value: value() },
        ]);
    }
    for register in [SpecialRegister::Time, SpecialRegister::Multiprocessor, SpecialRegister::Cycles] {
        entry.body.push(Statement::ReadSpecial { place: place(), register });
    }
    for order in [MemoryOrder::Relaxed, MemoryOrder::Acquire] {
        entry.body.push(Statement::Wait {
            place: Place::Local(flag),
            counter: value(),
            target: words[1].into(),
            order,
            position: value(),
        });
    }
    for order in [MemoryOrder::Relaxed, MemoryOrder::Release] {
        entry.body.push(Statement::Signal { counter: value(), order });
    }
    Program { threads: THREADS, kernels, entry: Entry::Persistent(entry) }
}

fn assign(local: LocalId, value: Expression) -> Statement {
    Statement::Assign { place: Place::Local(local), value }
}

/// The memory type that a scalar is stored as.
fn memory_of(scalar: ScalarType) -> MemoryType {
    match scalar {
        ScalarType::Bool => MemoryType::Bool,
        ScalarType::I32 => MemoryType::I32,
        ScalarType::I64 => MemoryType::I64,
        ScalarType::F32 => MemoryType::F32,
    }
}

fn load(local: LocalId, scalar: ScalarType, row: i32) -> Statement {
    let place = Place::Local(local);
    let (space, memory) = (GlobalSpace::Arena, memory_of(scalar));
    Statement::LoadGlobal { place, space, memory, width: Width::One, index: element(row) }
}

fn store(local: LocalId, scalar: ScalarType, row: i32) -> Statement {
    Statement::StoreGlobal { memory: memory_of(scalar), index: element(row), values: vec![local.into()] }
}

/// This thread's element of a row.
fn element(row: i32) -> Expression {
    let thread = Expression::Builtin(Builtin::Thread);
    Expression::binary(BinaryOp::Add, Expression::i32(row * THREADS as i32), thread)
}

/// A store after every statement that writes one of `locals`, each to a row of its own.
fn stored(kernel: &Function, body: Block) -> Block {
    let mut rows = 8;
    let mut all = Block::new();
    for statement in body {
        let written = match &statement {
            Statement::Assign { place: Place::Local(local), .. }
            | Statement::Shuffle { place: Place::Local(local), .. }
            | Statement::LoadGlobal { place: Place::Local(local), .. }
            | Statement::LoadShared { place: Place::Local(local), .. } => Some(*local),
            _ => None,
        };
        all.push(statement);
        if let Some(local) = written {
            all.push(store(local, kernel.locals[local], rows));
            rows += 1;
        }
    }
    all
}

fn expressions() -> Function {
    let mut kernel = Function::default();
    let [flag, word, long, single] = SCALARS.map(|scalar| kernel.locals.push(scalar));
    let of = |scalar| match scalar {
        ScalarType::Bool => flag,
        ScalarType::I32 => word,
        ScalarType::I64 => long,
        ScalarType::F32 => single,
    };
    let mut body: Block = SCALARS.into_iter().map(|scalar| load(of(scalar), scalar, 0)).collect();
    for constant in [
        Constant::Bool(false),
        Constant::I32(i32::MIN),
        Constant::I64(-2),
        Constant::F32((-0.0f32).to_bits()),
        Constant::F32(0x7fc0_0001),
        Constant::F32(1),
    ] {
        body.push(assign(of(constant.scalar_type()), Expression::Constant(constant)));
    }
    for value in [
        Expression::Builtin(Builtin::Thread),
        Expression::Builtin(Builtin::Block),
        Expression::Builtin(Builtin::Grid),
        Expression::Operand(7),
        Expression::Tile,
        Expression::FastDivide(Box::new(word.into()), 3),
    ] {
        body.push(assign(word, value));
    }
    for op in [UnaryOp::Negate, UnaryOp::Absolute] {
        for scalar in [ScalarType::I32, ScalarType::I64, ScalarType::F32] {
            body.push(assign(of(scalar), Expression::Unary(op, Box::new(of(scalar).into()))));
        }
    }
    body.push(assign(flag, Expression::Unary(UnaryOp::Not, Box::new(flag.into()))));
    for op in [
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Sqrt,
        UnaryOp::Tanh,
        UnaryOp::Logistic,
        UnaryOp::Erf,
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Floor,
        UnaryOp::Ceil,
        UnaryOp::RoundEven,
        UnaryOp::ToF16,
        UnaryOp::ToBF16,
    ] {
        body.push(assign(single, Expression::Unary(op, Box::new(single.into()))));
    }
    body.push(assign(word, Expression::Unary(UnaryOp::Bits, Box::new(single.into()))));
    for op in [UnaryOp::OfF16, UnaryOp::OfBits] {
        body.push(assign(single, Expression::Unary(op, Box::new(word.into()))));
    }
    let numbers = [ScalarType::I32, ScalarType::I64, ScalarType::F32];
    for (ops, scalars, result) in [
        (&[BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Divide][..], &numbers[..], None),
        (&[BinaryOp::Minimum, BinaryOp::Maximum], &numbers, None),
        (&[BinaryOp::Power, BinaryOp::Remainder], &numbers, None),
        (&[BinaryOp::BitAnd, BinaryOp::BitXor, BinaryOp::ShiftLeft, BinaryOp::ShiftRight], &numbers[..2], None),
        (&[BinaryOp::Less, BinaryOp::LessEqual, BinaryOp::Equal], &SCALARS, Some(flag)),
        (&[BinaryOp::And, BinaryOp::Or], &SCALARS[..1], Some(flag)),
    ] {
        for &op in ops {
            for &scalar in scalars {
                let value = Expression::binary(op, of(scalar).into(), of(scalar).into());
                body.push(assign(result.unwrap_or(of(scalar)), value));
            }
        }
    }
    let sum = |left, right| Expression::binary(BinaryOp::Add, left, right);
    let product = |left, right| Expression::binary(BinaryOp::Multiply, left, right);
    let boxed = |local: LocalId| Box::new(Expression::Local(local));
    body.extend([
        assign(word, product(sum(word.into(), Expression::i32(-3)), product(word.into(), word.into()))),
        assign(flag, Expression::binary(BinaryOp::Less, Expression::i32(-3), sum(word.into(), word.into()))),
        assign(word, Expression::binary(BinaryOp::ShiftRight, sum(word.into(), word.into()), Expression::i32(2))),
        assign(single, Expression::FusedMultiplyAdd(boxed(single), boxed(single), boxed(single))),
    ]);
    for scalar in SCALARS {
        body.push(assign(of(scalar), Expression::Select(boxed(flag), boxed(of(scalar)), boxed(of(scalar)))));
        for target in SCALARS {
            body.push(assign(of(target), Expression::Cast(target, boxed(of(scalar)))));
        }
        for mode in [ShuffleMode::Xor(16), ShuffleMode::Broadcast(3)] {
            body.push(Statement::Shuffle { place: Place::Local(of(scalar)), value: of(scalar).into(), mode });
        }
    }
    kernel.body = stored(&kernel, body);
    kernel
}

fn accesses() -> Function {
    let mut kernel = Function::default();
    for memory in MemoryType::ALL {
        let scalar = memory.scalar_type();
        let local = kernel.locals.push(scalar);
        let array = kernel.arrays.push(RegisterArray { scalar, length: 8 });
        let shared = kernel.shared.push(SharedArray { memory, length: 20 });
        let element = |index| Place::Element(array, Expression::i32(index));
        let nothing = match scalar {
            ScalarType::Bool => Constant::Bool(false),
            ScalarType::I32 => Constant::I32(0),
            ScalarType::I64 => Constant::I64(0),
            ScalarType::F32 => Constant::F32(0),
        };
        let clear = |position| Statement::Assign { place: element(position), value: Expression::Constant(nothing) };
        kernel.body.extend((0..8).map(clear));
        let index = || Expression::i32(8);
        let mut places = vec![(Place::Local(local), Width::One), (element(6), Width::Two), (element(0), Width::Four)];
        if memory.is_moved_together(8) {
            places.push((element(0), Width::Eight));
        }
        for (place, width) in places {
            for space in [GlobalSpace::Arena, GlobalSpace::Weights] {
                let place = place.clone();
                kernel.body.push(Statement::LoadGlobal { place, space, memory, width, index: index() });
            }
            kernel.body.push(Statement::LoadShared { place, array: shared, width, index: index() });
            let values: Vec<Expression> = (0..width.elements())
                .map(|value| Expression::Element(array, Box::new(Expression::i32(value as i32))))
                .collect();
            kernel.body.push(Statement::StoreGlobal { memory, index: Expression::Tile, values: values.clone() });
            kernel.body.push(Statement::StoreShared { array: shared, index: index(), values });
        }
        kernel.body.push(Statement::StoreGlobal {
            memory,
            index: Expression::Tile,
            values: vec![Expression::Element(array, Box::new(Expression::i32(7)))],
        });
    }
    let polled = kernel.locals.push(ScalarType::F32);
    let pair = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 2 });
    let first = || Place::Element(pair, Expression::i32(0));
    kernel.body.extend((0..2).map(|element| Statement::Assign {
        place: Place::Element(pair, Expression::i32(element)),
        value: Expression::f32(0.0),
    }));
    let (index, tag) = (Expression::Tile, Expression::i32(3));
    for (place, count, apart) in
        [(Place::Local(polled), 1, None), (first(), 2, None), (first(), 2, Some(Expression::i32(16)))]
    {
        kernel.body.push(Statement::LoadTagged { place, count, index: index.clone(), apart, tag: tag.clone() });
    }
    for value in [Expression::Local(polled), Expression::Element(pair, Box::new(Expression::i32(1)))] {
        kernel.body.push(Statement::StoreTagged { index: index.clone(), tag: tag.clone(), value });
    }
    for value in [Expression::Tile, Expression::Constant(Constant::I64(-3))] {
        let place = Place::Local(kernel.locals.push(ScalarType::I32));
        let (extent, element, record) = (Expression::i32(5), Expression::Tile, Expression::i32(6));
        kernel.body.push(Statement::CheckIndex { place, value, extent, element, record });
    }
    let body = std::mem::take(&mut kernel.body);
    kernel.body = stored(&kernel, body);
    kernel
}

fn copies() -> Function {
    let mut kernel = Function::default();
    let [singles, halves] =
        [MemoryType::F32, MemoryType::F16].map(|memory| kernel.shared.push(SharedArray { memory, length: 20 }));
    for (array, width, exists) in [
        (singles, Width::One, true),
        (singles, Width::Two, false),
        (singles, Width::Four, true),
        (halves, Width::Two, true),
        (halves, Width::Eight, true),
    ] {
        for space in [GlobalSpace::Arena, GlobalSpace::Weights] {
            let (index, source) = (Expression::i32(8), Expression::Tile);
            let exists = Expression::Constant(Constant::Bool(exists));
            kernel.body.push(Statement::AsyncCopy { array, index, space, source, width, exists });
        }
        kernel.body.push(Statement::AsyncCommit);
    }
    kernel.body.extend([1, 0].map(|pending| Statement::AsyncWait { pending }));
    kernel
}

fn matrices() -> Function {
    let mut kernel = Function::default();
    let word = kernel.locals.push(ScalarType::I32);
    let words = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 6 });
    let sums = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 6 });
    let of = |array, elements: std::ops::Range<i32>| -> Vec<Expression> {
        elements.map(|element| Expression::Element(array, Box::new(Expression::i32(element)))).collect()
    };
    for factors in Half::ALL {
        let array = kernel.shared.push(SharedArray { memory: factors.memory(), length: 256 });
        let lane = Expression::binary(BinaryOp::BitAnd, Expression::Builtin(Builtin::Thread), Expression::i32(31));
        for matrices in Matrices::ALL {
            for transposed in [false, true] {
                let place = match matrices {
                    Matrices::One => Place::Local(word),
                    Matrices::Two => Place::Element(words, Expression::i32(4)),
                    Matrices::Four => Place::Element(words, Expression::i32(0)),
                };
                let index = Expression::binary(BinaryOp::Multiply, lane.clone(), Expression::i32(8));
                kernel.body.push(Statement::LoadMatrices { place, array, matrices, index, transposed });
            }
        }
        for (place, old) in [(0, vec![Expression::f32(0.0); 4]), (2, of(sums, 0..4))] {
            kernel.body.push(Statement::MultiplyMatrices {
                place: Place::Element(sums, Expression::i32(place)),
                factors,
                left: of(words, 0..4),
                right: vec![word.into(), Expression::Element(words, Box::new(Expression::i32(5)))],
                sums: old,
            });
        }
        let values = of(sums, 2..6);
        kernel.body.push(Statement::StoreGlobal { memory: MemoryType::F32, index: Expression::Tile, values });
    }
    kernel
}

/// A kernel that loads constants, waits, and stores them.
fn own_waits(order: MemoryOrder) -> Function {
    let mut kernel = Function::default();
    let array = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 1 });
    let place = Place::Element(array, Expression::i32(0));
    let (space, memory, width, index) = (GlobalSpace::Weights, MemoryType::F32, Width::One, Expression::Tile);
    let values = vec![Expression::Element(array, Box::new(Expression::i32(0)))];
    kernel.body = vec![
        Statement::LoadGlobal { place, space, memory, width, index },
        Statement::Await { order, loaded: vec![array] },
        Statement::StoreGlobal { memory, index: Expression::Tile, values },
    ];
    kernel
}

/// A kernel that runs several rTasks, whose first four operands are loaded ahead.
fn steps(order: MemoryOrder) -> Function {
    let mut kernel = Function::default();
    let operands = [(); 4].map(|()| kernel.locals.push(ScalarType::I32));
    let mut body: Block = Vec::new();
    for (number, local) in operands.into_iter().enumerate() {
        body.push(assign(local, Expression::Operand(number as u32)));
    }
    body.extend([Statement::BlockBarrier, store(operands[3], ScalarType::I32, 0)]);
    kernel.body = vec![Statement::Steps { order, body }];
    kernel
}

fn control_flow() -> Function {
    let mut kernel = Function::default();
    let [outer, inner, extent] = [(); 3].map(|()| kernel.locals.push(ScalarType::I32));
    let flag = kernel.locals.push(ScalarType::Bool);
    let count = |variable, extent, unroll, body| Statement::For { variable, extent, unroll, body };
    let grow = || Statement::Assign {
        place: Place::Local(extent),
        value: Expression::binary(BinaryOp::Add, extent.into(), Expression::i32(1)),
    };
    let branch = |then: Block, otherwise| Statement::If { condition: flag.into(), then, otherwise };
    kernel.body = vec![
        load(extent, ScalarType::I32, 0),
        load(flag, ScalarType::Bool, 0),
        count(outer, Expression::i32(4), true, vec![count(inner, outer.into(), false, vec![grow()])]),
        count(outer, extent.into(), false, vec![grow()]),
        count(outer, Expression::Operand(2), false, Vec::new()),
        branch(vec![Statement::BlockBarrier], vec![Statement::WarpBarrier]),
        Statement::Loop { body: vec![branch(vec![Statement::Break], Vec::new()), Statement::BlockBarrier] },
        Statement::Loop {
            body: vec![
                Statement::BlockBarrierOr { place: Place::Local(flag), condition: flag.into() },
                Statement::Switch {
                    selector: extent.into(),
                    cases: vec![vec![grow()], vec![Statement::Break], vec![branch(vec![Statement::Break], Vec::new())]],
                },
                Statement::Loop { body: vec![Statement::Break] },
            ],
        },
        store(extent, ScalarType::I32, 1),
    ];
    kernel
}
