//! Inputs, outputs and states, as C is told of them.
#![expect(unsafe_code, reason = "says of a structure of C what it is")]

use std::ffi::{CString, c_char};

use warpweave_graph::TensorType;
use warpweave_graph::counted::CountedOutput;
use warpweave_runtime::bundle::{self, Manifest, Signature, StateRecord};

use crate::error::Failure;
use crate::tensor::{ElementCode, Structure};
use crate::text;

/// An input, an output or a state.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Port {
    /// `sizeof(ww_port)`.
    pub size: usize,
    /// The name in the model. It lives until the bundle is closed.
    pub name: *const c_char,
    /// The type of the elements, a `ww_type`.
    pub element: i32,
    /// How many dimensions there are.
    pub rank: usize,
    /// The extents of the dimensions. They live until the bundle is closed.
    pub shape: *const i64,
    /// What memory that is bound to it has.
    pub bytes: usize,
    /// Bit `n` is set where the extent of dimension `n` depends on data: the shape has the most that it can be.
    pub open_dimensions: u64,
    /// 1 if an input may be left unbound.
    pub has_default: u32,
}

// SAFETY: it begins with its size; integers and addresses may be zero.
unsafe impl Structure for Port {}

/// What a port's description points to.
pub(crate) struct NamedPort {
    pub(crate) name: String,
    pub(crate) ty: TensorType,
    text: CString,
    shape: Vec<i64>,
    open_dimensions: u64,
    has_default: bool,
}

impl NamedPort {
    fn new(name: &str, ty: &TensorType) -> Self {
        Self {
            name: name.to_owned(),
            ty: ty.clone(),
            text: text::owned(name),
            shape: extents(ty),
            open_dimensions: 0,
            has_default: false,
        }
    }

    /// The inputs of a bundle.
    pub(crate) fn inputs(manifest: &Manifest) -> Vec<Self> {
        let port = |(number, port): (usize, &bundle::Port)| Self {
            has_default: manifest.default_of(number).is_some(),
            ..Self::new(&port.name, &port.ty)
        };
        manifest.signature.inputs.iter().enumerate().map(port).collect()
    }

    /// The outputs of a signature.
    pub(crate) fn outputs(signature: &Signature) -> Vec<Self> {
        let open = |number: usize| {
            let counted = signature.counted.iter().filter(|counted| counted.output == number);
            counted.fold(0, |bits, &CountedOutput { dimension, .. }| {
                bits | 1u64.checked_shl(dimension as u32).unwrap_or(0)
            })
        };
        let port = |(number, port): (usize, &bundle::Port)| Self {
            open_dimensions: open(number),
            ..Self::new(&port.name, &port.ty)
        };
        signature.outputs.iter().enumerate().map(port).collect()
    }

    /// States of a training step.
    pub(crate) fn states(states: &[StateRecord]) -> Vec<Self> {
        states.iter().map(|state| Self::new(&state.name, &state.ty)).collect()
    }

    pub(crate) fn describe(&self) -> Port {
        Port {
            size: size_of::<Port>(),
            name: self.text.as_ptr(),
            element: ElementCode::from(self.ty.element) as i32,
            rank: self.shape.len(),
            shape: self.shape.as_ptr(),
            bytes: self.ty.bytes(),
            open_dimensions: self.open_dimensions,
            has_default: u32::from(self.has_default),
        }
    }
}

/// The extents of a type.
pub(crate) fn extents(ty: &TensorType) -> Vec<i64> {
    ty.shape.iter().map(|&extent| extent as i64).collect()
}

/// The port of this number; `what` names its kind in messages.
pub(crate) fn at<'p>(ports: &'p [NamedPort], what: &str, number: usize) -> Result<&'p NamedPort, Failure> {
    let missing = || {
        let message = format!("there is no {what} {number}: there are {}", ports.len());
        Failure::argument(message, "ask for one of them")
    };
    ports.get(number).ok_or_else(missing)
}

/// The number of the port of this name.
pub(crate) fn find(ports: &[NamedPort], what: &str, name: &str) -> Result<usize, Failure> {
    let missing = || {
        let known: Vec<String> = ports.iter().map(|port| format!("`{}`", port.name)).collect();
        Failure::argument(format!("there is no {what} `{name}`"), &format!("the {what}s are {}", known.join(", ")))
    };
    ports.iter().position(|port| port.name == name).ok_or_else(missing)
}
