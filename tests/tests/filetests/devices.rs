//! The command `devices x=1,2 y=…`: what every device that needs no GPU gives for these inputs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use warpweave::graph::{ElementType, Graph, Tensor, TensorType};
use warpweave::runtime::bundle::Signature;
use warpweave::runtime::session::{Device, ModelSession, Session};
use warpweave::{Build, Model, OpenOptions, Source, open};
use warpweave_tests::gates::compiler;

const DEVICES: [Device; 5] = [Device::Reference, Device::Host, Device::Emulator, Device::Text, Device::MachineCode];

/// A graph with a session on every device, or why that refuses; one runs after the other, whatever came of the one before.
struct Opened {
    graph: Graph,
    signature: Signature,
    sessions: Vec<(Device, Attempt)>,
}

/// A session, or why there is none.
type Attempt = Result<ModelSession, String>;

thread_local! {
    /// What the last command was about: the next is mostly about the same.
    static OPENED: RefCell<Option<Opened>> = const { RefCell::new(None) };
}

/// The outputs, exact, once for all devices that agree; or why a device refuses or fails.
pub fn run(graph: &Graph, inputs: &[String]) -> Result<String, String> {
    OPENED.with_borrow_mut(|opened| {
        if opened.as_ref().is_none_or(|opened| opened.graph != *graph) {
            *opened = Some(Opened::new(graph)?);
        }
        opened.as_mut().map_or_else(|| Err("nothing is open".to_owned()), |opened| opened.run(inputs))
    })
}

impl Opened {
    fn new(graph: &Graph) -> Result<Self, String> {
        let model = Model::from_graph(graph).map_err(|error| error.to_string())?;
        let source = Source::Model(Box::new(Build::new(model).expect("the passes are right")));
        let session = |device| {
            let session = open(&source, device, &OpenOptions::default(), &compiler);
            (device, session.map_err(|error| format!("  refused: {error}\n")))
        };
        let sessions = DEVICES.into_iter().map(session).collect();
        Ok(Self { graph: graph.clone(), signature: source.signature().clone(), sessions })
    }

    fn run(&mut self, inputs: &[String]) -> Result<String, String> {
        let tensors = self.tensors(inputs)?;
        let mut results: Vec<(Vec<String>, String)> = Vec::new();
        for (device, session) in &mut self.sessions {
            let result = match session {
                Ok(session) => on(session, &tensors),
                Err(refusal) => refusal.clone(),
            };
            match results.iter_mut().find(|(_, other)| *other == result) {
                Some((devices, _)) => devices.push(device.to_string()),
                None => results.push((vec![device.to_string()], result)),
            }
        }
        Ok(results.into_iter().map(|(devices, result)| format!("{}:\n{result}", devices.join(", "))).collect())
    }

    fn tensors(&self, inputs: &[String]) -> Result<Vec<Tensor>, String> {
        let given: BTreeMap<&str, &str> = inputs.iter().filter_map(|input| input.split_once('=')).collect();
        let ports = &self.signature.inputs;
        if given.len() != inputs.len() || given.len() != ports.len() {
            return Err(format!("{} inputs are given as NAME=VALUE,…, {} are declared", given.len(), ports.len()));
        }
        let value = |name: &str, ty: &TensorType| {
            let text = given.get(name).ok_or_else(|| format!("{name} is missing"))?;
            parse(ty, text).ok_or_else(|| format!("`{text}` is no {ty}"))
        };
        ports.iter().map(|port| value(&port.name, &port.ty)).collect()
    }
}

fn on(session: &mut dyn Session, inputs: &[Tensor]) -> String {
    match session.run(inputs) {
        Ok(outputs) => outputs.iter().map(|output| format!("  {}: {}\n", output.ty(), print(output))).collect(),
        Err(error) => format!("  failed: {error}\n"),
    }
}

fn parse(ty: &TensorType, text: &str) -> Option<Tensor> {
    let elements: Vec<&str> = text.split(',').filter(|element| !element.is_empty()).collect();
    if elements.len() != ty.shape.elements() {
        return None;
    }
    if ty.element.is_float() {
        let elements: Option<Vec<f64>> = elements.iter().map(|element| element.parse().ok()).collect();
        return Some(Tensor::from_f64(ty.clone(), &elements?));
    }
    let integer = |element: &&str| match ty.element {
        ElementType::U64 => element.parse::<u64>().ok().map(|element| element as i64),
        _ => element.parse::<i64>().ok(),
    };
    let elements: Option<Vec<i64>> = elements.iter().map(integer).collect();
    Some(Tensor::from_i64(ty.clone(), &elements?))
}

fn print(tensor: &Tensor) -> String {
    let elements: Vec<String> = match tensor.element() {
        ElementType::U64 => tensor.to_i64().into_iter().map(|element| (element as u64).to_string()).collect(),
        element if element.is_float() => tensor.to_f64().into_iter().map(|element| format!("{element:?}")).collect(),
        _ => tensor.to_i64().into_iter().map(|element| element.to_string()).collect(),
    };
    elements.join(" ")
}
