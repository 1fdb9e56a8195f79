//! The arena: bytes, and for each of its words who wrote it last and who has read it since.

use std::collections::HashMap;
use std::ops::Range;

use super::super::clock::Clocks;
use super::readers::{FastBuild, ReaderSet, Readers};

/// What is read instead of a value that nothing orders: a NaN with a pattern.
pub const POISON: u32 = 0x7fdb_dbdb;

const UNWRITTEN: u32 = 0;
const HOST: u32 = 1;
const SPLIT: u32 = 2;
const FIRST_WARP: u32 = 3;

/// The history of a granule, of a word or of one of its bytes.
#[derive(Clone, Copy, Default)]
struct Granule {
    /// One of the constants above, or [`FIRST_WARP`] + the warp.
    writer: u32,
    tick: u32,
    readers: ReaderSet,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unordered {
    /// Nobody has written the bytes in this launch.
    Uninitialised,
    /// Another warp's write is not ordered before the access.
    Write(usize),
    /// Another warp's read is not ordered before the write.
    Read(usize),
}

/// The arena of one session, with the histories of one launch.
pub struct Arena {
    /// The contents.
    pub bytes: Vec<u8>,
    words: Vec<Granule>,
    split: HashMap<u32, [Granule; 4], FastBuild>,
    readers: Readers,
}

/// Remembers the last answers within one access of a warp, whose lanes mostly meet equal histories.
#[derive(Default)]
pub struct Recall {
    writer: Option<(u32, u32)>,
    added: Option<(ReaderSet, ReaderSet)>,
    passed: Option<ReaderSet>,
}

impl Arena {
    /// An arena of `bytes` zeroes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], words: Vec::new(), split: HashMap::default(), readers: Readers::default() }
    }

    /// Forgets all histories; only the bytes in `initialised` hold values, which everyone may read.
    pub fn start(&mut self, initialised: &[Range<usize>]) {
        self.words = vec![Granule::default(); self.bytes.len().div_ceil(4)];
        self.split.clear();
        self.readers = Readers::default();
        for range in initialised {
            let end = range.end.min(self.bytes.len());
            let mut at = range.start;
            while at < end {
                if at.is_multiple_of(4) && (at + 4 <= end || end == self.bytes.len()) {
                    self.words[at / 4].writer = HOST;
                    self.split.remove(&((at / 4) as u32));
                    at += 4;
                } else {
                    self.byte(at).writer = HOST;
                    at += 1;
                }
            }
        }
    }

    /// Records that `warp` reads `count` bytes from `at` on, which lie in the arena; a word or part of it.
    pub fn read(
        &mut self,
        at: usize,
        count: usize,
        warp: usize,
        clocks: &Clocks,
        recall: &mut Recall,
    ) -> Option<Unordered> {
        let Self { words, split, readers, .. } = self;
        let granule = &mut words[at / 4];
        if granule.writer != SPLIT && count == 4 {
            return read_granule(granule, readers, warp, clocks, recall);
        }
        let bytes = bytes_of(granule, split, at / 4);
        let mut problem = None;
        for byte in &mut bytes[at % 4..at % 4 + count] {
            problem = problem.or(read_granule(byte, readers, warp, clocks, recall));
        }
        problem
    }

    /// Records that `warp` writes `count` bytes from `at` on, as [`Arena::read`].
    pub fn write(
        &mut self,
        at: usize,
        count: usize,
        warp: usize,
        clocks: &Clocks,
        recall: &mut Recall,
    ) -> Option<Unordered> {
        let Self { words, split, readers, .. } = self;
        let granule = &mut words[at / 4];
        if granule.writer != SPLIT && count == 4 {
            return write_granule(granule, readers, warp, clocks, recall);
        }
        let bytes = bytes_of(granule, split, at / 4);
        let mut problem = None;
        for byte in &mut bytes[at % 4..at % 4 + count] {
            problem = problem.or(write_granule(byte, readers, warp, clocks, recall));
        }
        problem
    }

    fn byte(&mut self, at: usize) -> &mut Granule {
        &mut bytes_of(&mut self.words[at / 4], &mut self.split, at / 4)[at % 4]
    }
}

/// The histories of a word's bytes; from now on they are kept apart.
fn bytes_of<'a>(
    word: &mut Granule,
    split: &'a mut HashMap<u32, [Granule; 4], FastBuild>,
    index: usize,
) -> &'a mut [Granule; 4] {
    let whole = *word;
    word.writer = SPLIT;
    split.entry(index as u32).or_insert([whole; 4])
}

fn read_granule(
    granule: &mut Granule,
    readers: &mut Readers,
    warp: usize,
    clocks: &Clocks,
    recall: &mut Recall,
) -> Option<Unordered> {
    if let Some(problem) = after_write(granule, warp, clocks, recall) {
        return Some(problem);
    }
    granule.readers = match recall.added {
        Some((before, after)) if before == granule.readers => after,
        _ => {
            let after = readers.add(granule.readers, warp, clocks);
            recall.added = Some((granule.readers, after));
            after
        }
    };
    None
}

fn write_granule(
    granule: &mut Granule,
    readers: &Readers,
    warp: usize,
    clocks: &Clocks,
    recall: &mut Recall,
) -> Option<Unordered> {
    let problem = match after_write(granule, warp, clocks, recall) {
        Some(Unordered::Uninitialised) | None => None,
        other => other,
    };
    let problem = problem.or_else(|| {
        if granule.readers == 0 || recall.passed == Some(granule.readers) {
            return None;
        }
        let unordered = readers.unordered(granule.readers, warp, clocks).map(Unordered::Read);
        if unordered.is_none() {
            recall.passed = Some(granule.readers);
        }
        unordered
    });
    *granule = Granule { writer: FIRST_WARP + warp as u32, tick: clocks.tick(warp), readers: 0 };
    problem
}

fn after_write(granule: &Granule, warp: usize, clocks: &Clocks, recall: &mut Recall) -> Option<Unordered> {
    match granule.writer {
        HOST => None,
        UNWRITTEN | SPLIT => Some(Unordered::Uninitialised),
        writer => {
            let writer = writer - FIRST_WARP;
            if recall.writer == Some((writer, granule.tick)) {
                return None;
            }
            if !clocks.ordered(writer as usize, granule.tick, warp) {
                return Some(Unordered::Write(writer as usize));
            }
            recall.writer = Some((writer, granule.tick));
            None
        }
    }
}
