//! Groups that differ in where they read and write are prepared once.
//!
//! The steps of a recurrent layer are such groups: a program a step would come from memory anew each time.

use std::collections::HashMap;
use std::sync::Arc;

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{ReadId, TensorExpr};

use super::group::{Group, Shared};
use super::stage::{Output, Source, StageReads};

/// Groups that have been prepared, by what they are.
#[derive(Default)]
pub(crate) struct KnownGroups(HashMap<Key, Arc<Group>>);

/// All of a group but the bytes from which it reads and writes.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    stages: Vec<(TensorExpr, Arena<ReadId, Source>, Option<Output>)>,
    shared: Vec<Shared>,
}

impl KnownGroups {
    /// The group of stages that share their first axes, prepared now or before. What checks indices names a tensor, and has
    /// no equal.
    pub(crate) fn prepared(&mut self, stages: Vec<StageReads>, shared: Vec<Shared>) -> Arc<Group> {
        if stages.iter().any(|stage| !stage.checks.is_empty()) {
            return Arc::new(Group::new(stages, &shared));
        }
        let parts = |stage: &StageReads| (stage.expr.clone(), stage.sources.clone(), stage.output.clone());
        let key = Key { stages: stages.iter().map(parts).collect(), shared };
        if let Some(known) = self.0.get(&key) {
            return Arc::clone(known);
        }
        let group = Arc::new(Group::new(stages, &key.shared));
        self.0.insert(key, Arc::clone(&group));
        group
    }
}
