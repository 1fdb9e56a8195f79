//! The thresholds of all searches: what they look at, how long, and what is worth a change.

/// The thresholds of all searches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchTuning {
    /// Of the search for a partition and of its kernels.
    pub partition: PartitionTuning,
    /// Of planning.
    pub schedule: ScheduleTuning,
}

/// The thresholds of the search for a partition and of its kernels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PartitionTuning {
    /// No group of a chain is longer. Chains up to this length are solved exactly.
    pub longest_group: usize,
    /// Groups that may be priced over a whole search. In chains of more than these allow, groups are shorter, and merging of
    /// neighbours makes longer ones.
    pub chain_prices: usize,
    /// Groups of a chain may always be of as many nodes.
    pub shortest_longest_group: usize,
    /// States that are kept at most.
    pub widest_beam: usize,
    /// States that are kept at least.
    pub narrowest_beam: usize,
    /// States that may be placed over a whole search, if they are of `few_open_groups` open groups and compose `few_statements`.
    pub beam_placements: usize,
    /// Reads of the groups that the states before one node may have priced, each of its choices counted with all that the node
    /// reads.
    pub beam_reads: usize,
    /// Open groups beyond which a state takes the time of several.
    pub few_open_groups: usize,
    /// Statements of a group beyond which a state takes the time of several: its square over the square of this.
    pub few_statements: usize,
    /// A node that reads more groups than this joins all of them, or one or two of the first `few_read_groups`.
    pub all_subsets: usize,
    /// Groups of which a node that reads many joins one or two.
    pub few_read_groups: usize,
    /// Values that may be open at once; beyond, the search begins again with the nodes that are left. What a state takes to copy
    /// grows with what is open.
    pub most_open_groups: usize,
    /// Scalar nodes of one composed expression beyond which a set of statements is not taken for a group.
    pub largest_expression: u64,
    /// Scalar nodes that the expressions of a group may have together, however often they repeat what they compose.
    pub few_scalars: u64,
    /// How many times the scalar nodes of its statements the expressions of a group may have together, beyond those few.
    pub most_copies: u64,
    /// Statements beyond which a set is not taken for a group. What a body takes to build grows with their square.
    pub most_statements: usize,
    /// Scalar nodes of element-wise statements, composed, that the search places as one node.
    pub cluster_scalars: u64,
    /// Structures of staged groups that a program has at most.
    pub most_staged_structures: usize,
    /// Most reductions that one becomes.
    pub most_translates: usize,
    /// Most staged values of a group.
    pub most_staged_values: usize,
    /// Tiles of a staged group whose loads are counted.
    pub counted_tiles: usize,
    /// Shapes of contractions that a program has at most.
    pub most_shapes: usize,
    /// Parts into which a reduction may be split.
    pub splits: [usize; 10],
    /// Points of the reduction that a part has at least.
    pub shortest_part: usize,
    /// The share of all shapes of a contraction that is priced.
    pub shortlist_share: f64,
    /// Shapes of a contraction that are priced at least.
    pub shortest_list: usize,
    /// Shapes of a contraction that are priced at most.
    pub longest_list: usize,
    /// How many times as many shapes are kept of a sum of products, among which are the best with any epilogue.
    pub sum_lists: usize,
}

/// The thresholds of planning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScheduleTuning {
    /// How often a rule of interplay chooses again.
    pub interplay_repeats: usize,
    /// The least that choosing may gain, as a share of the longest path, to be tried at all.
    pub worthwhile_kernel_share: f64,
    /// Placements of groups that improving a choice may take.
    pub interplay_steps: usize,
    /// Shapes of contractions that are tried beside the partition's.
    pub most_shared_shapes: usize,
    /// The least share of the contractions' unit-time (units × duration) that such a shape saves.
    pub worthwhile_shape_share: f64,
    /// Prices of time on all units that are tried, as multiples of the first guess.
    pub unit_prices: [f64; 6],
    /// Shares of the longest path within which everything is tried to end; none is no limit.
    pub due_shares: [Option<f64>; 3],
    /// Segments of a plan whose kinds alternate whatever is predicted: enough for both changes of kind, twice.
    pub segments_in_turn: usize,
    /// The share of the time of the faster whole plan that segments must be estimated to save to be planned. It counts
    /// for every change of kind between them, because the estimate does not see all that a change costs.
    pub worthwhile_change_share: f64,
    /// The share of a plan's time for which it is worth making an arena smaller.
    pub free_arena_share: f64,
    /// What a makespan is of the longest path, at least, for justification to be tried.
    pub worthwhile_justification_ratio: f64,
    /// How often a placement is justified at most; each is predicted to gain less than the one before.
    pub justifications: usize,
    /// Exchanges between all units that the ends of an rOperator's rTasks are apart before it has bands.
    pub worthwhile_spread_exchanges: f64,
    /// The least share of a makespan by which tags have to shorten the longest path to be tried.
    pub worthwhile_tags_share: f64,
    /// The share of a rough makespan by which another may be longer to be planned too: finished plans may be ordered otherwise.
    pub close_plans_share: f64,
    /// What a makespan is of the longest path, at most, for finer parts to be tried.
    pub worthwhile_split_ratio: f64,
    /// Rounds of rTasks over all units that a reduction in finer parts may take.
    pub most_split_rounds: usize,
    /// An rTask waits for at most this many bands of one producer; beyond, for all its tiles at once.
    pub most_waits: u64,
    /// Bands are joined until rTasks wait for no more than this many of one producer on average.
    pub usual_waits: f64,
    /// The share of the time of its rTasks that a unit may spend on signals of bands.
    pub signal_share: f64,
    /// Groups that read the same constants, below which keeping them on chip does not pay.
    pub fewest_resident_readers: usize,
    /// Bytes of a tensor that is small, and how much more slack it takes.
    pub small_bytes: u64,
}

impl SearchTuning {
    /// The thresholds that every search uses.
    pub const DEFAULT: Self = Self {
        partition: PartitionTuning {
            longest_group: 128,
            chain_prices: 16_384,
            shortest_longest_group: 8,
            widest_beam: 128,
            narrowest_beam: 8,
            beam_placements: 60_000,
            beam_reads: 40_000,
            few_open_groups: 64,
            few_statements: 16,
            all_subsets: 5,
            few_read_groups: 16,
            most_open_groups: 1024,
            largest_expression: 4096,
            few_scalars: 256,
            most_copies: 4,
            most_statements: 128,
            cluster_scalars: 64,
            most_staged_structures: 10,
            most_translates: 8,
            most_staged_values: 8,
            counted_tiles: 4,
            most_shapes: 4,
            splits: [2, 3, 4, 5, 6, 7, 8, 9, 12, 16],
            shortest_part: 64,
            shortlist_share: 0.01,
            shortest_list: 10,
            longest_list: 50,
            sum_lists: 4,
        },
        schedule: ScheduleTuning {
            interplay_repeats: 4,
            worthwhile_kernel_share: 0.02,
            interplay_steps: 800_000,
            most_shared_shapes: 3,
            worthwhile_shape_share: 0.02,
            unit_prices: [0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
            due_shares: [None, Some(0.9), Some(0.8)],
            segments_in_turn: 4,
            worthwhile_change_share: 0.02,
            free_arena_share: 0.01,
            worthwhile_justification_ratio: 1.1,
            justifications: 2,
            worthwhile_spread_exchanges: 2.0,
            worthwhile_tags_share: 0.01,
            close_plans_share: 0.02,
            worthwhile_split_ratio: 1.2,
            most_split_rounds: 2,
            most_waits: 3,
            usual_waits: 1.6,
            signal_share: 0.1,
            fewest_resident_readers: 4,
            small_bytes: 8 << 10,
        },
    };
}
