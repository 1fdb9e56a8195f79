//! Kernel IR to bytecode.
//!
//! Unrolled loops are unrolled here, so that the elements of register arrays become plain registers, and expressions
//! of constants are folded.

mod expression;
mod statement;
mod waits;

use std::collections::HashMap;

pub use expression::fast_divide_bits;

use warpweave_graph::arena::Id;

use crate::kernel_ir::{ArrayId, Body, Constant, Function, LocalId, Location, ScalarType, SharedArray, SharedId};

use crate::emulate::bytecode::scalar::truth;
use crate::emulate::bytecode::{CompiledBody, Instruction, Preset, SharedWords, Slot, WideSlot};

/// Instructions that a body may have after unrolling, and iterations that may be unrolled.
pub const MAXIMUM_CODE: usize = 8 << 20;

/// A value during compilation.
#[derive(Clone, Copy, Debug)]
enum Value {
    Constant(Constant),
    Narrow(Slot),
    Wide(WideSlot),
}

/// A register array's first slot, narrow or wide after its type.
#[derive(Clone, Copy)]
struct ArraySlots {
    scalar: ScalarType,
    first: u32,
    length: u32,
}

/// A shared array's place in the emulated words and in the device's bytes.
#[derive(Clone, Copy)]
struct SharedSlots {
    base: u32,
    base_bytes: u32,
}

struct Compiler<'a> {
    kernel: &'a Function,
    out: CompiledBody,
    locals: Vec<Value>,
    arrays: Vec<ArraySlots>,
    shared: Vec<SharedSlots>,
    presets: HashMap<Preset, Slot>,
    presets_wide: HashMap<i64, WideSlot>,
    unrolled: HashMap<LocalId, i32>,
    free: Vec<Slot>,
    free_wide: Vec<WideSlot>,
    temporaries: Vec<Slot>,
    temporaries_wide: Vec<WideSlot>,
    path: Vec<u32>,
    paths: HashMap<Vec<u32>, u32>,
    statement: u32,
    depth: u32,
    /// Iterations unrolled so far.
    iterations: usize,
    /// Per open loop, the number of saved masks at its entry and the breaks to patch.
    loops: Vec<(u32, Vec<usize>)>,
}

/// Where a body's shared arrays lie, in emulated words.
#[derive(Clone, Copy, Debug)]
pub struct SharedBases {
    pub kept: u32,
    /// The others, one after another.
    pub own: u32,
    /// Bytes on the device before the others.
    pub own_bytes: u32,
}

/// Compiles a verified body whose shared arrays lie like this; `None` if unrolling it gives more than [`MAXIMUM_CODE`]
/// instructions.
pub fn compile(body: Body, kernel: &Function, bases: SharedBases) -> Option<CompiledBody> {
    let out = CompiledBody {
        code: Vec::new(),
        locations: Vec::new(),
        statements: vec![Location { body, path: Vec::new() }],
        global: Vec::new(),
        tagged_values: Vec::new(),
        index_checks: Vec::new(),
        shared: Vec::new(),
        matrices: Vec::new(),
        products: Vec::new(),
        copies: Vec::new(),
        fetches: Vec::new(),
        calls: Vec::new(),
        waits: Vec::new(),
        switches: Vec::new(),
        presets: Vec::new(),
        presets_wide: Vec::new(),
        narrow: 0,
        wide: 0,
        declared: 0,
        declared_wide: 0,
        shared_words: 0,
    };
    let mut compiler = Compiler {
        kernel,
        out,
        locals: Vec::new(),
        arrays: Vec::new(),
        shared: Vec::new(),
        presets: HashMap::new(),
        presets_wide: HashMap::new(),
        unrolled: HashMap::new(),
        free: Vec::new(),
        free_wide: Vec::new(),
        temporaries: Vec::new(),
        temporaries_wide: Vec::new(),
        path: Vec::new(),
        paths: HashMap::new(),
        statement: 0,
        depth: 0,
        iterations: 0,
        loops: Vec::new(),
    };
    compiler.declare(bases);
    compiler.block(&kernel.body)?;
    compiler.statement = 0;
    compiler.emit(Instruction::Return);
    Some(compiler.out)
}

impl Compiler<'_> {
    fn declare(&mut self, bases: SharedBases) {
        for &scalar in self.kernel.locals.values() {
            let value = match scalar {
                ScalarType::I64 => Value::Wide(self.fresh_wide(1)),
                ScalarType::Bool | ScalarType::I32 | ScalarType::F32 => Value::Narrow(self.fresh(1)),
            };
            self.locals.push(value);
        }
        for array in self.kernel.arrays.values() {
            let first = match array.scalar {
                ScalarType::I64 => self.fresh_wide(array.length).0,
                ScalarType::Bool | ScalarType::I32 | ScalarType::F32 => self.fresh(array.length).0,
            };
            self.arrays.push(ArraySlots { scalar: array.scalar, first, length: array.length });
        }
        self.out.declared = self.out.narrow;
        self.out.declared_wide = self.out.wide;
        let (mut words, mut bytes) = (bases.own, bases.own_bytes);
        for (id, array) in self.kernel.shared.iter() {
            if self.kernel.kept == Some(id) {
                self.shared.push(SharedSlots { base: bases.kept, base_bytes: 0 });
                continue;
            }
            self.shared.push(SharedSlots { base: words, base_bytes: bytes });
            words += emulated_words(array);
            bytes += array.bytes();
        }
        self.out.shared_words = words - bases.own;
    }

    fn array(&self, id: ArrayId) -> ArraySlots {
        self.arrays[id.index()]
    }

    fn shared_array(&self, id: SharedId) -> SharedSlots {
        self.shared[id.index()]
    }

    fn shared_words(&self, id: SharedId) -> SharedWords {
        SharedWords { base: self.shared_array(id).base, length: self.kernel.shared[id].length }
    }

    fn emit(&mut self, instruction: Instruction) -> usize {
        self.out.code.push(instruction);
        self.out.locations.push(self.statement);
        self.out.code.len() - 1
    }

    fn here(&self) -> u32 {
        self.out.code.len() as u32
    }

    fn fresh(&mut self, count: u32) -> Slot {
        let slot = Slot(self.out.narrow);
        self.out.narrow += count;
        slot
    }

    fn fresh_wide(&mut self, count: u32) -> WideSlot {
        let slot = WideSlot(self.out.wide);
        self.out.wide += count;
        slot
    }

    /// A register that is free again when the statement ends.
    fn temporary(&mut self) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| self.fresh(1));
        self.temporaries.push(slot);
        slot
    }

    fn temporary_wide(&mut self) -> WideSlot {
        let slot = self.free_wide.pop().unwrap_or_else(|| self.fresh_wide(1));
        self.temporaries_wide.push(slot);
        slot
    }

    fn release_temporaries(&mut self) {
        self.free.append(&mut self.temporaries);
        self.free_wide.append(&mut self.temporaries_wide);
    }

    fn preset(&mut self, preset: Preset) -> Slot {
        if let Some(&slot) = self.presets.get(&preset) {
            return slot;
        }
        let slot = self.fresh(1);
        self.presets.insert(preset, slot);
        self.out.presets.push((slot, preset));
        slot
    }

    fn narrow(&mut self, value: Value) -> Slot {
        match value {
            Value::Constant(constant) => self.preset(Preset::Bits(constant_bits(constant))),
            Value::Narrow(slot) => slot,
            Value::Wide(_) => unreachable!("a verified program gives no I64 here"),
        }
    }

    fn wide(&mut self, value: Value) -> WideSlot {
        match value {
            Value::Constant(Constant::I64(bits)) => {
                if let Some(&slot) = self.presets_wide.get(&bits) {
                    return slot;
                }
                let slot = self.fresh_wide(1);
                self.presets_wide.insert(bits, slot);
                self.out.presets_wide.push((slot, bits));
                slot
            }
            Value::Wide(slot) => slot,
            Value::Constant(Constant::Bool(_) | Constant::I32(_) | Constant::F32(_)) | Value::Narrow(_) => {
                unreachable!("a verified program gives an I64 here")
            }
        }
    }
}

/// Words that an array takes here: an element a word, two for `I64`.
pub fn emulated_words(array: &SharedArray) -> u32 {
    array.length * array.memory.bytes().div_ceil(4)
}

/// A narrow literal's bits.
fn constant_bits(constant: Constant) -> u32 {
    match constant {
        Constant::Bool(holds) => truth(holds),
        Constant::I32(value) => value as u32,
        Constant::F32(bits) => bits,
        Constant::I64(_) => unreachable!("a verified program gives no I64 here"),
    }
}
