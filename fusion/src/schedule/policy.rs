//! How fine waits are, and how rTasks are given to units.

/// What a wait is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitGranularity {
    /// Everything before: all units meet.
    Device,
    /// All of an rOperator.
    Operator,
    /// The bands of an rOperator that are read.
    Band,
}

/// How rTasks are given to units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlacementPolicy {
    /// One wavefront of rOperators after another, each dealt out to the units (Rammer).
    Wavefront,
    /// List scheduling: every rTask to the unit that can start it first, into a gap where there is one.
    ListScheduling,
}

/// How a segment is synchronised and placed. Only wavefronts can be told apart by barriers of all units, so three of the
/// combinations exist.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SyncPolicy {
    waits: WaitGranularity,
    placement: PlacementPolicy,
}

impl SyncPolicy {
    /// All units meet between wavefronts of rOperators.
    pub const BARRIER: Self = Self { waits: WaitGranularity::Device, placement: PlacementPolicy::Wavefront };
    /// A reader waits for all of an rOperator.
    pub const OPERATOR: Self = Self { waits: WaitGranularity::Operator, placement: PlacementPolicy::ListScheduling };
    /// A reader waits for the bands that it reads.
    pub const TILE: Self = Self { waits: WaitGranularity::Band, placement: PlacementPolicy::ListScheduling };
    /// All policies, coarsest first.
    pub const ALL: [Self; 3] = [Self::BARRIER, Self::OPERATOR, Self::TILE];

    /// What a wait is for.
    pub fn waits(self) -> WaitGranularity {
        self.waits
    }

    /// How rTasks are given to units.
    pub fn placement(self) -> PlacementPolicy {
        self.placement
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self.waits {
            WaitGranularity::Device => "barrier",
            WaitGranularity::Operator => "operator",
            WaitGranularity::Band => "tile",
        }
    }
}
