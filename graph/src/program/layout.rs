//! Where tensors live.

use std::collections::BTreeMap;

use super::{Definition, TensorId, TensorProgram};
use crate::arena::Arena;
use crate::types::TensorType;

/// Where a tensor lives: in the buffer of its root, at an offset and with strides in elements. A tensor that is its own
/// root is contiguous.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Layout {
    /// The tensor whose buffer this one is part of.
    pub root: TensorId,
    /// Elements before the first one.
    pub offset: usize,
    /// Elements between neighbours, a dimension each.
    pub strides: Vec<usize>,
}

impl Layout {
    /// The layout of a tensor that is its own root.
    pub fn own(tensor: TensorId, ty: &TensorType) -> Self {
        Self { root: tensor, offset: 0, strides: ty.shape.strides() }
    }

    /// Whether this is the layout of a tensor that is its own root.
    pub fn is_own(&self, tensor: TensorId, ty: &TensorType) -> bool {
        self.root == tensor && self.offset == 0 && self.strides == ty.shape.strides()
    }
}

/// A part of a concat: the tensor that it is part of, the axis, and the first element along it.
type ConcatPart = (TensorId, usize, usize);

/// Each tensor's layout, in a program in which every part of a concat is written into the concat's buffer, as the pass
/// `concat_placement` leaves it.
pub fn layouts(program: &TensorProgram) -> Arena<TensorId, Layout> {
    let mut places: BTreeMap<TensorId, ConcatPart> = BTreeMap::new();
    for statement in program.statements.values() {
        let Definition::Concat { axis } = statement.definition else { continue };
        let mut offset = 0;
        for &part in &statement.operands {
            places.insert(part, (statement.output, axis, offset));
            offset += program.tensors[part].ty.shape[axis];
        }
    }
    program.tensors.ids().map(|tensor| layout(program, &places, tensor)).collect()
}

fn layout(program: &TensorProgram, places: &BTreeMap<TensorId, ConcatPart>, tensor: TensorId) -> Layout {
    let mut starts: Vec<usize> = vec![0; program.tensors[tensor].ty.shape.len()];
    let mut root = tensor;
    while let Some(&(whole, axis, offset)) = places.get(&root) {
        starts[axis] += offset;
        root = whole;
    }
    let shape = &program.tensors[root].ty.shape;
    let strides = shape.strides();
    let offset = starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    // In a root without elements, no other offset is inside.
    let offset = if shape.elements() == 0 { 0 } else { offset };
    Layout { root, offset, strides }
}
