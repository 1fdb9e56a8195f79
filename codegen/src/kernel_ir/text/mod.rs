//! Programs as text that parses back to an equal program.
//!
//! ```text
//! threads 64
//!
//! kernel k0 {
//!   locals v0: i32, v1: f32
//!   arrays r0: f32[4]
//!   shared s0: f32[64]
//!   v0 = add(mul(tile, 64), thread)
//!   r0[0] = load x4 arena f32[v0]
//!   store s0[thread] = [fma(r0[0], r0[1], 1.0)]
//!   barrier
//! }
//!
//! entry {
//!   call k0(0, block)
//! }
//! ```
//! The nodes of a graph stand in the place of the entry: `nodes`, then `node k0 { … }` a kernel. In a program of both they
//! stand after it, and only those of the kernels that are nodes.
//! `keeps s0` after the declarations names the array that lasts from call to call. `p3` is operand 3 of the running
//! rTask. Integer literals are `i32` unless they end in `_i64`. Operators, functions,
//! tables and words have the names of [`words`]. What is parsed names only what is declared; the rules of the IR are those
//! of [`verify`](crate::verify).

mod expression;
mod print;
mod scope;
mod statement;
mod words;

use std::collections::BTreeMap;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::text::reader::{Parsed, Reader, TextError};

use super::{Entry, Function, KernelId, MemoryType, MixedEntries, Program, RegisterArray, ScalarType, SharedArray};
use scope::Scope;

/// The program that a text describes. It is not verified.
pub fn parse(text: &str) -> Result<Program, TextError> {
    let mut reader = Reader::new(text);
    reader.keyword("threads")?;
    let threads = reader.integer("threads of a block")?;
    let mut kernels: Arena<KernelId, Function> = Arena::new();
    while reader.eat_word("kernel") {
        reader.declared::<KernelId>(kernels.len())?;
        let kernel = kernel(&mut reader, kernels.len())?;
        kernels.push(kernel);
    }
    let entry = if reader.eat_word("nodes") {
        let mut nodes = Arena::new();
        while reader.eat_word("node") {
            reader.declared::<KernelId>(nodes.len())?;
            let node = kernel(&mut reader, kernels.len())?;
            nodes.push(node);
        }
        Entry::Nodes(nodes)
    } else {
        reader.keyword("entry")?;
        let persistent = kernel(&mut reader, kernels.len())?;
        match reader.eat_word("nodes") {
            true => Entry::Mixed(MixedEntries { persistent, nodes: some_nodes(&mut reader, kernels.len())? }),
            false => Entry::Persistent(persistent),
        }
    };
    reader.end()?;
    Ok(Program { threads, kernels, entry })
}

/// The entries of some kernels, in the order of these.
fn some_nodes(reader: &mut Reader<'_>, kernels: usize) -> Parsed<BTreeMap<KernelId, Function>> {
    let mut nodes = BTreeMap::new();
    while reader.eat_word("node") {
        let before = reader.clone();
        let id = reader.id::<KernelId>("a declared kernel", kernels)?;
        if nodes.last_key_value().is_some_and(|(last, _)| *last >= id) {
            return Err(before.expected("a later kernel"));
        }
        nodes.insert(id, kernel(reader, kernels)?);
    }
    Ok(nodes)
}

fn kernel(reader: &mut Reader<'_>, kernels: usize) -> Parsed<Function> {
    let mut kernel = Function::default();
    reader.mark("{")?;
    kernel.locals = declarations(reader, "locals", |reader| reader.named::<ScalarType>("a type"))?;
    kernel.arrays = declarations(reader, "arrays", |reader| {
        let scalar = reader.named("a type")?;
        Ok(RegisterArray { scalar, length: length(reader)? })
    })?;
    kernel.shared = declarations(reader, "shared", |reader| {
        let memory = reader.named::<MemoryType>("a type in memory")?;
        Ok(SharedArray { memory, length: length(reader)? })
    })?;
    if reader.eat_word("keeps") {
        kernel.kept = Some(Scope { kernel: &kernel, kernels }.shared(reader)?);
    }
    let body = statement::statements(reader, &Scope { kernel: &kernel, kernels })?;
    Ok(Function { body, ..kernel })
}

/// Declarations after their keyword; none without it.
fn declarations<I: Id, T>(
    reader: &mut Reader<'_>,
    keyword: &str,
    mut declared: impl FnMut(&mut Reader<'_>) -> Parsed<T>,
) -> Parsed<Arena<I, T>> {
    let mut arena = Arena::new();
    if reader.eat_word(keyword) {
        while arena.is_empty() || reader.eat(",") {
            reader.declared::<I>(arena.len())?;
            reader.mark(":")?;
            arena.push(declared(reader)?);
        }
    }
    Ok(arena)
}

fn length(reader: &mut Reader<'_>) -> Parsed<u32> {
    reader.mark("[")?;
    let length = reader.integer("a number of elements")?;
    reader.mark("]")?;
    Ok(length)
}
