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
    /// One rOperator after another in the order of the program: what was read or written last is still in a cache.
    ProgramOrder,
}

/// How a segment is synchronised and placed. Only wavefronts can be told apart by barriers of all units, so four of the
/// combinations are of use.
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
    /// The same in program order.
    pub const IN_ORDER: Self = Self { waits: WaitGranularity::Band, placement: PlacementPolicy::ProgramOrder };
    /// All policies, coarsest first.
    pub const ALL: [Self; 4] = [Self::BARRIER, Self::OPERATOR, Self::TILE, Self::IN_ORDER];

    /// What a wait is for.
    pub fn waits(self) -> WaitGranularity {
        self.waits
    }

    /// How rTasks are given to units.
    pub fn placement(self) -> PlacementPolicy {
        self.placement
    }

    pub fn name(self) -> &'static str {
        match (self.waits, self.placement) {
            (WaitGranularity::Device, _) => "barrier",
            (WaitGranularity::Operator, _) => "operator",
            (WaitGranularity::Band, PlacementPolicy::ProgramOrder) => "in-order",
            (WaitGranularity::Band, _) => "tile",
        }
    }
}
