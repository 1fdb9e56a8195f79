//! What a command is given: arrays, inputs, indices and constants.

mod arrays;
mod constants;
mod defaults;
mod indices;
mod inputs;
mod storage;
