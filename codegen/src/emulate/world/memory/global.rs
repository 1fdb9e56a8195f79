//! The arena: bytes, and for each of its words who wrote it last and who has read it since.

use std::collections::HashMap;
use std::ops::Range;

use warpweave_plan::plan::is_later;

use super::readers::{FastBuild, ReaderSet, Readers};
use crate::emulate::world::clock::Clocks;

/// What is read instead of a value that nothing orders: a NaN with a pattern.
pub const POISON: u32 = 0x7fdb_dbdb;

const UNWRITTEN: u32 = 0;
const HOST: u32 = 1;
const SPLIT: u32 = 2;
const FIRST_WARP: u32 = 3;
/// Beside the warp: written together with its tag. Its readers are those that have polled it, in a set even where others
/// are in a table.
const MARKED: u32 = 1 << 31;

/// The history of a granule, of a word or of one of its bytes.
#[derive(Clone, Copy, Default)]
struct Granule {
    /// One of the constants above, or [`FIRST_WARP`] + the warp.
    writer: u32,
    tick: u32,
    readers: ReaderSet,
}

impl Granule {
    fn carries_tag(&self) -> bool {
        self.writer & MARKED != 0
    }
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unordered {
    /// The bytes have not been written in this launch.
    Uninitialised,
    /// The bytes carry their own validity, which the access does not look at.
    Tagged,
    /// The warp has not waited for the node before, which may still run.
    Dependency,
    /// Another warp's write is not ordered before the access.
    Write(usize),
    /// Another warp's read is not ordered before the write.
    Read(usize),
}

/// What a poll finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Another tag, or none.
    Missing,
    /// The tag.
    There,
    /// The tag's bits, which no store with a tag has written in this launch.
    Stale,
    /// A later tag of this launch.
    Overwritten,
}

/// The arena of one session, with the histories of one launch.
pub struct Arena {
    pub bytes: Vec<u8>,
    words: Vec<Granule>,
    split: HashMap<u32, [Granule; 4], FastBuild>,
    readers: Readers,
    table: Option<ReaderTable>,
}

/// For grids of few warps: per word and warp, the step of the last read, 0 for none. Only words that are not kept by
/// byte, whose readers are then tagged with [`IN_TABLE`].
struct ReaderTable {
    warps: usize,
    ticks: Vec<u32>,
}

/// Grids of at most this many warps keep a table of readers.
const TABLE_WARPS: usize = 64;
/// The largest table, in words.
const TABLE_WORDS: usize = 1 << 28;
/// The readers of a word are in the table.
const IN_TABLE: ReaderSet = 1;

impl ReaderTable {
    fn new(words: usize, warps: usize) -> Option<Self> {
        let fits = warps <= TABLE_WARPS && words.checked_mul(warps).is_some_and(|total| total <= TABLE_WORDS);
        fits.then(|| Self { warps, ticks: vec![0; words * warps] })
    }

    fn row(&mut self, word: usize) -> &mut [u32] {
        &mut self.ticks[word * self.warps..][..self.warps]
    }

    /// Forgets the reads of a word; one that is not ordered before what `warp` does now, if there is one.
    fn take_unordered(&mut self, word: usize, warp: usize, clocks: &Clocks) -> Option<usize> {
        let row = self.row(word);
        let unordered =
            |(other, tick): (usize, &u32)| (*tick != 0 && !clocks.has_been_read(other, *tick, warp)).then_some(other);
        let found = row.iter().enumerate().find_map(unordered);
        row.fill(0);
        found
    }
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
        Self {
            bytes: vec![0; bytes],
            words: Vec::new(),
            split: HashMap::default(),
            readers: Readers::default(),
            table: None,
        }
    }

    /// Lets what has been written so far happen before everything that the warps of another grid do.
    pub fn pass(&mut self) {
        let settled = |granule: &mut Granule| {
            granule.readers = 0;
            if granule.writer >= FIRST_WARP {
                granule.writer = HOST;
            }
        };
        self.words.iter_mut().for_each(settled);
        self.split.values_mut().flatten().for_each(settled);
        self.readers = Readers::default();
        self.table = None;
    }

    /// Forgets all histories; only the bytes in `initialised` hold values, which everyone may read.
    pub fn start(&mut self, initialised: &[Range<usize>], warps: usize) {
        self.words = vec![Granule::default(); self.bytes.len().div_ceil(4)];
        self.split.clear();
        self.readers = Readers::default();
        self.table = ReaderTable::new(self.words.len(), warps);
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
        if !clocks.has_met_dependencies(warp) {
            return Some(Unordered::Dependency);
        }
        let Self { words, split, readers, table, .. } = self;
        let granule = &mut words[at / 4];
        if granule.writer != SPLIT && count == 4 {
            let Some(table) = table else { return read_granule(granule, readers, warp, clocks, recall) };
            let problem = after_write(granule, warp, clocks, recall);
            if problem.is_none() {
                granule.readers = IN_TABLE;
                table.row(at / 4)[warp] = clocks.tick(warp);
            }
            return problem;
        }
        let bytes = bytes_of(granule, split, readers, table, at / 4, clocks);
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
        if !clocks.has_met_dependencies(warp) {
            return Some(Unordered::Dependency);
        }
        let Self { words, split, readers, table, .. } = self;
        let granule = &mut words[at / 4];
        if granule.writer != SPLIT && count == 4 {
            let carries_tag = granule.carries_tag();
            let unordered = match table {
                Some(table) if granule.readers == IN_TABLE && !carries_tag => {
                    table.take_unordered(at / 4, warp, clocks)
                }
                _ => None,
            };
            if table.is_some() && !carries_tag {
                granule.readers = 0;
            }
            let problem = write_granule(granule, readers, warp, clocks, recall);
            return problem.or(unordered.map(Unordered::Read));
        }
        let bytes = bytes_of(granule, split, readers, table, at / 4, clocks);
        let mut problem = None;
        for byte in &mut bytes[at % 4..at % 4 + count] {
            problem = problem.or(write_granule(byte, readers, warp, clocks, recall));
        }
        problem
    }

    /// What a poll for a tag's bits by `warp` finds at `at`, a multiple of eight.
    pub fn poll(&mut self, at: usize, wanted: u32, warp: usize, clocks: &mut Clocks) -> Mark {
        let found = self.tag_at(at);
        let Self { words, readers, .. } = self;
        let Granule { writer, tick, readers: before } = words[at / 4];
        if writer & MARKED == 0 {
            return if found == wanted { Mark::Stale } else { Mark::Missing };
        }
        if found != wanted {
            return if is_later(found, wanted) { Mark::Overwritten } else { Mark::Missing };
        }
        clocks.completion(((writer & !MARKED) - FIRST_WARP) as usize, tick, warp);
        let readers = readers.add(before, warp, clocks);
        words[at / 4..at / 4 + 2].iter_mut().for_each(|word| word.readers = readers);
        Mark::There
    }

    /// The word at `at`, a multiple of four.
    pub fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// The bits of the tag at `at`, a multiple of eight.
    pub fn tag_at(&self, at: usize) -> u32 {
        self.word(at + 4)
    }

    /// Writes a value and a tag's bits at `at`, a multiple of eight, for `warp`; whether the tag was there before, and
    /// what is wrong with the access.
    pub fn mark(
        &mut self,
        at: usize,
        (value, tag): (u32, u32),
        warp: usize,
        clocks: &mut Clocks,
    ) -> (Mark, Option<Unordered>) {
        let was_tagged = self.words[at / 4].carries_tag();
        let before = match (self.tag_at(at) == tag, was_tagged) {
            (true, true) => Mark::There,
            (true, false) => Mark::Stale,
            (false, _) => Mark::Missing,
        };
        let mut recall = Recall::default();
        let unordered =
            self.write(at, 4, warp, clocks, &mut recall).or(self.write(at + 4, 4, warp, clocks, &mut recall));
        clocks.mark(warp);
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        self.bytes[at + 4..at + 8].copy_from_slice(&tag.to_le_bytes());
        let writer = MARKED | (FIRST_WARP + warp as u32);
        for word in &mut self.words[at / 4..at / 4 + 2] {
            *word = Granule { writer, tick: clocks.tick(warp), readers: 0 };
        }
        (before, unordered)
    }

    fn byte(&mut self, at: usize) -> &mut Granule {
        let whole = self.words[at / 4];
        self.words[at / 4].writer = SPLIT;
        &mut self.split.entry((at / 4) as u32).or_insert([whole; 4])[at % 4]
    }
}

/// The histories of a word's bytes; from now on they are kept apart.
fn bytes_of<'a>(
    word: &mut Granule,
    split: &'a mut HashMap<u32, [Granule; 4], FastBuild>,
    readers: &mut Readers,
    table: &mut Option<ReaderTable>,
    index: usize,
    clocks: &Clocks,
) -> &'a mut [Granule; 4] {
    let mut whole = *word;
    if let (Some(table), true) = (table, word.writer != SPLIT && !word.carries_tag()) {
        whole.readers = 0;
        for (warp, tick) in table.row(index).iter_mut().enumerate().filter(|(_, tick)| **tick != 0) {
            whole.readers = readers.add_at(whole.readers, warp, *tick, clocks);
            *tick = 0;
        }
    }
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
        // Who comes after those that have polled a value comes after its writer.
        Some(Unordered::Tagged) if granule.readers != 0 => None,
        Some(Unordered::Tagged) => {
            let writer = ((granule.writer & !MARKED) - FIRST_WARP) as usize;
            (!clocks.ordered(writer, granule.tick, warp)).then_some(Unordered::Write(writer))
        }
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
        writer if writer & MARKED != 0 => Some(Unordered::Tagged),
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
