//! A scheduler: its pipes and the ports of its register file.

use super::super::machine::MachineModel;
use super::super::operation::{PIPES, Pipe};
use super::issue::Issue;

const BANKS: usize = 2;
const PLACES: usize = 4;

/// The state of a scheduler.
pub struct Scheduler {
    /// The warp that was issued last, if it is to go on.
    pub last: Option<usize>,
    /// The cycle behind the last issue.
    pub behind: u64,
    pipes: [u64; PIPES],
    halves: [u64; 2],
    ports: [u64; BANKS],
    cache: [[Option<(usize, u8)>; BANKS]; PLACES],
}

impl Default for Scheduler {
    fn default() -> Self {
        let (cache, ports, halves) = ([[None; BANKS]; PLACES], [0; BANKS], [0; 2]);
        Self { last: None, behind: 0, pipes: [0; PIPES], halves, ports, cache }
    }
}

impl Scheduler {
    /// The first cycle from `cycle` on in which pipe and ports take an instruction of a warp.
    pub fn accepts(&self, warp: usize, issue: &Issue, cycle: u64, machine: &MachineModel) -> u64 {
        let pipe = match issue.pipe {
            Pipe::Fma => self.halves[0].min(self.halves[1]),
            Pipe::FmaHeavy => self.halves[0],
            other => self.pipes[other as usize],
        };
        let ports = self.ports_after(warp, issue, cycle);
        let late = ports.into_iter().max().unwrap_or(0).saturating_sub(machine.port_window.value);
        cycle.max(pipe).max(if issue.sources.is_empty() { 0 } else { late })
    }

    /// Takes an instruction.
    pub fn issue(&mut self, warp: usize, issue: &Issue, cycle: u64, machine: &MachineModel) {
        let end = cycle + issue.cycles(machine);
        match issue.pipe {
            Pipe::FmaHeavy => self.halves[0] = end,
            Pipe::Fma => {
                // The half that multiplies integers stays free where the other one is.
                let half = usize::from(self.halves[1] <= cycle);
                self.halves[half] = end;
            }
            pipe => {
                self.pipes[pipe as usize] = end;
            }
        }
        self.ports = self.ports_after(warp, issue, cycle);
        for (place, register, reuse) in &issue.sources {
            if let Some(entry) = self.cache.get_mut(*place) {
                entry[bank(*register)] = reuse.then_some((warp, *register));
            }
        }
        self.last = (!issue.yields || issue.stall > 1).then_some(warp);
        self.behind = cycle + 1;
    }

    /// Until when each bank's port is busy if an instruction is issued in a cycle.
    fn ports_after(&self, warp: usize, issue: &Issue, cycle: u64) -> [u64; BANKS] {
        let mut ports = self.ports;
        for (place, register, _) in &issue.sources {
            let bank = bank(*register);
            let cached = self.cache.get(*place).is_some_and(|entry| entry[bank] == Some((warp, *register)));
            if !cached {
                ports[bank] = ports[bank].max(cycle) + 1;
            }
        }
        ports
    }
}

fn bank(register: u8) -> usize {
    usize::from(register) % BANKS
}
