//! Why machine code cannot be read, evaluated or priced.

/// Machine code that the model does not know.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
    /// An operand of a form that is not known.
    #[error("the operand `{0}` is not known to the timing model")]
    Operand(String),
    /// An operation that is not known.
    #[error("the instruction {0} is not known to the timing model")]
    Operation(String),
    /// A modifier that is not known.
    #[error("the modifier .{modifier} of {operation} is not known to the timing model")]
    Modifier {
        /// The operation.
        operation: String,
        /// The modifier.
        modifier: String,
    },
    /// A line that is no instruction.
    #[error("the disassembler's line `{0}` is no instruction")]
    Line(String),
    /// A jump to a place that the listing does not have.
    #[error("the code jumps to `{0}`, which is not in it")]
    Label(String),
    /// A function that the listing does not have.
    #[error("the code has no function `{0}`")]
    Function(String),
    /// An instruction with operands that it is not known with.
    #[error("`{0}` has operands that the timing model does not know")]
    Form(String),
    /// A warp that leaves the code.
    #[error("a warp leaves the code at {0}")]
    Outside(String),
    /// A place that is not known, at a jump or a return.
    #[error("`{0}` jumps to a place that cannot be computed")]
    Jump(String),
    /// Warps that wait for each other for ever.
    #[error("no warp can go on: {0}")]
    Deadlock(String),
    /// A block that executes too many instructions.
    #[error("the warps of a block execute more than {0} instructions; choose smaller tiles")]
    TooLong(usize),
    /// A block of a size that no multiprocessor takes.
    #[error("a block of {0} threads is no whole number of warps, or above 1,024 threads")]
    Threads(u32),
}
