//! The rOperators that are checked.

use warpweave_graph::arena::Arena;

use crate::plan::{OperatorId, ROperator};

/// rOperators of a segment, or of a plan, numbered through its segments.
pub(super) type Operators = Arena<OperatorId, ROperator>;
