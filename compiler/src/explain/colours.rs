//! Colours of rOperators. Those that read the same weights, such as the steps of a recurrent layer, have a hue. Shades
//! stand for the order in which they follow one another.

use std::collections::BTreeMap;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::{BufferSpace, OperatorId};
use warpweave_plan::plan::{MemoryPlan, ROperator};

/// Shades after which they begin again, so that equal steps of different layers are seen to follow one another.
const SHADES: usize = 10;
/// As many hues are told apart when they are evenly spaced.
const MOST_HUES: usize = 24;
/// Steps of the golden angle keep the hues of neighbours apart.
const GOLDEN_ANGLE: f64 = 137.508;

/// The colour of every rOperator, in the words of CSS.
pub fn colours(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Arena<OperatorId, String> {
    let mut families: BTreeMap<TensorId, Vec<OperatorId>> = BTreeMap::new();
    for (id, operator) in operators.iter() {
        let bytes = |tensor: &TensorId| {
            let buffer = memory.tensors[*tensor].buffer.filter(|buffer| buffer.space == BufferSpace::Weights);
            buffer.map(|buffer| (buffer.bytes, std::cmp::Reverse(*tensor)))
        };
        if let Some((_, std::cmp::Reverse(weights))) = operator.kernel.body().operands.iter().filter_map(bytes).max() {
            families.entry(weights).or_default().push(id);
        }
    }
    let mut families: Vec<Vec<OperatorId>> = families.into_values().filter(|family| family.len() > 1).collect();
    families.sort_unstable_by_key(|family| family[0]);
    let spacing = if families.len() <= MOST_HUES { 360.0 / families.len().max(1) as f64 } else { GOLDEN_ANGLE };
    let own = |id: OperatorId| {
        let light = 45 + 6 * (id.index() % 4);
        format!("hsl({:.0} 22% {light}%)", (id.index() as f64 * GOLDEN_ANGLE) % 360.0)
    };
    let mut colours: Arena<OperatorId, String> = operators.ids().map(own).collect();
    for (number, family) in families.iter().enumerate() {
        for (step, &id) in family.iter().enumerate() {
            let hue = (number as f64 * spacing) % 360.0;
            colours[id] = format!("hsl({hue:.0} 65% {}%)", 34 + 4 * (step % SHADES));
        }
    }
    colours
}
