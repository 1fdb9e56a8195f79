//! A program as translation units that a device compiler takes one by one.
//!
//! A compiler's time grows faster than the length of what it is given at once, so a program of many kernels is compiled in
//! parts, side by side, and linked.

use std::fmt::Write;

use warpweave_graph::arena::Id;
use warpweave_plan::tables::node_name;

use super::takes::Convention;
use super::{INFALLIBLE, Printer, RegisterUse};
use crate::kernel_ir::{Entry, KernelId, Program};
use crate::prelude::{REFETCHED, device_source, linked_source, nodes_source};

/// The translation units of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceUnits {
    Whole(String),
    /// Parts to be linked with one another: that of a persistent entry last, nodes beside their kernels.
    Linked(Vec<LinkedUnit>),
}

/// A translation unit to be linked with others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkedUnit {
    pub source: String,
    /// The kernels in it; none where it holds a persistent entry.
    pub kernels: Vec<KernelId>,
}

/// How much a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitSize {
    /// Kernels at most.
    pub kernels: usize,
    /// Bytes of their text, beyond which no further kernel joins.
    pub bytes: usize,
}

impl Default for UnitSize {
    /// Few enough that two threads share the work of all but the smallest programs, and no more units than that needs: each
    /// takes its start, and the whole is linked.
    fn default() -> Self {
        Self { kernels: 7, bytes: 96 << 10 }
    }
}

/// `program` in units of at most `size`: nodes whole where one is enough, streams with the entry that walks them in a unit of its
/// own, however few kernels they call.
///
/// # Panics
/// As [`super::cuda`].
pub fn device_units(program: &Program, size: UnitSize) -> DeviceUnits {
    let printer = Printer::new(program, RegisterUse::Free);
    let texts: Vec<String> = program.kernels.ids().map(|id| printer.kernel_with_node(id)).collect();
    let mut ids = program.kernels.ids();
    let group = |texts: Vec<String>| {
        let kernels = ids.by_ref().take(texts.len()).collect();
        LinkedUnit { source: printer.linked_source(&texts.concat()), kernels }
    };
    let mut units: Vec<LinkedUnit> = groups(texts, size).into_iter().map(group).collect();
    if let Entry::Nodes(_) = program.entry {
        return if units.len() > 1 { DeviceUnits::Linked(units) } else { DeviceUnits::Whole(whole_source(program)) };
    }
    let mut text = String::new();
    for id in program.kernels.ids() {
        writeln!(text, "{};", printer.signature(id)).expect(INFALLIBLE);
    }
    text.push_str(&printer.entries());
    units.push(LinkedUnit { source: printer.linked_source(&text), kernels: Vec::new() });
    DeviceUnits::Linked(units)
}

/// The unit of these kernels of `program`, with the nodes that [`device_units`] puts beside them.
///
/// # Panics
/// As [`super::cuda`].
pub fn linked_unit(program: &Program, kernels: &[KernelId], registers: RegisterUse) -> LinkedUnit {
    let printer = Printer::new(program, registers);
    let text: String = kernels.iter().map(|id| printer.kernel_with_node(*id)).collect();
    LinkedUnit { source: printer.linked_source(&text), kernels: kernels.to_vec() }
}

/// The function in a linked unit whose frame is that of `kernel`: its own, or the node in which it is.
pub fn function_name(program: &Program, kernel: KernelId) -> String {
    match program.entry {
        Entry::Nodes(_) => node_name(kernel.index() as u32),
        Entry::Persistent(_) | Entry::Mixed(_) => kernel.to_string(),
    }
}

impl Printer<'_> {
    /// A kernel, and behind it the node that is all of its use, if there is one.
    fn kernel_with_node(&self, id: KernelId) -> String {
        let kernel = self.kernel(id);
        match &self.program.entry {
            Entry::Nodes(nodes) => kernel + &self.node(id, &nodes[id]) + "\n",
            Entry::Persistent(_) | Entry::Mixed(_) => kernel,
        }
    }

    fn linked_source(&self, body: &str) -> String {
        let body = match self.registers {
            RegisterUse::Free | RegisterUse::Rolled => body,
            RegisterUse::Refetched => &[REFETCHED, body].concat(),
        };
        match self.convention() {
            Convention::Node => nodes_source(body),
            Convention::Launch => linked_source(body),
        }
    }
}

/// `program` as one translation unit.
///
/// # Panics
/// As [`super::cuda`].
pub fn whole_source(program: &Program) -> String {
    let text = super::cuda(program);
    match program.entry {
        Entry::Nodes(_) => nodes_source(&text),
        Entry::Persistent(_) | Entry::Mixed(_) => device_source(&text),
    }
}

/// The printed kernels, unit by unit, in order; the units are about equally long.
fn groups(texts: Vec<String>, size: UnitSize) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let total: usize = texts.iter().map(String::len).sum();
    let count = texts.len().div_ceil(size.kernels.max(1)).max(total.div_ceil(size.bytes.max(1)));
    let even = UnitSize { kernels: size.kernels.max(1), bytes: total.div_ceil(count.max(1)) };
    let mut bytes = 0;
    for text in texts {
        match groups.last_mut() {
            Some(last) if last.len() < even.kernels && bytes + text.len() / 2 <= even.bytes => {
                bytes += text.len();
                last.push(text);
            }
            _ => {
                bytes = text.len();
                groups.push(vec![text]);
            }
        }
    }
    groups
}
