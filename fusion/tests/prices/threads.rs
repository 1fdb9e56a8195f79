use warpweave_fusion::cost::cpu::CpuArch;
use warpweave_fusion::cost::host::HostCost;
use warpweave_fusion::partition::search::{FusionLevel, partition};
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::text::parse;
use warpweave_graph::text::Tensors;
use warpweave_graph::views::{inline_views, place_concats};

/// The templates on processors of a vector's product with a matrix that is read so, and of what is added to each of its elements.
fn templates(matrix: &str) -> Vec<&'static str> {
    let text = format!(
        "program\nt0: f32[512x512] = input 0\nt1: f32[512] = input 1\nt2: f32[32x512] = input 2\n\
        e0 (t0, t1) -> t3: f32[512] = [a0<512] sum[a1<512] mul(x1[a1], {matrix})\n\
        e1 (t2, t3) -> t4: f32[32x512] = [a0<32, a1<512] tanh(add(x0[a0, a1], x1[a1]))\noutput t4\n"
    );
    let program = parse(&text, &Tensors::new()).expect("a program");
    let (program, layouts) = place_concats(&inline_views(&program));
    let prepared = PreparedProgram { program, layouts };
    let cost = HostCost { arch: CpuArch::avx2(), threads: 16 };
    let groups = partition(&prepared, &cost, FusionLevel::Register).groups;
    groups.iter().map(|group| group.kernel.rules().name()).collect()
}

#[test]
fn products_whose_factors_lie_apart_are_contractions_of_their_own() {
    assert_eq!(templates("x0[a1, a0]"), ["contraction", "pointwise"]);
}
