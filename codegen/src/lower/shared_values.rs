//! Values that stages have in common at one point of the tile axes: each is computed once.

use std::collections::HashMap;
use std::rc::Rc;

use warpweave_plan::body::GroupBody;
use warpweave_plan::body::values::{NumberedPart, ValueNumbers};

use crate::kernel_ir::expression::Expression;
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;

/// The values that stages have computed at one point.
#[derive(Clone)]
pub(crate) struct SharedValues<'b> {
    /// The parts of every stage's value.
    parts: Rc<[Vec<NumberedPart<'b>>]>,
    known: HashMap<usize, Expression>,
}

impl<'b> SharedValues<'b> {
    /// Of a point at which no stage has been computed.
    pub(crate) fn new(body: &'b GroupBody) -> Self {
        let mut numbers = ValueNumbers::new(body);
        let parts = body.stages.iter().map(|_| numbers.next_stage()).collect();
        Self { parts, known: HashMap::new() }
    }

    /// The value of a stage, once what it reduces is known. What other stages have computed is taken from them.
    pub(crate) fn emit(
        &mut self,
        emitter: &mut Emitter,
        point: &mut Point,
        stage: usize,
    ) -> Result<Expression, LowerError> {
        let parts = Rc::clone(&self.parts);
        let parts = &parts[stage];
        let whole = parts.last().expect("a scalar has parts");
        let mut at = parts.len();
        while let Some(part) = at.checked_sub(1).map(|last| &parts[last]) {
            match self.known.get(&part.number) {
                Some(known) => {
                    point.known_scalar(part.scalar.clone(), known.clone());
                    at -= part.size;
                }
                None => at -= 1,
            }
        }
        let value = point.emit(emitter, whole.scalar)?;
        if self.parts.len() > 1 {
            for part in parts {
                let known = point.known(part.scalar).filter(|_| part.size > 1);
                self.known.extend(known.map(|known| (part.number, known.clone())));
            }
        }
        Ok(value)
    }
}
