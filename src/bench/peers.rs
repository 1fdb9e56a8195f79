//! Other programs' times for the same models.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweave_runtime::json;

use super::error::BenchError;
use super::result::{ModelIdentity, Precision};

/// A line of a file of peers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Peer {
    /// The model's name.
    pub model: String,
    /// Items of a run.
    pub batch: usize,
    /// What it computes in.
    pub precision: Precision,
    /// Whether the time is that of a training step.
    #[serde(default)]
    pub training: bool,
    /// The other program with its version.
    pub peer: String,
    /// How it ran the model.
    pub mode: String,
    /// Median of a run in milliseconds.
    pub median_ms: f64,
    /// Seconds until the model could run, if they were measured.
    #[serde(default)]
    pub prepare_s: Option<f64>,
}

/// What a peer is looked up by; inference only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerKey {
    /// The model's name.
    pub model: String,
    /// Items of a run.
    pub batch: Option<usize>,
    /// What it computes in.
    pub precision: Option<Precision>,
}

impl From<&ModelIdentity> for PeerKey {
    fn from(model: &ModelIdentity) -> Self {
        Self { model: model.name.clone(), batch: model.batch, precision: model.precision }
    }
}

impl fmt::Display for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.model)?;
        match self.batch {
            Some(batch) => write!(f, ", batch {batch}")?,
            None => f.write_str(", whose inputs share no batch")?,
        }
        match self.precision {
            Some(precision) => write!(f, ", {precision}"),
            None => f.write_str(", without floating-point numbers"),
        }
    }
}

/// A peer beside a measurement.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PeerComparison {
    /// The other program with its version.
    pub peer: String,
    /// How it ran the model.
    pub mode: String,
    /// Its median in seconds.
    pub median_seconds: f64,
    /// Its median by the measured one: above 1, the measured program is faster.
    pub speed_up: f64,
}

/// The peers in a file of JSON lines.
pub fn read_peers(path: &Path) -> Result<Vec<Peer>, BenchError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|source| BenchError::File { path: path.to_owned(), source })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let peer = |(number, line): (usize, &str)| {
        let wrong = |reason: String| BenchError::Peer { path: path.to_owned(), line: number + 1, reason };
        let peer: Peer = json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if !(peer.median_ms.is_finite() && peer.median_ms > 0.0) {
            return Err(wrong(format!("`median_ms` is {} and must be above 0", peer.median_ms)));
        }
        Ok(peer)
    };
    lines.map(peer).collect()
}

/// The peers of a model beside a median in seconds, fastest first.
pub fn compare_with_peers(peers: &[Peer], key: &PeerKey, seconds: f64) -> Vec<PeerComparison> {
    let same = |peer: &&Peer| {
        !peer.training
            && peer.model == key.model
            && Some(peer.batch) == key.batch
            && Some(peer.precision) == key.precision
    };
    let compare = |peer: &Peer| {
        let median_seconds = peer.median_ms * 1e-3;
        let (name, mode) = (peer.peer.clone(), peer.mode.clone());
        PeerComparison { peer: name, mode, median_seconds, speed_up: median_seconds / seconds.max(1e-9) }
    };
    let mut found: Vec<PeerComparison> = peers.iter().filter(same).map(compare).collect();
    found.sort_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds));
    found
}

impl PeerKey {
    /// The error that says which models a file has instead.
    pub fn missing(self, path: &Path, peers: &[Peer]) -> BenchError {
        let known: BTreeSet<String> = peers.iter().map(|peer| peer.model.clone()).collect();
        BenchError::NoPeer { path: path.to_owned(), key: self, known: known.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(model: &str, batch: usize, median_ms: f64, training: bool) -> Peer {
        Peer {
            model: model.to_owned(),
            batch,
            precision: Precision::Fp16,
            training,
            peer: "other 1".to_owned(),
            mode: "graph".to_owned(),
            median_ms,
            prepare_s: None,
        }
    }

    #[test]
    fn peers_match_by_name_batch_and_precision() {
        let peers =
            [peer("a", 1, 2.0, false), peer("a", 1, 1.0, false), peer("a", 4, 9.0, false), peer("a", 1, 9.0, true)];
        let key = PeerKey { model: "a".to_owned(), batch: Some(1), precision: Some(Precision::Fp16) };
        let found = compare_with_peers(&peers, &key, 0.5e-3);
        let speed_ups: Vec<f64> = found.iter().map(|peer| peer.speed_up).collect();
        assert_eq!(speed_ups, [2.0, 4.0]);
        let other = PeerKey { precision: Some(Precision::Fp32), ..key };
        assert!(compare_with_peers(&peers, &other, 1.0).is_empty());
    }

    #[test]
    fn the_stored_peers_are_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/peers/h200.jsonl");
        let peers = read_peers(&path).expect("the file is in order");
        assert!(peers.len() > 100 && peers.iter().any(|peer| peer.model == "resnet50"));
    }
}
