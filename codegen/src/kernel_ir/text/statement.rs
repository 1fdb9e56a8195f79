//! Statements to text and back.

use std::fmt;

use warpweave_graph::text::reader::{Parsed, Reader, Word};

use super::expression::{expression, index};
use super::scope::Scope;
use crate::kernel_ir::{
    ArrayId, Block, CallOperands, CallWaits, Expression, GlobalSpace, Half, LocalId, Matrices, MemoryType, Place,
    SharedId, ShuffleMode, Statement, Width,
};

/// Statements up to the closing brace, which is skipped.
pub fn statements(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Block> {
    let mut block = Block::new();
    while !reader.eat("}") {
        block.push(statement(reader, scope)?);
    }
    Ok(block)
}

fn block(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Block> {
    reader.mark("{")?;
    reader.nested(|reader| statements(reader, scope))
}

fn statement(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Statement> {
    if reader.is_id::<LocalId>() || reader.is_id::<ArrayId>() {
        return written(reader, scope);
    }
    let start = reader.clone();
    let word = reader.peek().unwrap_or_default();
    reader.eat_word(word);
    Ok(match word {
        "store" => store(reader, scope)?,
        "tag" => {
            reader.keyword("arena")?;
            let at = index(reader, scope)?;
            reader.keyword("with")?;
            let tag = index(reader, scope)?;
            reader.mark("=")?;
            Statement::StoreTagged { index: at, tag, value: expression(reader, scope)? }
        }
        "copy" => copy(reader, scope)?,
        "fetch" => fetch(reader, scope)?,
        "copies" if reader.eat_word("commit") => Statement::AsyncCommit,
        "copies" => {
            reader.keyword("wait")?;
            Statement::AsyncWait { pending: reader.integer("a number of groups")? }
        }
        "for" => repeat(reader, scope, false)?,
        "unrolled" => {
            reader.keyword("for")?;
            repeat(reader, scope, true)?
        }
        "if" => {
            let condition = expression(reader, scope)?;
            let then = block(reader, scope)?;
            let otherwise = if reader.eat_word("else") { block(reader, scope)? } else { Block::new() };
            Statement::If { condition, then, otherwise }
        }
        "loop" => Statement::Loop { body: block(reader, scope)? },
        "steps" => Statement::Steps { order: reader.named("a memory order")?, body: block(reader, scope)? },
        "break" => Statement::Break,
        "switch" => {
            let selector = expression(reader, scope)?;
            reader.mark("{")?;
            let mut cases = Vec::new();
            while reader.eat_word("case") {
                cases.push(block(reader, scope)?);
            }
            reader.mark("}")?;
            Statement::Switch { selector, cases }
        }
        "call" => {
            let kernel = reader.id("an earlier kernel", scope.kernels)?;
            let (operands, tile) = called(reader, scope)?;
            Statement::Call { kernel, operands, tile }
        }
        "await" => {
            let order = reader.named("a memory order")?;
            reader.mark("[")?;
            Statement::Await { order, loaded: reader.list("]", |reader| scope.array(reader))? }
        }
        "barrier" => Statement::BlockBarrier,
        "dependencies" => {
            reader.keyword("wait")?;
            Statement::DependencyWait
        }
        "dependents" => {
            reader.keyword("launch")?;
            Statement::DependentLaunch
        }
        "warp" => {
            reader.keyword("barrier")?;
            Statement::WarpBarrier
        }
        "control" => {
            let word = reader.named("a control word")?;
            reader.mark("=")?;
            Statement::StoreControl { word, value: expression(reader, scope)? }
        }
        "signal" => {
            let order = reader.named("a memory order")?;
            reader.keyword("counter")?;
            Statement::Signal { counter: expression(reader, scope)?, order }
        }
        _ => return Err(start.expected("a statement or `}`")),
    })
}

/// What follows `poll`.
fn poll(reader: &mut Reader<'_>, scope: &Scope<'_>, place: Place) -> Parsed<Statement> {
    let count = if reader.eat_word("arena") {
        1
    } else {
        let count = reader.integer("a number of elements")?;
        reader.keyword("of")?;
        reader.keyword("arena")?;
        count
    };
    let at = index(reader, scope)?;
    let apart = if reader.eat_word("apart") { Some(index(reader, scope)?) } else { None };
    reader.keyword("with")?;
    Ok(Statement::LoadTagged { place, count, index: at, apart, tag: index(reader, scope)? })
}

/// A statement that writes a place.
fn written(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Statement> {
    let place = if reader.is_id::<LocalId>() {
        Place::Local(scope.local(reader)?)
    } else {
        let array = scope.array(reader)?;
        Place::Element(array, index(reader, scope)?)
    };
    reader.mark("=")?;
    if reader.eat_word("load") {
        return load(reader, scope, place);
    }
    if reader.eat_word("poll") {
        return poll(reader, scope, place);
    }
    if reader.eat_word("check") {
        return check(reader, scope, place);
    }
    if reader.eat_word("matrices") {
        return load_matrices(reader, scope, place);
    }
    if reader.eat_word("product") {
        return multiply_matrices(reader, scope, place);
    }
    if reader.eat_word("shuffle") {
        return shuffle(reader, scope, place);
    }
    if reader.eat_word("barrier") {
        reader.keyword("or")?;
        return Ok(Statement::BlockBarrierOr { place, condition: expression(reader, scope)? });
    }
    if reader.eat_word("table") {
        let table = reader.named("a table")?;
        return Ok(Statement::LoadTable { place, table, index: index(reader, scope)? });
    }
    if reader.eat_word("dispatch") {
        let number = index(reader, scope)?;
        let (operands, tile) = called(reader, scope)?;
        reader.keyword("waits")?;
        let count = expression(reader, scope)?;
        reader.keyword("from")?;
        let ring = scope.shared(reader)?;
        let waits = CallWaits { ring, first: index(reader, scope)?, count, stopped: place };
        return Ok(Statement::Dispatch { number, operands, tile, waits });
    }
    if reader.eat_word("control") {
        let word = reader.named("a control word")?;
        let adds = reader.eat("+=");
        return Ok(match adds {
            true => Statement::AddControl { place, word, value: expression(reader, scope)? },
            false => Statement::LoadControl { place, word },
        });
    }
    if reader.eat_word("special") {
        return Ok(Statement::ReadSpecial { place, register: reader.named("a special register")? });
    }
    if reader.eat_word("wait") {
        let order = reader.named("a memory order")?;
        reader.keyword("counter")?;
        let counter = expression(reader, scope)?;
        reader.mark(">=")?;
        let target = expression(reader, scope)?;
        reader.keyword("at")?;
        return Ok(Statement::Wait { place, counter, target, order, position: expression(reader, scope)? });
    }
    Ok(Statement::Assign { place, value: expression(reader, scope)? })
}

/// What follows `check`.
fn check(reader: &mut Reader<'_>, scope: &Scope<'_>, place: Place) -> Parsed<Statement> {
    let value = expression(reader, scope)?;
    reader.keyword("in")?;
    let extent = index(reader, scope)?;
    reader.keyword("of")?;
    let element = index(reader, scope)?;
    reader.keyword("into")?;
    Ok(Statement::CheckIndex { place, value, extent, element, record: index(reader, scope)? })
}

/// The operands of a kernel, and the tile.
fn called(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<(CallOperands, Expression)> {
    reader.mark("(")?;
    let array = scope.shared(reader)?;
    let at = index(reader, scope)?;
    reader.keyword("of")?;
    let operands = CallOperands { array, index: at, first: expression(reader, scope)? };
    reader.mark(",")?;
    let tile = expression(reader, scope)?;
    reader.mark(")")?;
    Ok((operands, tile))
}

fn called_with(CallOperands { array, index, first }: &CallOperands, tile: &Expression) -> String {
    format!("({array}[{index}] of {first}, {tile})")
}

fn load(reader: &mut Reader<'_>, scope: &Scope<'_>, place: Place) -> Parsed<Statement> {
    let width = width(reader);
    if reader.is_id::<SharedId>() {
        let array = scope.shared(reader)?;
        return Ok(Statement::LoadShared { place, array, width, index: index(reader, scope)? });
    }
    let space = reader.named::<GlobalSpace>("`arena`, `weights` or a shared array")?;
    let memory = reader.named::<MemoryType>("a type in memory")?;
    Ok(Statement::LoadGlobal { place, space, memory, width, index: index(reader, scope)? })
}

fn store(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Statement> {
    if reader.is_id::<SharedId>() {
        let array = scope.shared(reader)?;
        let (index, values) = stored(reader, scope)?;
        return Ok(Statement::StoreShared { array, index, values });
    }
    reader.keyword("arena")?;
    let memory = reader.named::<MemoryType>("a type in memory")?;
    let (index, values) = stored(reader, scope)?;
    Ok(Statement::StoreGlobal { memory, index, values })
}

/// The place and the values of a store.
fn stored(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<(Expression, Vec<Expression>)> {
    let index = index(reader, scope)?;
    reader.mark("=")?;
    reader.mark("[")?;
    Ok((index, reader.list("]", |reader| expression(reader, scope))?))
}

/// What follows `fetch`.
fn fetch(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Statement> {
    let words = reader.integer("a number of words")?;
    reader.keyword("of")?;
    let table = reader.named("a table")?;
    let first = index(reader, scope)?;
    reader.keyword("into")?;
    let array = scope.shared(reader)?;
    Ok(Statement::Fetch { array, index: index(reader, scope)?, table, first, words })
}

fn copy(reader: &mut Reader<'_>, scope: &Scope<'_>) -> Parsed<Statement> {
    let width = width(reader);
    let array = scope.shared(reader)?;
    let into = index(reader, scope)?;
    reader.mark("=")?;
    let space = reader.named("`arena` or `weights`")?;
    let source = index(reader, scope)?;
    reader.keyword("if")?;
    Ok(Statement::AsyncCopy { array, index: into, space, source, width, exists: expression(reader, scope)? })
}

fn shuffle(reader: &mut Reader<'_>, scope: &Scope<'_>, place: Place) -> Parsed<Statement> {
    let mode = if reader.eat_word("xor") {
        ShuffleMode::Xor(reader.integer("a mask")?)
    } else {
        reader.keyword("lane")?;
        ShuffleMode::Broadcast(reader.integer("a lane")?)
    };
    reader.keyword("of")?;
    Ok(Statement::Shuffle { place, value: expression(reader, scope)?, mode })
}

/// What follows `matrices`.
fn load_matrices(reader: &mut Reader<'_>, scope: &Scope<'_>, place: Place) -> Parsed<Statement> {
    let before = reader.clone();
    let count: u32 = reader.integer("a number of matrices")?;
    let matrices = Matrices::ALL.into_iter().find(|matrices| matrices.count() == count);
    let matrices = matrices.ok_or_else(|| before.expected("1, 2 or 4 matrices"))?;
    reader.keyword("of")?;
    let array = scope.shared(reader)?;
    let index = index(reader, scope)?;
    Ok(Statement::LoadMatrices { place, array, matrices, index, transposed: reader.eat_word("transposed") })
}

/// What follows `product`.
fn multiply_matrices(reader: &mut Reader<'_>, scope: &Scope<'_>, place: Place) -> Parsed<Statement> {
    let before = reader.clone();
    let memory: MemoryType = reader.named("a type of floating point of 16 bits")?;
    let factors = Half::ALL.into_iter().find(|half| half.memory() == memory);
    let factors = factors.ok_or_else(|| before.expected("a type of floating point of 16 bits"))?;
    let values = |reader: &mut Reader<'_>, word: &str| {
        reader.keyword(word)?;
        reader.mark("[")?;
        reader.list("]", |reader| expression(reader, scope))
    };
    let left = values(reader, "of")?;
    let right = values(reader, "and")?;
    let sums = values(reader, "plus")?;
    Ok(Statement::MultiplyMatrices { place, factors, left, right, sums })
}

fn repeat(reader: &mut Reader<'_>, scope: &Scope<'_>, unroll: bool) -> Parsed<Statement> {
    let variable = scope.local(reader)?;
    reader.mark("<")?;
    let extent = expression(reader, scope)?;
    Ok(Statement::For { variable, extent, unroll, body: block(reader, scope)? })
}

fn width(reader: &mut Reader<'_>) -> Width {
    if reader.eat_word("x2") {
        Width::Two
    } else if reader.eat_word("x4") {
        Width::Four
    } else if reader.eat_word("x8") {
        Width::Eight
    } else {
        Width::One
    }
}

/// The statements of a block, each with its indentation and the end of its line.
pub(super) fn show_block(f: &mut fmt::Formatter<'_>, statements: &Block, depth: usize) -> fmt::Result {
    statements.iter().try_for_each(|statement| show(f, statement, depth))
}

/// A statement with its indentation and the end of its line.
fn show(f: &mut fmt::Formatter<'_>, statement: &Statement, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    match statement {
        Statement::For { variable, extent, unroll, body } => {
            let keyword = if *unroll { "unrolled for" } else { "for" };
            writeln!(f, "{indent}{keyword} {variable} < {extent} {{")?;
            show_block(f, body, depth + 1)?;
        }
        Statement::If { condition, then, otherwise } => {
            writeln!(f, "{indent}if {condition} {{")?;
            show_block(f, then, depth + 1)?;
            if !otherwise.is_empty() {
                writeln!(f, "{indent}}} else {{")?;
                show_block(f, otherwise, depth + 1)?;
            }
        }
        Statement::Loop { body } => {
            writeln!(f, "{indent}loop {{")?;
            show_block(f, body, depth + 1)?;
        }
        Statement::Steps { order, body } => {
            writeln!(f, "{indent}steps {} {{", order.word())?;
            show_block(f, body, depth + 1)?;
        }
        Statement::Switch { selector, cases } => {
            writeln!(f, "{indent}switch {selector} {{")?;
            for case in cases {
                writeln!(f, "{indent}  case {{")?;
                show_block(f, case, depth + 2)?;
                writeln!(f, "{indent}  }}")?;
            }
        }
        simple => return writeln!(f, "{indent}{}", line(simple)),
    }
    writeln!(f, "{indent}}}")
}

/// A statement without blocks.
fn line(statement: &Statement) -> String {
    match statement {
        Statement::Assign { place, value } => format!("{place} = {value}"),
        Statement::LoadGlobal { place, space, memory, width, index } => {
            format!("{place} = load {}{} {}[{index}]", prefix(*width), space.word(), memory.word())
        }
        Statement::StoreGlobal { memory, index, values } => {
            format!("store arena {}[{index}] = [{}]", memory.word(), list(values))
        }
        Statement::LoadTagged { place, count, index, apart, tag } => {
            let count = if *count == 1 { String::new() } else { format!("{count} of ") };
            let apart = apart.as_ref().map_or_else(String::new, |apart| format!(" apart [{apart}]"));
            format!("{place} = poll {count}arena[{index}]{apart} with [{tag}]")
        }
        Statement::StoreTagged { index, tag, value } => format!("tag arena[{index}] with [{tag}] = {value}"),
        Statement::CheckIndex { place, value, extent, element, record } => {
            format!("{place} = check {value} in [{extent}] of [{element}] into [{record}]")
        }
        Statement::LoadShared { place, array, width, index } => {
            format!("{place} = load {}{array}[{index}]", prefix(*width))
        }
        Statement::StoreShared { array, index, values } => format!("store {array}[{index}] = [{}]", list(values)),
        Statement::AsyncCopy { array, index, space, source, width, exists } => {
            format!("copy {}{array}[{index}] = {}[{source}] if {exists}", prefix(*width), space.word())
        }
        Statement::Fetch { array, index, table, first, words } => {
            format!("fetch {words} of {}[{first}] into {array}[{index}]", table.word())
        }
        Statement::AsyncCommit => "copies commit".to_owned(),
        Statement::AsyncWait { pending } => format!("copies wait {pending}"),
        Statement::Shuffle { place, value, mode } => match mode {
            ShuffleMode::Xor(mask) => format!("{place} = shuffle xor {mask} of {value}"),
            ShuffleMode::Broadcast(lane) => format!("{place} = shuffle lane {lane} of {value}"),
        },
        Statement::LoadMatrices { place, array, matrices, index, transposed } => {
            let transposed = if *transposed { " transposed" } else { "" };
            format!("{place} = matrices {} of {array}[{index}]{transposed}", matrices.count())
        }
        Statement::MultiplyMatrices { place, factors, left, right, sums } => {
            let [left, right, sums] = [left, right, sums].map(|values| list(values));
            format!("{place} = product {} of [{left}] and [{right}] plus [{sums}]", factors.memory().word())
        }
        Statement::Break => "break".to_owned(),
        Statement::Call { kernel, operands, tile } => format!("call {kernel}{}", called_with(operands, tile)),
        Statement::Dispatch { number, operands, tile, waits: CallWaits { ring, first, count, stopped } } => {
            let called = called_with(operands, tile);
            format!("{stopped} = dispatch [{number}]{called} waits {count} from {ring}[{first}]")
        }
        Statement::Await { order, loaded } => format!("await {} {loaded:?}", order.word()),
        Statement::BlockBarrier => "barrier".to_owned(),
        Statement::BlockBarrierOr { place, condition } => format!("{place} = barrier or {condition}"),
        Statement::WarpBarrier => "warp barrier".to_owned(),
        Statement::LoadTable { place, table, index } => format!("{place} = table {}[{index}]", table.word()),
        Statement::LoadControl { place, word } => format!("{place} = control {}", word.word()),
        Statement::ReadSpecial { place, register } => format!("{place} = special {}", register.word()),
        Statement::StoreControl { word, value } => format!("control {} = {value}", word.word()),
        Statement::AddControl { place, word, value } => format!("{place} = control {} += {value}", word.word()),
        Statement::Wait { place, counter, target, order, position } => {
            format!("{place} = wait {} counter {counter} >= {target} at {position}", order.word())
        }
        Statement::Signal { counter, order } => format!("signal {} counter {counter}", order.word()),
        Statement::DependencyWait => "dependencies wait".to_owned(),
        Statement::DependentLaunch => "dependents launch".to_owned(),
        Statement::For { .. }
        | Statement::If { .. }
        | Statement::Loop { .. }
        | Statement::Steps { .. }
        | Statement::Switch { .. } => {
            unreachable!("statements with blocks take several lines")
        }
    }
}

fn prefix(width: Width) -> &'static str {
    match width {
        Width::One => "",
        Width::Two => "x2 ",
        Width::Four => "x4 ",
        Width::Eight => "x8 ",
    }
}

fn list(values: &[Expression]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(local) => write!(f, "{local}"),
            Self::Element(array, index) => write!(f, "{array}[{index}]"),
        }
    }
}
