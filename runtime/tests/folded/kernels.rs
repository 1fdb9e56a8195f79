//! Two kernels an operation, one with its operands written in the text and one that loads them, executed.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use warpweave_runtime::nvrtc::Nvrtc;
use warpweave_runtime::sass::execute::grid::{ExecuteOptions, GridLaunch, LaunchError, Residency};
use warpweave_runtime::sass::execute::image::Image;
use warpweave_runtime::sass::execute::memory::global::{GlobalMemory, Permission};
use warpweave_runtime::target::Target;

use crate::operands;
use crate::operations::{Operation, Type};

/// Sets of operands of an operation.
const SETS: usize = 64;
/// Operations that are compiled together.
const UNIT: usize = 24;

/// What both kernels of an operation give.
pub struct Trial<'a> {
    pub operation: &'a Operation,
    pub sets: Vec<[u64; 3]>,
    /// Results of operands that are written in the text.
    pub folded: Vec<u64>,
    /// Results of operands that are loaded.
    pub executed: Vec<u64>,
    /// Whether the first are stored without an instruction that computes them.
    pub is_folded: bool,
    /// Whether the second are computed by an instruction.
    pub has_instruction: bool,
}

/// A result that is not the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    pub operands: [u64; 3],
    pub folded: u64,
    pub executed: u64,
}

impl<'a> Trial<'a> {
    /// Trials of all operations, compiled a unit after another on all processors.
    pub fn all(operations: &'a [Operation]) -> Vec<Self> {
        let units: Vec<&[Operation]> = operations.chunks(UNIT).collect();
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                let trials = Self::of_unit(unit);
                found.lock().unwrap_or_else(PoisonError::into_inner).extend(trials);
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_unit(unit: &'a [Operation]) -> Vec<Self> {
        let sets = |(number, operation): (u64, &Operation)| operands::sets(number, &operation.operands, SETS);
        let sets: Vec<Vec<[u64; 3]>> = (0..).zip(unit).map(sets).collect();
        let mut text = String::from(BITS);
        for (number, (operation, sets)) in unit.iter().zip(&sets).enumerate() {
            write(&mut text, number, operation, sets);
        }
        let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
        let cubin = nvrtc.compile(&text, Target::Sm90a).unwrap_or_else(|error| panic!("{error}"));
        let image = Image::load(&cubin.bytes).unwrap_or_else(|error| panic!("{error}"));
        let trial = |(number, (operation, sets)): (usize, (&'a Operation, Vec<[u64; 3]>))| {
            let [written, loaded] = ["written", "loaded"].map(|kind| format!("{kind}{number}"));
            let run = |name: &str, threads| {
                run(&image, name, threads, &sets).unwrap_or_else(|error| panic!("{}: {error}", operation.name))
            };
            Self {
                operation,
                folded: run(&written, 32),
                executed: run(&loaded, SETS as u32),
                is_folded: !computes(&image, &written, operation),
                has_instruction: computes(&image, &loaded, operation),
                sets,
            }
        };
        unit.iter().zip(sets).enumerate().map(trial).collect()
    }

    /// Where both kernels give different results.
    pub fn differences(&self) -> impl Iterator<Item = Difference> {
        let results = self.folded.iter().zip(&self.executed);
        let all = self.sets.iter().zip(results);
        all.filter(|(_, (folded, executed))| folded != executed).map(|(&operands, (&folded, &executed))| Difference {
            operands,
            folded,
            executed,
        })
    }
}

/// What a kernel leaves, a result a set of operands.
fn run(image: &Image, entry: &str, threads: u32, sets: &[[u64; 3]]) -> Result<Vec<u64>, LaunchError> {
    let mut memory = GlobalMemory::default();
    let operands: Vec<u8> = sets.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let operands = memory.add("the operands", Permission::ReadOnly, &operands);
    let results = memory.add("the results", Permission::ReadWrite, &vec![0; sets.len() * 8]);
    let addresses = [operands, results].map(|buffer| memory.address(buffer).to_le_bytes());
    let residency = Residency::AsRoomAllows;
    let launch =
        GridLaunch { entry, blocks: 1, threads, shared_bytes: 0, parameters: addresses.as_flattened(), residency };
    image.launch(&memory, &launch, &ExecuteOptions { workers: 1, ..ExecuteOptions::default() })?;
    let left = memory.read(results);
    Ok(left.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

/// Whether a kernel has an instruction that computes an operation. Moves, and products by 1 of addresses, are none.
fn computes(image: &Image, entry: &str, operation: &Operation) -> bool {
    let machine = image.machine_code();
    let function = machine.function(entry).expect("it has the function");
    let mut code = machine.code[function.start..function.end].iter();
    code.any(|code| {
        let is_move = code.text.starts_with("IMAD.MOV") || code.text.starts_with("HFMA2.MMA");
        let is_of_addresses = code.text.contains("c[0x0]");
        operation.opcodes.contains(&code.operation.name()) && !is_move && !is_of_addresses
    })
}

const BITS: &str = "
__device__ __forceinline__ unsigned long long bits(unsigned v) { return v; }
__device__ __forceinline__ unsigned long long bits(int v) { return (unsigned)v; }
__device__ __forceinline__ unsigned long long bits(unsigned short v) { return v; }
__device__ __forceinline__ unsigned long long bits(bool v) { return v; }
__device__ __forceinline__ unsigned long long bits(long long v) { return (unsigned long long)v; }
__device__ __forceinline__ unsigned long long bits(unsigned long long v) { return v; }
__device__ __forceinline__ unsigned long long bits(float v) { return __float_as_uint(v); }
__device__ __forceinline__ unsigned long long bits(double v) { return (unsigned long long)__double_as_longlong(v); }
";

/// An operand of a type whose bits are an expression.
fn of_bits(ty: Type, bits: &str) -> String {
    match ty {
        Type::Single => format!("__uint_as_float((unsigned){bits})"),
        Type::Double => format!("__longlong_as_double((long long){bits})"),
        ty => format!("({}){bits}", ty.name()),
    }
}

fn write(text: &mut String, number: usize, operation: &Operation, sets: &[[u64; 3]]) {
    let names = ["a", "b", "c"];
    let types = &operation.operands;
    let parameters: Vec<String> = names.iter().zip(types).map(|(name, ty)| format!("{} {name}", ty.name())).collect();
    let mut add = |line: &str| writeln!(text, "{line}").expect("a text grows");
    add(&format!(
        "__device__ __forceinline__ {} op{number}({}) {{ {} }}",
        operation.result.name(),
        parameters.join(", "),
        operation.body
    ));
    let signature = "(unsigned long long const* in, unsigned long long* out)";
    add(&format!("extern \"C\" __global__ void loaded{number}{signature} {{"));
    let loaded: Vec<String> =
        types.iter().enumerate().map(|(place, ty)| of_bits(*ty, &format!("in[threadIdx.x * 3 + {place}]"))).collect();
    add(&format!("out[threadIdx.x] = bits(op{number}({})); }}", loaded.join(", ")));
    add(&format!("extern \"C\" __global__ void written{number}{signature} {{"));
    for (place, set) in sets.iter().enumerate() {
        let written: Vec<String> =
            types.iter().zip(set).map(|(ty, bits)| of_bits(*ty, &format!("{bits:#x}ull"))).collect();
        add(&format!("out[{place}] = bits(op{number}({}));", written.join(", ")));
    }
    add("}");
}
