//! Instructions that are not executed, told without a launch.

use std::collections::BTreeSet;
use std::fmt;

use super::super::operation::Operation;
use super::super::program::MachineCode;
use super::fault::Site;
use super::image::{PreparedKind, prepare, site};

/// An instruction that a lane could only fault at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unexecuted {
    /// Where it stands.
    pub site: Site,
    /// The operation, operand or modifier that is not executed.
    pub reason: String,
}

impl fmt::Display for Unexecuted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.site, self.reason)
    }
}

/// All instructions of machine code, reached or not.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Scan {
    /// How many there are.
    pub instructions: usize,
    /// Operations of those that are executed.
    pub operations: BTreeSet<Operation>,
    /// Those that are not executed.
    pub unexecuted: Vec<Unexecuted>,
}

impl Scan {
    /// Decodes every instruction as a launch would.
    pub fn of(machine: &MachineCode) -> Self {
        let mut scan = Self { instructions: machine.code.len(), ..Self::default() };
        for (place, code) in machine.code.iter().enumerate() {
            match prepare(machine, place).kind {
                PreparedKind::Action(_) | PreparedKind::Control(_) => {
                    scan.operations.insert(code.operation);
                }
                PreparedKind::Unknown(reason) => {
                    scan.unexecuted.push(Unexecuted { site: site(machine, place), reason });
                }
            }
        }
        scan
    }
}
