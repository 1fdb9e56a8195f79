//! Code as a driver loads it: decoded instructions, constant banks and the addresses that relocations put there.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use warpweave_plan::tensor_core::sum::TensorCore;

use super::super::error::CodeError;
use super::super::program::{CODE_BASE, INSTRUCTION_BYTES, MachineCode};
use super::super::{Sass, SassError};
use super::constants::Constants;
use super::control::{self, Control};
use super::fault::{FaultKind, Site};
use super::instructions::action::Action;
use super::instructions::{self, check_modifiers};
use super::memory::shared::RESERVED_BYTES;
use super::operands::Condition;
use super::warp::Warp;
use warpweave_graph::legible::legible;

use crate::cubin::{
    CubinError, CubinInfo, ParameterLayout, check_code, function_tables, jump_tables, parameter_layout,
    shared_constants,
};
use crate::target::Target;

/// Code that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The disassembler does not read it.
    #[error(transparent)]
    Sass(#[from] SassError),
    /// An instruction or a label contradicts the others.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// It is for an architecture whose instructions are not executed.
    #[error("the code is for compute capability {}.{}; what is executed is code for 8.0 to 9.0", .0 / 10, .0 % 10)]
    Architecture(u32),
    /// It is for another architecture than its bundle says.
    #[error("the code is for compute capability {}.{}, and its bundle says {stated}", .found / 10, .found % 10)]
    Target {
        /// What the bundle says.
        stated: Target,
        /// The architecture's number.
        found: u32,
    },
    /// A launch is of an entry that is not there.
    #[error("the code has no entry `{entry}`; it has {found}")]
    NoEntry {
        /// The entry's symbol.
        entry: String,
        /// The entries of the code.
        found: String,
    },
    /// A table names a function that is not there.
    #[error("the cubin's table of functions names `{0}`, which it does not have")]
    Function(String),
    /// The parameters of a launch are not those that the code takes.
    #[error("{entry} takes {takes} bytes of parameters, and the launch has {given}")]
    Parameters {
        /// The entry's symbol.
        entry: String,
        /// Bytes that it takes.
        takes: usize,
        /// Bytes that the launch has.
        given: usize,
    },
}

/// An instruction, ready to be executed.
pub(super) struct Prepared {
    /// The predicate under which lanes execute it.
    pub guard: Condition,
    /// What it does.
    pub kind: PreparedKind,
    /// Whether some lane has executed it.
    pub is_executed: AtomicBool,
}

/// What an instruction does.
pub(super) enum PreparedKind {
    /// Lanes execute it where they are.
    Action(Action),
    /// It decides where lanes go on.
    Control(Control),
    /// What of it is not known.
    Unknown(String),
}

/// A loaded cubin.
pub struct Image {
    pub(super) machine: MachineCode,
    pub(super) prepared: Vec<Prepared>,
    entries: HashMap<String, Entry>,
    shared_constants: Vec<u8>,
    pub(super) tensor_core: TensorCore,
    architecture: u32,
    pub(super) watched: Watched,
}

/// An instruction behind which the state of each warp that executes it is noted.
#[derive(Default)]
pub(super) struct Watched {
    place: Option<usize>,
    digest: AtomicU64,
}

impl Watched {
    /// Notes the state of a warp if it has executed the instruction.
    #[inline]
    pub fn note(&self, place: usize, warp: &Warp) {
        if self.place == Some(place) {
            let before = self.digest.load(Ordering::Relaxed);
            self.digest.store(warp.digest(before), Ordering::Relaxed);
        }
    }
}

/// What a launch of an entry needs.
struct Entry {
    start: usize,
    parameters: ParameterLayout,
    jump_tables: Vec<u8>,
}

/// What a cubin says beside its instructions.
struct Tables {
    architecture: u32,
    /// Per entry its symbol, where its parameters go, and its tables of jumps.
    entries: Vec<(String, ParameterLayout, Vec<u8>)>,
    shared_constants: Vec<u8>,
    /// The bytes of those constants that hold the addresses of functions.
    functions: Vec<(u32, String)>,
}

impl Tables {
    fn read(cubin: &[u8]) -> Result<Self, CubinError> {
        let info = CubinInfo::read(cubin)?;
        let mut entries = Vec::new();
        for entry in info.entries {
            check_code(cubin, &entry.name)?;
            let parameters = parameter_layout(cubin, &entry.name)?;
            let jump_tables = jump_tables(cubin, &entry.name)?.to_vec();
            entries.push((entry.name, parameters, jump_tables));
        }
        let (shared_constants, functions) = (shared_constants(cubin)?.to_vec(), function_tables(cubin)?);
        Ok(Self { architecture: info.architecture, entries, shared_constants, functions })
    }
}

/// The architectures whose instructions are executed.
pub const EXECUTED: RangeInclusive<u32> = 80..=90;
/// From this architecture on the first bytes of shared memory are the system's, and tensor cores sum as Hopper's do.
const FIRST_HOPPER: u32 = 90;
const GRID_DIMENSIONS: usize = 0xc;
const STACK: usize = 0x28;
const PARAMETER_BANK: u8 = 0;
const JUMP_TABLE_BANK: u8 = 2;
const SHARED_BANK: u8 = 3;

impl Image {
    /// Loads a cubin.
    pub fn load(cubin: &[u8]) -> Result<Self, LoadError> {
        let tables = Tables::read(cubin)?;
        if !EXECUTED.contains(&tables.architecture) {
            return Err(LoadError::Architecture(tables.architecture));
        }
        Self::of(tables, MachineCode::parse(Sass::of(cubin)?.listing())?)
    }

    /// Loads a cubin as if its instructions were others: those that `change` makes of them.
    pub fn load_changed(
        cubin: &[u8],
        machine: &MachineCode,
        change: impl FnOnce(&mut MachineCode),
    ) -> Result<Self, LoadError> {
        let mut machine = machine.clone();
        change(&mut machine);
        Self::of(Tables::read(cubin)?, machine)
    }

    /// The instructions.
    pub fn machine_code(&self) -> &MachineCode {
        &self.machine
    }

    /// Notes from now on the state of every warp that executes the instruction at a place.
    pub fn watch(&mut self, place: usize) {
        self.watched = Watched { place: Some(place), digest: AtomicU64::new(0) };
    }

    /// What was noted at the watched instruction, in the order of its executions: equal notes are of equal states.
    pub fn noted(&self) -> u64 {
        self.watched.digest.load(Ordering::Relaxed)
    }

    /// The places of instructions that some lane has executed in launches so far.
    pub fn executed(&self) -> Vec<usize> {
        let executed = |place: &usize| self.prepared[*place].is_executed.load(Ordering::Relaxed);
        (0..self.prepared.len()).filter(executed).collect()
    }

    /// The image of a cubin with these tables whose instructions are `machine`.
    fn of(tables: Tables, machine: MachineCode) -> Result<Self, LoadError> {
        let Tables { architecture, entries: described, mut shared_constants, functions } = tables;
        let prepared = (0..machine.code.len()).map(|place| prepare(&machine, place)).collect();
        for (offset, name) in functions {
            let function = machine.function(&name).map_err(|_| LoadError::Function(legible(&name).into_owned()))?;
            let address = CODE_BASE + function.start as u64 * INSTRUCTION_BYTES;
            let offset = offset as usize;
            if let Some(place) = shared_constants.get_mut(offset..offset + size_of::<u64>()) {
                place.copy_from_slice(&address.to_le_bytes());
            }
        }
        let mut entries = HashMap::new();
        for (name, parameters, jump_tables) in described {
            let start = machine.function(&name)?.start;
            entries.insert(name, Entry { start, parameters, jump_tables });
        }
        Ok(Self { entries, shared_constants, ..Self::without_entries(machine, prepared, architecture) })
    }

    /// Code without a file around it, such as a listing that was written by hand, whose functions are entries that take these
    /// parameters.
    pub fn of_code(machine: MachineCode, parameters: ParameterLayout, architecture: u32) -> Self {
        let prepared = (0..machine.code.len()).map(|place| prepare(&machine, place)).collect();
        let entry = |start| Entry { start, parameters, jump_tables: Vec::new() };
        let entries = machine.functions.iter().map(|own| (own.name.clone(), entry(own.start))).collect();
        Self { entries, ..Self::without_entries(machine, prepared, architecture) }
    }

    fn without_entries(machine: MachineCode, prepared: Vec<Prepared>, architecture: u32) -> Self {
        Self {
            machine,
            prepared,
            entries: HashMap::new(),
            shared_constants: Vec::new(),
            tensor_core: if architecture >= FIRST_HOPPER { TensorCore::Hopper } else { TensorCore::Ampere },
            architecture,
            watched: Watched::default(),
        }
    }

    /// Bytes of a block's shared memory that are the system's.
    pub(super) fn reserved_shared(&self) -> u32 {
        if self.architecture >= FIRST_HOPPER { RESERVED_BYTES } else { 0 }
    }

    /// Fails unless the code is for this target.
    pub fn check_target(&self, stated: Target) -> Result<(), LoadError> {
        let (major, minor) = stated.compute_capability();
        let found = self.architecture;
        if found == 10 * major + minor { Ok(()) } else { Err(LoadError::Target { stated, found }) }
    }

    /// Fails unless a launch of `entry` with so many bytes of parameters fits the code.
    pub fn check_launch(&self, entry: &str, given: usize) -> Result<(), LoadError> {
        let takes = self.entry(entry)?.parameters.bytes;
        if takes == given { Ok(()) } else { Err(LoadError::Parameters { entry: entry.to_owned(), takes, given }) }
    }

    fn entry(&self, name: &str) -> Result<&Entry, LoadError> {
        self.entries.get(name).ok_or_else(|| {
            let mut found: Vec<String> = self.entries.keys().map(|entry| format!("`{}`", legible(entry))).collect();
            found.sort();
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            LoadError::NoEntry { entry: name.to_owned(), found }
        })
    }

    /// The place of an entry's first instruction.
    pub(super) fn start(&self, entry: &str) -> Result<usize, LoadError> {
        Ok(self.entry(entry)?.start)
    }

    /// The constant banks of a launch of `entry` with these parameters.
    pub(super) fn constants(
        &self,
        entry: &str,
        threads: u32,
        blocks: u32,
        parameters: &[u8],
    ) -> Result<Constants, LoadError> {
        self.check_launch(entry, parameters.len())?;
        let own = self.entry(entry)?;
        let mut constants = Constants::default();
        constants.set_bank(PARAMETER_BANK, vec![0; own.parameters.bank_bytes]);
        for (axis, extents) in [[threads, blocks], [1, 1], [1, 1]].into_iter().enumerate() {
            for (extent, first) in extents.into_iter().zip([0, GRID_DIMENSIONS]) {
                constants.write(PARAMETER_BANK, first + 4 * axis, &extent.to_le_bytes());
            }
        }
        constants.write(PARAMETER_BANK, STACK, &(super::warp::LOCAL_BYTES as u32).to_le_bytes());
        constants.write(PARAMETER_BANK, own.parameters.offset, parameters);
        constants.set_bank(JUMP_TABLE_BANK, own.jump_tables.clone());
        constants.set_bank(SHARED_BANK, self.shared_constants.clone());
        Ok(constants)
    }

    /// Where an instruction stands.
    pub(super) fn site(&self, place: usize) -> Site {
        site(&self.machine, place)
    }

    /// The instruction at a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Result<&Prepared, FaultKind> {
        let outside = || FaultKind::Jump(CODE_BASE + place as u64 * INSTRUCTION_BYTES);
        self.prepared.get(place).ok_or_else(outside)
    }
}

/// Where an instruction of some code stands.
pub(super) fn site(machine: &MachineCode, place: usize) -> Site {
    let function = machine.function_at(place);
    let text = machine.code.get(place).map_or_else(String::new, |code| code.text.clone());
    let start = function.map_or(0, |function| function.start);
    let offset = (place - start.min(place)) as u64 * INSTRUCTION_BYTES;
    Site { function: function.map_or_else(|| "the code".to_owned(), |function| function.name.clone()), offset, text }
}

/// Decodes the instruction at a place.
pub(super) fn prepare(machine: &MachineCode, place: usize) -> Prepared {
    let code = &machine.code[place];
    let decode = || {
        machine.at(place)?;
        check_modifiers(code)?;
        match control::decode(machine, place, code)? {
            Some(control) => Ok(PreparedKind::Control(control)),
            None => instructions::decode(code).map(PreparedKind::Action),
        }
    };
    let kind = decode().unwrap_or_else(|error: CodeError| PreparedKind::Unknown(error.to_string()));
    Prepared {
        guard: Condition::new(code.guard.predicate, code.guard.negated),
        kind,
        is_executed: AtomicBool::new(false),
    }
}
