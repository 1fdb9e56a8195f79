//! The partition search on abstract problems, where the optimum can be found by exhaustion, and on programs.

#[path = "search/abstract_problems.rs"]
mod abstract_problems;
#[path = "search/budget.rs"]
mod budget;
#[path = "search/closure.rs"]
mod closure;
#[path = "search/exhaustive.rs"]
mod exhaustive;
#[path = "search/programs.rs"]
mod programs;
#[path = "search/synthetic.rs"]
mod synthetic;
