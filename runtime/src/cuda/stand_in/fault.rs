//! What can go wrong on purpose.

/// Something that goes wrong with a GPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// Persistent launches never end.
    Hang,
    /// Larger allocations are refused.
    RefusedAllocation,
    /// The first wait or poll of a persistent launch gives up.
    Abort,
    /// Persistent launches compute with weights of 0.
    WrongOutput,
    /// After some launches, of all processes that share a state, every call fails and new processes find no device.
    LostDevice,
    /// The device has fewer multiprocessors than plans are made for.
    FewerUnits,
}

/// The largest allocation with [`Fault::RefusedAllocation`], in bytes.
pub(super) const MOST_BYTES: u64 = 256 << 10;
/// Launches after which the device of [`Fault::LostDevice`] is lost.
pub(super) const LAUNCHES_BEFORE_LOSS: u64 = 24;

/// Multiprocessors of the device, and with [`Fault::FewerUnits`].
const MULTIPROCESSORS: u32 = 132;
const FEWER_MULTIPROCESSORS: u32 = 100;

/// Multiprocessors of a device with this fault, or with none.
pub(super) fn multiprocessors(fault: Option<Fault>) -> u32 {
    if fault == Some(Fault::FewerUnits) { FEWER_MULTIPROCESSORS } else { MULTIPROCESSORS }
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Hang, Self::RefusedAllocation, Self::Abort, Self::WrongOutput, Self::LostDevice, Self::FewerUnits];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::RefusedAllocation => "refused-allocation",
            Self::Abort => "abort",
            Self::WrongOutput => "wrong-output",
            Self::LostDevice => "lost-device",
            Self::FewerUnits => "fewer-units",
        }
    }
}
