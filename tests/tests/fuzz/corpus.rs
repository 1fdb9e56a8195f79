//! Inputs to begin with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpweave::plan::template::attention::parameters::KeyBlocks;
use warpweave::plan::template::pointwise::Pointwise;

use warpweave::frontend::ImportOptions;
use warpweave::fusion::cost::cpu::CpuArch;
use warpweave::fusion::cost::gpu::GpuProduct;
use warpweave::fusion::cost::timings::{Machine, TimedKernel, Timing, Timings, Version};
use warpweave::graph::program::text::print;
use warpweave::graph::{Tensor, npy};
use warpweave::plan::kernel::ScheduleParams;
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::shape::ContractionShape;
use warpweave::plan::template::row::RowThreads;
use warpweave::runtime::bundle::{self, BundleTarget, TargetContents};
use warpweave::{Build, DeviceArch, Model, compile, write_arch};
use warpweave_tests::samples;

/// Larger models are left out: most of their bytes are weights.
const LARGEST_MODEL: u64 = 8 << 10;

/// The least number of small node tests, so that lost files fail.
const FEWEST_MODELS: usize = 1500;

/// The files of a folder, sorted; none if it is not there.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// ONNX's node tests.
pub fn models() -> Vec<Vec<u8>> {
    let folders = std::fs::read_dir(here("../.onnx/node")).expect("the node tests are there");
    let mut paths: Vec<PathBuf> = folders.flatten().map(|folder| folder.path().join("model.onnx")).collect();
    paths.sort();
    let is_small = |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST_MODEL);
    paths.retain(is_small);
    assert!(paths.len() >= FEWEST_MODELS, "{} node tests are there: run scripts/fetch_onnx_tests.sh", paths.len());
    paths.iter().map(|path| read(path)).collect()
}

/// A small model for the host, as a bundle.
pub fn bundles() -> Vec<Vec<u8>> {
    let model = Model::import(&here("models/dlrm/torchscript.onnx"), &ImportOptions::default());
    let build = Build::new(model.expect("the model is supported")).expect("the passes are right");
    let part = compile(&build, BundleTarget::Host, None, &mut |_| {}).expect("the model can be planned");
    let contents = TargetContents { plan: part.plan, code: None };
    let path = here(&format!("../target/fuzz/corpus-{}.weave", std::process::id()));
    let contents = build.contents(BTreeMap::from([(BundleTarget::Host, contents)]));
    bundle::write(&contents, &path).expect("the bundle can be written");
    let bytes = read(&path);
    std::fs::remove_file(&path).expect("the bundle can be removed");
    vec![bytes]
}

/// Programs as text, with everything that programs may have.
pub fn programs() -> Vec<Vec<u8>> {
    let chain = "program\nn0 = \"Mul\" \"a\" gives \"y\"\nt0 \"x\": f32[2x3] = input 0\nt1: f32[] = constant 2.0\n\
                 t2: f32[2x3] = state [0.0, 0.0, 0.0, 0.0, 0.0, 1.5] next t4\n\
                 e0 (t0, t1) -> t3: f32[2x3] = [a0<2, a1<3] mul(x0[a0, a1], x1[]) from n0\n\
                 e1 (t3, t2) -> t4: f32[2x3] = [a0<2, a1<3] sum[a2<3] mul((a1 + a2 in 0..3 ? x0[a0, a1 + a2] : 0.0), \
                 x1[a0, mod(a1, 2)]) then max(reduced, 0.0)\ne2 (t4, t3) -> t5: f32[4x3] = concat axis 0\n\
                 e3 (t5) -> t6: i64[4x3] = sort descending of [a0<4, a1<3] each[a2<3] x0[a0, a2]\n\
                 e4 (t0, t6) -> t7: f32[4] = [a0<4] x0[place(x1[a0, 0], 2), 0]\noutput t7 \"r\", t4\n";
    let samples = samples::all().into_iter().map(|sample| print(&sample.program).into_bytes());
    [chain.as_bytes().to_vec()].into_iter().chain(samples).collect()
}

/// Stored arrays.
pub fn npz() -> Vec<Vec<u8>> {
    ["dlrm", "lstm"].map(|model| read(&here(&format!("models/{model}/io.npz")))).into()
}

/// Arrays of a few types and shapes.
pub fn npy() -> Vec<Vec<u8>> {
    let tensors = [
        Tensor::new([2, 3], &[0.5f32; 6]),
        Tensor::scalar(7i64),
        Tensor::new([0, 4], &[0u8; 0]),
        Tensor::from_bools([3], &[true, false, true]),
        Tensor::new([1, 1, 2], &[1.5f64, -2.0]),
    ];
    tensors.iter().filter_map(npy::print).collect()
}

/// Times of a few kernels.
pub fn timings() -> Vec<Vec<u8>> {
    let version = Version { major: 13, minor: 0 };
    let architecture = || "sm_90a".parse().expect("that is a name");
    let machine = || Machine { architecture: architecture(), driver: version, compiler: version };
    let templates = [
        Template::Pointwise(Pointwise::strided(4)),
        Template::Row(RowThreads::Warp),
        Template::Contraction(ContractionShape::square(4, 2)),
        Template::Attention(KeyBlocks { keys: 64 }),
        Template::Opaque,
    ];
    let record = |template: &Template| {
        let params = ScheduleParams { template: *template, tile: vec![1, 64] };
        let signature = "f32[8x64] = reads of f32[8x64]".parse().expect("that is a line");
        let timing = Timing { measured: 2.5, estimated: 3.25 };
        (TimedKernel { machine: machine(), signature, params }, timing)
    };
    vec![Timings { records: templates.iter().map(record).collect() }.to_string().into_bytes()]
}

/// The constants of the devices that are known.
pub fn arch() -> Vec<Vec<u8>> {
    let path = here(&format!("../target/fuzz/corpus-{}.json", std::process::id()));
    let written = |arch: DeviceArch| {
        write_arch(&path, arch).expect("constants can be written");
        read(&path)
    };
    let found = [GpuProduct::A100With40Gb.prices().into(), GpuProduct::H200.prices().into(), CpuArch::avx512().into()]
        .into_iter()
        .map(written)
        .collect();
    std::fs::remove_file(&path).expect("the file can be removed");
    found
}

/// A record of the lab.
pub fn lab() -> Vec<Vec<u8>> {
    vec![read(&here("lab/synthetic.json"))]
}
