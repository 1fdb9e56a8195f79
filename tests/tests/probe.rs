use warpweave::codegen::emulate::*;
use warpweave::compiler::{CompileOptions, compile};
use warpweave::fusion::schedule::tables;
use warpweave::graph::expr::*;
use warpweave::graph::ops::{matmul::MatMul, relu::Relu};
use warpweave::graph::program::*;
use warpweave::graph::{ElementType, Tensor, TensorType};
#[test]
fn matmul_relu() {
    let (m, k, n) = (40usize, 50usize, 70usize);
    let mut b = ProgramBuilder::new();
    let x = b.input(TensorType::new(ElementType::F32, [m, k]));
    let w: Vec<f32> = (0..k * n).map(|i| ((i * 7919 % 1000) as f32 / 500.0) - 1.0).collect();
    let wt = b.constant(Tensor::new([k, n], &w));
    let y = b.apply(&MatMul, &[Some(x), Some(wt)], 1)[0];
    let z = b.apply(&Relu, &[Some(y)], 1)[0];
    let p = b.finish(vec![z]);
    println!("{p}");
    for units in [1, 4, 132] {
        let c = compile(&p, &CompileOptions { units, ..CompileOptions::default() }).unwrap();
        let plan = c.plan.plan();
        let seg = plan.persistent();
        if units == 4 {
            println!("{plan}");
            println!("{}", warpweave::codegen::print::cuda(&c.lowered.program));
        }
        let t = tables::encode(seg, &c.lowered.bindings, c.lowered.operands.clone());
        let mut weights = vec![0u8; plan.memory.weights_bytes as usize];
        for &id in &plan.memory.constants {
            let buf = plan.memory.tensors[id].buffer.unwrap();
            let ten = c.program.constant(id).unwrap();
            weights[buf.offset as usize..][..buf.bytes as usize].copy_from_slice(ten.bytes());
        }
        let mut d = Device::new(
            &c.lowered.program,
            &t,
            &weights,
            plan.memory.arena_bytes as usize,
            seg.counters.len(),
            seg.units() as u32,
        )
        .unwrap();
        let xin: Vec<f32> = (0..m * k).map(|i| ((i * 104729 % 997) as f32 / 500.0) - 1.0).collect();
        let xb = plan.memory.tensors[plan.memory.inputs[0]].buffer.unwrap();
        for (i, v) in xin.iter().enumerate() {
            d.arena_mut()[xb.offset as usize + i * 4..][..4].copy_from_slice(&v.to_le_bytes());
        }
        for seed in 0..3 {
            let r = d.launch(&[xb.offset as usize..(xb.offset + xb.bytes) as usize], &LaunchOptions::seeded(seed));
            assert!(r.is_clean(), "{r:?}");
        }
        let ob = plan.memory.tensors[plan.memory.outputs[0]].buffer.unwrap();
        for i in 0..m {
            for j in 0..n {
                let mut s = 0f64;
                for kk in 0..k {
                    s += xin[i * k + kk] as f64 * w[kk * n + j] as f64;
                }
                let s = s.max(0.0);
                let o = f32::from_le_bytes(d.arena()[ob.offset as usize + (i * n + j) * 4..][..4].try_into().unwrap())
                    as f64;
                assert!((o - s).abs() < 1e-4, "{i} {j} {o} {s}");
            }
        }
    }
}
#[test]
fn host_matches() {
    use warpweave::graph::reference;
    let (m, k, n) = (40usize, 50usize, 70usize);
    let mut b = ProgramBuilder::new();
    let x = b.input(TensorType::new(ElementType::F32, [m, k]));
    let w: Vec<f32> = (0..k * n).map(|i| ((i * 7919 % 1000) as f32 / 500.0) - 1.0).collect();
    let wt = b.constant(Tensor::new([k, n], &w));
    let y = b.apply(&MatMul, &[Some(x), Some(wt)], 1)[0];
    let z = b.apply(&Relu, &[Some(y)], 1)[0];
    let p = b.finish(vec![z]);
    let xin: Vec<f32> = (0..m * k).map(|i| ((i * 104729 % 997) as f32 / 500.0) - 1.0).collect();
    let xt = Tensor::new([m, k], &xin);
    let r = reference::evaluate(&p, &[xt.clone()]).unwrap();
    let c = compile(&p, &CompileOptions { units: 16, ..CompileOptions::default() }).unwrap();
    let weights = warpweave::runtime::host::pack_weights(&c.plan, |id| c.program.constant(id)).unwrap();
    for threads in [1, 2, 5] {
        let mut h = warpweave::runtime::host::HostSession::new(&c.plan, weights.clone(), threads).unwrap();
        let o = h.run(&[xt.clone()]).unwrap();
        let (a, b) = (o[0].to_f32(), r[0].to_f32());
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() < 1e-4);
        }
        assert_eq!(h.trace().len(), c.plan.plan().persistent().tasks());
    }
}
