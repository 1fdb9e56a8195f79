//! Statements as CUDA.

use super::RegisterUse;
use super::expression::{expression, global_index, position, shared_address, signed};
use super::scope::{changes, chooses_registers};
use super::takes::{Convention, Takes};
use super::types::suffix;
use warpweave_graph::arena::Arena;

use crate::kernel_ir::{
    ArrayId, Block, CallOperands, CallWaits, Constant, ControlWord, Expression, Function, GlobalSpace, KernelId,
    LocalId, MemoryOrder, MemoryType, Place, SharedId, ShuffleMode, SpecialRegister, Statement, Table, Width,
};

/// Appends `kernel`'s body to `text`, one indentation level deep. `is_declared` tells the variables declared at the
/// top, `takes` what kernels take, `convention` how they take it, and `registers` how many registers the text asks for.
pub(super) fn body(
    kernel: &Function,
    is_declared: &dyn Fn(LocalId) -> bool,
    (takes, convention): (&Arena<KernelId, Takes>, Convention),
    (threads, may_be_aborted): (u32, bool),
    registers: RegisterUse,
    text: &mut String,
) {
    let mut printer = Printer {
        kernel,
        is_declared,
        takes,
        convention,
        threads,
        may_be_aborted,
        registers,
        text,
        depth: 1,
        loops: 0,
        enclosing: Vec::new(),
        in_steps: false,
    };
    printer.load_ahead();
    printer.block(&kernel.body);
}

/// What a C `break` would leave.
enum Enclosing {
    /// A loop of the IR, and whether its end is the target of a jump.
    Loop { number: u32, jumped_to: bool },
    /// A `for` with its variable.
    Counted(LocalId),
}

struct Printer<'a> {
    kernel: &'a Function,
    is_declared: &'a dyn Fn(LocalId) -> bool,
    takes: &'a Arena<KernelId, Takes>,
    convention: Convention,
    /// Threads of a block.
    threads: u32,
    /// Whether a wait for the node before begins with what the prologue has asked for.
    may_be_aborted: bool,
    registers: RegisterUse,
    text: &'a mut String,
    depth: usize,
    loops: u32,
    enclosing: Vec<Enclosing>,
    /// Whether the operands are those of a step.
    in_steps: bool,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn block(&mut self, block: &Block) {
        let mut rest = &block[..];
        while let Some(statement) = rest.first() {
            if let Some(four) = aligned_operands(rest).filter(|_| self.in_steps) {
                let [a, b, c, d] = four.places.map(|place| place.to_string());
                self.line(&format!("ww_table4(table, {}u, {a}, {b}, {c}, {d});", four.first));
                rest = &rest[four.places.len()..];
            } else {
                self.statement(statement);
                rest = &rest[1..];
            }
        }
    }

    fn nested(&mut self, block: &Block) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }

    fn value(&self, value: &Expression) -> String {
        expression(self.kernel, value)
    }

    /// The address of an element of shared memory: pointer and index, with `between` between them.
    fn shared_address(&self, array: SharedId, index: &Expression, between: &str) -> String {
        let counts = |local: LocalId| {
            self.enclosing.iter().any(|one| matches!(one, Enclosing::Counted(variable) if *variable == local))
        };
        let (pointer, index) = shared_address(self.kernel, array, index, &counts);
        format!("{pointer}{between}{index}")
    }

    /// Where the first operands of a call are.
    fn operands(&self, CallOperands { array, index, .. }: &CallOperands) -> String {
        format!("ww_fetched_at({})", self.shared_address(*array, index, " + "))
    }

    fn place(&self, place: &Place) -> String {
        match place {
            Place::Local(local) => local.to_string(),
            Place::Element(array, index) => format!("{array}[{}]", position(self.kernel, index)),
        }
    }

    fn assign(&mut self, place: &Place, value: &str) {
        let place = self.place(place);
        self.line(&format!("{place} = {value};"));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign { place, value: Expression::Operand(number) } if self.in_steps => {
                self.assign(place, &format!("ww_table(table, {number}u)"));
            }
            Statement::Assign { place, value } => self.assign(place, &self.value(value)),
            Statement::LoadGlobal { place, space, memory, width, index } => {
                let space = space_name(*space);
                let index = global_index(self.kernel, index);
                self.load(space, *memory, *width, place, &format!("buffers, {index}"));
            }
            Statement::StoreGlobal { memory, index, values } => {
                let index = global_index(self.kernel, index);
                self.store("arena", *memory, values, &format!("buffers, {index}"));
            }
            Statement::LoadTagged { place, count, index, apart, tag } => {
                let address = format!("buffers, exchange, {}", global_index(self.kernel, index));
                let tag = self.value(tag);
                match (apart, place) {
                    (Some(apart), Place::Element(array, first)) => {
                        let (to, apart) = (self.element(*array, first), global_index(self.kernel, apart));
                        self.line(&format!("ww_tagged_load_apart<{count}>({to}, {address}, {apart}, {tag});"));
                    }
                    (None, Place::Element(array, first)) if *count > 1 => {
                        let to = self.element(*array, first);
                        self.line(&format!("ww_tagged_load2({to}, {address}, {tag});"));
                    }
                    (Some(_) | None, place) => self.assign(place, &format!("ww_tagged_load({address}, {tag})")),
                }
            }
            Statement::StoreTagged { index, tag, value } => {
                let (index, tag, value) = (global_index(self.kernel, index), self.value(tag), self.value(value));
                self.line(&format!("ww_tagged_store(buffers, exchange, {index}, {tag}, {value});"));
            }
            Statement::CheckIndex { place, value, extent, element, record } => {
                let [value, extent, element] = [value, extent, element].map(|word| self.value(word));
                let record = global_index(self.kernel, record);
                self.assign(place, &format!("ww_check_index(buffers, {value}, {extent}, {element}, {record})"));
            }
            Statement::LoadShared { place, array, width, index } => {
                let memory = self.kernel.shared[*array].memory;
                let address = self.shared_address(*array, index, ", ");
                self.load("shared", memory, *width, place, &address);
            }
            Statement::StoreShared { array, index, values } => {
                let memory = self.kernel.shared[*array].memory;
                let address = self.shared_address(*array, index, ", ");
                self.store("shared", memory, values, &address);
            }
            Statement::AsyncCopy { array, index, space, source, width, exists } => {
                let space = space_name(*space);
                let (place, source) = (self.shared_address(*array, index, " + "), global_index(self.kernel, source));
                let element = self.kernel.shared[*array].memory.bytes();
                let (exists, bytes) = (self.value(exists), element * width.elements());
                self.line(&format!("ww_async_copy_{space}<{bytes}>({place}, buffers, {source}, {exists});"));
            }
            Statement::Fetch { array, index, table, first, words } => {
                let (place, first) = (self.shared_address(*array, index, " + "), self.value(first));
                let (table, threads) = (table_name(*table), self.threads);
                self.line(&format!("ww_fetch<{words}, {threads}>({place}, arguments.{table}, {first});"));
            }
            Statement::AsyncCommit => self.line("ww_async_commit();"),
            Statement::AsyncWait { pending } => self.line(&format!("ww_async_wait<{pending}>();")),
            Statement::Shuffle { place, value, mode } => {
                let value = self.value(value);
                let call = match mode {
                    ShuffleMode::Xor(mask) => format!("ww_shuffle_xor({value}, {mask}u)"),
                    ShuffleMode::Broadcast(lane) => format!("ww_shuffle({value}, {lane}u)"),
                };
                self.assign(place, &call);
            }
            Statement::LoadMatrices { place, array, matrices, index, transposed } => {
                let transposed = if *transposed { "_transposed" } else { "" };
                let suffix = suffix(self.kernel.shared[*array].memory);
                let (count, address) = (matrices.count(), self.shared_address(*array, index, ", "));
                let target = self.registers(place);
                self.line(&format!("ww_load_matrices{count}{transposed}_{suffix}({target}, {address});"));
            }
            Statement::MultiplyMatrices { place, factors, left, right, sums } => {
                let values = left.iter().chain(right).chain(sums).map(|value| self.value(value));
                let values = values.collect::<Vec<_>>().join(", ");
                let (target, suffix) = (self.registers(place), suffix(factors.memory()));
                self.line(&format!("ww_multiply_matrices_{suffix}({target}, {values});"));
            }
            Statement::For { variable, extent, unroll, body } => self.counted_loop(*variable, extent, *unroll, body),
            Statement::If { condition, then, otherwise } => self.branch(condition, then, otherwise),
            Statement::Loop { body } => self.endless_loop(body),
            Statement::Steps { order, body } => self.steps(*order, body),
            Statement::Break => self.leave(),
            Statement::Switch { selector, cases } => self.switch(&self.value(selector), 0, cases.len(), cases),
            Statement::Call { kernel, operands, tile } => self.call(*kernel, operands, tile),
            Statement::Dispatch { number, operands, tile, waits } => self.dispatch(number, operands, tile, waits),
            Statement::Await { order, loaded } => {
                for array in loaded {
                    self.line(&format!("ww_hold({array});"));
                }
                let order = match order {
                    MemoryOrder::Acquire => "acquire",
                    MemoryOrder::Relaxed | MemoryOrder::Release => "relaxed",
                };
                self.line(&format!("if (ww_await_{order}(exchange, waits)) return true;"));
            }
            Statement::BlockBarrier => self.line("ww_barrier();"),
            Statement::BlockBarrierOr { place, condition } => {
                self.assign(place, &format!("ww_barrier_or({})", self.value(condition)));
            }
            Statement::WarpBarrier => self.line("ww_warp_barrier();"),
            Statement::LoadTable { place, table, index } => {
                let (table, index) = (table_name(*table), self.value(index));
                self.assign(place, &format!("ww_table(arguments.{table}, {index})"));
            }
            Statement::LoadControl { place, word } => {
                self.assign(place, &format!("ww_load_control(arguments, {})", control_word(*word)));
            }
            Statement::ReadSpecial { place, register } => {
                let register = match register {
                    SpecialRegister::Time => "(ww_u32)ww_time_ns()",
                    SpecialRegister::Multiprocessor => "ww_multiprocessor()",
                    SpecialRegister::Cycles => "ww_cycles()",
                };
                self.assign(place, register);
            }
            Statement::StoreControl { word, value } => {
                let value = self.value(value);
                self.line(&format!("ww_store_control(arguments, {}, {value});", control_word(*word)));
            }
            Statement::AddControl { place, word, value } => {
                let value = self.value(value);
                self.assign(place, &format!("ww_add_control(arguments, {}, {value})", control_word(*word)));
            }
            Statement::Wait { place, counter, target, order, position } => {
                let function = match order {
                    MemoryOrder::Acquire => "ww_wait_acquire",
                    MemoryOrder::Relaxed | MemoryOrder::Release => "ww_wait_relaxed",
                };
                let (counter, target, position) = (self.value(counter), self.value(target), self.value(position));
                self.assign(place, &format!("{function}(arguments, {counter}, {target}, {position})"));
            }
            Statement::Signal { counter, order } => {
                let function = match order {
                    MemoryOrder::Release => "ww_signal_release",
                    MemoryOrder::Relaxed | MemoryOrder::Acquire => "ww_signal_relaxed",
                };
                let counter = self.value(counter);
                self.line(&format!("{function}(arguments, {counter});"));
            }
            Statement::DependencyWait => {
                if self.may_be_aborted {
                    self.line("if (aborted != 0u) return;");
                }
                self.line("ww_dependency_wait();");
            }
            Statement::DependentLaunch => self.line("ww_dependent_launch();"),
        }
    }

    fn load(&mut self, space: &str, memory: MemoryType, width: Width, place: &Place, address: &str) {
        self.load_as(&format!("ww_{space}_load"), &format!("_{}", suffix(memory)), width, place, address);
    }

    /// A call of the function of this name, with the width between it and the suffix.
    fn load_as(&mut self, name: &str, suffix: &str, width: Width, place: &Place, address: &str) {
        match (width, place) {
            (Width::One, place) => self.assign(place, &format!("{name}{suffix}({address})")),
            (Width::Two | Width::Four | Width::Eight, Place::Element(array, first)) => {
                let target = self.element(*array, first);
                self.line(&format!("{name}{}{suffix}({target}, {address});", width.elements()));
            }
            (Width::Two | Width::Four | Width::Eight, Place::Local(_)) => {
                unreachable!("accesses wider than one element take an array place")
            }
        }
    }

    /// The address of the first register of a place.
    fn registers(&self, place: &Place) -> String {
        match place {
            Place::Local(local) => format!("&{local}"),
            Place::Element(array, first) => self.element(*array, first),
        }
    }

    /// The address of an array's element.
    fn element(&self, array: ArrayId, index: &Expression) -> String {
        match (position(self.kernel, index), index) {
            (first, _) if first == "0" => array.to_string(),
            (first, Expression::Constant(_)) => format!("{array} + {first}"),
            (first, _) => format!("{array} + ({first})"),
        }
    }

    fn store(&mut self, space: &str, memory: MemoryType, values: &[Expression], address: &str) {
        let width = if values.len() == 1 { String::new() } else { values.len().to_string() };
        let suffix = suffix(memory);
        let values = values.iter().map(|value| self.value(value)).collect::<Vec<_>>().join(", ");
        self.line(&format!("ww_{space}_store{width}_{suffix}({address}, {values});"));
    }

    fn counted_loop(&mut self, variable: LocalId, extent: &Expression, unroll: bool, body: &Block) {
        let hoisted = changes(extent, variable, body);
        if hoisted {
            let extent = self.value(extent);
            self.line("{");
            self.depth += 1;
            self.line(&format!("unsigned const {variable}_extent = {extent};"));
        }
        let condition = match extent {
            Expression::Constant(Constant::I32(value)) if *value >= 0 => format!("{variable} < {value}u"),
            _ if hoisted => format!("(int){variable} < (int){variable}_extent"),
            _ => format!("(int){variable} < {}", signed(self.kernel, extent)),
        };
        let declaration = if (self.is_declared)(variable) { "" } else { "unsigned " };
        let unroll = unroll && (!self.registers.is_sparing() || chooses_registers(variable, body));
        self.line(if unroll { "#pragma unroll" } else { "#pragma unroll 1" });
        self.line(&format!("for ({declaration}{variable} = 0u; {condition}; ++{variable}) {{"));
        self.enclosing.push(Enclosing::Counted(variable));
        self.nested(body);
        self.enclosing.pop();
        self.line("}");
        if hoisted {
            self.depth -= 1;
            self.line("}");
        }
    }

    fn branch(&mut self, condition: &Expression, then: &Block, otherwise: &Block) {
        let condition = self.value(condition);
        self.line(&format!("if ({condition}) {{"));
        self.nested(then);
        if !otherwise.is_empty() {
            self.line("} else {");
            self.nested(otherwise);
        }
        self.line("}");
    }

    fn endless_loop(&mut self, body: &Block) {
        let number = self.loops;
        self.loops += 1;
        self.line("for (;;) {");
        self.enclosing.push(Enclosing::Loop { number, jumped_to: false });
        self.nested(body);
        self.line("}");
        if let Some(Enclosing::Loop { number, jumped_to: true }) = self.enclosing.pop() {
            self.line(&format!("end_of_loop_{number}:;"));
        }
    }

    /// Loads what the first rTask of a call needs first.
    fn load_ahead(&mut self) {
        let ahead = self.kernel.body.iter().find_map(|statement| match statement {
            Statement::Steps { body, .. } => loaded_ahead(body).0,
            _ => None,
        });
        if let Some(ahead) = ahead {
            self.line("ww_u32 ahead[4];");
            self.line(&ahead.load("table"));
        }
    }

    /// The first four operands are loaded ahead: behind the first barrier of the rTask before.
    fn steps(&mut self, order: MemoryOrder, body: &Block) {
        let order = match order {
            MemoryOrder::Release => "release",
            MemoryOrder::Relaxed | MemoryOrder::Acquire => "relaxed",
        };
        let (ahead, barrier) = loaded_ahead(body);
        let skipped = ahead.as_ref().map_or(0, |ahead| ahead.places.len());
        let (first, rest) = body.split_at(barrier.map_or(body.len(), |at| at + 1));
        self.line("for (ww_steps steps = ww_steps_of(waits);;) {");
        self.depth += 1;
        self.in_steps = true;
        for (at, place) in ahead.iter().flat_map(|ahead| ahead.places.iter().enumerate()) {
            self.line(&format!("{place} = ahead[{at}];"));
        }
        self.line("ww_look_ahead(steps, waits);");
        self.block(&first[skipped..].to_vec());
        if let Some(ahead) = &ahead {
            self.line(&ahead.load("ww_next_operands(steps, waits, table)"));
        }
        self.block(&rest.to_vec());
        self.in_steps = false;
        self.line(&format!("if (!ww_next_step_{order}(exchange, waits, steps, table)) break;"));
        self.depth -= 1;
        self.line("}");
    }

    fn leave(&mut self) {
        let direct = matches!(self.enclosing.last(), Some(Enclosing::Loop { .. }));
        let innermost = self.enclosing.iter_mut().rev().find_map(|enclosing| match enclosing {
            Enclosing::Loop { number, jumped_to } => Some((*number, jumped_to)),
            Enclosing::Counted(_) => None,
        });
        let (number, jumped_to) = innermost.expect("a break stands inside a loop");
        if direct {
            self.line("break;");
        } else {
            *jumped_to = true;
            self.line(&format!("goto end_of_loop_{number};"));
        }
    }

    fn call(&mut self, kernel: KernelId, operands: &CallOperands, tile: &Expression) {
        let (held, tile) = (self.operands(operands), self.value(tile));
        let first = &operands.first;
        let line = match self.convention {
            Convention::Launch => {
                let first = self.value(first);
                format!("{kernel}(ww_fetched_at(launch), {held}, {first}, {tile}, {held}, 0u, 0u);")
            }
            Convention::Node => {
                let first = global_index(self.kernel, first);
                let table =
                    if self.takes[kernel].table { format!("arguments.operands + {first}, ") } else { String::new() };
                format!("{kernel}(buffers, {held}, {table}{tile});")
            }
        };
        self.line(&line);
    }

    fn dispatch(&mut self, number: &Expression, operands: &CallOperands, tile: &Expression, waits: &CallWaits) {
        let CallWaits { ring, first, count, stopped } = waits;
        let (held, own) = (self.operands(operands), self.value(&operands.first));
        let [number, tile, first, count] = [number, tile, first, count].map(|word| self.value(word));
        self.assign(
            stopped,
            &format!(
                "ww_dispatch({number}, ww_fetched_at(launch), {held}, {own}, {tile}, ww_fetched_at({ring}), {first}, {count}) != 0u"
            ),
        );
    }

    /// Cases from number `first` on, of `count` in all, as leaves of a tree of comparisons. A compiler turns a `switch` into a
    /// jump through a table in constant memory, which takes longer than the comparisons of some dozen cases.
    fn switch(&mut self, selector: &str, first: usize, count: usize, cases: &[Block]) {
        match cases {
            [] => {}
            [case] if first + 1 < count => self.block(case),
            [case] => {
                self.line(&format!("if ({selector} < {count}u) {{"));
                self.nested(case);
                self.line("}");
            }
            _ => {
                let (lower, upper) = cases.split_at(cases.len() / 2);
                let middle = first + lower.len();
                self.line(&format!("if ({selector} < {middle}u) {{"));
                self.depth += 1;
                self.switch(selector, first, count, lower);
                self.depth -= 1;
                self.line("} else {");
                self.depth += 1;
                self.switch(selector, middle, count, upper);
                self.depth -= 1;
                self.line("}");
            }
        }
    }
}

/// Locals that take four operands, one after another from a multiple of four on.
struct FourOperands {
    first: u32,
    places: [LocalId; 4],
}

impl FourOperands {
    /// What loads them from these operands on.
    fn load(&self, from: &str) -> String {
        format!("ww_table4({from}, {}u, ahead[0], ahead[1], ahead[2], ahead[3]);", self.first)
    }
}

/// The operands of a step that are loaded ahead, and the barrier behind which they are.
fn loaded_ahead(body: &Block) -> (Option<FourOperands>, Option<usize>) {
    let barrier = body.iter().position(|statement| *statement == Statement::BlockBarrier);
    (aligned_operands(body).filter(|_| barrier.is_some()), barrier)
}

/// The operands that the first four statements load, if they are such. The operands of an rTask are aligned to four words.
fn aligned_operands(statements: &[Statement]) -> Option<FourOperands> {
    let loaded = |at: usize| match statements.get(at)? {
        Statement::Assign { place: Place::Local(local), value: Expression::Operand(operand) } => {
            Some((*local, *operand))
        }
        _ => None,
    };
    let (_, first) = loaded(0)?;
    let place = |at: u32| loaded(at as usize).filter(|(_, operand)| *operand == first + at).map(|(local, _)| local);
    let places = [place(0)?, place(1)?, place(2)?, place(3)?];
    first.is_multiple_of(4).then_some(FourOperands { first, places })
}

fn table_name(table: Table) -> &'static str {
    match table {
        Table::StreamStart => "stream_start",
        Table::Instructions => "instructions",
        Table::Operands => "operands",
    }
}

fn space_name(space: GlobalSpace) -> &'static str {
    match space {
        GlobalSpace::Arena | GlobalSpace::States => "arena",
        GlobalSpace::Weights => "weights",
    }
}

fn control_word(word: ControlWord) -> &'static str {
    match word {
        ControlWord::Epoch => "ww_epoch",
        ControlWord::Left => "ww_left",
        ControlWord::Abort => "ww_abort",
    }
}
