//! What is read, and how its inputs are changed.

use std::io::Cursor;
use std::path::Path;

use warpweave::frontend::{Bytes, ImportOptions, import_bytes};
use warpweave::graph::npy;
use warpweave::graph::program::text::{parse, print, tensors};
use warpweave::graph::text::Tensors;
use warpweave::runtime::bundle::{Bundle, BundleTarget};
use warpweave::runtime::npz;
use warpweave::{Model, TimingsFile, read_arch};
use warpweave_measure::lab::Lab;

use super::archive::{entries, forge};
use super::change::{self, Random};
use super::corpus;

/// A format.
pub struct Target {
    pub name: &'static str,
    pub corpus: fn() -> Vec<Vec<u8>>,
    pub change: fn(&[Vec<u8>], &mut Random) -> Vec<u8>,
    /// Reads an input, which also lies in a file. What it returns is of no interest.
    pub read: fn(&[u8], &Path),
}

pub const TARGETS: &[Target] = &[
    Target { name: "model", corpus: corpus::models, change: change::bytes, read: model },
    Target { name: "bundle", corpus: corpus::bundles, change: change::bytes, read: bundle },
    Target { name: "forged-bundle", corpus: corpus::bundles, change: forged, read: bundle },
    Target { name: "program", corpus: corpus::programs, change: change::bytes, read: program },
    Target { name: "npz", corpus: corpus::npz, change: change::bytes, read: arrays },
    Target { name: "npy", corpus: corpus::npy, change: change::bytes, read: array },
    Target { name: "timings", corpus: corpus::timings, change: change::bytes, read: timings },
    Target { name: "arch", corpus: corpus::arch, change: change::bytes, read: arch },
    Target { name: "lab", corpus: corpus::lab, change: change::bytes, read: lab },
];

/// Decoding, inference of every node, all passes, and the program.
fn model(input: &[u8], _: &Path) {
    if let Ok(graph) = import_bytes(Bytes::copy_from_slice(input), None, &ImportOptions::default()) {
        let _ = Model::from_graph(&graph);
    }
}

/// What parses is verified: it prints, and is prepared.
fn program(input: &[u8], _: &Path) {
    if let Ok(program) = parse(&String::from_utf8_lossy(input), &Tensors::new()) {
        assert_eq!(parse(&print(&program), &tensors(&program)).as_ref(), Ok(&program));
    }
}

fn bundle(_: &[u8], path: &Path) {
    let Ok(bundle) = Bundle::open(path) else { return };
    let _ = bundle.program().map(|program| print(&program));
    if let Ok(part) = bundle.target(BundleTarget::Host) {
        let _ = bundle.packed_weights(&part.plan.plan.plan().memory);
    }
}

/// A bundle with bytes of an entry changed, all hashes but those inside plans made right.
fn forged(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[0].clone();
    let names: Vec<String> = entries(&bytes).into_iter().map(|entry| entry.name).collect();
    let names: Vec<&String> = names.iter().filter(|name| *name != "manifest.json").collect();
    let name = names[random.below(names.len())];
    forge(&mut bytes, name, |data| {
        // A plan begins with the hash of its program, which is left as it is.
        let start = if name.starts_with("plan/") { 32 } else { 0 };
        for _ in 0..=random.below(3) {
            let at = start + random.below(data.len() - start);
            data[at] = match random.below(3) {
                0 => data[at] ^ 1 << random.below(8),
                1 => [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                _ => random.next() as u8,
            };
        }
    });
    bytes
}

fn arrays(input: &[u8], path: &Path) {
    let _ = npz::parse(Cursor::new(input), input.len() as u64, path);
}

fn array(input: &[u8], _: &Path) {
    let _ = npy::parse(&Bytes::copy_from_slice(input));
}

fn timings(_: &[u8], path: &Path) {
    let _ = TimingsFile::read(path);
}

fn arch(_: &[u8], path: &Path) {
    let _ = read_arch(path);
}

fn lab(_: &[u8], path: &Path) {
    let _ = Lab::read(path);
}
