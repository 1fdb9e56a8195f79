//! Bundles: written, and given other constants.

pub mod refit;
mod write_bundle;

pub use write_bundle::{BundleRequest, Watcher, WeightsPlace, write_bundle};
