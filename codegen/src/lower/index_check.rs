//! Elements that name places, each checked before it is used.

use warpweave_graph::expr::{IndirectIndex, Read};
use warpweave_graph::index_check::IndexCheck;
use warpweave_plan::body::StageSource;
use warpweave_plan::plan::index_records::PADDING;

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;
use crate::lower::index::emit_guard;
use crate::lower::scalar::Point;

impl Point<'_> {
    /// Finds the place that a read names at this point, if it is not known.
    pub(crate) fn check(&mut self, emitter: &mut Emitter, index: IndirectIndex) -> Result<(), LowerError> {
        if self.places.contains_key(&index) {
            return Ok(());
        }
        let value = self.read(emitter, index.read)?.into();
        let body = emitter.body();
        let stage = self.stage.of(body);
        let read = &stage.expr.reads[index.read];
        let StageSource::Operand(operand) = stage.sources[read.operand] else {
            unreachable!("a verified plan reads indices from memory")
        };
        let element = match self.elements.get(&index.read) {
            Some(element) => element.clone(),
            None => self.guarded_element(emitter, operand, read)?,
        };
        let check = IndexCheck { tensor: body.operands[operand], extent: index.extent };
        let record = emitter.memory.index_records.word(check).expect("a verified plan checks every index");
        let (extent, record) = (emitter.operand(index.extent)?, emitter.operand(record as i64)?);
        let local = emitter.declare(ScalarType::I32);
        emitter.push(Statement::CheckIndex { place: Place::Local(local), value, extent, element, record });
        self.places.insert(index, local);
        Ok(())
    }

    /// Which element a read reads; [`PADDING`] where it reads none.
    fn guarded_element(&self, emitter: &mut Emitter, operand: usize, read: &Read) -> Result<Expression, LowerError> {
        let expr = &self.stage.of(emitter.body()).expr;
        let (_, _, element) = self.address(emitter, operand, read)?;
        let guard = emit_guard(emitter, expr, &read.guard, &self.coordinates())?;
        Ok(match guard {
            None => element,
            Some(guard) => {
                let padding = Expression::i32(PADDING.cast_signed());
                Expression::Select(Box::new(guard), Box::new(element), Box::new(padding))
            }
        })
    }
}
