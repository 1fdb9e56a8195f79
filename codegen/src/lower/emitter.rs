//! Collects the declarations, operands and statements of one kernel.

use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::{BufferSpace, EdgeKind, OperatorId, ROperator};
use warpweave_plan::template::block::BlockSize;
use warpweave_plan::template::staged::StagedBox;

use crate::kernel_ir::expression::magic;
use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::memory::{GlobalSpace, MemoryOrder, MemoryType};
use crate::kernel_ir::program::{Function, RegisterArray, SharedArray};
use crate::kernel_ir::statement::{Block, Place, Statement};
use crate::lower::error::LowerError;
use crate::lower::unsupported::{Unsupported, memory_type};

/// A staged value in shared memory: its box, the last dimension fastest.
pub(crate) struct StagedArray {
    pub(crate) array: SharedId,
    /// Per dimension, the first coordinate of the tile's box.
    pub(crate) first: Vec<Expression>,
    pub(crate) spans: StagedBox,
}

/// A kernel under construction. Statements go to the innermost open block.
pub(crate) struct Emitter<'a> {
    pub(crate) id: OperatorId,
    pub(crate) operator: &'a ROperator,
    pub(crate) memory: &'a MemoryPlan,
    /// Where the staged values computed so far are.
    pub(crate) staged: Vec<StagedArray>,
    kernel: Function,
    operands: Vec<i32>,
    /// The operands that are places of elements: their positions, and the roots of the tensors.
    places: Vec<(u32, TensorId)>,
    shared_operands: Option<u32>,
    blocks: Vec<Block>,
    alike: Option<Alike>,
}

/// A kernel and its operands.
pub(crate) struct LoweredKernel {
    pub(crate) kernel: Function,
    pub(crate) operands: Vec<i32>,
    /// The operands that are places of elements: their positions, and the roots of the tensors.
    pub(crate) places: Vec<(u32, TensorId)>,
}

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandKind {
    Value,
    /// A divisor, passed as its magic constants; never shared with a value.
    Divisor,
    /// The place of an element of the tensor with this root.
    Place(TensorId),
}

/// The operands of what is emitted several times alike, in their order: those of the first time.
#[derive(Default)]
struct Alike {
    known: Vec<(i64, OperandKind, u32)>,
    next: usize,
}

impl<'a> Emitter<'a> {
    pub(crate) fn new(id: OperatorId, operator: &'a ROperator, memory: &'a MemoryPlan) -> Self {
        Self {
            id,
            operator,
            memory,
            staged: Vec::new(),
            kernel: Function::default(),
            operands: Vec::new(),
            places: Vec::new(),
            shared_operands: None,
            blocks: vec![Block::new()],
            alike: None,
        }
    }

    /// Threads of the kernel's blocks.
    pub(crate) fn threads(&self) -> usize {
        self.block_size().threads()
    }

    /// Warps of the kernel's blocks.
    pub(crate) fn warps(&self) -> usize {
        self.block_size().warps()
    }

    /// The size of the kernel's blocks.
    pub(crate) fn block_size(&self) -> BlockSize {
        self.operator.kernel.rules().block_size()
    }

    pub(crate) fn kernel(&self) -> &'a Kernel {
        &self.operator.kernel
    }

    pub(crate) fn body(&self) -> &'a GroupBody {
        self.kernel().body()
    }

    pub(crate) fn finish(mut self) -> LoweredKernel {
        self.kernel.body = self.blocks.pop().expect("every opened block was closed");
        assert!(self.blocks.is_empty(), "every opened block was closed");
        LoweredKernel { kernel: self.kernel, operands: self.operands, places: self.places }
    }

    /// Emits `each` so many times, which does alike: where an operand has the same value as the first time, it is that one.
    pub(crate) fn alike<E>(
        &mut self,
        times: usize,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let outer = self.alike.replace(Alike::default());
        for number in 0..times {
            if let Some(alike) = &mut self.alike {
                alike.next = 0;
            }
            each(self, number)?;
        }
        self.alike = outer;
        Ok(())
    }

    /// The position of what was an operand of this value at this place before, or where it will be.
    fn position(&mut self, value: i64, kind: OperandKind) -> (u32, bool) {
        let new = self.operands.len() as u32;
        let Some(alike) = &mut self.alike else { return (new, false) };
        let at = alike.next;
        alike.next += 1;
        match alike.known.get(at) {
            Some(&(known, same, position)) if (known, same) == (value, kind) => (position, true),
            Some(_) => (new, false),
            None => {
                alike.known.push((value, kind, new));
                (new, false)
            }
        }
    }

    /// A new operand of this value.
    pub(crate) fn operand(&mut self, value: i64) -> Result<Expression, LowerError> {
        let (position, known) = self.position(value, OperandKind::Value);
        if !known {
            self.operands.push(self.narrow(value)?);
        }
        Ok(Expression::Operand(position))
    }

    /// A new operand: the place, in elements of its space, of the element so far behind the first of a tensor's buffer.
    pub(crate) fn element(&mut self, tensor: TensorId, offset: i64) -> Result<Expression, LowerError> {
        let root = self.memory.tensors[tensor].layout.root;
        let (_, first) = self.place(tensor);
        let (position, known) = self.position(first + offset, OperandKind::Place(root));
        if !known {
            self.operands.push(self.narrow(first + offset)?);
            self.places.push((position, root));
        }
        Ok(Expression::Operand(position))
    }

    /// A new pair of operands for division by `divisor`, to go into [`Expression::FastDivide`]. Nothing is divided by the
    /// extent of an empty axis, which counts as 1.
    pub(crate) fn divisor(&mut self, divisor: i64) -> Result<u32, LowerError> {
        let (position, known) = self.position(divisor, OperandKind::Divisor);
        if !known {
            let (multiplier, shift) = magic(self.narrow(divisor.max(1))?);
            self.operands.extend([multiplier, shift]);
        }
        Ok(position)
    }

    fn narrow(&self, value: i64) -> Result<i32, LowerError> {
        let tensor = self.body().outputs.first().copied().expect("a group has an output");
        i32::try_from(value).map_err(|_| LowerError::TooLarge { operator: self.id, tensor })
    }

    pub(crate) fn declare(&mut self, scalar: ScalarType) -> LocalId {
        self.kernel.locals.push(scalar)
    }

    /// An array of registers. What reduces over nothing asks for none, and C++ has no array without elements.
    pub(crate) fn array(&mut self, scalar: ScalarType, length: usize) -> ArrayId {
        self.kernel.arrays.push(RegisterArray { scalar, length: length.max(1) as u32 })
    }

    pub(crate) fn shared(&mut self, memory: MemoryType, length: usize) -> SharedId {
        self.kernel.shared.push(SharedArray { memory, length: length as u32 })
    }

    /// The array that lasts from call to call.
    pub(crate) fn keep(&mut self, memory: MemoryType, length: usize) -> SharedId {
        let array = self.shared(memory, length);
        self.kernel.kept = Some(array);
        array
    }

    pub(crate) fn push(&mut self, statement: Statement) {
        self.blocks.last_mut().expect("a block is open").push(statement);
    }

    /// Opens a block; statements go there until [`Emitter::close`].
    pub(crate) fn open(&mut self) {
        self.blocks.push(Block::new());
    }

    /// Closes the innermost block and returns its statements.
    pub(crate) fn close(&mut self) -> Block {
        self.blocks.pop().expect("a block is open")
    }

    pub(crate) fn assign(&mut self, local: LocalId, value: Expression) {
        self.push(Statement::Assign { place: Place::Local(local), value });
    }

    /// A new local holding `value`.
    pub(crate) fn bind(&mut self, scalar: ScalarType, value: Expression) -> LocalId {
        let local = self.declare(scalar);
        self.assign(local, value);
        local
    }

    /// What `body` emits, for each rTask of a call. Its operands are those of the rTask; all before are the call's.
    pub(crate) fn steps<E>(&mut self, body: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        // Those of the rTask begin where four are loaded at once.
        self.operands.resize(self.operands.len().next_multiple_of(4), 0);
        self.shared_operands = Some(self.operands.len() as u32);
        self.open();
        body(self)?;
        let body = self.close();
        self.push(Statement::Steps { order: MemoryOrder::Release, body });
        Ok(())
    }

    /// How many leading operands the rTasks of a call share, where it may run several.
    pub(crate) fn shared_operands(&self) -> Option<u32> {
        self.shared_operands
    }

    /// `for variable in 0..extent { body }`; the body gets the variable.
    pub(crate) fn repeat<E>(
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
    pub(crate) fn when<E>(
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
    pub(crate) fn memory_type(&self, element: ElementType) -> Result<MemoryType, LowerError> {
        memory_type(element).map_err(|what| self.unsupported(what))
    }

    /// Why this rOperator has no kernel.
    pub(crate) fn unsupported(&self, what: Unsupported) -> LowerError {
        LowerError::Unsupported { operator: self.id, what }
    }

    /// Whether a tensor's values carry their own validity.
    pub(crate) fn is_tagged(&self, tensor: TensorId) -> bool {
        self.memory.tensors[tensor].edge == EdgeKind::Tagged
    }

    /// The tag of a tensor's values, if they carry their own validity.
    pub(crate) fn mark(&mut self, tensor: TensorId) -> Result<Option<Expression>, LowerError> {
        let tagged = self.is_tagged(tensor).then(|| self.memory.tensors[tensor].tag);
        tagged.map(|tag| self.operand(i64::from(tag))).transpose()
    }

    /// The space of a tensor and its first element's position there, in elements.
    pub(crate) fn place(&self, tensor: TensorId) -> (GlobalSpace, i64) {
        let planned = &self.memory.tensors[tensor];
        let buffer = planned.buffer.expect("a verified plan places every tensor that is used");
        let space = match buffer.space {
            BufferSpace::Arena if self.memory.is_state(tensor) => GlobalSpace::States,
            BufferSpace::Arena => GlobalSpace::Arena,
            BufferSpace::Weights => GlobalSpace::Weights,
        };
        (space, buffer.offset as i64 / planned.pitch() as i64)
    }
}

/// `left op right`, a shorthand.
pub(crate) fn binary(op: BinaryOp, left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    Expression::binary(op, left.into(), right.into())
}

/// `left + right`.
pub(crate) fn add(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    binary(BinaryOp::Add, left, right)
}

/// `left · right`.
pub(crate) fn multiply(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    binary(BinaryOp::Multiply, left, right)
}

/// `left < right`.
pub(crate) fn less(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    binary(BinaryOp::Less, left, right)
}

/// Both conditions; the only one if there is just one.
pub(crate) fn both(left: Option<Expression>, right: Option<Expression>) -> Option<Expression> {
    match (left, right) {
        (Some(left), Some(right)) => Some(binary(BinaryOp::And, left, right)),
        (one, other) => one.or(other),
    }
}
