//! Memory of the caller that a run reads inputs from and writes outputs to.
#![expect(unsafe_code, reason = "memory is bound by its address")]

use std::fmt;
use std::marker::PhantomData;

use warpweave_graph::{Shape, TensorType};

/// Bytes of the caller that a run reads an input from.
#[derive(Clone, Copy, Debug)]
pub struct BoundInput<'m> {
    start: *const u8,
    bytes: usize,
    memory: PhantomData<&'m [u8]>,
}

/// Bytes of the caller that a run writes an output to.
#[derive(Debug)]
pub struct BoundOutput<'m> {
    start: *mut u8,
    bytes: usize,
    memory: PhantomData<&'m mut [u8]>,
}

// SAFETY: it is what a shared slice of bytes is, which may go to another thread.
unsafe impl Send for BoundInput<'_> {}
// SAFETY: it is what an exclusive slice of bytes is, which may go to another thread.
unsafe impl Send for BoundOutput<'_> {}

impl<'m> From<&'m [u8]> for BoundInput<'m> {
    fn from(bytes: &'m [u8]) -> Self {
        Self { start: bytes.as_ptr(), bytes: bytes.len(), memory: PhantomData }
    }
}

impl<'m> From<&'m mut [u8]> for BoundOutput<'m> {
    fn from(bytes: &'m mut [u8]) -> Self {
        Self { start: bytes.as_mut_ptr(), bytes: bytes.len(), memory: PhantomData }
    }
}

impl<'m> BoundInput<'m> {
    /// So many bytes from an address on.
    ///
    /// # Safety
    /// While a run uses it, the bytes are initialised, and nothing writes them.
    pub unsafe fn from_raw(start: *const u8, bytes: usize) -> Self {
        Self { start, bytes, memory: PhantomData }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &'m [u8] {
        // SAFETY: they are those of a slice, or as `from_raw` demands; a null pointer is nowhere of no bytes.
        if self.start.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(self.start, self.bytes) } }
    }

    /// Where they begin.
    pub(crate) fn start(&self) -> *const u8 {
        self.start
    }
}

impl BoundOutput<'_> {
    /// So many bytes from an address on.
    ///
    /// # Safety
    /// While a run uses it, the bytes may be written, and nothing else uses them.
    pub unsafe fn from_raw(start: *mut u8, bytes: usize) -> Self {
        Self { start, bytes, memory: PhantomData }
    }

    /// The bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: they are those of a slice, or as `from_raw` demands; a null pointer is nowhere of no bytes.
        if self.start.is_null() { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) } }
    }

    /// The same bytes, until the result is dropped.
    pub fn reborrow(&mut self) -> BoundOutput<'_> {
        BoundOutput { start: self.start, bytes: self.bytes, memory: PhantomData }
    }

    /// Where they begin.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

/// An output of which fewer elements count than its type says: the first along some dimensions. They stand in front, as a tensor
/// of this shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CutOutput {
    /// Its position in the signature.
    pub output: usize,
    /// The extents that count, in every dimension.
    pub shape: Shape,
}

/// An input or an output of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortNumber {
    /// By its position in the signature.
    Input(usize),
    /// By its position in the signature.
    Output(usize),
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(number) => write!(f, "input {number}"),
            Self::Output(number) => write!(f, "output {number}"),
        }
    }
}

/// Memory that cannot be what it is bound to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BoundError {
    /// Another number of inputs or outputs.
    #[error(
        "the program has {inputs} inputs and {outputs} outputs; {bound_inputs} and {bound_outputs} are bound; bind all"
    )]
    Count {
        /// The program's inputs.
        inputs: usize,
        /// The program's outputs.
        outputs: usize,
        /// What was given for them.
        bound_inputs: usize,
        /// What was given for them.
        bound_outputs: usize,
    },
    /// Memory of another size.
    #[error("{port} is {expected}, of {} bytes, and the memory bound to it has {found}; bind as many", expected.bytes())]
    Bytes {
        /// What it is bound to.
        port: PortNumber,
        /// What must be there.
        expected: TensorType,
        /// Bytes of the memory.
        found: usize,
    },
    /// Memory at an address that the elements cannot have.
    #[error("the memory bound to {port} is not aligned to the {alignment} bytes of an element; bind memory that is")]
    Unaligned {
        /// What it is bound to.
        port: PortNumber,
        /// What the address must be a multiple of.
        alignment: usize,
    },
}

/// Whether these can be the inputs and outputs of a program with these types.
pub(crate) fn check<'t>(
    inputs: (impl ExactSizeIterator<Item = &'t TensorType>, &[BoundInput<'_>]),
    outputs: (impl ExactSizeIterator<Item = &'t TensorType>, &[BoundOutput<'_>]),
) -> Result<(), BoundError> {
    let ((input_types, inputs), (output_types, outputs)) = (inputs, outputs);
    if (input_types.len(), output_types.len()) != (inputs.len(), outputs.len()) {
        return Err(BoundError::Count {
            inputs: input_types.len(),
            outputs: output_types.len(),
            bound_inputs: inputs.len(),
            bound_outputs: outputs.len(),
        });
    }
    for (number, (ty, input)) in input_types.zip(inputs).enumerate() {
        check_memory(PortNumber::Input(number), ty, input.start.addr(), input.bytes)?;
    }
    for (number, (ty, output)) in output_types.zip(outputs).enumerate() {
        check_memory(PortNumber::Output(number), ty, output.start.addr(), output.bytes)?;
    }
    Ok(())
}

/// Whether memory can be a tensor's.
pub fn check_memory(port: PortNumber, ty: &TensorType, address: usize, bytes: usize) -> Result<(), BoundError> {
    let alignment = ty.element.bytes();
    if ty.bytes() != bytes {
        return Err(BoundError::Bytes { port, expected: ty.clone(), found: bytes });
    }
    match address.is_multiple_of(alignment) {
        true => Ok(()),
        false => Err(BoundError::Unaligned { port, alignment }),
    }
}
