//! A program as translation units that a device compiler takes one by one.
//!
//! A compiler's time grows faster than the length of what it is given at once, so a program of many kernels is compiled in
//! parts, side by side, and linked.

use std::fmt::Write;

use super::{INFALLIBLE, Printer};
use crate::kernel_ir::{Entry, Program};
use crate::prelude::{device_source, linked_source, nodes_source};

/// The translation units of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceUnits {
    /// All of it.
    Whole(String),
    /// Parts to be linked with one another: that of a persistent entry last, nodes beside their kernels.
    Linked(Vec<String>),
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
    let printer = Printer::new(program);
    if let Entry::Nodes(nodes) = &program.entry {
        let texts = nodes.iter().map(|(id, node)| printer.kernel(id) + &printer.node(id, node) + "\n");
        let units: Vec<String> =
            groups(texts.collect(), size).iter().map(|group| nodes_source(&group.concat())).collect();
        return if units.len() > 1 { DeviceUnits::Linked(units) } else { DeviceUnits::Whole(whole_source(program)) };
    }
    let groups = groups(program.kernels.ids().map(|id| printer.kernel(id)).collect(), size);
    let mut declarations = String::new();
    for id in program.kernels.ids() {
        writeln!(declarations, "{};", printer.signature(id)).expect(INFALLIBLE);
    }
    let kernels = groups.iter().map(|group| group.concat());
    let units = kernels.chain([declarations + &printer.entries()]);
    DeviceUnits::Linked(units.map(|body| linked_source(&body)).collect())
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
