//! What memory a session reads inputs from and writes outputs to.
#![expect(unsafe_code, reason = "exported to C, and keeps addresses")]

use std::ffi::{c_char, c_void};
use std::ops::Range;

use warpweave_runtime::aligned::AlignedBytes;
use warpweave_runtime::session::bound::{BoundInput, BoundOutput, PortNumber, check_memory};

use crate::bundle::OpenedBundle;
use crate::error::{Failure, reported};
use crate::handle::{self, ErrorHandle, SessionHandle};
use crate::port::{self, NamedPort};
use crate::session::SharedSession;
use crate::tensor::{TensorView, read_structure};
use crate::text;

/// The memory of a session's inputs and outputs.
pub(crate) struct Bindings {
    inputs: Vec<Binding>,
    outputs: Vec<Binding>,
    /// The same as runs take it.
    read: Vec<BoundInput<'static>>,
    written: Vec<BoundOutput<'static>>,
}

struct Binding {
    /// The session's own memory: an output's, or that of an input with a default.
    own: Option<AlignedBytes>,
    /// The caller's memory, if any is bound.
    bound: Option<Range<usize>>,
}

/// Which of its ports a function binds.
#[derive(Clone, Copy)]
enum Direction {
    Input,
    Output,
}

impl Bindings {
    /// Those of a session that was just opened: the caller's memory is nowhere.
    pub(crate) fn new(bundle: &OpenedBundle) -> Self {
        let manifest = bundle.deployment.bundle().manifest();
        let default = |number: usize| Binding {
            own: manifest.default_of(number).map(|default| AlignedBytes::copy_of(default.bytes())),
            bound: None,
        };
        let own = |port: &NamedPort| Binding { own: Some(AlignedBytes::filled(port.ty.bytes(), 0)), bound: None };
        let mut inputs: Vec<Binding> = (0..bundle.inputs.len()).map(default).collect();
        let mut outputs: Vec<Binding> = bundle.outputs.iter().map(own).collect();
        let read = inputs.iter_mut().map(Binding::own_input).collect();
        let written = outputs.iter_mut().map(Binding::own_output).collect();
        Self { inputs, outputs, read, written }
    }

    /// Whether every input is there.
    pub(crate) fn check(&self, bundle: &OpenedBundle) -> Result<(), Failure> {
        let missing = self.inputs.iter().position(|input| input.own.is_none() && input.bound.is_none());
        missing.map_or(Ok(()), |number| {
            let message = format!("nothing is bound to the input `{}`", bundle.inputs[number].name);
            Err(Failure::memory(message, "bind memory to it"))
        })
    }

    /// What a run reads and writes.
    pub(crate) fn memory(&mut self) -> (&[BoundInput<'static>], &mut [BoundOutput<'static>]) {
        (&self.read, &mut self.written)
    }

    /// Where an output begins.
    pub(crate) fn output_start(&self, number: usize) -> *mut u8 {
        self.written[number].start()
    }

    /// Binds memory that has the port's bytes and alignment. It must not overlap with any other that one of both is written to.
    fn bind(&mut self, port: PortNumber, start: *mut u8, bytes: usize) -> Result<(), Failure> {
        let memory = start.addr()..start.addr().saturating_add(bytes);
        let written = self.outputs.iter().enumerate().map(|(number, output)| (PortNumber::Output(number), output));
        let read = self.inputs.iter().enumerate().map(|(number, input)| (PortNumber::Input(number), input));
        let others = written.chain(read.filter(|_| matches!(port, PortNumber::Output(_))));
        let mut others = others.filter(|(other, _)| *other != port);
        let overlap = others.find(|(_, other)| other.bound.as_ref().is_some_and(|other| overlap(other, &memory)));
        if let Some((other, _)) = overlap {
            let message = format!("the memory for {port} overlaps with that for {other}");
            return Err(Failure::memory(message, "bind memory of its own to each output"));
        }
        // SAFETY: the caller's contract holds from now until the memory is bound no longer.
        unsafe {
            match port {
                PortNumber::Input(number) => {
                    self.inputs[number].bound = Some(memory);
                    self.read[number] = BoundInput::from_raw(start, bytes);
                }
                PortNumber::Output(number) => {
                    self.outputs[number].bound = Some(memory);
                    self.written[number] = BoundOutput::from_raw(start, bytes);
                }
            }
        }
        Ok(())
    }

    /// Gives a port the session's own memory back.
    fn release(&mut self, port: PortNumber) {
        match port {
            PortNumber::Input(number) => {
                self.inputs[number].bound = None;
                self.read[number] = self.inputs[number].own_input();
            }
            PortNumber::Output(number) => {
                self.outputs[number].bound = None;
                self.written[number] = self.outputs[number].own_output();
            }
        }
    }
}

impl Binding {
    fn own_input(&mut self) -> BoundInput<'static> {
        let own = self.own.as_mut().map_or(&mut [][..], AsMut::as_mut);
        // SAFETY: the session's own bytes lie where they are for as long as the binding, and only its runs use them.
        unsafe { BoundInput::from_raw(own.as_ptr(), own.len()) }
    }

    fn own_output(&mut self) -> BoundOutput<'static> {
        let own = self.own.as_mut().map_or(&mut [][..], AsMut::as_mut);
        // SAFETY: as above.
        unsafe { BoundOutput::from_raw(own.as_mut_ptr(), own.len()) }
    }
}

fn overlap(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start < right.end && right.start < left.end
}

/// Makes so many bytes what the next runs read an input from. They stay where they are, and as they are during runs, until other
/// memory is bound or the session is closed. No bytes at null give the input its default back.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `data` is as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_bind_input(
    session: *mut SessionHandle,
    name: *const c_char,
    data: *const c_void,
    bytes: usize,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { bind(session, Direction::Input, name, data.cast_mut(), bytes) })
}

/// Makes so many bytes what the next runs write an output to. They stay where they are, and nothing else uses them during runs,
/// until other memory is bound or the session is closed. No bytes at null give the output the session's memory back.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `data` is as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_bind_output(
    session: *mut SessionHandle,
    name: *const c_char,
    data: *mut c_void,
    bytes: usize,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { bind(session, Direction::Output, name, data, bytes) })
}

/// As `ww_session_bind_input`, of a tensor whose type and shape are checked. Its elements stand side by side.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `tensor` is null, or the structure may be read whose size it has, and what it
/// points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_bind_input_tensor(
    session: *mut SessionHandle,
    name: *const c_char,
    tensor: *const TensorView,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { bind_tensor(session, Direction::Input, name, tensor) })
}

/// As `ww_session_bind_output`, of a tensor whose type and shape are checked. Its elements stand side by side.
///
/// # Safety
/// `name` is null or a text that ends with a zero; `tensor` is null, or the structure may be read whose size it has, and what it
/// points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_session_bind_output_tensor(
    session: *mut SessionHandle,
    name: *const c_char,
    tensor: *const TensorView,
) -> *mut ErrorHandle {
    // SAFETY: by this function's contract.
    reported(|| unsafe { bind_tensor(session, Direction::Output, name, tensor) })
}

impl Direction {
    /// The ports, and what messages call one.
    fn ports(self, bundle: &OpenedBundle) -> (&[NamedPort], &'static str) {
        match self {
            Self::Input => (&bundle.inputs, "input"),
            Self::Output => (&bundle.outputs, "output"),
        }
    }

    fn number(self, number: usize) -> PortNumber {
        match self {
            Self::Input => PortNumber::Input(number),
            Self::Output => PortNumber::Output(number),
        }
    }
}

unsafe fn bind(
    session: *mut SessionHandle,
    direction: Direction,
    name: *const c_char,
    data: *mut c_void,
    bytes: usize,
) -> Result<(), Failure> {
    let shared = handle::get::<SharedSession>(session)?;
    let (ports, what) = direction.ports(&shared.bundle);
    // SAFETY: by the contracts of the functions that call this one.
    let number = port::find(ports, what, unsafe { text::read("the name", name) }?)?;
    let mut state = shared.lock()?;
    if data.is_null() && bytes == 0 {
        state.bindings.release(direction.number(number));
        return Ok(());
    }
    if data.is_null() {
        return Err(Failure::memory("the memory is null", "bind memory that is there"));
    }
    let NamedPort { name, ty, .. } = &ports[number];
    let checked = check_memory(direction.number(number), ty, data.addr(), bytes);
    checked.map_err(|error| {
        let text = error.to_string();
        let (message, help) = text.rsplit_once("; ").unwrap_or((&text, ""));
        Failure::memory(format!("`{name}`: {message}"), help)
    })?;
    state.bindings.bind(direction.number(number), data.cast(), bytes)
}

unsafe fn bind_tensor(
    session: *mut SessionHandle,
    direction: Direction,
    name: *const c_char,
    tensor: *const TensorView,
) -> Result<(), Failure> {
    let shared = handle::get::<SharedSession>(session)?;
    let (ports, what) = direction.ports(&shared.bundle);
    // SAFETY: by the contracts of the functions that call this one.
    let port = &ports[port::find(ports, what, unsafe { text::read("the name", name) }?)?];
    // SAFETY: by the contracts of the functions that call this one.
    let view = unsafe { read_structure("tensor", tensor) }?;
    // SAFETY: by the contracts of the functions that call this one.
    unsafe { view.check(&port.name, &port.ty) }?;
    // SAFETY: by the contracts of the functions that call this one.
    unsafe { bind(session, direction, name, view.data, port.ty.bytes()) }
}
