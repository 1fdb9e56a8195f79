//! What a fusion group computes: stages over shared tile axes.

pub mod alone;
pub mod deduplication;
pub mod operations;
pub mod signature;
pub mod values;

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::expr::{AxisId, Scalar, TensorExpr};
use warpweave_graph::procedure::Procedure;
use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;

/// Where an operand of a stage comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum StageSource {
    /// A tensor in memory: position in [`GroupBody::operands`].
    Operand(usize),
    /// The value that an earlier stage computed at the same point of the tile axes.
    Stage(usize),
    /// The value of an earlier staged stage, in shared memory: position in [`GroupBody::staged`].
    Staged(usize),
}

/// One expression of a group.
///
/// In [`GroupBody::stages`], its first [`GroupBody::tile_rank`] axes are the group's tile axes, in the group's order. A stage
/// that reduces has no other parallel axes; one that does not may have more, which every tile covers whole.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Stage {
    /// What is computed.
    pub expr: TensorExpr,
    /// Where each operand of the expression comes from.
    pub sources: Vec<StageSource>,
    /// Where the value goes, if it leaves the group.
    pub output: Option<StageOutput>,
    /// What makes the value of what the expression gives, where the expression alone does not say it. Such a stage is alone in
    /// its body, and has one parallel axis beyond the tile axes.
    pub procedure: Option<Procedure>,
}

impl Stage {
    /// Whether the value of the expression has more digits than its element type keeps, so that a tensor of it is rounded.
    pub fn is_rounded(&self) -> bool {
        let keeps = |element: ElementType| element == self.expr.element;
        let own = if self.expr.reducer.is_some() { &Scalar::Reduced } else { &self.expr.body };
        let is_exact = match self.expr.epilogue.as_ref().unwrap_or(own) {
            Scalar::Cast(element, _) => keeps(*element),
            Scalar::Read(read) => keeps(self.expr.operands[self.expr.reads[*read].operand].element),
            _ => false,
        };
        self.expr.element.is_half() && !is_exact
    }

    /// Whether the stage's reduction, if it has one, combines singles.
    pub fn sums_singles(&self) -> bool {
        self.expr.reducer.is_none() || self.expr.body_element().is_single()
    }
}

/// A tensor that a stage writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct StageOutput {
    /// Position in [`GroupBody::outputs`].
    pub position: usize,
    /// Per dimension of the tensor, its index as a function of the stage's parallel axes. Together they visit every
    /// element once.
    pub index: Vec<warpweave_graph::expr::Index>,
}

/// The problem that one kernel solves.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct GroupBody {
    /// Values that never leave the kernel and that later stages read at other points than their own. A tile computes
    /// the box that it reads of them into shared memory first. Axes are each stage's own; a stage reads earlier ones
    /// only.
    pub staged: Vec<Stage>,
    /// The expressions in order; a stage reads earlier ones only.
    pub stages: Vec<Stage>,
    /// The number of leading axes that all stages share and that tiles divide.
    pub tile_rank: usize,
    /// The tensors that are read, each once.
    pub operands: Vec<TensorId>,
    /// The tensors that are written.
    pub outputs: Vec<TensorId>,
}

impl GroupBody {
    /// The extents of the tile axes.
    pub fn tile_extents(&self) -> Vec<usize> {
        self.stages[0].expr.axes.values().take(self.tile_rank).map(|axis| axis.extent).collect()
    }

    /// What computes the body's value, where an expression alone does not say it.
    pub fn procedure(&self) -> Option<Procedure> {
        self.stages.iter().find_map(|stage| stage.procedure)
    }

    /// The stages that reduce, with their positions.
    pub fn reductions(&self) -> impl Iterator<Item = (usize, &Stage)> {
        self.stages.iter().enumerate().filter(|(_, stage)| stage.expr.reducer.is_some())
    }

    /// The parallel axes of a stage beyond the tile axes.
    pub fn extra_axes(&self, stage: usize) -> Vec<AxisId> {
        self.stages[stage].expr.parallel().skip(self.tile_rank).collect()
    }
}

impl fmt::Display for GroupBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |tensors: &[TensorId]| tensors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (reads, writes) = (list(&self.operands), list(&self.outputs));
        writeln!(f, "    tile axes {}, reads [{reads}], writes [{writes}]", self.tile_rank)?;
        let staged = self.staged.iter().enumerate().map(|(position, stage)| (format!("staged {position}"), stage));
        let stages = self.stages.iter().enumerate().map(|(position, stage)| (format!("stage {position}"), stage));
        for (name, stage) in staged.chain(stages) {
            let sources: Vec<String> = stage
                .sources
                .iter()
                .zip(&stage.expr.operands)
                .map(|(source, ty)| match source {
                    StageSource::Operand(operand) => format!("{}: {ty}", self.operands[*operand]),
                    StageSource::Stage(earlier) => format!("stage {earlier}: {ty}"),
                    StageSource::Staged(earlier) => format!("staged {earlier}: {ty}"),
                })
                .collect();
            let procedure = stage.procedure.map(|procedure| format!(" by {procedure}")).unwrap_or_default();
            write!(f, "    {name} ({}): {}{procedure} = {}", sources.join(", "), stage.expr.element, stage.expr)?;
            if let Some(output) = &stage.output {
                let index: Vec<String> = output.index.iter().map(ToString::to_string).collect();
                write!(f, " -> {}[{}]", self.outputs[output.position], index.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
