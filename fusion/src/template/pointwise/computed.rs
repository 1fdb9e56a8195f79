//! Instructions of a thread's arithmetic at one point: equal values, also of several stages, are computed once.

use warpweave_plan::body::GroupBody;
use warpweave_plan::body::values::{NumberedPart, ValueNumbers};

use crate::cost::instructions::{branching_of, instructions_of};
use crate::template::pricing::reduced;

/// Instructions of a thread at one point, reads left out.
#[derive(Clone, Copy, Default)]
pub(super) struct Computed {
    pub(super) instructions: f64,
    /// Of these, those of functions that branch on their operands.
    pub(super) branching: f64,
}

impl Computed {
    /// Those of all stages of a body: of a reduction the body at every tap, and what follows once.
    pub(super) fn of(body: &GroupBody) -> Self {
        let mut found = Self::default();
        let mut numbers = ValueNumbers::new(body);
        for stage in &body.stages {
            let reduces = stage.expr.reducer.is_some();
            if reduces {
                found.add(&numbers.reduced_parts(), reduced(&stage.expr));
            }
            let once = numbers.next_stage();
            if !reduces || stage.expr.epilogue.is_some() {
                found.add(&once, 1.0);
            }
        }
        found
    }

    fn add(&mut self, parts: &[NumberedPart], times: f64) {
        let new = || parts.iter().filter(|part| part.is_new).map(|part| part.scalar);
        self.instructions += new().map(instructions_of).sum::<f64>().max(1.0) * times;
        self.branching += new().map(branching_of).sum::<f64>() * times;
    }
}
