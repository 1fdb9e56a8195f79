use warpweave::codegen::emulate::*;
use warpweave::compiler::{CompileOptions, compile};
use warpweave::fusion::schedule::tables;
use warpweave::graph::ops::*;
use warpweave::graph::program::*;
use warpweave::graph::*;
struct G {
    b: ProgramBuilder,
    s: u64,
}
impl G {
    fn rnd(&mut self) -> f32 {
        self.s = self.s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.s >> 40) as f32 / (1u64 << 24) as f32) * 2.0 - 1.0
    }
    fn w(&mut self, sh: &[usize]) -> TensorId {
        let n: usize = sh.iter().product();
        let v: Vec<f32> = (0..n).map(|_| self.rnd() * 0.3).collect();
        self.b.constant(Tensor::new(sh.to_vec(), &v))
    }
    fn i(&mut self, v: &[i64]) -> TensorId {
        self.b.constant(Tensor::vector_i64(v))
    }
    fn op(
        &mut self,
        name: &str,
        attrs: Vec<(&str, Attribute)>,
        ins: &[Option<TensorId>],
        outs: usize,
    ) -> Vec<TensorId> {
        let mut r = AttributeReader::new(attrs.into_iter().map(|(a, b)| (a.to_string(), b)), 17);
        let op = Op::import("", name, &mut r).unwrap();
        let f = self.b.facts(ins);
        let c = Context::new(&f, outs);
        op.infer(&c).unwrap();
        let mut b = std::mem::take(&mut self.b);
        let o = op.lower(&c, ins, &mut b);
        self.b = b;
        o
    }
    fn o(&mut self, name: &str, attrs: Vec<(&str, Attribute)>, ins: &[TensorId]) -> TensorId {
        let v: Vec<_> = ins.iter().map(|x| Some(*x)).collect();
        self.op(name, attrs, &v, 1)[0]
    }
}
fn check(name: &str, g: G, outs: Vec<TensorId>) {
    if let Ok(only) = std::env::var("ONLY") {
        if only != name {
            return;
        }
    }
    let p = g.b.finish(outs);
    let mut g2 = G { b: ProgramBuilder::new(), s: 99 };
    let ins: Vec<Tensor> = p
        .inputs
        .iter()
        .map(|&i| {
            let ty = p.tensors[i].ty.clone();
            let v: Vec<f64> = (0..ty.shape.elements())
                .map(|_| {
                    if ty.element == ElementType::I64 {
                        ((g2.rnd() + 1.0) * 4.0).floor() as f64
                    } else {
                        g2.rnd() as f64
                    }
                })
                .collect();
            Tensor::from_f64(ty, &v)
        })
        .collect();
    let t0 = std::time::Instant::now();
    let r = reference::evaluate(&p, &ins).unwrap();
    let tr = t0.elapsed();
    let t0 = std::time::Instant::now();
    let c = match compile(
        &p,
        &CompileOptions {
            units: std::env::var("UNITS").ok().and_then(|x| x.parse().ok()).unwrap_or(4),
            ..Default::default()
        },
    ) {
        Ok(c) => c,
        Err(e) => {
            panic!("{name}: {e:?}\n{p}")
        }
    };
    let tc = t0.elapsed();
    if std::env::var("SHOW").is_ok() {
        println!("{p}\n{}", c.plan.plan());
        println!("{}", warpweave::codegen::print::cuda(&c.lowered.program));
    }
    let close = |a: &Tensor, b: &Tensor| -> f64 {
        a.to_f64()
            .iter()
            .zip(b.to_f64())
            .map(|(x, y)| if x.is_nan() != y.is_nan() { 1e9 } else { (x - y).abs() / (1e-5 + 1e-3 * y.abs()) })
            .fold(0.0, f64::max)
    };
    let weights = warpweave::runtime::host::pack_weights(&c.plan, |id| c.program.constant(id)).unwrap();
    let t0 = std::time::Instant::now();
    let mut h = warpweave::runtime::host::HostSession::new(&c.plan, weights.clone(), 2).unwrap();
    let o = h.run(&ins).unwrap();
    let th = t0.elapsed();
    let eh = o.iter().zip(&r).map(|(a, b)| close(a, b)).fold(0.0, f64::max);
    let plan = c.plan.plan();
    let seg = plan.persistent();
    let t = tables::encode(seg, &c.lowered.bindings, c.lowered.operands.clone());
    let v = warpweave::codegen::verify::verify(&c.lowered.program);
    if !v.is_empty() {
        println!("{name} VERIFY {}", v[0]);
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
    let mut init = vec![];
    for (k, &i) in plan.memory.inputs.iter().enumerate() {
        let b = plan.memory.tensors[i].buffer.unwrap();
        d.arena_mut()[b.offset as usize..][..b.bytes as usize].copy_from_slice(ins[k].bytes());
        init.push(b.offset as usize..(b.offset + b.bytes) as usize);
    }
    let t0 = std::time::Instant::now();
    let rep = d.launch(&init, &LaunchOptions::seeded(1));
    let te = t0.elapsed();
    if name == "net" {
        for (i, o) in seg.operators.iter() {
            println!(
                "{i} {} tasks {} est/task {:.2}us {:?}",
                o.params,
                o.tasks(),
                o.task_microseconds,
                o.body.tile_extents()
            );
        }
    }
    if !rep.is_clean() {
        println!("{name} EMU {}", rep);
    }
    let mut ee = 0f64;
    for (k, &i) in plan.memory.outputs.iter().enumerate() {
        let pt = &plan.memory.tensors[i];
        let b = pt.buffer.unwrap();
        let tt = Tensor::from_bytes(pt.ty.clone(), d.arena()[b.offset as usize..][..b.bytes as usize].to_vec().into())
            .unwrap();
        ee = ee.max(close(&tt, &r[k]));
    }
    println!(
        "{name}: stmts {} groups {} kernels {} tasks {} waits {} | host {eh:.3} emu {ee:.3} | ref {tr:?} compile {tc:?} host {th:?} emu {te:?}",
        p.statements.len(),
        seg.operators.len(),
        c.lowered.program.kernels.len(),
        seg.tasks(),
        seg.waits()
    );
    assert!(rep.is_clean() && eh < 1.0 && ee < 1.0, "{name}");
}
fn g() -> G {
    G { b: ProgramBuilder::new(), s: 7 }
}
#[test]
fn ops() {
    let f32t = |s: &[usize]| TensorType::new(ElementType::F32, s.to_vec());
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 5, 17, 19]));
        let w = q.w(&[12, 5, 3, 3]);
        let b = q.w(&[12]);
        let y = q.o(
            "Conv",
            vec![("strides", Attribute::Ints(vec![2, 2])), ("pads", Attribute::Ints(vec![1, 1, 1, 1]))],
            &[x, w, b],
        );
        let y = q.o("Relu", vec![], &[y]);
        check("conv3x3s2", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 24, 14, 14]));
        let w = q.w(&[40, 24, 1, 1]);
        let y = q.o("Conv", vec![], &[x, w]);
        let z = q.b.input(f32t(&[1, 40, 14, 14]));
        let y = q.o("Add", vec![], &[y, z]);
        let y = q.o("Relu", vec![], &[y]);
        check("conv1x1+add", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 24, 14, 14]));
        let w = q.w(&[24, 1, 3, 3]);
        let y = q.o("Conv", vec![("group", Attribute::Int(24)), ("pads", Attribute::Ints(vec![1, 1, 1, 1]))], &[x, w]);
        check("depthwise", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 24, 14, 14]));
        let w = q.w(&[32, 6, 3, 3]);
        let y = q.o("Conv", vec![("group", Attribute::Int(4)), ("pads", Attribute::Ints(vec![1, 1, 1, 1]))], &[x, w]);
        check("grouped", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 8, 15, 15]));
        let y = q.o(
            "MaxPool",
            vec![
                ("kernel_shape", Attribute::Ints(vec![3, 3])),
                ("strides", Attribute::Ints(vec![2, 2])),
                ("ceil_mode", Attribute::Int(1)),
            ],
            &[x],
        );
        let z = q.o(
            "AveragePool",
            vec![("kernel_shape", Attribute::Ints(vec![3, 3])), ("pads", Attribute::Ints(vec![1, 1, 1, 1]))],
            &[y],
        );
        let v = q.o("GlobalAveragePool", vec![], &[z]);
        check("pools", q, vec![y, z, v]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[2, 10, 33]));
        let y = q.o("Softmax", vec![("axis", Attribute::Int(-1))], &[x]);
        check("softmax", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[2, 10, 33]));
        let y = q.o("Softmax", vec![("axis", Attribute::Int(1))], &[x]);
        check("softmax1", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[2, 10, 64]));
        let z = q.b.input(f32t(&[2, 10, 64]));
        let s = q.o("Add", vec![], &[x, z]);
        let w = q.w(&[64]);
        let b = q.w(&[64]);
        let y = q.o("LayerNormalization", vec![], &[s, w, b]);
        check("add+ln", q, vec![s, y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 12, 32]));
        let w = q.w(&[32, 96]);
        let a = q.o("MatMul", vec![], &[x, w]);
        let b = q.w(&[96]);
        let a = q.o("Add", vec![], &[a, b]);
        let sp = q.i(&[32, 32, 32]);
        let v = q.op("Split", vec![("axis", Attribute::Int(2))], &[Some(a), Some(sp)], 3);
        let sh = q.i(&[1, 12, 4, 8]);
        let hd = |q: &mut G, t| {
            let t = q.o("Reshape", vec![], &[t, sh]);
            q.o("Transpose", vec![("perm", Attribute::Ints(vec![0, 2, 1, 3]))], &[t])
        };
        let qq = hd(&mut q, v[0]);
        let kk = hd(&mut q, v[1]);
        let vv = hd(&mut q, v[2]);
        let kt = q.o("Transpose", vec![("perm", Attribute::Ints(vec![0, 1, 3, 2]))], &[kk]);
        let s = q.o("MatMul", vec![], &[qq, kt]);
        let s = q.o("Softmax", vec![], &[s]);
        let o = q.o("MatMul", vec![], &[s, vv]);
        let o = q.o("Transpose", vec![("perm", Attribute::Ints(vec![0, 2, 1, 3]))], &[o]);
        let sh2 = q.i(&[1, 12, 32]);
        let o = q.o("Reshape", vec![], &[o, sh2]);
        check("attention", q, vec![o]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[7, 2, 16]));
        let w = q.w(&[2, 64, 16]);
        let r = q.w(&[2, 64, 16]);
        let b = q.w(&[2, 128]);
        let o = q.op(
            "LSTM",
            vec![("hidden_size", Attribute::Int(16)), ("direction", Attribute::String("bidirectional".into()))],
            &[Some(x), Some(w), Some(r), Some(b)],
            3,
        );
        check("lstm", q, o);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[5, 2, 16]));
        let w = q.w(&[1, 48, 16]);
        let r = q.w(&[1, 48, 16]);
        let b = q.w(&[1, 96]);
        let o = q.op(
            "GRU",
            vec![("hidden_size", Attribute::Int(16)), ("linear_before_reset", Attribute::Int(1))],
            &[Some(x), Some(w), Some(r), Some(b)],
            2,
        );
        check("gru", q, o);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 6, 9, 9]));
        let w = q.w(&[6, 5, 4, 4]);
        let y = q.o(
            "ConvTranspose",
            vec![("strides", Attribute::Ints(vec![2, 2])), ("pads", Attribute::Ints(vec![1, 1, 1, 1]))],
            &[x, w],
        );
        let z = q.o("Relu", vec![], &[y]);
        check("convT", q, vec![z]);
    }
    {
        let mut q = g();
        let x = q.b.input(TensorType::new(ElementType::I64, [3, 4]));
        let w = q.w(&[11, 8]);
        let y = q.o("Gather", vec![], &[w, x]);
        check("gather", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 6, 9, 9]));
        let z = q.b.input(f32t(&[1, 3, 9, 9]));
        let a = q.o("Relu", vec![], &[x]);
        let y = q.o("Concat", vec![("axis", Attribute::Int(1))], &[a, z, a]);
        let y = q.o("Sigmoid", vec![], &[y]);
        check("concat", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 300]));
        let w = q.w(&[100, 300]);
        let b = q.w(&[100]);
        let y = q.o("Gemm", vec![("transB", Attribute::Int(1))], &[x, w, b]);
        check("gemv", q, vec![y]);
    }
    {
        let mut q = g();
        let x = q.b.input(f32t(&[1, 3, 64, 64]));
        let mut t = x;
        let mut c = 3;
        for (i, &(oc, s)) in [(32, 2), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2)].iter().enumerate() {
            let w = q.w(&[oc, c, 3, 3]);
            let b = q.w(&[oc]);
            t = q.o(
                "Conv",
                vec![("strides", Attribute::Ints(vec![s, s])), ("pads", Attribute::Ints(vec![1, 1, 1, 1]))],
                &[t, w, b],
            );
            t = q.o("Relu", vec![], &[t]);
            c = oc;
            let _ = i;
        }
        let t = q.o("GlobalAveragePool", vec![], &[t]);
        check("net", q, vec![t]);
    }
}
