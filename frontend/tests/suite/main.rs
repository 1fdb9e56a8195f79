//! Tests of the import, on models written by hand and on exported ones.

mod control_flow;
mod counts;
mod encode;
mod forms;
mod import;
mod model;
mod models;
mod npz;
mod packed;
