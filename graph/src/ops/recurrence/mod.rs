//! Recurrent layers.

pub(in crate::ops) mod gate_functions;
pub(in crate::ops) mod recurrent;
pub(in crate::ops) mod sequence_lengths;

pub mod gru;
pub mod lstm;
pub mod reverse_sequence;
pub mod rnn;
