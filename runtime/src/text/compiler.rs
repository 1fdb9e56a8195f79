//! The host's C++ compiler.

use std::path::Path;
use std::process::Command;

use warpweave_codegen::prelude::HOST_OPTIONS;

use super::{COMPILE_LIMIT, LOG_LINES, TextError};
use crate::tools::{self, Ending};
use crate::unfinished::TemporaryDirectory;

pub(super) struct Compiler {
    program: String,
    identity: String,
}

impl Compiler {
    /// The compiler that `CXX` names, else the first of the usual names that answers.
    pub fn find() -> Result<Self, TextError> {
        let named = std::env::var("CXX").ok().filter(|name| !name.trim().is_empty());
        let names = named.map_or_else(|| vec!["c++".into(), "g++".into(), "clang++".into()], |name| vec![name]);
        for program in &names {
            if let Ok(output) = Command::new(program).arg("--version").output()
                && output.status.success()
            {
                let version = String::from_utf8_lossy(&output.stdout);
                let identity = format!("{program} {}", tools::first_lines(&version, 1));
                return Ok(Self { program: program.clone(), identity });
            }
        }
        Err(TextError::NoCompiler { tried: names.join(", ") })
    }

    /// Name and version.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Compiles `source` to `executable`.
    pub fn compile(&self, source: &str, executable: &Path) -> Result<(), TextError> {
        let directory = TemporaryDirectory::new()?;
        let file = directory.join("program.cpp");
        std::fs::write(&file, source)?;
        let mut command = Command::new(&self.program);
        command.args(HOST_OPTIONS).arg("-o").arg(executable).arg(&file);
        match tools::run(&mut command, directory.path(), COMPILE_LIMIT)? {
            Ending::Exited(status, _) if status.success() => Ok(()),
            Ending::Exited(_, log) => {
                Err(TextError::Compile { compiler: self.identity.clone(), log: tools::first_lines(&log, LOG_LINES) })
            }
            Ending::TimedOut => Err(TextError::TimeLimit { what: "the C++ compiler", limit: COMPILE_LIMIT }),
        }
    }
}
