//! Which statements share a kernel, and with which parameters (DeepCuts).

mod align;
pub mod alike;
pub mod arch;
pub mod attention;
pub mod attention_phase;
pub mod blocked;
pub mod body;
pub mod bound;
pub mod boxed;
pub mod build;
pub mod choose;
pub mod contraction;
pub mod cost;
pub mod estimate;
pub mod host_cost;
pub mod kept;
pub mod limit;
pub mod merge_axes;
pub mod opaque;
pub mod padded;
pub mod params;
pub(crate) mod params_text;
pub mod phase;
pub mod recorded;
pub mod rounds;
pub mod search;
pub mod signature;
pub mod split;
pub mod staged;
pub mod staging;
mod sums;
pub mod timings;
pub mod traffic;
mod translated;
mod variants;

pub use body::{GroupBody, Stage, StageOutput, StageSource};
pub use params::{ContractionShape, Pipeline, ScheduleParams, Template};
pub use params_text::NoParams;
pub use search::{
    Budget, FusionGroup, FusionLevel, Partition, SearchEnd, SearchReport, partition, partition_with_report,
    partition_within,
};
