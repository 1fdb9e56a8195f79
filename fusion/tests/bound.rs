//! The performance upper bound against the thesis' figures, its tables, and values derived by hand.

#[path = "bound/operators.rs"]
mod operators;

#[path = "bound/extents.rs"]
mod extents;
#[path = "bound/golden.rs"]
mod golden;
#[path = "bound/shared.rs"]
mod shared;
#[path = "bound/tables.rs"]
mod tables;
