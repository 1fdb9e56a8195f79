//! Which bodies and parameters are kernels.

use std::sync::Arc;
use warpweave_graph::pipeline::PreparedProgram;

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_graph::program::text::parse;
use warpweave_graph::text::Tensors;
use warpweave_graph::views::{inline_views, place_concats};
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::{Kernel, ScheduleParams};

const PRODUCT: &str = "program\nt0: f32[64x32] = input 0\nt1: f32[32x48] = input 1\n\
    e0 (t0, t1) -> t2: f32[64x48] = [a0<64, a1<48] sum[a2<32] mul(x0[a0, a2], x1[a2, a1])\noutput t2\n";

fn product() -> Arc<GroupBody> {
    let program = parse(PRODUCT, &Tensors::new()).expect("a program");
    let (program, layouts) = place_concats(&inline_views(&program));
    let prepared = PreparedProgram { program, layouts };
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let groups = partition(&prepared, &cost, FusionLevel::Register).groups;
    Arc::clone(groups[0].kernel.shared_body())
}

fn refused(params: &str) -> Option<&'static str> {
    let params: ScheduleParams = params.parse().expect("parameters");
    Kernel::of(product(), params).err().map(|refused| refused.0)
}

#[test]
fn a_kernel_has_a_tile_inside_its_extents_and_a_template_that_computes_it() {
    for right in ["pointwise/1 tile 1x48", "row/warp tile 8x1", "row/block tile 1x1"] {
        assert_eq!(refused(right), None, "{right}");
    }
    let tile = Some("the tile violates the constraints of its template");
    for wrong in ["pointwise/1 tile 65x1", "row/warp tile 8", "weight-stationary tile 8x8"] {
        assert_eq!(refused(wrong), tile, "{wrong}");
    }
    assert_eq!(refused("opaque tile 1x1"), Some("a procedure and its template belong together"));
}
