//! Suites over all crates.
