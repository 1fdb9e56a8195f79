//! Passes over tensor programs that turn data movement into views: composed reads and shared buffers.

use std::collections::BTreeMap;

use crate::arena::Arena;
use crate::expr::{ExprBuilder, Index, TensorExpr, substitute};
use crate::program::{Definition, ProgramBuilder, Source, Statement, TensorId, TensorProgram};
use crate::tensor::Tensor;
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

/// The program with every statement that only moves data composed into its readers. Such a statement remains only where
/// its tensor is an output or joined into another.
pub fn inline_views(program: &TensorProgram) -> TensorProgram {
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        let Some(expr) = statement.definition.expr() else {
            builder.keep(statement, statement.definition.clone(), statement.operands.clone());
            continue;
        };
        let (mut expr, mut operands) = (expr.clone(), statement.operands.clone());
        while let Some((position, composed, producer)) = composable(program, &expr, &operands) {
            operands.remove(position);
            operands.extend(producer.operands.iter().copied());
            (expr, operands) = merge_operands(&composed, &operands);
        }
        builder.keep(statement, statement.definition.with_expr(expr), operands);
    }
    remove_dead(&builder.finish(program))
}

/// The first operand of `expr` that a movement defines, and `expr` with the movement composed into it.
fn composable<'a>(
    program: &'a TensorProgram,
    expr: &TensorExpr,
    operands: &[TensorId],
) -> Option<(usize, TensorExpr, &'a Statement)> {
    operands.iter().enumerate().find_map(|(position, &operand)| {
        let producer = &program.statements[program.producer(operand)?];
        let Definition::Compute(movement) = &producer.definition else { return None };
        movement.as_movement()?;
        let composed = substitute::inline(expr, position, movement)?;
        Some((position, composed, producer))
    })
}

/// The expression over distinct operands, with operands that it no longer reads left out.
pub fn merge_operands<T: Copy + Eq>(expr: &TensorExpr, operands: &[T]) -> (TensorExpr, Vec<T>) {
    let mut used = vec![false; operands.len()];
    expr.reads.values().for_each(|read| used[read.operand] = true);
    let mut kept: Vec<T> = Vec::new();
    let mut types: Vec<TensorType> = Vec::new();
    let mut moved = vec![usize::MAX; operands.len()];
    for (position, operand) in operands.iter().enumerate().filter(|(position, _)| used[*position]) {
        let known = kept.iter().position(|other| other == operand);
        moved[position] = known.unwrap_or_else(|| {
            kept.push(*operand);
            types.push(expr.operands[position].clone());
            kept.len() - 1
        });
    }
    let mut merged = expr.clone();
    merged.operands = types;
    for id in expr.reads.ids() {
        merged.reads[id].operand = moved[expr.reads[id].operand];
    }
    (merged, kept)
}

/// The program without statements that no output depends on.
pub fn remove_dead(program: &TensorProgram) -> TensorProgram {
    let mut live: Arena<TensorId, bool> = program.tensors.values().map(|_| false).collect();
    for &output in &program.outputs {
        live[output] = true;
    }
    for statement in program.statements.values().rev() {
        if live[statement.output] {
            for &operand in &statement.operands {
                live[operand] = true;
            }
        }
    }
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values().filter(|statement| live[statement.output]) {
        builder.keep(statement, statement.definition.clone(), statement.operands.clone());
    }
    builder.finish(program)
}

/// The program with a copy wherever a tensor could not be produced in place, and each tensor's layout.
///
/// Afterwards every part of a join has a statement of its own that writes it into the join's buffer, and every output is
/// produced by a statement and occurs once.
pub fn place_joins(program: &TensorProgram) -> (TensorProgram, Arena<TensorId, Layout>) {
    let mut builder = Rebuild::new(program);
    let mut homes: BTreeMap<TensorId, (TensorId, usize, usize)> = BTreeMap::new();
    for statement in program.statements.values() {
        let Definition::Join { axis } = statement.definition else {
            builder.keep(statement, statement.definition.clone(), statement.operands.clone());
            continue;
        };
        let (mut parts, mut offset) = (Vec::new(), 0);
        let mut placed = Vec::new();
        for &part in &statement.operands {
            let new = builder.map(part);
            let in_place = program.producer(part).is_some() && !homes.contains_key(&new);
            let in_place = in_place && !placed.contains(&new) && !program.outputs.contains(&part);
            let home = if in_place { new } else { builder.copy(new) };
            placed.push(home);
            parts.push((home, offset));
            offset += program.tensors[part].ty.shape[axis];
        }
        let joined = builder.push(statement, Definition::Join { axis }, placed);
        homes.extend(parts.into_iter().map(|(part, offset)| (part, (joined, axis, offset))));
    }
    let mut outputs = Vec::new();
    for &output in &program.outputs {
        let new = builder.map(output);
        let own = program.producer(output).is_some() && !outputs.contains(&new);
        outputs.push(if own { new } else { builder.copy(new) });
    }
    let program = builder.finish_with(outputs);
    let layouts = program.tensors.ids().map(|tensor| layout(&program, &homes, tensor)).collect();
    (program, layouts)
}

fn layout(program: &TensorProgram, homes: &BTreeMap<TensorId, (TensorId, usize, usize)>, tensor: TensorId) -> Layout {
    let mut starts: Vec<usize> = vec![0; program.tensors[tensor].ty.shape.len()];
    let mut root = tensor;
    while let Some(&(joined, axis, offset)) = homes.get(&root) {
        starts[axis] += offset;
        root = joined;
    }
    let strides = program.tensors[root].ty.shape.strides();
    let offset = starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    Layout { root, offset, strides }
}

/// Rebuilds a program statement by statement; tensors keep their order.
pub(crate) struct Rebuild {
    builder: ProgramBuilder,
    map: BTreeMap<TensorId, TensorId>,
}

impl Rebuild {
    pub(crate) fn new(program: &TensorProgram) -> Self {
        let mut builder = ProgramBuilder::new();
        let map = program.inputs.iter().map(|&input| (input, builder.input(program.tensors[input].ty.clone())));
        let mut map: BTreeMap<TensorId, TensorId> = map.collect();
        for (id, tensor) in program.tensors.iter() {
            if let Source::Constant(value) = &tensor.source {
                map.insert(id, builder.constant(value.clone()));
            }
        }
        Self { builder, map }
    }

    pub(crate) fn map(&self, tensor: TensorId) -> TensorId {
        self.map[&tensor]
    }

    /// The statement as it is, over renamed operands.
    pub(crate) fn keep(&mut self, statement: &Statement, definition: Definition, operands: Vec<TensorId>) -> TensorId {
        let operands = operands.into_iter().map(|operand| self.map(operand)).collect();
        self.push(statement, definition, operands)
    }

    fn push(&mut self, statement: &Statement, definition: Definition, operands: Vec<TensorId>) -> TensorId {
        self.builder.set_origin(statement.origin);
        let output = match definition {
            Definition::Compute(expr) => self.builder.compute(expr, &operands),
            Definition::Opaque(opaque) => self.builder.opaque(opaque, &operands),
            Definition::Join { axis } => self.builder.join(axis, &operands),
        };
        self.map.insert(statement.output, output);
        output
    }

    /// A constant that the program did not have.
    pub(crate) fn constant(&mut self, value: Tensor) -> TensorId {
        self.builder.constant(value)
    }

    /// The type of a tensor of the new program.
    pub(crate) fn ty(&self, tensor: TensorId) -> &TensorType {
        self.builder.ty(tensor)
    }

    /// A tensor that the program did not have, where a statement stood.
    pub(crate) fn compute(&mut self, origin: &Statement, expr: TensorExpr, operands: &[TensorId]) -> TensorId {
        self.builder.set_origin(origin.origin);
        self.builder.compute(expr, operands)
    }

    /// Another expression, over operands of the new program, for what a statement defines.
    pub(crate) fn define(&mut self, statement: &Statement, expr: TensorExpr, operands: &[TensorId]) {
        let output = self.compute(statement, expr, operands);
        self.map.insert(statement.output, output);
    }

    fn copy(&mut self, tensor: TensorId) -> TensorId {
        let ty = self.builder.ty(tensor).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let read = expr.read(operand, axes.into_iter().map(Index::axis).collect());
        self.builder.compute(expr.map(ty.element, read), &[tensor])
    }

    /// A tensor of the new program in the place of one of the old.
    pub(crate) fn replace(&mut self, old: TensorId, new: TensorId) {
        self.map.insert(old, new);
    }

    pub(crate) fn finish(self, program: &TensorProgram) -> TensorProgram {
        let outputs = program.outputs.iter().map(|&output| self.map(output)).collect();
        self.finish_with(outputs)
    }

    fn finish_with(self, outputs: Vec<TensorId>) -> TensorProgram {
        self.builder.finish(outputs)
    }
}
