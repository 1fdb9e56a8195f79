//! Functions on registers, compiled for each kind of processor.

pub(in crate::host) mod chain;
pub(crate) mod functions;
pub(crate) mod halves;
pub(crate) mod mathematics;
pub(crate) mod processor;
pub(crate) mod products;
