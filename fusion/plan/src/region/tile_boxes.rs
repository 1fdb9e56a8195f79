//! What the rTasks of every rOperator read, found once for those that are alike.

use std::borrow::Cow;

use warpweave_graph::arena::{Arena, Id};

use crate::body::deduplication::{Repeated, StructuralKey, deduplicated};
use crate::plan::{OperatorId, ROperator};
use crate::region::{ReadBox, read_boxes};

/// Per rOperator and tile, the boxes that it reads.
pub struct TileBoxes<'a> {
    operators: &'a Arena<OperatorId, ROperator>,
    /// Of each kind of which there are several rOperators.
    kinds: Vec<Option<Vec<Vec<ReadBox>>>>,
    /// Per rOperator, the position of its kind.
    of: Vec<usize>,
}

impl<'a> TileBoxes<'a> {
    /// Of these rOperators.
    pub fn of(operators: &'a Arena<OperatorId, ROperator>) -> Self {
        let ids: Vec<OperatorId> = operators.ids().collect();
        let (kinds, of) = deduplicated(
            &ids,
            |&id| StructuralKey::of(&operators[id].kernel),
            |&id, repeated| match repeated {
                Repeated::Yes => Some(tile_boxes(&operators[id])),
                Repeated::No => None,
            },
        );
        Self { operators, kinds, of }
    }

    /// What the tiles of an rOperator read.
    pub fn of_operator(&self, id: OperatorId) -> Cow<'_, [Vec<ReadBox>]> {
        let of_kind = self.kinds[self.of[id.index()]].as_deref();
        of_kind.map_or_else(|| Cow::Owned(tile_boxes(&self.operators[id])), Cow::Borrowed)
    }
}

fn tile_boxes(operator: &ROperator) -> Vec<Vec<ReadBox>> {
    (0..operator.tasks()).map(|tile| read_boxes(operator, tile)).collect()
}
