//! What takes a model or bundle and runs it or reads it.

pub mod compare;
pub mod compare_case;
pub mod inspect;
pub mod run;
