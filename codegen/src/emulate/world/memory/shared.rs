//! A block's shared memory: words, and for each who wrote and read it since the last barriers.

use std::ops::Range;

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conflict {
    /// A copy into the element is under way.
    InFlight,
    /// The kernel has not written the element since it was entered.
    Uninitialised,
    /// No barrier stands between this access and one of the other thread (of several, `None`).
    Race(Option<u32>),
}

/// When and by whom a word was touched.
#[derive(Clone, Copy, Default)]
struct Touch {
    /// The block's barrier phase, from 1; 0 for never.
    phase: u32,
    /// The warp's ordering phase.
    stamp: u32,
    /// The thread, [`MANY_LANES`] + the warp, or [`MANY`].
    thread: u32,
}

const MANY: u32 = u32::MAX;
const MANY_LANES: u32 = 1 << 16;

#[derive(Clone, Copy, Default)]
struct History {
    write: Touch,
    read: Touch,
    /// The kernel call that wrote the word.
    call: u32,
    /// A copy into the word is under way.
    in_flight: bool,
}

/// Who accesses, and when.
#[derive(Clone, Copy, Debug)]
pub struct Accessor {
    /// The barriers that the block has passed, plus 1.
    pub phase: u32,
    /// The warp's ordering points passed; each barrier counts as one, too.
    pub stamp: u32,
    /// The number of the kernel call.
    pub call: u32,
    /// The warp's first thread.
    pub first_thread: u32,
}

impl Accessor {
    /// The same for an array that lasts from call to call: whichever call wrote it last.
    pub fn of_kept(self) -> Self {
        Self { call: u32::MAX, ..self }
    }
}

/// The shared memory of one block, an element a word (`I64` two).
pub struct Shared {
    /// The contents, as registers hold them.
    pub words: Vec<u32>,
    histories: Vec<History>,
}

impl Shared {
    /// Undefined shared memory.
    pub fn new(words: usize) -> Self {
        Self { words: vec![super::global::POISON; words], histories: vec![History::default(); words] }
    }

    /// Records a read of consecutive words by `lane`; the first problem, and its word.
    #[inline]
    pub fn read(&mut self, words: Range<usize>, lane: u32, by: &Accessor) -> Option<(usize, Conflict)> {
        self.touch(words, |history| {
            let ordered = history.write.phase != by.phase && history.call == by.call && !history.in_flight;
            let noted = history.read.phase == by.phase && history.read.thread == MANY;
            if ordered && noted { None } else { read_word(history, by.first_thread + lane, by) }
        })
    }

    /// Tags consecutive words as being copied to, or as no longer so. What they held is gone.
    pub fn mark(&mut self, words: Range<usize>, in_flight: bool) {
        self.words[words.clone()].fill(super::global::POISON);
        self.histories[words].iter_mut().for_each(|history| history.in_flight = in_flight);
    }

    /// Records a write of consecutive words by `lane`; the first problem, and its word.
    #[inline]
    pub fn write(&mut self, words: Range<usize>, lane: u32, by: &Accessor) -> Option<(usize, Conflict)> {
        self.touch(words, |history| write_word(history, by.first_thread + lane, by))
    }

    /// Touches each of consecutive words; the first problem, and its word.
    #[inline]
    fn touch(
        &mut self,
        words: Range<usize>,
        mut of_word: impl FnMut(&mut History) -> Option<Conflict>,
    ) -> Option<(usize, Conflict)> {
        let mut problem = None;
        for (word, history) in words.clone().zip(&mut self.histories[words]) {
            if let (Some(found), None) = (of_word(history), &problem) {
                problem = Some((word, found));
            }
        }
        problem
    }
}

#[inline]
fn read_word(history: &mut History, thread: u32, by: &Accessor) -> Option<Conflict> {
    let unordered = conflicts(&history.write, thread, by);
    let read = &mut history.read;
    if read.phase != by.phase {
        *read = Touch { phase: by.phase, stamp: by.stamp, thread };
    } else if read.thread != thread || read.stamp != by.stamp {
        widen(read, thread, by);
    }
    if history.in_flight {
        return Some(Conflict::InFlight);
    }
    if unordered {
        return Some(Conflict::Race(Some(history.write.thread)));
    }
    (history.write.phase == 0 || history.call != by.call).then_some(Conflict::Uninitialised)
}

#[inline]
fn write_word(history: &mut History, thread: u32, by: &Accessor) -> Option<Conflict> {
    let other = if conflicts(&history.write, thread, by) {
        Some(history.write.thread)
    } else if conflicts(&history.read, thread, by) {
        Some(history.read.thread)
    } else {
        None
    };
    history.write = Touch { phase: by.phase, stamp: by.stamp, thread };
    history.call = by.call;
    if history.in_flight {
        return Some(Conflict::InFlight);
    }
    other.map(|thread| Conflict::Race((thread < MANY_LANES).then_some(thread)))
}

#[inline]
fn conflicts(earlier: &Touch, thread: u32, by: &Accessor) -> bool {
    if earlier.phase != by.phase || earlier.thread == thread {
        return false;
    }
    if earlier.thread == MANY {
        return true;
    }
    let (warp, several) =
        if earlier.thread >= MANY_LANES { (earlier.thread - MANY_LANES, true) } else { (earlier.thread / 32, false) };
    warp != thread / 32 || ((several || earlier.thread != thread) && earlier.stamp == by.stamp)
}

/// Adds a read by `thread` to reads of the same block phase.
#[inline]
fn widen(read: &mut Touch, thread: u32, by: &Accessor) {
    if read.thread == MANY {
        return;
    }
    let warp = if read.thread >= MANY_LANES { read.thread - MANY_LANES } else { read.thread / 32 };
    if warp != thread / 32 {
        read.thread = MANY;
    } else if read.stamp != by.stamp {
        *read = Touch { phase: by.phase, stamp: by.stamp, thread };
    } else if read.thread < MANY_LANES {
        read.thread = MANY_LANES + warp;
    }
}
