//! Programs to text.

use std::fmt;

use warpweave_graph::text::reader::Word;

use crate::kernel_ir::{
    Block, CallWaits, Constant, Entry, Expression, Kernel, Place, Program, ShuffleMode, Statement, Width,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "threads {}\n", self.threads)?;
        for (id, kernel) in self.kernels.iter() {
            writeln!(f, "kernel {id} {{\n{kernel}}}\n")?;
        }
        match &self.entry {
            Entry::Persistent(entry) => writeln!(f, "entry {{\n{entry}}}"),
            Entry::Nodes(_) => nodes(f, &self.entry),
            Entry::Mixed(entries) => {
                writeln!(f, "entry {{\n{}}}\n", entries.persistent)?;
                nodes(f, &self.entry)
            }
        }
    }
}

fn nodes(f: &mut fmt::Formatter<'_>, entry: &Entry) -> fmt::Result {
    writeln!(f, "nodes")?;
    entry.nodes().into_iter().try_for_each(|(id, node)| writeln!(f, "\nnode {id} {{\n{node}}}"))
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locals = self.locals.iter().map(|(id, scalar)| format!("{id}: {}", scalar.word()));
        let arrays = self.arrays.iter().map(|(id, array)| format!("{id}: {}[{}]", array.scalar.word(), array.length));
        let shared = self.shared.iter().map(|(id, array)| format!("{id}: {}[{}]", array.memory.word(), array.length));
        let declared: [(&str, Vec<String>); 3] =
            [("locals", locals.collect()), ("arrays", arrays.collect()), ("shared", shared.collect())];
        for (keyword, declared) in declared.iter().filter(|(_, declared)| !declared.is_empty()) {
            writeln!(f, "  {keyword} {}", declared.join(", "))?;
        }
        if let Some(kept) = self.kept {
            writeln!(f, "  keeps {kept}")?;
        }
        block(f, &self.body, 1)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(constant) => write!(f, "{constant}"),
            Self::Local(local) => write!(f, "{local}"),
            Self::Element(array, index) => write!(f, "{array}[{index}]"),
            Self::Builtin(builtin) => f.write_str(builtin.word()),
            Self::Operand(number) => write!(f, "p{number}"),
            Self::Tile => f.write_str("tile"),
            Self::Unary(op, value) => write!(f, "{}({value})", op.word()),
            Self::Binary(op, left, right) => write!(f, "{}({left}, {right})", op.word()),
            Self::FusedMultiplyAdd(left, right, addend) => write!(f, "fma({left}, {right}, {addend})"),
            Self::Select(condition, then, otherwise) => write!(f, "select({condition}, {then}, {otherwise})"),
            Self::Cast(scalar, value) => write!(f, "{}({value})", scalar.word()),
            Self::FastDivide(value, divisor) => write!(f, "fast_div({value}, p{divisor})"),
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::I32(value) => write!(f, "{value}"),
            Self::I64(value) => write!(f, "{value}_i64"),
            Self::F32(bits) if f32::from_bits(bits).is_nan() => write!(f, "nan:{bits:08x}"),
            Self::F32(bits) => write!(f, "{:?}", f32::from_bits(bits)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(local) => write!(f, "{local}"),
            Self::Element(array, index) => write!(f, "{array}[{index}]"),
        }
    }
}

fn block(f: &mut fmt::Formatter<'_>, statements: &Block, depth: usize) -> fmt::Result {
    statements.iter().try_for_each(|statement| show(f, statement, depth))
}

/// A statement with its indentation and the end of its line.
fn show(f: &mut fmt::Formatter<'_>, statement: &Statement, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    match statement {
        Statement::For { variable, extent, unroll, body } => {
            let keyword = if *unroll { "unrolled for" } else { "for" };
            writeln!(f, "{indent}{keyword} {variable} < {extent} {{")?;
            block(f, body, depth + 1)?;
        }
        Statement::If { condition, then, otherwise } => {
            writeln!(f, "{indent}if {condition} {{")?;
            block(f, then, depth + 1)?;
            if !otherwise.is_empty() {
                writeln!(f, "{indent}}} else {{")?;
                block(f, otherwise, depth + 1)?;
            }
        }
        Statement::Loop { body } => {
            writeln!(f, "{indent}loop {{")?;
            block(f, body, depth + 1)?;
        }
        Statement::Switch { selector, cases } => {
            writeln!(f, "{indent}switch {selector} {{")?;
            for case in cases {
                writeln!(f, "{indent}  case {{")?;
                block(f, case, depth + 2)?;
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
        Statement::LoadSentinel { place, count, index, apart, mark } => {
            let count = if *count == 1 { String::new() } else { format!("{count} of ") };
            let apart = apart.as_ref().map_or_else(String::new, |apart| format!(" apart [{apart}]"));
            format!("{place} = poll {count}arena[{index}]{apart} with [{mark}]")
        }
        Statement::StoreSentinel { index, mark, value } => format!("mark arena[{index}] with [{mark}] = {value}"),
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
        Statement::AsyncCommit => "copies commit".to_owned(),
        Statement::AsyncWait { pending } => format!("copies wait {pending}"),
        Statement::Shuffle { place, value, mode } => match mode {
            ShuffleMode::Xor(mask) => format!("{place} = shuffle xor {mask} of {value}"),
            ShuffleMode::Broadcast(lane) => format!("{place} = shuffle lane {lane} of {value}"),
        },
        Statement::Break => "break".to_owned(),
        Statement::Call { kernel, operands, tile, waits } => {
            let call = format!("call {kernel}({operands}, {tile})");
            match waits {
                None => call,
                Some(CallWaits { first, count, stopped }) => format!("{stopped} = {call} waits {count} from {first}"),
            }
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
        Statement::For { .. } | Statement::If { .. } | Statement::Loop { .. } | Statement::Switch { .. } => {
            unreachable!("statements with blocks take several lines")
        }
    }
}

fn prefix(width: Width) -> &'static str {
    match width {
        Width::One => "",
        Width::Two => "x2 ",
        Width::Four => "x4 ",
    }
}

fn list(values: &[Expression]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
