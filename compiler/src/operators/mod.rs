//! What operators there are, and what runs them.
//!
//! Everything is derived: names and versions from the registry, element types by asking inference, the reference, the host
//! and the kernels about the smallest application of each operator.

mod sample;
mod stated;
mod table;

use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::thread;

use warpweave_graph::ops::{Op, Registration};
use warpweave_graph::reference::{ReferenceError, evaluate};
use warpweave_graph::{ElementType, Graph};
use warpweave_runtime::bundle::BundleTarget;
use warpweave_runtime::session::DEFAULT_KERNEL_TARGET;

use crate::build::Build;
use crate::compiler::compile;
use crate::model::Model;
use crate::random_inputs::random_inputs;
use sample::Sample;
pub use table::{devices, markdown};

/// An operator and what runs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorSupport {
    /// The ONNX domain; the default one is empty.
    pub domain: &'static str,
    /// The ONNX operator type.
    pub name: &'static str,
    /// The versions of the domain whose meaning of the operator is implemented.
    pub opsets: RangeInclusive<i64>,
    /// The element types that the smallest application takes, each with what runs it; none if no application was found.
    pub elements: Vec<ElementSupport>,
}

/// What runs an operator on elements of a type. For an operator of several types it is the type of the first input that is
/// not of a type of its own, such as indices are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementSupport {
    /// The type.
    pub element: ElementType,
    /// Whether the reference computes it.
    pub reference: bool,
    /// Whether there is a plan for the host.
    pub host: bool,
    /// Whether there are kernels, which emulator, text and GPUs run.
    pub kernels: bool,
}

/// Every registered operator, by domain and name.
pub fn operators() -> Vec<OperatorSupport> {
    let mut registered = Op::registered();
    registered.sort_by_key(|operator| (operator.domain, operator.name));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = registered.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let parts: Vec<_> = registered
            .chunks(part)
            .map(|part| scope.spawn(|| part.iter().map(OperatorSupport::of).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// The smallest application of each registered operator that takes elements of a type, by name.
pub fn samples(element: ElementType) -> Vec<(&'static str, Graph)> {
    let sample = |registered: Registration| {
        let graphs = Sample::find(&registered)?.graphs();
        let graph = graphs.into_iter().find(|(known, _)| *known == element)?.1;
        Some((registered.name, graph))
    };
    Op::registered().into_iter().filter_map(sample).collect()
}

impl OperatorSupport {
    fn of(registered: &Registration) -> Self {
        let Registration { domain, name, opsets, .. } = registered.clone();
        let graphs = Sample::find(registered).map(|sample| sample.graphs()).unwrap_or_default();
        let elements = graphs.iter().map(|(element, graph)| ElementSupport::of(*element, graph)).collect();
        Self { domain, name, opsets, elements }
    }

    /// The element types on which something is so.
    pub fn elements(&self, holds: impl Fn(&ElementSupport) -> bool) -> Vec<ElementType> {
        self.elements.iter().filter(|support| holds(support)).map(|support| support.element).collect()
    }
}

impl ElementSupport {
    fn of(element: ElementType, graph: &Graph) -> Self {
        let Ok(model) = Model::from_graph(graph) else {
            return Self { element, reference: false, host: false, kernels: false };
        };
        let inputs = random_inputs(&model.signature, 0);
        let reference = match evaluate(&model.program, &inputs) {
            Ok(_) | Err(ReferenceError::Index(_)) => true,
            Err(_) => false,
        };
        let build = Build::new(model).ok();
        let is_compiled = |build, target| compile(build, target, None, &mut |_| {}).is_ok();
        let has_part = |target| build.as_ref().is_some_and(|build| is_compiled(build, target));
        let kernels = has_part(BundleTarget::Gpu(DEFAULT_KERNEL_TARGET));
        Self { element, reference, host: has_part(BundleTarget::Host), kernels }
    }
}
