//! From a model to a bundle, and what is known of it before it runs.

pub mod check;
pub mod check_text;
pub mod compile;
pub mod device_compile;
pub mod explain;
pub mod explain_code;
pub mod explain_machine_code;
pub mod explain_partition;
pub mod explain_rejected;
pub mod explain_text;
pub mod kept_text;
pub mod refit;
