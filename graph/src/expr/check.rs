//! Whether an expression that comes from outside keeps the rules of [`TensorExpr`].

use super::{Atom, AxisKind, BinaryOp, Guard, Index, IndirectIndex, Literal, ReadId, Scalar, TensorExpr, UnaryOp};
use crate::arena::Id;
use crate::types::{ElementType, MAX_RANK};

/// No extent, coefficient or bound of an index is larger: sums of products stay within 64 bits.
const LARGEST_FACTOR: i64 = 1 << 40;

type Check = Result<(), &'static str>;

impl TensorExpr {
    /// Checks ids, ranks, types and the order of axes; not whether guarded indices stay inside their operands.
    pub fn check(&self) -> Check {
        let parallel = self.check_accesses()?;
        require(self.reducer.is_some() == (parallel < self.axes.len()), "a reducer and reduced axes belong together")?;
        require(self.reducer.is_some() || self.epilogue.is_none(), "an epilogue needs a reducer")?;
        let body = self.check_scalar(&self.body, None)?;
        require(self.reducer.is_none() || !body.is_storage(), "a type of storage only is not reduced")?;
        let result = self.epilogue.as_ref().map_or(Ok(body), |epilogue| self.check_scalar(epilogue, Some(body)))?;
        require(result == self.element, "the value has another type")
    }

    /// Checks an expression whose values a procedure combines, but for what the procedure itself needs; the body's type.
    pub fn check_access(&self) -> Result<ElementType, &'static str> {
        self.check_accesses()?;
        require(self.reducer.is_none() && self.epilogue.is_none(), "a procedure and a reducer exclude each other")?;
        self.check_scalar(&self.body, None)
    }

    /// Axes, operands and reads; the number of parallel axes.
    fn check_accesses(&self) -> Result<usize, &'static str> {
        let kinds: Vec<AxisKind> = self.axes.values().map(|axis| axis.kind).collect();
        let parallel = kinds.iter().take_while(|kind| **kind == AxisKind::Parallel).count();
        require(kinds[parallel..].iter().all(|kind| *kind == AxisKind::Reduced), "axes are out of order")?;
        let extents = self.axes.values().try_fold(1usize, |product, axis| product.checked_mul(axis.extent.max(1)));
        require(extents.is_some_and(|points| i64::try_from(points).is_ok()), "there are too many points")?;
        for operand in &self.operands {
            let elements = operand.shape.checked_elements();
            let fits = elements.is_some_and(|elements| elements as u64 <= LARGEST_FACTOR as u64);
            require(operand.shape.len() <= MAX_RANK && fits, "an operand's shape is impossible")?;
        }
        for read in self.reads.values() {
            let operand = self.operands.get(read.operand).ok_or("a read names an unknown operand")?;
            require(read.index.len() == operand.shape.len(), "a read has the wrong rank")?;
            require(read.fill.element() == operand.element && is_literal(read.fill), "a fill has the wrong type")?;
            read.index.iter().try_for_each(|index| self.check_index(index))?;
            self.check_guard(&read.guard)?;
        }
        self.check_indirection()?;
        Ok(parallel)
    }

    fn check_index(&self, index: &Index) -> Check {
        let small = |value: i64| (-LARGEST_FACTOR..=LARGEST_FACTOR).contains(&value);
        require(small(index.offset()), "an index is too large")?;
        for (atom, coefficient) in index.terms() {
            require(small(*coefficient), "a coefficient is too large")?;
            match atom {
                Atom::Axis(axis) => require(self.axes.get(*axis).is_some(), "an index names an unknown axis")?,
                Atom::FloorDiv(inner, divisor) | Atom::Mod(inner, divisor) => {
                    require(*divisor > 0 && small(*divisor), "a divisor is impossible")?;
                    self.check_index(inner)?;
                }
                Atom::Clamp(inner, low, high) => {
                    require(low <= high && small(*low) && small(*high), "a clamp has impossible bounds")?;
                    self.check_index(inner)?;
                }
                Atom::Indirect(IndirectIndex { read, extent }) => {
                    require(*extent > 0 && small(*extent), "an index reads from nothing")?;
                    let operand = self.reads.get(*read).and_then(|read| self.operands.get(read.operand));
                    require(
                        operand
                            .map(|operand| operand.element)
                            .is_some_and(|element| element.is_integer() && !element.is_storage()),
                        "an index reads no integer",
                    )?;
                }
            }
        }
        Ok(())
    }

    fn check_guard(&self, guard: &Guard) -> Check {
        guard.conditions().iter().try_for_each(|condition| self.check_index(&condition.index))
    }

    /// No read may need its own value.
    fn check_indirection(&self) -> Check {
        let mut settled = vec![false; self.reads.len()];
        let mut left = settled.len();
        while left > 0 {
            let ready = |read: ReadId, settled: &[bool]| {
                let mut ready = true;
                let read = &self.reads[read];
                let indices = read.index.iter().chain(read.guard.conditions().iter().map(|condition| &condition.index));
                indices.for_each(|index| index.visit(&mut |_| {}, &mut |other| ready &= settled[other.index()]));
                ready
            };
            let found: Vec<ReadId> =
                self.reads.ids().filter(|read| !settled[read.index()] && ready(*read, &settled)).collect();
            require(!found.is_empty(), "reads depend on one another in a circle")?;
            left -= found.len();
            found.into_iter().for_each(|read| settled[read.index()] = true);
        }
        Ok(())
    }

    /// The type of a scalar; `reduced` is the type of the reduced value where there is one.
    fn check_scalar(&self, scalar: &Scalar, reduced: Option<ElementType>) -> Result<ElementType, &'static str> {
        match scalar {
            Scalar::Literal(literal) => {
                require(is_literal(*literal), "a literal has the wrong type")?;
                Ok(literal.element())
            }
            Scalar::Read(read) => {
                let read = self.reads.get(*read).ok_or("a scalar names an unknown read")?;
                Ok(self.operands[read.operand].element)
            }
            Scalar::Index(index, element) => {
                self.check_index(index)?;
                require(element.is_integer() && !element.is_storage(), "an index is an integer")?;
                Ok(*element)
            }
            Scalar::Holds(guard) => {
                self.check_guard(guard)?;
                Ok(ElementType::Bool)
            }
            Scalar::Reduced => reduced.ok_or("only an epilogue has a reduced value"),
            Scalar::Unary(op, operand) => {
                let element = self.check_scalar(operand, reduced)?;
                let logical = *op == UnaryOp::Not;
                let takes = logical == (element == ElementType::Bool) && !element.is_storage();
                require(takes, "a function does not take this type")?;
                Ok(element)
            }
            Scalar::Binary(op, left, right) => {
                let (left, right) = (self.check_scalar(left, reduced)?, self.check_scalar(right, reduced)?);
                require(left == right, "operands have different types")?;
                let logical = matches!(op, BinaryOp::And | BinaryOp::Or);
                let takes = (!logical || left == ElementType::Bool) && !left.is_storage();
                require(takes, "a function does not take this type")?;
                require(!op.is_bitwise() || left.is_integer(), "a function of bits takes integers")?;
                Ok(if op.is_comparison() { ElementType::Bool } else { left })
            }
            Scalar::Select(condition, then, otherwise) => {
                let condition = self.check_scalar(condition, reduced)?;
                require(condition == ElementType::Bool, "a condition is no truth value")?;
                let (then, otherwise) = (self.check_scalar(then, reduced)?, self.check_scalar(otherwise, reduced)?);
                require(then == otherwise, "alternatives have different types")?;
                Ok(then)
            }
            Scalar::Cast(element, operand) => {
                self.check_scalar(operand, reduced)?;
                Ok(*element)
            }
        }
    }
}

fn is_literal(literal: Literal) -> bool {
    match literal {
        Literal::Bool(_) => true,
        Literal::Integer(element, _) => element.is_integer(),
        Literal::Float(element, _) => element.is_float(),
    }
}

fn require(holds: bool, otherwise: &'static str) -> Check {
    if holds { Ok(()) } else { Err(otherwise) }
}
