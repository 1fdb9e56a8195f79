//! Kernels of one group for parts of the device: beside other groups, the one that is fastest alone may be the wrong one.

use crate::tuning::SearchTuning;
use warpweave_graph::arena::Id;
use warpweave_graph::program::{TensorId, TensorProgram};

use crate::cost::arch::DeviceShare;
use crate::cost::estimate::EstimatedCost;
use crate::cost::{KernelCost, PricedKernel};
use crate::partition::split::may_split;
use crate::partition::split::split;
use crate::template::candidates::simple_candidates;
use std::sync::Arc;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::contraction::shape::ContractionShape;

impl EstimatedCost {
    /// The fastest kernels for a body on the whole device, half, a quarter and an eighth of it, each once. Contractions have
    /// one of `shapes`.
    pub fn best_on_shares(
        &self,
        program: &TensorProgram,
        body: &Arc<GroupBody>,
        shapes: &[ContractionShape],
    ) -> Vec<Kernel> {
        let mut found = Vec::new();
        for share in DeviceShare::ALL {
            let best = Self { arch: self.arch.share(share) }.best_under(program, body, shapes);
            found.extend(best.filter(|kernel| !found.contains(kernel)));
        }
        found
    }

    /// The fastest kernel for a body, and the one whose tiles take the least time together of those that are not twice as slow.
    pub(crate) fn fastest_and_smallest(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<Kernel> {
        let choices = self.choices(program, body);
        let times = choices.iter().map(|choice| choice.microseconds);
        let Some(fastest) = times.min_by(f64::total_cmp) else { return Vec::new() };
        let work = |kernel: &Kernel| self.task_microseconds(kernel) * kernel.tiles() as f64;
        let whole = choices.iter().filter(|choice| choice.kernel.parts() == 1 && choice.microseconds <= 2.0 * fastest);
        let smallest = whole.min_by(|a, b| work(&a.kernel).total_cmp(&work(&b.kernel)));
        let fastest = choices.iter().find(|choice| choice.microseconds == fastest);
        let mut found: Vec<Kernel> = fastest.into_iter().chain(smallest).map(|choice| choice.kernel.clone()).collect();
        found.dedup();
        found
    }

    fn best_under(
        &self,
        program: &TensorProgram,
        body: &Arc<GroupBody>,
        shapes: &[ContractionShape],
    ) -> Option<Kernel> {
        if !body.staged.is_empty() {
            return PricedKernel::cheapest(self.staged_choices(program, body)).map(|priced| priced.kernel);
        }
        let choices = simple_candidates(body).into_iter().chain(self.contractions(program, body, shapes));
        PricedKernel::cheapest(choices.map(|kernel| self.price(program, kernel))).map(|priced| priced.kernel)
    }

    /// The contractions of these shapes, whole and in the parts that they may be split into.
    fn contractions(&self, program: &TensorProgram, body: &Arc<GroupBody>, shapes: &[ContractionShape]) -> Vec<Kernel> {
        let Some(contraction) = Contraction::of(body) else { return Vec::new() };
        let parts = |count: &usize| split(body, *count, TensorId::from_index(program.tensors.len())).is_some();
        let counts: Vec<usize> = SearchTuning::DEFAULT.partition.splits.into_iter().filter(parts).collect();
        let units = self.arch.multiprocessors.value;
        let of_shape = |shape: &ContractionShape| {
            let of_tile = |tile: Vec<usize>| {
                let under = |parts: usize| {
                    let template = Template::Contraction(ContractionShape { split_k: parts, ..*shape });
                    Kernel::unchecked(Arc::clone(body), ScheduleParams { template, tile: tile.clone() })
                };
                let tiles = under(1).tiles();
                let counts = counts.iter().copied().filter(|count| may_split(body, tiles, *count, units));
                std::iter::once(1).chain(counts).map(under).collect::<Vec<_>>()
            };
            shape.tiles(body, &contraction).into_iter().flat_map(of_tile).collect::<Vec<_>>()
        };
        let takes = |shape: &&ContractionShape| shape.unit.multiplies(contraction.numerics());
        shapes.iter().filter(takes).flat_map(of_shape).collect()
    }
}
