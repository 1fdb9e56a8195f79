//! What takes a model or bundle and runs it or reads it.

pub mod attempt;
pub mod bisect;
pub mod compare;
pub mod compare_case;
pub mod inspect;
pub mod reduce;
pub mod reduced_case;
pub mod run;
pub mod verdict;
