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

use crate::kernel_ir::{Body, Entry, Kernel, KernelId, Program, SharedId};
use scope::Declarations;
use takes::Takes;
pub use units::{DeviceUnits, UnitSize, device_units, whole_source};

/// The name of the entry function that walks streams, with C linkage.
pub const ENTRY_NAME: &str = "warpweave_persistent";

/// The names of a program's entry functions, all with C linkage: the one that walks streams, and that of each kernel as a
/// node.
pub fn entry_names(program: &Program) -> Vec<String> {
    let name = |(body, _): (Body, &Kernel)| match body {
        Body::Node(kernel) => node_name(kernel.index() as u32),
        Body::Entry | Body::Kernel(_) => ENTRY_NAME.to_owned(),
    };
    program.entries().into_iter().map(name).collect()
}

/// Prints `program`, which the kernel IR verifier has accepted.
///
/// # Panics
/// If the program is ill-formed: an id of another body, a wide access to a scalar, a break outside a loop.
pub fn cuda(program: &Program) -> String {
    let printer = Printer::new(program);
    let kernels: String = program.kernels.ids().map(|id| printer.kernel(id)).collect();
    let text = kernels + &printer.entries();
    debug_assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "printed text is ASCII");
    text
}

/// What is printed, and what all of it knows.
struct Printer<'a> {
    program: &'a Program,
    /// What each kernel takes.
    takes: Arena<KernelId, Takes>,
}

impl<'a> Printer<'a> {
    fn new(program: &'a Program) -> Self {
        Self { program, takes: program.kernels.values().map(Takes::of).collect() }
    }

    fn kernel(&self, id: KernelId) -> String {
        let prologue = shared_memory(self.program.entry_shared_bytes());
        let resident_bytes = self.program.resident_bytes();
        let head = Head { prologue, resident_bytes, ..self.head(self.signature(id)) };
        function(&self.program.kernels[id], &head) + "\n"
    }

    fn signature(&self, id: KernelId) -> String {
        let Takes { exchange, waits, table } = self.takes[id];
        let result = if waits { "bool" } else { "void" };
        let exchange = if exchange { "ww_exchange exchange, " } else { "" };
        let waits = if waits { ", ww_own_waits waits" } else { "" };
        let table = if table { "int const* table, " } else { "" };
        format!(
            "WW_KERNEL {result} {id}(ww_buffers buffers, {exchange}ww_fetched operands, {table}unsigned tile{waits})"
        )
    }

    fn entries(&self) -> String {
        let persistent = self.program.entry.persistent().map(|entry| self.entry(entry));
        let nodes = self.program.entry.nodes().into_iter().map(|(id, node)| self.node(id, node));
        persistent.into_iter().chain(nodes).collect::<Vec<String>>().join("\n")
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

    fn node(&self, id: KernelId, node: &Kernel) -> String {
        let name = node_name(id.index() as u32);
        let signature = format!("{} {name}(ww_node_arguments arguments)", self.bounds());
        let may_be_aborted = matches!(self.program.entry, Entry::Mixed(_));
        let asks = if may_be_aborted { "  ww_u32 const aborted = ww_abort_before(arguments.status);\n" } else { "" };
        let prologue = asks.to_owned() + &shared_memory(0) + "  ww_buffers const buffers = arguments.buffers;\n";
        function(node, &Head { prologue, may_be_aborted, ..self.head(signature) })
    }

    /// A body without a prologue.
    fn head(&self, signature: String) -> Head<'_> {
        let threads = self.program.threads;
        Head {
            signature,
            prologue: String::new(),
            takes: &self.takes,
            threads,
            resident_bytes: 0,
            may_be_aborted: false,
        }
    }

    fn entry(&self, entry: &Kernel) -> String {
        let signature = format!("{} {ENTRY_NAME}(ww_arguments arguments)", self.bounds());
        let mut prologue = self.abort() + &shared_memory(0) + "  ww_buffers const buffers = arguments.buffers;\n";
        if self.takes.values().any(|takes| takes.exchange) {
            prologue += "  ww_exchange const exchange = ww_exchange_of(arguments);\n";
        }
        function(entry, &Head { prologue, ..self.head(signature) })
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
    /// Threads of a block.
    threads: u32,
    /// What kernels keep takes so many first bytes of the body's shared memory.
    resident_bytes: u32,
    /// Whether a node leaves where it would wait if a segment before was aborted.
    may_be_aborted: bool,
}

/// A body as text.
fn function(kernel: &Kernel, head: &Head) -> String {
    let Head { signature, prologue, takes, threads, resident_bytes, may_be_aborted } = head;
    let declarations = Declarations::of(kernel);
    let mut text = format!("{signature} {{\n{prologue}{}", declare(kernel, &declarations, *resident_bytes));
    statement::body(
        kernel,
        &|local| declarations.locals.contains(&local),
        takes,
        (*threads, *may_be_aborted),
        &mut text,
    );
    if kernel.owns_instructions() {
        text.push_str("  return false;\n");
    }
    text.push_str("}\n");
    text
}

/// Scalars by type, then register arrays, then shared arrays at their offsets.
fn declare(kernel: &Kernel, declarations: &Declarations, resident_bytes: u32) -> String {
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
fn shared_offset(kernel: &Kernel, id: SharedId, resident_bytes: u32) -> u32 {
    if kernel.kept == Some(id) {
        return 0;
    }
    let before = kernel.shared.iter().take(id.index()).filter(|(other, _)| kernel.kept != Some(*other));
    resident_bytes + before.map(|(_, array)| array.bytes()).sum::<u32>()
}

const INFALLIBLE: &str = "writing to a string cannot fail";
