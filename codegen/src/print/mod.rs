//! Kernel IR as CUDA C++: a pure function, one construct per node.
//!
//! Invariants:
//! - the text is ASCII and holds only keywords, the prelude's names, ids (`k0`, `v3`, `r2`, `s1`), numbers and fixed
//!   words: nothing that a model names reaches it;
//! - equal programs print equal text; nothing but the program decides it;
//! - the text has no prelude: [`crate::prelude::device_source`] and [`crate::prelude::host_source`] add theirs to the
//!   same text;
//! - integer registers are unsigned, because their arithmetic wraps; signed comparisons, shifts and divisions are
//!   spelt out.

mod expression;
mod literal;
mod scope;
mod statement;
mod takes;
mod types;
mod units;

use std::collections::BTreeMap;
use std::fmt::Write;

use warpweave_graph::arena::{Arena, Id};
use warpweave_plan::tables::node_name;

use crate::kernel_ir::{Body, Entry, Function, KernelId, Program, SharedId};
use scope::Declarations;
use takes::{Convention, Takes};
pub use units::{DeviceUnits, LinkedUnit, UnitSize, device_units, function_name, linked_unit, whole_source};

/// The name of the entry function that walks streams, with C linkage.
pub const ENTRY_NAME: &str = "warpweave_persistent";

/// The names of a program's entry functions, all with C linkage: the one that walks streams, and that of each kernel as a
/// node.
pub fn entry_names(program: &Program) -> Vec<String> {
    let name = |(body, _): (Body, &Function)| match body {
        Body::Node(kernel) => node_name(kernel.index() as u32),
        Body::Entry | Body::Kernel(_) => ENTRY_NAME.to_owned(),
    };
    program.entries().into_iter().map(name).collect()
}

/// How many registers printed text asks for. What it computes is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RegisterUse {
    /// As many as make it fastest: all loops are unrolled that can be, and operands stay in registers.
    #[default]
    Free,
    /// Only loops are unrolled whose variable chooses a register.
    Rolled,
    /// Operands are fetched wherever they are used, too.
    Refetched,
}

impl RegisterUse {
    /// The ways to take fewer registers, the fastest first.
    pub const SPARING: [Self; 2] = [Self::Rolled, Self::Refetched];

    fn is_sparing(self) -> bool {
        match self {
            Self::Free => false,
            Self::Rolled | Self::Refetched => true,
        }
    }
}

/// Prints `program`, which the kernel IR verifier has accepted.
///
/// # Panics
/// If the program is ill-formed: an id of another body, a wide access to a scalar, a break outside a loop.
pub fn cuda(program: &Program) -> String {
    let printer = Printer::new(program, RegisterUse::Free);
    let kernels: String = program.kernels.ids().map(|id| printer.kernel(id)).collect();
    let text = kernels + &printer.entries();
    debug_assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "printed text is ASCII");
    text
}

const LAUNCH_PARAMETERS: &str = "ww_fetched launch, ww_fetched operands, unsigned first_operand, unsigned tile, \
                                 ww_fetched ring, unsigned first, unsigned count";

const LAUNCH_ARGUMENTS: &str = "launch, operands, first_operand, tile, ring, first, count";

/// What is printed, and what all of it knows.
struct Printer<'a> {
    program: &'a Program,
    /// What each kernel takes.
    takes: Arena<KernelId, Takes>,
    registers: RegisterUse,
}

impl<'a> Printer<'a> {
    fn new(program: &'a Program, registers: RegisterUse) -> Self {
        Self { program, takes: program.kernels.values().map(Takes::of).collect(), registers }
    }

    fn kernel(&self, id: KernelId) -> String {
        let prologue = shared_memory(self.program.entry_shared_bytes()) + &self.arguments(id);
        let resident_bytes = self.program.resident_bytes();
        let returns = self.convention() == Convention::Launch;
        let head = Head { prologue, resident_bytes, returns, ..self.head(self.signature(id)) };
        function(&self.program.kernels[id], &head) + "\n"
    }

    fn signature(&self, id: KernelId) -> String {
        match self.convention() {
            Convention::Launch => format!("WW_KERNEL unsigned {id}({LAUNCH_PARAMETERS})"),
            Convention::Node => {
                let table = if self.takes[id].table { "int const* table, " } else { "" };
                format!("WW_KERNEL void {id}(ww_buffers buffers, ww_fetched operands, {table}unsigned tile)")
            }
        }
    }

    fn convention(&self) -> Convention {
        match self.program.entry {
            Entry::Nodes(_) => Convention::Node,
            Entry::Persistent(_) | Entry::Mixed(_) => Convention::Launch,
        }
    }

    /// What a kernel makes of its parameters.
    fn arguments(&self, id: KernelId) -> String {
        if self.convention() == Convention::Node {
            return String::new();
        }
        let Takes { exchange, table, waits } = self.takes[id];
        let lines = [
            (true, "  ww_buffers const buffers = ww_buffers_of(launch);\n"),
            (exchange, "  ww_exchange const exchange = ww_exchange_of(launch);\n"),
            (table, "  int const* table = ww_operands_of(launch, first_operand);\n"),
            (waits, "  ww_own_waits const waits = ww_waits_of(launch, ring, first, count);\n"),
        ];
        lines.into_iter().filter(|(taken, _)| *taken).map(|(_, line)| line).collect()
    }

    fn entries(&self) -> String {
        let persistent = self.program.entry.persistent().map(|entry| self.dispatch() + &self.entry(entry));
        let nodes = self.program.entry.nodes().into_iter().map(|(id, node)| self.node(id, node));
        persistent.into_iter().chain(nodes).collect::<Vec<String>>().join("\n")
    }

    /// What calls the kernel of a number: through a table where kernels are linked, whose calls follow one convention.
    fn dispatch(&self) -> String {
        let kernels: Vec<KernelId> = self.program.kernels.ids().collect();
        let names: Vec<String> = kernels.iter().map(KernelId::to_string).collect();
        let head = format!("WW_FUNCTION unsigned ww_dispatch(unsigned number, {LAUNCH_PARAMETERS}) {{");
        let case = |id: &KernelId| format!("    case {}u: return {id}({LAUNCH_ARGUMENTS});", id.index());
        let mut lines = vec![
            "#if defined(WW_LINKED)".to_owned(),
            format!("__constant__ unsigned (*ww_kernels[])({LAUNCH_PARAMETERS}) = {{{}}};", names.join(", ")),
            head.clone(),
            "  unsigned stopped;".to_owned(),
            "  WW_CONVENTION".to_owned(),
            format!("  stopped = ww_kernels[number]({LAUNCH_ARGUMENTS});"),
            "  return stopped;\n}\n#else".to_owned(),
            head,
            "  switch (number) {".to_owned(),
        ];
        lines.extend(kernels.iter().map(case));
        lines.push("    default: return 0u;\n  }\n}\n#endif\n\n".to_owned());
        lines.join("\n")
    }

    /// The beginning of an entry's signature.
    fn bounds(&self) -> String {
        format!("extern \"C\" __global__ void __launch_bounds__({}, 1)", self.program.threads)
    }

    /// How the entry of persistent segments begins that may come after one whose waits gave up.
    fn abort(&self) -> String {
        match self.program.entry {
            Entry::Persistent(_) | Entry::Nodes(_) => String::new(),
            Entry::Mixed(_) => "  if (ww_was_aborted(arguments.status)) return;\n".to_owned(),
        }
    }

    fn node(&self, id: KernelId, node: &Function) -> String {
        let name = node_name(id.index() as u32);
        let signature = format!("{} {name}(ww_node_arguments arguments)", self.bounds());
        let may_be_aborted = matches!(self.program.entry, Entry::Mixed(_));
        let asks = if may_be_aborted { "  ww_u32 const aborted = ww_abort_before(arguments.status);\n" } else { "" };
        let buffers = match self.convention() {
            Convention::Launch => self.launch(),
            Convention::Node => shared_memory(0) + "  ww_buffers const buffers = arguments.buffers;\n",
        };
        let prologue = asks.to_owned() + &buffers;
        function(node, &Head { prologue, may_be_aborted, ..self.head(signature) })
    }

    /// A body without a prologue.
    fn head(&self, signature: String) -> Head<'_> {
        let threads = self.program.threads;
        Head {
            signature,
            prologue: String::new(),
            takes: &self.takes,
            convention: self.convention(),
            threads,
            registers: self.registers,
            resident_bytes: 0,
            returns: false,
            may_be_aborted: false,
        }
    }

    fn entry(&self, entry: &Function) -> String {
        let signature = format!("{} {ENTRY_NAME}(ww_arguments arguments)", self.bounds());
        function(entry, &Head { prologue: self.abort() + &self.launch(), ..self.head(signature) })
    }

    /// The beginning of an entry that keeps the arguments of its launch for the kernels.
    fn launch(&self) -> String {
        let kept = "  ww_u32* const launch = (ww_u32*)ww_shared_memory();\n  ww_keep_launch(launch, arguments);\n";
        kept.to_owned()
            + &shared_memory(self.program.launch_bytes())
            + "  ww_buffers const buffers = arguments.buffers;\n"
    }
}

/// The shared memory of a body from `start` on, in bytes: the entry's own comes first.
fn shared_memory(start: u32) -> String {
    let start = if start == 0 { String::new() } else { format!(" + {start}") };
    format!("  unsigned char* const shared = ww_shared_memory(){start};\n")
}

/// What stands before a body.
struct Head<'a> {
    signature: String,
    prologue: String,
    takes: &'a Arena<KernelId, Takes>,
    convention: Convention,
    /// Threads of a block.
    threads: u32,
    registers: RegisterUse,
    /// What kernels keep takes so many first bytes of the body's shared memory.
    resident_bytes: u32,
    /// Whether the body ends by telling that its waits did not give up.
    returns: bool,
    /// Whether a node leaves where it would wait if a segment before was aborted.
    may_be_aborted: bool,
}

/// A body as text.
fn function(kernel: &Function, head: &Head<'_>) -> String {
    let Head { signature, prologue, takes, convention, threads, registers, resident_bytes, returns, may_be_aborted } =
        head;
    let declarations = Declarations::of(kernel);
    let mut text = format!("{signature} {{\n{prologue}{}", declare(kernel, &declarations, *resident_bytes));
    statement::body(
        kernel,
        &|local| declarations.locals.contains(&local),
        (takes, *convention),
        (*threads, *may_be_aborted),
        *registers,
        &mut text,
    );
    text.push_str(if *returns { "  return 0u;\n}\n" } else { "}\n" });
    text
}

/// Scalars by type, then register arrays, then shared arrays at their offsets.
fn declare(kernel: &Function, declarations: &Declarations, resident_bytes: u32) -> String {
    let mut text = String::new();
    let mut by_type = BTreeMap::<_, Vec<String>>::new();
    for local in &declarations.locals {
        by_type.entry(kernel.locals[*local]).or_default().push(local.to_string());
    }
    for (scalar, names) in by_type {
        writeln!(text, "  {} {};", types::register(scalar), names.join(", ")).expect(INFALLIBLE);
    }
    for &id in &declarations.arrays {
        let array = kernel.arrays[id];
        writeln!(text, "  {} {id}[{}];", types::register(array.scalar), array.length).expect(INFALLIBLE);
    }
    for &id in &declarations.shared {
        let element = types::element(kernel.shared[id].memory);
        let offset = shared_offset(kernel, id, resident_bytes);
        writeln!(text, "  {element}* const {id} = ({element}*)(shared + {offset});").expect(INFALLIBLE);
    }
    text
}

/// The byte at which a shared array starts in the body's part of shared memory; a multiple of 16. What kernels keep takes the
/// first `resident_bytes`.
fn shared_offset(kernel: &Function, id: SharedId, resident_bytes: u32) -> u32 {
    if kernel.kept == Some(id) {
        return 0;
    }
    let before = kernel.shared.iter().take(id.index()).filter(|(other, _)| kernel.kept != Some(*other));
    resident_bytes + before.map(|(_, array)| array.bytes()).sum::<u32>()
}

const INFALLIBLE: &str = "writing to a string cannot fail";
