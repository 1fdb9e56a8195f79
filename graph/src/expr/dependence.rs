//! On which axes the parts of an expression depend.

use std::collections::BTreeSet;

use crate::expr::{AxisId, AxisKind, Index, IndirectIndex, ReadId, Scalar, TensorExpr};

impl TensorExpr {
    /// The axes on which a scalar depends, through the indices of its reads too.
    pub fn scalar_axes(&self, scalar: &Scalar) -> BTreeSet<AxisId> {
        let mut axes = BTreeSet::new();
        let mut reads = Vec::new();
        scalar.visit(&mut |scalar| match scalar {
            Scalar::Read(read) => reads.push(*read),
            Scalar::Index(index, _) => index.visit(&mut |axis| _ = axes.insert(axis), &mut |read| reads.push(read)),
            Scalar::Holds(guard) => {
                for condition in guard.conditions() {
                    condition.index.visit(&mut |axis| _ = axes.insert(axis), &mut |read| reads.push(read));
                }
            }
            _ => {}
        });
        self.follow(axes, reads)
    }

    /// The axes on which indices depend, through the reads inside them too.
    pub fn index_axes(&self, index: &[Index]) -> BTreeSet<AxisId> {
        let mut axes = BTreeSet::new();
        let mut reads = Vec::new();
        for index in index {
            index.visit(&mut |axis| _ = axes.insert(axis), &mut |read| reads.push(read));
        }
        self.follow(axes, reads)
    }

    fn follow(&self, mut axes: BTreeSet<AxisId>, mut reads: Vec<ReadId>) -> BTreeSet<AxisId> {
        let mut next = 0;
        while next < reads.len() {
            let read = &self.reads[reads[next]];
            let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
            for index in read.index.iter().chain(conditions) {
                index.visit(&mut |axis| _ = axes.insert(axis), &mut |read| reads.push(read));
            }
            next += 1;
        }
        axes
    }

    /// The indices that reads give, each once: those that are the same at all points of the reduction, and those that are read
    /// again at every point.
    pub fn indirect_indices_by_reduction(&self) -> (Vec<IndirectIndex>, Vec<IndirectIndex>) {
        self.indirect_indices().into_iter().partition(|index| self.is_fixed_in_reduction(index.read))
    }

    /// Whether a read is of the same element, under the same conditions, at all points of the reduction.
    pub fn is_fixed_in_reduction(&self, read: ReadId) -> bool {
        let read = &self.reads[read];
        let conditions = read.guard.conditions().iter().map(|condition| condition.index.clone());
        let indices: Vec<Index> = read.index.iter().cloned().chain(conditions).collect();
        self.index_axes(&indices).into_iter().all(|axis| self.axes[axis].kind == AxisKind::Parallel)
    }
}
