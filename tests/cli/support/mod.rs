//! What tests of the command line are made with.

pub mod archive;
pub mod model_builder;
pub mod models_by_hand;
pub mod tool;
pub mod zipped_again;
