//! A model in the making: nodes over values with known shapes.

mod attribute;
mod contraction;
mod convolution;
mod elementwise;
mod layers;
mod movement;

use warpweave_frontend::onnx::{
    Dimension, DimensionValue, NodeProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};

use crate::options::{BuildOptions, Precision};
use crate::weight::{Element, Fill, Weight, seed};
use attribute::Attribute;
pub(crate) use contraction::linear_bound;
pub(crate) use convolution::{Convolution, Window};
pub(crate) use elementwise::{Binary, Unary};
pub(crate) use layers::Recurrence;

/// A value of the model: its name and extents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    name: String,
    pub(crate) shape: Vec<usize>,
}

impl Value {
    /// The extent of the last dimension; 1 for a scalar.
    pub(crate) fn features(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }
}

/// A model in the making.
pub(crate) struct Builder {
    model: &'static str,
    pub(crate) options: BuildOptions,
    /// The element type of weights and activations.
    element: Element,
    scope: String,
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) weights: Vec<Weight>,
    pub(crate) inputs: Vec<ValueInfoProto>,
    pub(crate) outputs: Vec<ValueInfoProto>,
}

impl Builder {
    /// An empty model.
    pub(crate) fn new(model: &'static str, options: &BuildOptions) -> Self {
        let element = match options.precision {
            Precision::Fp32 => Element::F32,
            Precision::Fp16 => Element::F16,
        };
        let (scope, nodes, weights) = (String::new(), Vec::new(), Vec::new());
        Self { model, options: *options, element, scope, nodes, weights, inputs: Vec::new(), outputs: Vec::new() }
    }

    /// How many examples run at once.
    pub(crate) fn batch(&self) -> usize {
        self.options.batch
    }

    /// Whatever `part` builds, its names below `name`.
    pub(crate) fn scoped<T>(&mut self, name: &str, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.len();
        if outer > 0 {
            self.scope.push('.');
        }
        self.scope.push_str(name);
        let result = part(self);
        self.scope.truncate(outer);
        result
    }

    /// A floating-point input of the model.
    pub(crate) fn input(&mut self, name: &str, shape: &[usize]) -> Value {
        self.declare(name, shape, self.element)
    }

    /// An input of the model that holds 64-bit indices.
    pub(crate) fn indices(&mut self, name: &str, shape: &[usize]) -> Value {
        self.declare(name, shape, Element::I64)
    }

    /// Makes a floating-point value that a node computes an output of the model, under this name.
    pub(crate) fn output(&mut self, name: &str, value: &Value) {
        for node in &mut self.nodes {
            for own in node.input.iter_mut().chain(&mut node.output).filter(|own| **own == value.name) {
                name.clone_into(own);
            }
        }
        self.outputs.push(described(name, &value.shape, self.element));
    }

    /// A learnable weight, uniform between `−bound` and `bound`.
    pub(crate) fn weight(&mut self, name: &str, shape: &[usize], bound: f32) -> Value {
        self.learnable(name, shape, 0.0, bound)
    }

    /// A learnable weight, uniform between `centre − spread` and `centre + spread`.
    pub(crate) fn learnable(&mut self, name: &str, shape: &[usize], centre: f32, spread: f32) -> Value {
        self.constant(name, shape, self.element, Fill::Uniform { centre, spread }, true)
    }

    /// A statistic that was gathered in training, uniform between `centre − spread` and `centre + spread`.
    pub(crate) fn statistic(&mut self, name: &str, shape: &[usize], centre: f32, spread: f32) -> Value {
        self.constant(name, shape, self.element, Fill::Uniform { centre, spread }, false)
    }

    /// A table of given numbers that training does not change.
    pub(crate) fn table(&mut self, name: &str, shape: &[usize], values: Vec<f32>) -> Value {
        self.constant(name, shape, self.element, Fill::Floats(values), false)
    }

    /// A tensor of zeros.
    pub(crate) fn zeros(&mut self, name: &str, shape: &[usize]) -> Value {
        self.statistic(name, shape, 0.0, 0.0)
    }

    /// One number.
    fn scalar(&mut self, value: f32) -> Value {
        let name = format!("constant_{}", self.weights.len());
        self.constant(&name, &[], self.element, Fill::Floats(vec![value]), false)
    }

    /// A list of integers.
    fn integers(&mut self, values: Vec<i64>) -> Value {
        let name = format!("constant_{}", self.weights.len());
        let shape = [values.len()];
        self.constant(&name, &shape, Element::I64, Fill::Integers(values), false)
    }

    fn constant(&mut self, name: &str, shape: &[usize], element: Element, fill: Fill, learnable: bool) -> Value {
        let name = self.qualified(name);
        let seed = seed([self.model, &name]);
        let shape = shape.to_vec();
        self.weights.push(Weight { name: name.clone(), shape: shape.clone(), element, learnable, fill, seed });
        Value { name, shape }
    }

    fn declare(&mut self, name: &str, shape: &[usize], element: Element) -> Value {
        self.inputs.push(described(name, shape, element));
        Value { name: name.to_owned(), shape: shape.to_vec() }
    }

    fn qualified(&self, name: &str) -> String {
        if self.scope.is_empty() { name.to_owned() } else { format!("{}.{name}", self.scope) }
    }

    /// A node with one output of that shape.
    fn node(&mut self, operator: &str, inputs: &[&Value], attributes: Vec<Attribute>, shape: Vec<usize>) -> Value {
        let inputs: Vec<Option<&Value>> = inputs.iter().copied().map(Some).collect();
        let name = self.fresh(operator, 0);
        self.push(operator, &inputs, attributes, vec![(name.clone(), shape.clone())]);
        Value { name, shape }
    }

    /// A node with several outputs of those shapes; inputs may be left out.
    fn nodes(
        &mut self,
        operator: &str,
        inputs: &[Option<&Value>],
        attributes: Vec<Attribute>,
        shapes: Vec<Vec<usize>>,
    ) -> Vec<Value> {
        let named = shapes.into_iter().enumerate().map(|(at, shape)| (self.fresh(operator, at), shape));
        let named: Vec<(String, Vec<usize>)> = named.collect();
        self.push(operator, inputs, attributes, named.clone());
        named.into_iter().map(|(name, shape)| Value { name, shape }).collect()
    }

    fn fresh(&self, operator: &str, output: usize) -> String {
        let name = format!("{}_{}", operator.to_ascii_lowercase(), self.nodes.len());
        self.qualified(&if output == 0 { name } else { format!("{name}_{output}") })
    }

    fn push(
        &mut self,
        operator: &str,
        inputs: &[Option<&Value>],
        attributes: Vec<Attribute>,
        outputs: Vec<(String, Vec<usize>)>,
    ) {
        let name = outputs.first().map(|(name, _)| format!("node:{name}")).unwrap_or_default();
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|input| input.map_or(String::new(), |value| value.name.clone())).collect(),
            output: outputs.into_iter().map(|(name, _)| name).collect(),
            name,
            op_type: operator.to_owned(),
            attribute: attributes.into_iter().map(Attribute::encode).collect(),
            ..NodeProto::default()
        });
    }
}

/// The declaration of an input or output.
fn described(name: &str, shape: &[usize], element: Element) -> ValueInfoProto {
    let dimension =
        |&extent: &usize| Dimension { value: Some(DimensionValue::DimValue(extent as i64)), ..Dimension::default() };
    let shape = TensorShapeProto { dim: shape.iter().map(dimension).collect() };
    let tensor = TensorTypeProto { elem_type: element.number(), shape: Some(shape) };
    ValueInfoProto::new(name, TypeProto::of_tensor(tensor))
}
