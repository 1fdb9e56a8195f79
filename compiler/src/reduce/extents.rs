//! Smaller extents: dimensions and axes that are one extent are cut to their beginning together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::expr::{AxisId, Read, TensorExpr};
use warpweave_graph::program::{Definition, Source, StatementId, TensorId};
use warpweave_graph::{Tensor, TensorProgram, TensorType};

use super::Case;

/// What has an extent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Extent {
    Dimension(TensorId, usize),
    Axis(StatementId, AxisId),
}

/// What is cut together.
type Class = BTreeSet<Extent>;

/// The case with extents as small as `fails` allows. A cut that reads what is not there any more is none: the program does not
/// verify, or the reference refuses it.
pub fn smaller<E>(case: &Case, fails: &mut dyn FnMut(&Case) -> Result<bool, E>) -> Result<Case, E> {
    let mut smallest = case.clone();
    for class in classes(&case.program) {
        let Some(first) = class.first() else { continue };
        let mut extent = extent_of(&smallest.program, *first);
        let mut tried = 1;
        // One is tried first, then half as long as that still fails.
        while tried < extent {
            let candidate = resized(&smallest, &class, tried);
            let does_fail = match &candidate {
                Some(candidate) if candidate.expected().is_ok() => fails(candidate)?,
                _ => false,
            };
            match candidate {
                Some(candidate) if does_fail => (smallest, extent) = (candidate, tried),
                _ if tried == 1 && extent > 2 => {}
                _ => break,
            }
            tried = extent.div_ceil(2);
        }
    }
    Ok(smallest)
}

fn extent_of(program: &TensorProgram, extent: Extent) -> usize {
    match extent {
        Extent::Dimension(tensor, dimension) => program.tensors[tensor].ty.shape[dimension],
        Extent::Axis(statement, axis) => {
            program.statements[statement].definition.expr().map_or(1, |expr| expr.axes[axis].extent)
        }
    }
}

/// What every read and write treats as one extent, the largest first.
fn classes(program: &TensorProgram) -> Vec<Class> {
    let mut groups = Groups::default();
    for (tensor, definition) in program.tensors.iter() {
        (0..definition.ty.shape.len()).for_each(|dimension| groups.add(Extent::Dimension(tensor, dimension)));
    }
    for (id, statement) in program.statements.iter() {
        let output = statement.output;
        if let Definition::Concat { axis } = statement.definition {
            let dimensions = (0..program.tensors[output].ty.shape.len()).filter(|dimension| *dimension != axis);
            for (dimension, &operand) in dimensions.flat_map(|at| statement.operands.iter().map(move |part| (at, part)))
            {
                groups.unite(Extent::Dimension(output, dimension), Extent::Dimension(operand, dimension));
            }
        }
        let Some(expr) = statement.definition.expr() else { continue };
        expr.axes.ids().for_each(|axis| groups.add(Extent::Axis(id, axis)));
        for (dimension, axis) in expr.parallel().enumerate() {
            groups.unite(Extent::Dimension(output, dimension), Extent::Axis(id, axis));
        }
        for (operand, dimension, axis) in plain_reads(expr) {
            groups.unite(Extent::Dimension(statement.operands[operand], dimension), Extent::Axis(id, axis));
        }
    }
    let mut classes = groups.classes();
    classes.sort_by_key(|class| class.first().map(|first| Reverse(extent_of(program, *first))));
    classes
}

/// Operand, dimension and axis where an index is an axis that goes through the whole dimension.
fn plain_reads(expr: &TensorExpr) -> Vec<(usize, usize, AxisId)> {
    let of_read = |read: &Read| -> Vec<(usize, usize, AxisId)> {
        let shape = &expr.operands[read.operand].shape;
        let axes = read.index.iter().enumerate().filter_map(|(dimension, index)| Some((dimension, index.as_axis()?)));
        let whole = axes.filter(|(dimension, axis)| expr.axes[*axis].extent == shape[*dimension]);
        whole.map(|(dimension, axis)| (read.operand, dimension, axis)).collect()
    };
    expr.reads.values().flat_map(of_read).collect()
}

/// Sets that are united, by their number.
#[derive(Default)]
struct Groups {
    group: BTreeMap<Extent, usize>,
}

impl Groups {
    fn add(&mut self, extent: Extent) {
        let next = self.group.len();
        self.group.entry(extent).or_insert(next);
    }

    fn unite(&mut self, one: Extent, other: Extent) {
        self.add(one);
        self.add(other);
        let (kept, dropped) = (self.group[&one], self.group[&other]);
        self.group.values_mut().filter(|group| **group == dropped).for_each(|group| *group = kept);
    }

    fn classes(self) -> Vec<Class> {
        let mut classes: BTreeMap<usize, Class> = BTreeMap::new();
        for (extent, group) in self.group {
            classes.entry(group).or_default().insert(extent);
        }
        classes.into_values().collect()
    }
}

/// The case with this extent for the class; `None` if that is no program.
fn resized(case: &Case, class: &Class, extent: usize) -> Option<Case> {
    let mut case = case.clone();
    let program = &mut case.program;
    for id in program.tensors.ids() {
        let tensor = &mut program.tensors[id];
        let dimensions = 0..tensor.ty.shape.len();
        let dimension =
            |at: usize| if class.contains(&Extent::Dimension(id, at)) { extent } else { tensor.ty.shape[at] };
        let ty = TensorType { element: tensor.ty.element, shape: dimensions.map(dimension).collect() };
        match &mut tensor.source {
            Source::Input(position) => case.inputs[*position] = beginning(&case.inputs[*position], &ty)?,
            Source::Constant(value) => *value = beginning(value, &ty)?,
            Source::State(state) => state.initial = beginning(&state.initial, &ty)?,
            Source::Statement(_) => {}
        }
        tensor.ty = ty;
    }
    for id in program.statements.ids() {
        let statement = &mut program.statements[id];
        let Some(mut expr) = statement.definition.expr().cloned() else { continue };
        expr.operands = statement.operands.iter().map(|&operand| program.tensors[operand].ty.clone()).collect();
        for axis in expr.axes.ids().filter(|axis| class.contains(&Extent::Axis(id, *axis))) {
            expr.axes[axis].extent = extent;
        }
        statement.definition = statement.definition.with_expr(expr);
    }
    program.verify().is_ok().then_some(case)
}

/// The elements of a tensor at the indices that another type of the same rank has too.
fn beginning(tensor: &Tensor, ty: &TensorType) -> Option<Tensor> {
    if tensor.ty() == ty {
        return Some(tensor.clone());
    }
    let width = tensor.element().bytes();
    let (from, to) = (tensor.shape().strides(), ty.shape.strides());
    let mut bytes = Vec::with_capacity(ty.bytes());
    for element in 0..ty.shape.elements() {
        let coordinate = |(stride, extent): (&usize, &usize)| element / (*stride).max(1) % (*extent).max(1);
        let place: usize =
            to.iter().zip(ty.shape.iter()).map(coordinate).zip(&from).map(|(at, stride)| at * stride).sum();
        bytes.extend_from_slice(&tensor.bytes()[place * width..(place + 1) * width]);
    }
    Tensor::from_bytes(ty.clone(), bytes.into())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use warpweave_graph::ElementType;
    use warpweave_graph::ops::activations::relu::Relu;
    use warpweave_graph::program::ProgramBuilder;

    use super::*;

    /// The extent that is left of a vector's, where the program fails from `least` elements on.
    fn left(extent: usize, least: usize) -> usize {
        let mut builder = ProgramBuilder::new();
        let x = builder.input(TensorType::new(ElementType::F32, [extent]));
        let y = builder.apply(&Relu, &[Some(x)], 1)[0];
        let case =
            Case { program: builder.finish(vec![y]), inputs: vec![Tensor::new([extent], &vec![1.0f32; extent])] };
        let mut fails = |case: &Case| Ok::<bool, Infallible>(case.inputs[0].shape().elements() >= least);
        smaller(&case, &mut fails).expect("every candidate fails").inputs[0].shape().elements()
    }

    #[test]
    fn an_extent_is_halved_as_far_as_it_fails() {
        assert_eq!([left(1, 1), left(64, 1), left(64, 5), left(64, 64)], [1, 1, 8, 64]);
        assert_eq!([left(2, 2), left(3, 2), left(3, 3), left(4, 2), left(5, 3)], [2, 2, 3, 2, 3]);
    }
}
