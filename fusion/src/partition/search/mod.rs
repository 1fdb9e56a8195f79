//! The search for a partition (DeepCuts): exact on chains, a beam over merge sequences elsewhere. Merging of
//! neighbours, first improvement first, is the bar that the result never falls below.

pub mod beam;
pub mod budget;
pub mod chain;
mod clusters;
pub mod greedy;
pub mod groups;
pub mod limit_shapes;
pub mod limit_staged;
pub mod neighbours;
pub mod order;
pub mod problem;
pub mod program;
pub mod quotient;
pub mod size;
pub mod state;
pub mod structure;
mod width;

use crate::partition::search::budget::Budget;
use crate::partition::search::clusters::Clusters;
pub use crate::partition::search::groups::{FusionGroup, FusionLevel, Partition};
use crate::tuning::SearchTuning;

use warpweave_graph::pipeline::PreparedProgram;

use crate::cost::KernelCost;
use crate::cost::arch::DeviceShare;
use crate::partition::search::limit_shapes::limit_shapes;
use crate::partition::search::problem::{Memo, PartitionProblem, Solution};
use crate::partition::search::program::ProgramProblem;
use crate::partition::search::width::share_of_width;

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchEnd {
    /// It was done.
    Complete,
    /// Its budget was spent; the best so far is the result.
    BudgetSpent,
}

/// What a search did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchReport {
    /// Sets of statements that were priced.
    pub sets: usize,
    /// Distinct structures among them: what was built and priced in full.
    pub structures: usize,
    /// The sum of the groups' costs in microseconds.
    pub microseconds: f64,
    /// The same for merging of neighbours alone, first improvement first.
    pub greedy_microseconds: f64,
    /// The same for one statement a group.
    pub unfused_microseconds: f64,
    /// How it ended.
    pub end: SearchEnd,
}

impl SearchReport {
    /// The share of priced sets that had the structure of an earlier one, in 0 … 1.
    pub fn hit_rate(&self) -> f64 {
        if self.sets == 0 { 0.0 } else { 1.0 - self.structures as f64 / self.sets as f64 }
    }
}

/// The partition of a program whose concats have been placed.
pub fn partition(prepared: &PreparedProgram, cost: &dyn KernelCost, level: FusionLevel) -> Partition {
    partition_with_report(prepared, cost, level).0
}

/// The partition of a program whose concats have been placed, and what the search did. The same for any number of threads; at
/// shared-memory level never dearer than at register level.
pub fn partition_with_report(
    prepared: &PreparedProgram,
    cost: &dyn KernelCost,
    level: FusionLevel,
) -> (Partition, SearchReport) {
    partition_within(prepared, cost, level, Budget::unlimited())
}

/// [`partition_with_report`] within a budget: the best that was found when it was spent, which is at worst one statement a
/// group. Pricing single statements, and choosing few shapes for what was found, are no part of the budget.
pub fn partition_within(
    prepared: &PreparedProgram,
    cost: &dyn KernelCost,
    level: FusionLevel,
    budget: Budget<'_>,
) -> (Partition, SearchReport) {
    let PreparedProgram { program, layouts } = prepared;
    let start = if level == FusionLevel::Full { FusionLevel::Register } else { level };
    let mut registers = ProgramProblem::new(program, layouts, cost, start);
    let share = share_of_width(program, &mut Memo::new(&registers));
    let shared = (share != DeviceShare::Full).then(|| cost.on_share(share)).flatten();
    let cost = shared.as_deref().unwrap_or(cost);
    if shared.is_some() {
        registers = ProgramProblem::new(program, layouts, cost, start);
    }
    let (problem, (found, report)) = match level {
        FusionLevel::None | FusionLevel::Register => {
            let found = search(&registers, start, budget);
            (registers, found)
        }
        FusionLevel::Full => search_full(registers, budget),
    };
    (limit_shapes(program, problem.partition(&found), cost, SearchTuning::DEFAULT.partition.most_shapes), report)
}

/// The better of what is found at register level and at shared-memory level, and the problem that it solves.
fn search_full<'a>(
    registers: ProgramProblem<'a>,
    budget: Budget<'_>,
) -> (ProgramProblem<'a>, (Solution, SearchReport)) {
    let mut problem = registers.at_level(FusionLevel::Full);
    let (mut found, mut staged) = rayon::join(
        || search(&registers, FusionLevel::Register, budget),
        || search(&problem, FusionLevel::Full, budget),
    );
    let is_complete = [&found.1, &staged.1].iter().all(|report| report.end == SearchEnd::Complete);
    if !is_complete && limit_staged::exceeds_limit(&problem, &staged.0) {
        // Limiting them searches again, for which there is no time.
        staged.0.cost = f64::INFINITY;
    } else if let Some((groups, kept)) = limit_staged::limit_staged(&problem, &staged.0) {
        problem = problem.staging_only(kept);
        staged.0 = Solution::new(groups, &mut Memo::new(&problem));
        staged.1.microseconds = staged.0.cost;
    }
    if staged.0.cost < found.0.cost {
        std::mem::swap(&mut found, &mut staged);
    }
    found.1.end = if is_complete { SearchEnd::Complete } else { SearchEnd::BudgetSpent };
    (problem, found)
}

fn search(problem: &ProgramProblem<'_>, level: FusionLevel, budget: Budget<'_>) -> (Solution, SearchReport) {
    let mut memo = Memo::within(problem, budget);
    let unfused = Solution::singletons(&mut memo);
    let (greedy, best, sets) = match level {
        FusionLevel::None => (unfused.clone(), unfused.clone(), 0),
        FusionLevel::Register | FusionLevel::Full => {
            let clusters = Clusters::of(problem);
            let mut of_clusters = Memo::within(&clusters, budget);
            let together = Solution::singletons(&mut of_clusters);
            let (greedy, best) = solve_with_bar(&mut of_clusters, &together);
            let [greedy, best] = [greedy, best].map(|found| clusters.over_statements(&found, &mut memo));
            (greedy, best, of_clusters.len())
        }
    };
    let end = match level {
        FusionLevel::None => SearchEnd::Complete,
        FusionLevel::Register | FusionLevel::Full if memo.is_spent() => SearchEnd::BudgetSpent,
        FusionLevel::Register | FusionLevel::Full => SearchEnd::Complete,
    };
    let report = SearchReport {
        sets: memo.len() + sets,
        structures: problem.structures(),
        microseconds: best.cost,
        greedy_microseconds: greedy.cost,
        unfused_microseconds: unfused.cost,
        end,
    };
    (best, report)
}

/// The best partition that the production search finds.
pub fn solve<P: PartitionProblem>(memo: &mut Memo<'_, P>) -> Solution {
    let unfused = Solution::singletons(memo);
    solve_with_bar(memo, &unfused).1
}

/// What merging of neighbours alone finds, and the best that is found, never worse.
fn solve_with_bar<P: PartitionProblem>(memo: &mut Memo<'_, P>, unfused: &Solution) -> (Solution, Solution) {
    let greedy = greedy::improve(unfused.clone(), memo);
    let found = if memo.graph().is_chain() { chain::solve(memo) } else { beam::solve(memo) };
    let found = greedy::improve(found, memo);
    let best = if found.cost < greedy.cost { found } else { greedy.clone() };
    (greedy, best)
}
