//! Measuring, and what is shown of measurements.

mod batch;
mod calibration;
mod lab;
mod litmus;
mod measurements;
mod page;
mod profile;
mod tuning;
