//! What passes rewrite programs with.

pub(super) mod rebuild;
pub(super) mod rewritten;
pub(super) mod uses;
