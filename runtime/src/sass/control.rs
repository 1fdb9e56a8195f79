//! The control word of an instruction: what the compiler tells the scheduler.
//!
//! From Volta on an instruction has 128 bits. Bits 105 to 125 are its control word, which has:
//! - a stall count and a yield flag;
//! - the scoreboard that the result releases, and the one that the operands release;
//! - the scoreboards to wait for;
//! - which operands stay in the operand cache.
//!
//! The layout is that of CuAssembler and of "Analyzing Modern NVIDIA GPU Cores" (Huerta et al., 2025).

/// Scoreboards of a warp.
pub const SCOREBOARDS: usize = 6;

const FIRST_BIT: u32 = 105 - 64;
const NO_SCOREBOARD: u8 = 7;

/// One of a warp's scoreboards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scoreboard(u8);

impl Scoreboard {
    /// Its number.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The scoreboard of this number, if there is one.
    pub fn new(number: u8) -> Option<Self> {
        (usize::from(number) < SCOREBOARDS).then_some(Self(number))
    }
}

/// What the compiler tells the scheduler of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Cycles until the warp may issue its next instruction.
    pub stall: u8,
    /// Whether another warp should go first.
    pub yields: bool,
    /// Released when the result is there.
    pub write: Option<Scoreboard>,
    /// Released when the operands have been read.
    pub read: Option<Scoreboard>,
    /// A bit for each scoreboard that has to be free before.
    pub wait: u8,
    /// A bit for each operand that stays in the operand cache.
    pub reuse: u8,
}

impl Control {
    /// Reads the upper half of an encoding.
    pub fn decode(upper: u64) -> Self {
        let bits = upper >> FIRST_BIT;
        let field = |start: u32, width: u32| (bits >> start & ((1 << width) - 1)) as u8;
        let scoreboard = |start| match field(start, 3) {
            NO_SCOREBOARD => None,
            number => Scoreboard::new(number),
        };
        Self {
            stall: field(0, 4),
            yields: field(4, 1) == 0,
            write: scoreboard(5),
            read: scoreboard(8),
            wait: field(11, 6),
            reuse: field(17, 4),
        }
    }

    /// The scoreboards that have to be free before.
    pub fn waits(self) -> impl Iterator<Item = usize> {
        (0..SCOREBOARDS).filter(move |number| self.wait >> number & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_control_words_are_decoded() {
        // S2R R0, SR_TID.X of a compiled kernel; CuAssembler prints it as [B------:R-:W0:-:S07].
        let control = Control::decode(0x000e_2e00_0000_2100);
        assert_eq!((control.stall, control.yields, control.wait), (7, false, 0));
        assert_eq!((control.write.map(Scoreboard::index), control.read), (Some(0), None));
        // [B0-----:R0:W-:-:S03] STG.E.64.
        let control = Control::decode(0x001f_e600_0c10_1b06 & !(7 << 49));
        assert_eq!((control.stall, control.read.map(Scoreboard::index)), (3, Some(0)));
        assert_eq!(control.waits().collect::<Vec<_>>(), [0]);
        // Operands 0 and 1 stay in the operand cache.
        assert_eq!(Control::decode(3 << 58).reuse, 3);
    }
}
