//! Other programs' times for the same models.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweave_models::reduced_from;
use warpweave_runtime::json;

use super::error::BenchError;
use super::identity::{Hardware, ModelIdentity, Precision, Work};

/// A line of a file of peers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Peer {
    pub model: String,
    /// Items of a run.
    pub batch: usize,
    /// What it computes in.
    pub precision: Precision,
    /// What it was measured on.
    pub device: Hardware,
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

impl Peer {
    fn work(&self) -> Work {
        if self.training { Work::TrainingStep } else { Work::Inference }
    }
}

/// What a peer is looked up by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerKey {
    pub model: String,
    /// Items of a run.
    pub batch: Option<usize>,
    /// What it computes in.
    pub precision: Option<Precision>,
    /// What it was measured on; `None` where times are compared with nothing.
    pub device: Option<Hardware>,
    /// What a run is.
    pub work: Work,
}

impl PeerKey {
    /// Of a model that was measured on `device`.
    pub fn new(model: &ModelIdentity, device: Option<Hardware>, work: Work) -> Self {
        Self { model: model.name.clone(), batch: model.batch, precision: model.precision, device, work }
    }

    /// Whether a comparison is with what this stands for; one that does not say is not.
    pub fn fits(&self, peer: &PeerComparison) -> bool {
        let is_said = peer.device.is_some() && peer.precision.is_some() && peer.batch.is_some();
        is_said && (&peer.device, peer.precision, peer.batch) == (&self.device, self.precision, self.batch)
    }

    /// Why a line of the same model, be it reduced or not, is not compared.
    fn difference(&self, peer: &Peer) -> Option<Difference> {
        let differences = [
            (peer.work() != self.work, Difference::Training),
            (peer.model != self.model, Difference::Size),
            (Some(&peer.device) != self.device.as_ref(), Difference::Device),
            (Some(peer.precision) != self.precision, Difference::Precision),
            (Some(peer.batch) != self.batch, Difference::Batch),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map(|(_, difference)| difference)
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
            Some(precision) => write!(f, ", {precision}")?,
            None => f.write_str(", without floating-point numbers")?,
        }
        match &self.device {
            Some(device) => write!(f, ", on {device}")?,
            None => f.write_str(", on a device whose times are compared with nothing")?,
        }
        match self.work {
            Work::Inference => Ok(()),
            Work::TrainingStep => f.write_str(", a training step"),
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
    /// What it was measured on; unknown in older results, as what follows is.
    #[serde(default)]
    pub device: Option<Hardware>,
    /// What it computes in.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// Items of a run.
    #[serde(default)]
    pub batch: Option<usize>,
    /// Its median in seconds.
    pub median_seconds: f64,
    /// Its median by the measured one: above 1, the measured program is faster.
    pub speed_up: f64,
}

/// In what a line differs from a measurement of the same model; the first of several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// One is the time of a training step, the other of inference.
    Training,
    /// One model is reduced, the other is not.
    Size,
    /// The device.
    Device,
    /// The precision.
    Precision,
    /// The batch.
    Batch,
}

/// Lines of the same model that are not compared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// In what they differ.
    pub difference: Difference,
    /// How many there are.
    pub lines: usize,
    /// What they are instead.
    pub others: BTreeSet<String>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<&str> = self.others.iter().map(String::as_str).collect();
        let what = match self.difference {
            Difference::Training => return write!(f, "{} of {}", self.lines, others.join(", ")),
            Difference::Size => "size",
            Difference::Device => "device",
            Difference::Precision => "precision",
            Difference::Batch => "batch",
        };
        write!(f, "{} of another {what} ({})", self.lines, others.join(", "))
    }
}

/// What is left out, in words; `None` if nothing is.
pub fn left_out_text(left_out: &[LeftOut]) -> Option<String> {
    let parts: Vec<String> = left_out.iter().map(ToString::to_string).collect();
    (!parts.is_empty()).then(|| format!("lines of the model that are left out: {}", parts.join(", ")))
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

/// The peers that a measurement is compared with, beside its median in seconds, fastest first; and the lines of the same
/// model that are left out.
pub fn compare_with_peers(peers: &[Peer], key: &PeerKey, seconds: f64) -> (Vec<PeerComparison>, Vec<LeftOut>) {
    let full = |name: &str| reduced_from(name).unwrap_or(name).to_owned();
    let (mut compared, mut left_out) = (Vec::new(), BTreeMap::new());
    for peer in peers.iter().filter(|peer| full(&peer.model) == full(&key.model)) {
        let Some(difference) = key.difference(peer) else {
            compared.push(compared_with(peer, seconds));
            continue;
        };
        let other = match difference {
            Difference::Training => match peer.work() {
                Work::Inference => "inference".to_owned(),
                Work::TrainingStep => "training steps".to_owned(),
            },
            Difference::Size => peer.model.clone(),
            Difference::Device => peer.device.to_string(),
            Difference::Precision => peer.precision.to_string(),
            Difference::Batch => peer.batch.to_string(),
        };
        let entry =
            left_out.entry(difference).or_insert_with(|| LeftOut { difference, lines: 0, others: BTreeSet::new() });
        entry.lines += 1;
        entry.others.insert(other);
    }
    compared.sort_by(|a: &PeerComparison, b| a.median_seconds.total_cmp(&b.median_seconds));
    (compared, left_out.into_values().collect())
}

fn compared_with(peer: &Peer, seconds: f64) -> PeerComparison {
    let median_seconds = peer.median_ms * 1e-3;
    PeerComparison {
        peer: peer.peer.clone(),
        mode: peer.mode.clone(),
        device: Some(peer.device.clone()),
        precision: Some(peer.precision),
        batch: Some(peer.batch),
        median_seconds,
        speed_up: median_seconds / seconds.max(1e-9),
    }
}

impl PeerKey {
    /// The error that says what a file has instead.
    pub fn missing(self, path: &Path, peers: &[Peer], left_out: &[LeftOut]) -> BenchError {
        let known: BTreeSet<String> = peers.iter().map(|peer| peer.model.clone()).collect();
        let known = match left_out_text(left_out) {
            Some(text) => text,
            None if known.is_empty() => "it is empty".to_owned(),
            None => {
                let known: Vec<String> = known.into_iter().collect();
                format!("it has {}; choose one with --name", known.join(", "))
            }
        };
        BenchError::NoPeer { path: path.to_owned(), key: self, known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(model: &str, batch: usize, median_ms: f64) -> Peer {
        Peer {
            model: model.to_owned(),
            batch,
            precision: Precision::Fp16,
            device: Hardware::Processor,
            training: false,
            peer: "other 1".to_owned(),
            mode: "graph".to_owned(),
            median_ms,
            prepare_s: None,
        }
    }

    #[test]
    fn peers_match_in_everything_that_makes_times_comparable() {
        let gpu = || Hardware::Gpu("NVIDIA H200".to_owned());
        let peers = [
            peer("a", 1, 2.0),
            peer("a", 1, 1.0),
            peer("b", 1, 9.0),
            peer("a", 4, 9.0),
            peer("a-reduced", 1, 9.0),
            Peer { training: true, ..peer("a", 1, 9.0) },
            Peer { device: gpu(), ..peer("a", 1, 9.0) },
            Peer { device: gpu(), ..peer("a", 8, 9.0) },
            Peer { precision: Precision::Fp32, ..peer("a", 1, 9.0) },
        ];
        let key = PeerKey {
            model: "a".to_owned(),
            batch: Some(1),
            precision: Some(Precision::Fp16),
            device: Some(Hardware::Processor),
            work: Work::Inference,
        };
        let (found, left_out) = compare_with_peers(&peers, &key, 0.5e-3);
        let speed_ups: Vec<f64> = found.iter().map(|peer| peer.speed_up).collect();
        assert_eq!(speed_ups, [2.0, 4.0]);
        assert!(found.iter().all(|peer| key.fits(peer)));
        let told = left_out_text(&left_out).expect("something is left out");
        let parts = [
            "1 of training steps",
            "1 of another size (a-reduced)",
            "2 of another device (NVIDIA H200)",
            "1 of another precision (fp32)",
            "1 of another batch (4)",
        ];
        assert!(told.ends_with(&parts.join(", ")), "{told}");
        let reduced = PeerKey { model: "a-reduced".to_owned(), ..key.clone() };
        assert_eq!(compare_with_peers(&peers, &reduced, 1.0).0.len(), 1);
        let step = PeerKey { work: Work::TrainingStep, ..key.clone() };
        let (found, left_out) = compare_with_peers(&peers, &step, 1.0);
        assert_eq!(found.len(), 1);
        assert!(left_out_text(&left_out).is_some_and(|told| told.contains("of inference")));
        let nowhere = PeerKey { device: None, ..key };
        assert!(compare_with_peers(&peers, &nowhere, 1.0).0.is_empty());
    }

    #[test]
    fn the_stored_peers_are_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/peers/h200.jsonl");
        let peers = read_peers(&path).expect("the file is in order");
        assert!(peers.len() > 100 && peers.iter().any(|peer| peer.model == "resnet50"));
        assert!(peers.iter().all(|peer| peer.device == Hardware::Gpu("NVIDIA H200".to_owned())));
    }
}
