//! The smallest applications of operators that inference accepts, found by trying.

use warpweave_graph::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, ImportError, Op, Registration};
use warpweave_graph::{ElementType, Graph, Shape, Tensor, TensorType, ValueType};

use super::stated::{Stated, stated};

/// An operator with inputs that it accepts.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    op: Op,
    inputs: Vec<Given>,
    outputs: usize,
}

/// One input of a sample.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Given {
    /// A tensor of the element type that is asked about.
    Own(Shape),
    /// The same, known when the model is compiled: this number.
    OwnConstant(f64),
    /// A tensor of another type.
    Tensor(TensorType),
    /// A constant of another type.
    Constant(Tensor),
    /// Left out.
    Absent,
}

/// Element types with which a sample is looked for, and most inputs of one.
const BASES: [ElementType; 6] =
    [ElementType::F32, ElementType::I64, ElementType::U8, ElementType::Bool, ElementType::I8, ElementType::F16];
const MOST_INPUTS: usize = 7;

/// Shapes that most inputs of a sample have.
const SHAPES: [&[usize]; 6] = [&[2, 2], &[1, 1, 2, 2], &[2], &[], &[1, 2, 2, 2], &[1, 1, 1]];

impl Sample {
    /// A sample of a registered operator in its newest version, with the fewest inputs; `None` if none is found.
    pub(super) fn find(registered: &Registration) -> Option<Self> {
        if let Some(Stated { attributes, inputs }) = stated(registered.domain, registered.name) {
            let op = imported(registered, attributes)?;
            return Some(Self { op, inputs, outputs: 1 });
        }
        let operators: Vec<Op> = [false, true].into_iter().filter_map(|axis| import(registered, axis)).collect();
        let most = (*registered.inputs.end()).min(MOST_INPUTS);
        let counts = (*registered.inputs.start()).max(1)..=most;
        let tries: Vec<(usize, ElementType)> = counts.flat_map(|count| BASES.map(|element| (count, element))).collect();
        let found = |asked: bool| {
            let mut samples = tries.iter().flat_map(|&(count, element)| {
                let samples = SHAPES.iter().flat_map(move |shape| inputs(&Shape::from(*shape), count));
                let samples = samples.filter(move |inputs| inputs.iter().any(Given::is_asked_about) == asked);
                let operators = &operators;
                let samples = samples.flat_map(move |inputs| operators.iter().map(move |op| (op, inputs.clone())));
                samples.map(move |(op, inputs)| (op, inputs, element))
            });
            samples.find_map(|(op, inputs, element)| {
                let of = |outputs| Self { op: op.clone(), inputs: inputs.clone(), outputs };
                [1, 2].map(of).into_iter().find(|sample| sample.graph(element).is_some())
            })
        };
        found(true).or_else(|| found(false))
    }

    /// The element types that the operator takes, each with its graph. Where no input is of any type, as where a shape makes a
    /// tensor, the output's.
    pub(super) fn graphs(&self) -> Vec<(ElementType, Graph)> {
        if self.inputs.iter().any(Given::is_asked_about) {
            return ElementType::ALL.into_iter().filter_map(|element| Some((element, self.graph(element)?))).collect();
        }
        let output = |graph: &Graph| graph.values[graph.outputs.first()?.value].ty.as_tensor().map(|ty| ty.element);
        let graph = self.graph(ElementType::F32);
        graph.and_then(|graph| Some((output(&graph)?, graph))).into_iter().collect()
    }

    /// The graph of the sample with elements of this type; `None` if inference refuses them.
    fn graph(&self, element: ElementType) -> Option<Graph> {
        let facts: Vec<Option<Fact>> = self.inputs.iter().map(|given| given.fact(element)).collect();
        let types = self.op.infer(&Context::new(&facts, self.outputs)).ok()?;
        let holds =
            |ty: &ValueType| ty.as_tensor().is_some_and(|ty| ty.shape.checked_elements().is_some_and(|n| n > 0));
        if types.len() < self.outputs || !types.iter().all(holds) {
            return None;
        }
        let mut graph = Graph::new(self.op.name());
        let inputs = facts.into_iter().enumerate().map(|(at, fact)| {
            fact.map(|fact| match fact.value {
                Some(value) => graph.constant(format!("x{at}"), value),
                None => graph.input(format!("x{at}"), fact.ty),
            })
        });
        let inputs = inputs.collect();
        let outputs = types.into_iter().take(self.outputs).enumerate().map(|(at, ty)| (format!("y{at}"), ty)).collect();
        let node = graph.node(self.op.name(), self.op.clone(), inputs, outputs);
        graph.nodes[node].outputs.clone().into_iter().for_each(|value| graph.output(value));
        Some(graph)
    }
}

impl Given {
    fn is_asked_about(&self) -> bool {
        match self {
            Self::Own(_) | Self::OwnConstant(_) => true,
            Self::Tensor(_) | Self::Constant(_) | Self::Absent => false,
        }
    }

    fn fact(&self, element: ElementType) -> Option<Fact> {
        let of = |ty: TensorType| Some(Fact { ty: ty.into(), value: None });
        let constant = |value: Tensor| Some(Fact { ty: value.ty().clone().into(), value: Some(value) });
        match self {
            Self::Own(shape) => of(TensorType::new(element, shape.clone())),
            Self::OwnConstant(number) => {
                constant(Tensor::from_f64(TensorType::new(element, Shape::scalar()), &[*number]))
            }
            Self::Tensor(ty) => of(ty.clone()),
            Self::Constant(value) => constant(value.clone()),
            Self::Absent => None,
        }
    }
}

/// The operator with attributes that some need: those that it does not have are left out, and `axis` is where it may matter.
fn import(registered: &Registration, axis: bool) -> Option<Op> {
    let mut attributes = vec![
        ("kernel_shape", Attribute::Ints(vec![2, 2])),
        ("hidden_size", Attribute::Int(1)),
        ("blocksize", Attribute::Int(1)),
        ("equation", Attribute::String("ij,jk->ik".to_owned())),
        ("to", Attribute::Int(1)),
        ("num_outputs", Attribute::Int(2)),
        ("num_groups", Attribute::Int(1)),
        ("size", Attribute::Int(1)),
    ];
    if axis {
        attributes.push(("axis", Attribute::Int(0)));
    }
    imported(registered, attributes)
}

/// The operator with those of the attributes that it has.
fn imported(registered: &Registration, mut attributes: Vec<(&'static str, Attribute)>) -> Option<Op> {
    loop {
        let named = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        match Op::import(registered.domain, registered.name, &mut AttributeReader::new(named, *registered.opsets.end()))
        {
            Ok(op) => return Some(op),
            Err(ImportError::Attribute(AttributeError::Unknown(name))) => attributes.retain(|(own, _)| *own != name),
            Err(_) => return None,
        }
    }
}

/// Inputs that are tried: each of the first three is anything, and those after them are as the third.
fn inputs(base: &Shape, count: usize) -> Vec<Vec<Given>> {
    let any = candidates(base);
    let first = any.iter().filter(|given| **given != Given::Absent);
    let mut all: Vec<Vec<Given>> = first.map(|given| vec![given.clone()]).collect();
    for position in 1..count.min(3) {
        let more = |known: &Vec<Given>| {
            let known = known.clone();
            let next = any.iter().map(move |given| [&known[..], &[at(given, position)]].concat());
            next.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(more).collect();
    }
    for inputs in &mut all {
        let last = inputs.last().cloned().unwrap_or(Given::Absent);
        inputs.resize(count, last);
    }
    all
}

/// A constant that differs from those at other positions, such as a limit from a start.
fn at(given: &Given, position: usize) -> Given {
    match given {
        Given::OwnConstant(_) => Given::OwnConstant(position as f64),
        other => other.clone(),
    }
}

/// What one input may be, likeliest first, where tensors mostly have the shape `base`.
fn candidates(base: &Shape) -> Vec<Given> {
    let rank = base.len();
    let numbers = |numbers: Vec<i64>| Given::Constant(Tensor::vector_i64(&numbers));
    let mut found = vec![Given::Own(base.clone())];
    let vectors = [base.get(1), base.last()].into_iter().flatten().map(|extent| Shape::from([*extent]));
    let gates = [4, 3, 1].map(|gates| Shape::from([1, gates, 1]));
    found.extend(vectors.chain([Shape::scalar()]).chain(gates).map(Given::Own));
    found.extend(
        [ElementType::I64, ElementType::Bool].map(|element| Given::Tensor(TensorType::new(element, base.clone()))),
    );
    found.extend([vec![0], vec![1], vec![1; rank], vec![0; 2 * rank], vec![-1]].map(numbers));
    found.extend([0, 2].map(|number| Given::Constant(Tensor::scalar::<i64>(number))));
    found.push(Given::OwnConstant(0.0));
    found.push(Given::Constant(Tensor::new([rank], &vec![1f32; rank])));
    found.push(Given::Absent);
    let mut known: Vec<Given> = Vec::new();
    for given in found {
        if !known.contains(&given) {
            known.push(given);
        }
    }
    known
}
