//! Collects the declarations, operands and statements of one kernel.

use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;
use warpweave_plan::body::GroupBody;
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::{BufferSpace, EdgeKind, OperatorId, ROperator};
use warpweave_plan::template::staged::StagedBox;

use super::LowerError;
use crate::kernel_ir::expression::magic;
use crate::kernel_ir::{
    ArrayId, BinaryOp, Block, Expression, GlobalSpace, Kernel, LocalId, MemoryType, Place, RegisterArray, ScalarType,
    SharedArray, SharedId, Statement,
};

/// A staged value in shared memory: its box, the last dimension fastest.
pub(super) struct StagedArray {
    pub(super) array: SharedId,
    /// Per dimension, the first coordinate of the tile's box.
    pub(super) first: Vec<Expression>,
    /// The box.
    pub(super) spans: StagedBox,
}

/// A kernel under construction. Statements go to the innermost open block.
pub(super) struct Emitter<'a> {
    pub(super) id: OperatorId,
    pub(super) operator: &'a ROperator,
    pub(super) memory: &'a MemoryPlan,
    /// Where the staged values computed so far are.
    pub(super) staged: Vec<StagedArray>,
    kernel: Kernel,
    operands: Vec<i32>,
    blocks: Vec<Block>,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(id: OperatorId, operator: &'a ROperator, memory: &'a MemoryPlan) -> Self {
        Self {
            id,
            operator,
            memory,
            staged: Vec::new(),
            kernel: Kernel::default(),
            operands: Vec::new(),
            blocks: vec![Block::new()],
        }
    }

    pub(super) fn body(&self) -> &'a GroupBody {
        &self.operator.body
    }

    pub(super) fn finish(mut self) -> (Kernel, Vec<i32>) {
        self.kernel.body = self.blocks.pop().expect("every opened block was closed");
        assert!(self.blocks.is_empty(), "every opened block was closed");
        (self.kernel, self.operands)
    }

    /// A new operand of this value.
    pub(super) fn operand(&mut self, value: i64) -> Result<Expression, LowerError> {
        let position = self.operands.len() as u32;
        self.operands.push(self.narrow(value)?);
        Ok(Expression::Operand(position))
    }

    /// A new pair of operands for division by `divisor`, to go into [`Expression::FastDivide`]. Nothing is divided by the
    /// extent of an empty axis, which counts as 1.
    pub(super) fn divisor(&mut self, divisor: i64) -> Result<u32, LowerError> {
        let position = self.operands.len() as u32;
        let (multiplier, shift) = magic(self.narrow(divisor.max(1))?);
        self.operands.extend([multiplier, shift]);
        Ok(position)
    }

    fn narrow(&self, value: i64) -> Result<i32, LowerError> {
        let tensor = self.body().outputs.first().copied().expect("a group has an output");
        i32::try_from(value).map_err(|_| LowerError::TooLarge { operator: self.id, tensor })
    }

    pub(super) fn declare(&mut self, scalar: ScalarType) -> LocalId {
        self.kernel.locals.push(scalar)
    }

    pub(super) fn array(&mut self, scalar: ScalarType, length: usize) -> ArrayId {
        self.kernel.arrays.push(RegisterArray { scalar, length: length as u32 })
    }

    pub(super) fn shared(&mut self, memory: MemoryType, length: usize) -> SharedId {
        self.kernel.shared.push(SharedArray { memory, length: length as u32 })
    }

    /// The array that lasts from call to call.
    pub(super) fn keep(&mut self, memory: MemoryType, length: usize) -> SharedId {
        let array = self.shared(memory, length);
        self.kernel.kept = Some(array);
        array
    }

    pub(super) fn push(&mut self, statement: Statement) {
        self.blocks.last_mut().expect("a block is open").push(statement);
    }

    /// Opens a block; statements go there until [`Emitter::close`].
    pub(super) fn open(&mut self) {
        self.blocks.push(Block::new());
    }

    /// Closes the innermost block and returns its statements.
    pub(super) fn close(&mut self) -> Block {
        self.blocks.pop().expect("a block is open")
    }

    pub(super) fn assign(&mut self, local: LocalId, value: Expression) {
        self.push(Statement::Assign { place: Place::Local(local), value });
    }

    /// A new local holding `value`.
    pub(super) fn bind(&mut self, scalar: ScalarType, value: Expression) -> LocalId {
        let local = self.declare(scalar);
        self.assign(local, value);
        local
    }

    /// `for variable in 0..extent { body }`; the body gets the variable.
    pub(super) fn repeat<E>(
        &mut self,
        extent: Expression,
        unroll: bool,
        body: impl FnOnce(&mut Self, LocalId) -> Result<(), E>,
    ) -> Result<(), E> {
        let variable = self.declare(ScalarType::I32);
        self.open();
        body(self, variable)?;
        let body = self.close();
        self.push(Statement::For { variable, extent, unroll, body });
        Ok(())
    }

    /// `if condition { body }`; without a condition just the body.
    pub(super) fn when<E>(
        &mut self,
        condition: Option<Expression>,
        body: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(condition) = condition else { return body(self) };
        self.open();
        body(self)?;
        let then = self.close();
        self.push(Statement::If { condition, then, otherwise: Block::new() });
        Ok(())
    }

    /// How elements of this type lie in memory.
    pub(super) fn memory_type(&self, element: ElementType) -> Result<MemoryType, LowerError> {
        match element {
            ElementType::Bool => Ok(MemoryType::Bool),
            ElementType::I8 | ElementType::I4 | ElementType::I2 => Ok(MemoryType::I8),
            ElementType::U8 | ElementType::U4 | ElementType::U2 => Ok(MemoryType::U8),
            // A register holds the code.
            ElementType::F8E4M3FN
            | ElementType::F8E4M3FNUZ
            | ElementType::F8E5M2
            | ElementType::F8E5M2FNUZ
            | ElementType::F8E8M0
            | ElementType::F4E2M1 => Ok(MemoryType::U8),
            ElementType::I16 => Ok(MemoryType::I16),
            ElementType::U16 => Ok(MemoryType::U16),
            ElementType::I32 => Ok(MemoryType::I32),
            ElementType::U32 => Ok(MemoryType::U32),
            ElementType::I64 => Ok(MemoryType::I64),
            ElementType::F32 => Ok(MemoryType::F32),
            ElementType::U64 | ElementType::F16 | ElementType::BF16 | ElementType::F64 => {
                Err(LowerError::Element { operator: self.id, element })
            }
        }
    }

    /// Whether a tensor's values carry their own validity.
    pub(super) fn is_sentinel(&self, tensor: TensorId) -> bool {
        self.memory.tensors[tensor].edge == EdgeKind::Sentinel
    }

    /// The mark of a tensor's values, if they carry their own validity.
    pub(super) fn mark(&mut self, tensor: TensorId) -> Result<Option<Expression>, LowerError> {
        let marked = self.is_sentinel(tensor).then(|| self.memory.tensors[tensor].mark);
        marked.map(|mark| self.operand(i64::from(mark))).transpose()
    }

    /// The space of a tensor and its first element's position there, in elements.
    pub(super) fn place(&self, tensor: TensorId) -> (GlobalSpace, i64) {
        let planned = &self.memory.tensors[tensor];
        let buffer = planned.buffer.expect("a verified plan places every tensor that is used");
        let space = match buffer.space {
            BufferSpace::Arena => GlobalSpace::Arena,
            BufferSpace::Weights => GlobalSpace::Weights,
        };
        (space, buffer.offset as i64 / planned.pitch() as i64)
    }
}

/// `left op right`, a shorthand.
pub(super) fn binary(op: BinaryOp, left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    Expression::binary(op, left.into(), right.into())
}

/// `left + right`.
pub(super) fn add(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    binary(BinaryOp::Add, left, right)
}

/// `left · right`.
pub(super) fn multiply(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    binary(BinaryOp::Multiply, left, right)
}

/// `left < right`.
pub(super) fn less(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    binary(BinaryOp::Less, left, right)
}

/// Both conditions; the only one if there is just one.
pub(super) fn both(left: Option<Expression>, right: Option<Expression>) -> Option<Expression> {
    match (left, right) {
        (Some(left), Some(right)) => Some(binary(BinaryOp::And, left, right)),
        (one, other) => one.or(other),
    }
}
