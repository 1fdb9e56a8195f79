//! Disassembly of cubins, and the gates on it.

pub mod control;
pub mod error;
pub mod evaluate;
pub mod execute;
pub mod instruction;
pub mod machine;
pub mod operand;
pub mod operation;
pub mod parts;
pub mod price;
pub mod program;
pub mod simulate;
pub mod trace;
pub mod words;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::toolkit::{NoProgram, Surroundings, find_program};
use crate::tools::{self, Ending, OUTPUT_FILE};
use crate::unfinished::TemporaryDirectory;

/// A failure to disassemble.
#[derive(Debug, thiserror::Error)]
pub enum SassError {
    /// The disassembler is not there.
    #[error(transparent)]
    NotFound(#[from] NoProgram),
    /// The disassembler rejects the code.
    #[error("nvdisasm rejects the code: {log}")]
    Rejected {
        /// What it said.
        log: String,
    },
    /// The disassembler does not end.
    #[error("nvdisasm did not end within {LIMIT:?}")]
    TimeLimit,
    /// The code cannot be handed over.
    #[error("cannot hand the code to nvdisasm: {0}")]
    Files(#[from] std::io::Error),
}

const LIMIT: Duration = Duration::from_secs(300);

/// The disassembler of this process; looked for once.
pub fn disassembler() -> Result<&'static Path, NoProgram> {
    static FOUND: OnceLock<Result<PathBuf, NoProgram>> = OnceLock::new();
    let found = FOUND.get_or_init(|| find_program("nvdisasm", Surroundings::of_process().roots()));
    found.as_deref().map_err(Clone::clone)
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// The opcode with its modifiers: `LDG.E.CONSTANT`.
    pub opcode: String,
    /// The instruction as printed, with its predicate and operands.
    pub line: String,
}

impl Instruction {
    /// Whether the opcode without modifiers is `name`.
    pub fn is(&self, name: &str) -> bool {
        self.opcode.split('.').next() == Some(name)
    }

    /// Whether the opcode carries `modifier`.
    pub fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|part| part == modifier)
    }
}

/// A disassembled cubin: the listing, and its instructions in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sass {
    listing: String,
    instructions: Vec<Instruction>,
}

impl Sass {
    /// Disassembles `cubin`.
    pub fn of(cubin: &[u8]) -> Result<Self, SassError> {
        let program = disassembler()?;
        let directory = TemporaryDirectory::new()?;
        let file = directory.join("program.cubin");
        std::fs::write(&file, cubin)?;
        let mut command = Command::new(program);
        command.args(["--print-code", "--print-instruction-encoding", "--separate-functions"]).arg(&file);
        match tools::run(&mut command, directory.path(), LIMIT)? {
            Ending::Exited(status, _) if status.success() => {}
            Ending::Exited(_, log) => return Err(SassError::Rejected { log: log.trim().to_owned() }),
            Ending::TimedOut => return Err(SassError::TimeLimit),
        }
        let listing = std::fs::read(directory.join(OUTPUT_FILE))?;
        Ok(Self::parse(String::from_utf8_lossy(&listing).into_owned()))
    }

    /// Reads nvdisasm's listing: `/*0010*/ @!P0 LDG.E R2, desc[UR4][R2.64] ; /* 0x00000004ff027981 */`.
    fn parse(listing: String) -> Self {
        let instruction = |line: &str| {
            let code = line.trim().strip_prefix("/*")?.split_once("*/")?.1;
            let code = code.split_once("/*").map_or(code, |(code, _)| code).trim();
            let code = code.strip_prefix('{').map_or(code, str::trim);
            let mut words = code.split_whitespace();
            let first = words.next()?;
            let opcode = if first.starts_with('@') { words.next()? } else { first };
            let opcode = opcode.trim_end_matches(';').to_owned();
            Some(Instruction { opcode, line: code.to_owned() })
        };
        Self { instructions: listing.lines().filter_map(instruction).collect(), listing }
    }

    /// The listing: functions, labels, addresses, instructions and their encodings.
    pub fn listing(&self) -> &str {
        &self.listing
    }

    /// All instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Whether any instruction has this opcode, modifiers apart.
    pub fn contains(&self, opcode: &str) -> bool {
        self.instructions.iter().any(|instruction| instruction.is(opcode))
    }

    /// Accesses to local memory: registers that were spilled, or arrays that did not become registers.
    pub fn local_accesses(&self) -> Vec<&Instruction> {
        self.all(|instruction| instruction.is("LDL") || instruction.is("STL"))
    }

    /// Accesses whose state space the compiler did not know.
    pub fn generic_accesses(&self) -> Vec<&Instruction> {
        self.all(|instruction| ["LD", "ST", "ATOM"].iter().any(|name| instruction.is(name)))
    }

    /// Non-coherent loads. A whole program has some, for its weights and tables; one compiled with
    /// [`COHERENT_CONSTANTS`] has none, unless a load of the arena became non-coherent.
    pub fn non_coherent_loads(&self) -> Vec<&Instruction> {
        self.all(|instruction| instruction.is("LDG") && instruction.has("CONSTANT"))
    }

    fn all(&self, holds: impl Fn(&Instruction) -> bool) -> Vec<&Instruction> {
        self.instructions.iter().filter(|instruction| holds(instruction)).collect()
    }
}

/// The definition that makes the prelude load weights and tables coherently.
pub const COHERENT_CONSTANTS: &str = "--define-macro=WW_COHERENT_CONSTANTS";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read() {
        let listing = "\
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;                     /* 0x00000a00ff017b82 */
                                                                              /* 0x000e220000000800 */
        /*0010*/              @!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64] ;   /* 0x0000000402028981 */
        /*0020*/                   { HFMA2.MMA R5, -RZ, RZ, 0, 0 ;
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0);                             /* 0xfffffffc00fc7947 */
";
        let sass = Sass::parse(listing.to_owned());
        assert_eq!(
            (sass.listing(), sass.instructions()[1].line.as_str()),
            (listing, "@!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64] ;")
        );
        let opcodes: Vec<&str> = sass.instructions().iter().map(|instruction| instruction.opcode.as_str()).collect();
        assert_eq!(opcodes, ["LDC", "LDG.E.64.CONSTANT", "HFMA2.MMA", "EXIT", "BRA"]);
        assert_eq!(sass.non_coherent_loads().len(), 1);
        assert!(sass.local_accesses().is_empty() && sass.generic_accesses().is_empty());
    }
}
