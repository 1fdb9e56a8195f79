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
mod types;
mod units;

use std::collections::BTreeMap;
use std::fmt::Write;

use warpweave_graph::arena::Id;

use crate::kernel_ir::{Kernel, KernelId, Program, SharedId};
use scope::Declarations;
pub use units::{DeviceUnits, UnitSize, device_units};

/// The name of the entry function, with C linkage.
pub const ENTRY_NAME: &str = "warpweave_persistent";

/// Prints `program`, which the kernel IR verifier has accepted.
///
/// # Panics
/// If the program is ill-formed: an id of another body, a wide access to a scalar, a break outside a loop.
pub fn cuda(program: &Program) -> String {
    let mut text = String::new();
    for id in program.kernels.ids() {
        text.push_str(&kernel(program, id));
    }
    text.push_str(&entry(program));
    debug_assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "printed text is ASCII");
    text
}

fn kernel(program: &Program, id: KernelId) -> String {
    let mut text = String::new();
    let memory = shared_memory(program.entry.shared_bytes());
    function(&program.kernels[id], &signature(id), &memory, program.kept_bytes(), &mut text);
    text.push('\n');
    text
}

fn signature(id: KernelId) -> String {
    format!("WW_KERNEL void {id}(ww_buffers buffers, int const* operands, unsigned tile)")
}

fn entry(program: &Program) -> String {
    let mut text = String::new();
    let signature = format!(
        "extern \"C\" __global__ void __launch_bounds__({}, 1) {ENTRY_NAME}(ww_arguments arguments)",
        program.threads
    );
    let prologue = shared_memory(0) + "  ww_buffers const buffers = arguments.buffers;\n";
    function(&program.entry, &signature, &prologue, 0, &mut text);
    text
}

/// The shared memory of a body from `start` on, in bytes: the entry's own comes first.
fn shared_memory(start: u32) -> String {
    let start = if start == 0 { String::new() } else { format!(" + {start}") };
    format!("  unsigned char* const shared = ww_shared_memory(){start};\n")
}

/// Prints a body; what kernels keep takes the first `kept_bytes` of its shared memory.
fn function(kernel: &Kernel, signature: &str, prologue: &str, kept_bytes: u32, text: &mut String) {
    let declarations = Declarations::of(kernel);
    write!(text, "{signature} {{\n{prologue}{}", declare(kernel, &declarations, kept_bytes)).expect(INFALLIBLE);
    statement::body(kernel, &|local| declarations.locals.contains(&local), text);
    text.push_str("}\n");
}

/// Scalars by type, then register arrays, then shared arrays at their offsets.
fn declare(kernel: &Kernel, declarations: &Declarations, kept_bytes: u32) -> String {
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
        let offset = shared_offset(kernel, id, kept_bytes);
        writeln!(text, "  {element}* const {id} = ({element}*)(shared + {offset});").expect(INFALLIBLE);
    }
    text
}

/// The byte at which a shared array starts in the body's part of shared memory; a multiple of 16. What kernels keep takes the
/// first `kept_bytes`.
fn shared_offset(kernel: &Kernel, id: SharedId, kept_bytes: u32) -> u32 {
    if kernel.kept == Some(id) {
        return 0;
    }
    let before = kernel.shared.iter().take(id.index()).filter(|(other, _)| kernel.kept != Some(*other));
    kept_bytes + before.map(|(_, array)| array.bytes()).sum::<u32>()
}

const INFALLIBLE: &str = "writing to a string cannot fail";
