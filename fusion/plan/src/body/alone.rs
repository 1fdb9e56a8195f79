//! Parts of bodies on their own: a sum without its epilogue, and expressions without reads that are not used.

use std::collections::BTreeSet;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Index, ReadId, Scalar, TensorExpr};
use warpweave_graph::program::TensorId;
use warpweave_graph::views::merge_operands;

use crate::body::{GroupBody, Stage, StageOutput, StageSource};

impl GroupBody {
    /// The sum of a contraction without its epilogue and later stages. `None` where an index depends on data.
    pub fn sum_alone(&self) -> Option<Self> {
        let Stage { expr, sources, .. } = &self.stages[0];
        if !is_free_of_data(expr) {
            return None;
        }
        let alone = without_unused(&TensorExpr { epilogue: None, element: expr.body_element(), ..expr.clone() });
        let (expr, sources) = merge_operands(&alone, sources);
        let index = expr.parallel().map(Index::axis).collect();
        let output = Some(StageOutput { position: 0, index });
        let stage = Stage { expr, sources, output, procedure: None };
        Some(self.with_operands(vec![stage], self.tile_rank, self.outputs[..1].to_vec(), None))
    }

    /// A body of these stages whose operands are those of this one that they read, and `more`, which follows them there.
    pub fn with_operands(
        &self,
        mut stages: Vec<Stage>,
        tile_rank: usize,
        outputs: Vec<TensorId>,
        more: Option<TensorId>,
    ) -> Self {
        let all: Vec<TensorId> = self.operands.iter().copied().chain(more).collect();
        let mut operands: Vec<TensorId> = Vec::new();
        for source in stages.iter_mut().flat_map(|stage| &mut stage.sources) {
            let StageSource::Operand(position) = source else { continue };
            let tensor = all[*position];
            let known = operands.iter().position(|other| *other == tensor);
            *position = known.unwrap_or_else(|| {
                operands.push(tensor);
                operands.len() - 1
            });
        }
        Self { staged: Vec::new(), stages, tile_rank, operands, outputs }
    }
}

/// Whether no place that an expression reads depends on data.
pub fn is_free_of_data(expr: &TensorExpr) -> bool {
    expr.reads.values().all(|read| {
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        read.index.iter().chain(conditions).all(Index::is_free_of_reads)
    })
}

/// The expression without reads that neither body nor epilogue makes; no index depends on a read.
pub fn without_unused(expr: &TensorExpr) -> TensorExpr {
    let mut used: BTreeSet<ReadId> = BTreeSet::new();
    for scalar in [Some(&expr.body), expr.epilogue.as_ref()].into_iter().flatten() {
        scalar.visit(&mut |scalar| {
            if let Scalar::Read(read) = scalar {
                used.insert(*read);
            }
        });
    }
    let used: Vec<ReadId> = used.into_iter().collect();
    let renamed = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => {
                let at = used.binary_search(read).expect("the read is used");
                Scalar::Read(ReadId::from_index(at))
            }
            other => other.clone(),
        })
    };
    TensorExpr {
        reads: used.iter().map(|read| expr.reads[*read].clone()).collect(),
        body: renamed(&expr.body),
        epilogue: expr.epilogue.as_ref().map(renamed),
        ..expr.clone()
    }
}
