//! What is wrong with the files of a benchmark.

use std::path::PathBuf;

use warpweave_graph::legible::file_remedy;

use super::peers::PeerKey;

/// Why results or peers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; {}", path.display(), file_remedy(source))]
    File { path: PathBuf, source: std::io::Error },
    /// A file holds no results.
    #[error("{} holds no results: {reason}; write one with `warpweave bench … --json > FILE`", path.display())]
    Results { path: PathBuf, reason: String },
    /// A file holds something else, or what another version wrote.
    #[error("{} is {found}, expected `{expected}`; measure again with this version's `bench --json`", path.display())]
    Schema {
        path: PathBuf,
        found: String,
        /// The schema that is read.
        expected: &'static str,
    },
    /// A line of a file of peers is no peer.
    #[error("{}, line {line}: {reason}; models/peers/README.md shows the fields", path.display())]
    Peer {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing to compare with.
    #[error("{} has no peer for {key}; {known}", path.display())]
    NoPeer {
        path: PathBuf,
        /// What was looked for.
        key: PeerKey,
        /// What the file has instead, in words.
        known: String,
    },
}

impl BenchError {
    /// A short name of the kind of error that stays the same across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Results { .. } => "results",
            Self::Schema { .. } => "results-schema",
            Self::Peer { .. } | Self::NoPeer { .. } => "peers",
        }
    }
}
