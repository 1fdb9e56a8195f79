//! The runs of rows that lanes take.

use warpweave_plan::template::row::rounds::RUN;

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::ArrayId;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::zero;
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;

/// A run of a row that each lane of a warp takes.
pub(super) struct Run {
    /// Which of the lane's.
    pub(super) trip: Expression,
    /// Whether the lane has one, where not all have.
    pub(super) inside: Option<Expression>,
}

impl Run {
    /// What `load` puts into an array from an element on; zeros for a lane without a run.
    pub(super) fn load<'b>(
        &self,
        emitter: &mut Emitter<'b>,
        (array, first): (ArrayId, Expression),
        load: impl FnOnce(&mut Emitter<'b>) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        if self.inside.is_some() {
            for step in 0..RUN {
                let place = Place::Element(array, add(first.clone(), Expression::i32(step as i32)));
                emitter.push(Statement::Assign { place, value: zero(ScalarType::F32) });
            }
        }
        emitter.when(self.inside.clone(), load)
    }
}
