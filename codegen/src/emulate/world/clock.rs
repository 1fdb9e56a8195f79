//! Vector clocks of the warps of a grid.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// What a thread had seen when it released.
#[derive(Clone, Debug)]
pub struct Snapshot {
    remote: Rc<Vec<u32>>,
    first: usize,
    local: Box<[u32]>,
}

/// One vector clock a warp.
///
/// Acquires and releases are those of single threads. The threads beside such a thread in its warp take part in
/// neither, though they run in step, unless a barrier of the block stands between. So what a thread acquires orders its
/// block's accesses from the next barrier on, and a release covers them up to the last one. The warps of a block share
/// what they have seen of other blocks as of their last barrier. A warp's clock only changes together with its own
/// tick, so whatever is derived from (warp, tick) stays valid.
#[derive(Debug)]
pub struct Clocks {
    per_block: usize,
    /// Per block, the ticks of all warps; the entries of the block itself are not used.
    remote: Vec<Rc<Vec<u32>>>,
    /// Per warp, the same for the thread that has acquired since the block's last barrier, if one has.
    acquired: Vec<Option<Rc<Vec<u32>>>>,
    /// Per warp, the ticks of the warps of its block.
    local: Vec<u32>,
    /// Per warp, its tick at the block's last barrier.
    met: Vec<u32>,
    /// By warp and step in which it wrote a tag, the ticks of the warps of its block that it had seen.
    tagged: HashMap<(usize, u32), Box<[u32]>>,
    /// Per warp and step, polls that saw what its block had computed of what was read in that step, one a block: the polling
    /// warps and their steps.
    completions: Vec<BTreeMap<u32, Vec<(usize, u32)>>>,
    /// Per warp of a node, whether it has waited for the node before; empty where nothing stands before the launch.
    dependencies_met: Vec<bool>,
}

impl Clocks {
    /// Clocks of `blocks` blocks of `per_block` warps that have seen nothing of each other.
    pub fn new(blocks: usize, per_block: usize) -> Self {
        let nothing = Rc::new(vec![0; blocks * per_block]);
        let mut clocks = Self {
            per_block,
            remote: vec![nothing; blocks],
            acquired: vec![None; blocks * per_block],
            local: vec![0; blocks * per_block * per_block],
            met: vec![0; blocks * per_block],
            tagged: HashMap::new(),
            completions: vec![BTreeMap::new(); blocks * per_block],
            dependencies_met: Vec::new(),
        };
        for warp in 0..blocks * per_block {
            clocks.advance(warp);
        }
        clocks
    }

    /// The same in a node, whose warps have yet to wait for the node before.
    pub fn with_dependencies(self) -> Self {
        Self { dependencies_met: vec![false; self.met.len()], ..self }
    }

    /// `warp` has waited for the node before.
    pub fn meet_dependencies(&mut self, warp: usize) {
        if let Some(met) = self.dependencies_met.get_mut(warp) {
            *met = true;
        }
    }

    /// Whether what the node before has done happens before what `warp` does now.
    #[inline]
    pub fn has_met_dependencies(&self, warp: usize) -> bool {
        self.dependencies_met.get(warp).is_none_or(|met| *met)
    }

    /// The number of the step that `warp` is in.
    #[inline]
    pub fn tick(&self, warp: usize) -> u32 {
        self.local[warp * self.per_block + warp % self.per_block]
    }

    /// Whether what `other` did in its step `tick` happens before what `warp` does now.
    #[inline]
    pub fn ordered(&self, other: usize, tick: u32, warp: usize) -> bool {
        if other == warp {
            return true;
        }
        let (block, other_block) = (warp / self.per_block, other / self.per_block);
        let seen = if block == other_block {
            self.local[warp * self.per_block + other % self.per_block]
        } else {
            self.remote[block][other]
        };
        seen >= tick
    }

    /// Remembers what `warp` has seen where it writes a tag.
    pub fn mark(&mut self, warp: usize) {
        let (tick, first) = (self.tick(warp), warp * self.per_block);
        let seen = &self.local[first..first + self.per_block];
        self.tagged.entry((warp, tick)).or_insert_with(|| seen.into());
    }

    /// `poller` has seen a tag that `writer` wrote in its step `tick`.
    pub fn completion(&mut self, writer: usize, tick: u32, poller: usize) {
        let Some(seen) = self.tagged.get(&(writer, tick)) else { return };
        let (block, now) = (poller / self.per_block, self.tick(poller));
        let first = writer / self.per_block * self.per_block;
        for (warp, &step) in (first..).zip(seen) {
            let known = self.completions[warp].entry(step).or_default();
            if known.iter().all(|(other, _)| other / self.per_block != block) {
                known.push((poller, now));
            }
        }
    }

    /// Whether a read of `other` in its step `tick` is over before what `warp` does now.
    ///
    /// It is over if it happens before that. It is also over if some poll has seen what came of it, and that poll
    /// happens before or is itself over.
    pub fn has_been_read(&self, other: usize, tick: u32, warp: usize) -> bool {
        if self.ordered(other, tick, warp) {
            return true;
        }
        // Per warp, the earliest step of which it is known that its reads are over only where some later poll is.
        let mut earliest: HashMap<usize, u32> = HashMap::from([(other, tick)]);
        let mut open = vec![(other, tick)];
        while let Some((reader, step)) = open.pop() {
            for &(poller, step) in self.completions[reader].range(step..).flat_map(|(_, polls)| polls) {
                if self.ordered(poller, step, warp) {
                    return true;
                }
                let known = earliest.entry(poller).or_insert(u32::MAX);
                if step < *known {
                    *known = step;
                    open.push((poller, step));
                }
            }
        }
        false
    }

    /// What a thread of `warp` has seen, the warp's own steps up to the block's last barrier among it.
    pub fn release(&mut self, warp: usize) -> Snapshot {
        let block = warp / self.per_block;
        let mut local: Box<[u32]> = self.local[warp * self.per_block..][..self.per_block].into();
        local[warp % self.per_block] = self.met[warp];
        let snapshot = Snapshot {
            remote: Rc::clone(self.acquired[warp].as_ref().unwrap_or(&self.remote[block])),
            first: block * self.per_block,
            local,
        };
        self.advance(warp);
        snapshot
    }

    /// Everything in `seen`, one tick a warp, happens before what a thread of `warp` releases from now on, and before what
    /// the block does from its next barrier on.
    pub fn acquire(&mut self, warp: usize, seen: &[u32]) {
        let block = warp / self.per_block;
        let own = block * self.per_block..(block + 1) * self.per_block;
        let row = &mut self.local[warp * self.per_block..][..self.per_block];
        join(row, &seen[own]);
        let mut remote = Rc::clone(self.acquired[warp].as_ref().unwrap_or(&self.remote[block]));
        join(Rc::make_mut(&mut remote).as_mut_slice(), seen);
        self.acquired[warp] = Some(remote);
        self.advance(warp);
    }

    /// All warps of `block` have met.
    pub fn barrier(&mut self, block: usize) {
        let warps = block * self.per_block..(block + 1) * self.per_block;
        for warp in warps.clone() {
            if let Some(acquired) = self.acquired[warp].take() {
                join(Rc::make_mut(&mut self.remote[block]).as_mut_slice(), &acquired);
            }
        }
        let ticks: Vec<u32> = warps.clone().map(|warp| self.tick(warp)).collect();
        for warp in warps {
            self.local[warp * self.per_block..][..self.per_block].copy_from_slice(&ticks);
            self.met[warp] = self.tick(warp);
            self.advance(warp);
        }
    }

    fn advance(&mut self, warp: usize) {
        self.local[warp * self.per_block + warp % self.per_block] += 1;
    }
}

impl Snapshot {
    /// Adds the snapshot to `seen`, one tick a warp.
    pub fn join_into(&self, seen: &mut [u32]) {
        // The own block's entries of `remote` may be stale, never too new, so joining them as well is harmless.
        join(seen, &self.remote);
        join(&mut seen[self.first..self.first + self.local.len()], &self.local);
    }
}

fn join(into: &mut [u32], other: &[u32]) {
    for (mine, &theirs) in into.iter_mut().zip(other) {
        *mine = (*mine).max(theirs);
    }
}
