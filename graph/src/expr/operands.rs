//! Operands of expressions, each once.

use super::TensorExpr;
use crate::types::TensorType;

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
