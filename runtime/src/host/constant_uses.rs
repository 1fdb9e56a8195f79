//! Constants in memory, until nothing reads them any more.

use std::collections::HashMap;
use std::sync::Arc;

use warpweave_graph::program::TensorId;
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::plan::{Buffer, BufferSpace, MemoryPlan, ROperator};

/// Bytes of the smallest page.
#[cfg(any(target_os = "linux", test))]
const PAGE: usize = 4096;

/// How often operators read each constant.
pub(super) struct ConstantUses {
    left: HashMap<TensorId, (Buffer, usize)>,
}

impl ConstantUses {
    /// Those of some operators.
    pub(super) fn of<'o>(operators: impl Iterator<Item = &'o ROperator>, memory: &MemoryPlan) -> Self {
        let mut left: HashMap<TensorId, (Buffer, usize)> = HashMap::new();
        for operator in operators {
            for (position, tensor) in operator.kernel.body().operands.iter().enumerate() {
                let Some(buffer) = memory.tensors[*tensor].buffer else { continue };
                if buffer.space == BufferSpace::Weights {
                    left.entry(*tensor).or_insert((buffer, 0)).1 += reads(operator, position).max(1);
                }
            }
        }
        Self { left }
    }

    /// Takes uses away, and releases the memory of constants that have none left. Weights that another holds keep all of it.
    pub(super) fn end(&mut self, ended: &[TensorId], weights: &mut Arc<[u8]>) {
        for tensor in ended {
            let Some((buffer, left)) = self.left.get_mut(tensor) else { continue };
            let buffer = *buffer;
            *left = left.saturating_sub(1);
            let is_read = self.left.values().any(|(other, left)| *left > 0 && other.overlaps(&buffer));
            let range = buffer.offset as usize..(buffer.offset + buffer.bytes) as usize;
            if let (false, Some(bytes)) = (is_read, Arc::get_mut(weights).and_then(|bytes| bytes.get_mut(range))) {
                release(bytes);
            }
        }
    }
}

/// How often an operator reads one of its operands.
fn reads(operator: &ROperator, position: usize) -> usize {
    let of = |stage: &Stage| {
        let sources = stage.expr.reads.values().map(|read| stage.sources[read.operand]);
        sources.filter(|source| *source == StageSource::Operand(position)).count()
    };
    operator.kernel.body().stages.iter().chain(&operator.kernel.body().staged).map(of).sum()
}

/// Gives the pages inside of some bytes back to the system, after which they hold zeros; where the system cannot be asked, they keep
/// what they hold.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "asks the system to drop pages")]
fn release(bytes: &mut [u8]) {
    let skipped = bytes.as_ptr().align_offset(PAGE);
    let Some(inner) = bytes.get_mut(skipped..) else { return };
    let length = inner.len() / PAGE * PAGE;
    // SAFETY: the pages lie inside of bytes that are borrowed here alone, and that an allocator took from the system as private
    // memory without a file. Such pages read as zeros once they are dropped, which are bytes like any others. What fails changes
    // nothing.
    let _ = unsafe { nix::libc::madvise(inner.as_mut_ptr().cast(), length, nix::libc::MADV_DONTNEED) };
}

#[cfg(not(target_os = "linux"))]
fn release(_bytes: &mut [u8]) {}

#[cfg(test)]
mod tests {
    use warpweave_graph::arena::Id;

    use super::*;

    /// Whether the inside of a constant is as it was, after two uses of two.
    fn is_kept(other: Option<Arc<[u8]>>, mut weights: Arc<[u8]>, others: &[(TensorId, (Buffer, usize))]) -> [bool; 2] {
        let tensor = TensorId::from_index(0);
        let buffer = Buffer { space: BufferSpace::Weights, offset: 0, bytes: weights.len() as u64 };
        let left = others.iter().copied().chain([(tensor, (buffer, 2))]).collect();
        let mut uses = ConstantUses { left };
        let kept = [(); 2].map(|()| {
            uses.end(&[tensor], &mut weights);
            weights.iter().all(|byte| *byte == 7)
        });
        drop(other);
        kept
    }

    #[test]
    fn constants_are_released_after_their_last_use() {
        let weights = || Arc::<[u8]>::from(vec![7u8; 5 * PAGE]);
        assert_eq!(is_kept(None, weights(), &[]), [true, !cfg!(target_os = "linux")]);
        let shared = weights();
        assert_eq!(is_kept(Some(shared.clone()), shared, &[]), [true, true], "another holds them");
        let view = Buffer { space: BufferSpace::Weights, offset: 512, bytes: 8 };
        let view = (TensorId::from_index(1), (view, 1));
        assert_eq!(is_kept(None, weights(), &[view]), [true, true], "a part of it is read");
    }

    #[test]
    fn pages_are_released_inside_only() {
        let mut bytes = vec![7u8; 5 * PAGE];
        let start = bytes.as_ptr().align_offset(PAGE) + 100;
        release(&mut bytes[start..start + 2 * PAGE]);
        assert!(bytes[..start].iter().chain(&bytes[start + 2 * PAGE..]).all(|byte| *byte == 7));
    }
}
