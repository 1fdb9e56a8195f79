//! How long the search for a partition takes, cold, on the benchmark models: estimated costs of an H200, full fusion.
//!
//! `cargo bench -p warpweave-benches -- reduced` measures the reduced models alone.

use std::cell::OnceCell;
use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, SamplingMode, criterion_group, criterion_main, measurement::WallTime};
use warpweave::Model;
use warpweave::frontend::{ImportOptions, import_bytes};
use warpweave::fusion::partition::search::partition;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::pipeline::{PreparedProgram, prepare};
use warpweave::models::{self, BuildOptions, Form, Scale};
use warpweave::prices::of_target;
use warpweave::runtime::session::DEFAULT_KERNEL_TARGET;

/// Models whose whole size is searched too, at most half a gigabyte of weights each.
const FULL: [&str; 5] = ["resnet50", "mobilenet_v2", "densenet121", "nasnet", "bert_base_128"];

fn prepared(name: &str, options: &BuildOptions) -> PreparedProgram {
    let mut file = Vec::new();
    let model = models::build(name, options).expect("the zoo has the model");
    model.write_to(&mut file).expect("memory takes the model");
    let graph = import_bytes(file.into(), None, &ImportOptions::default()).expect("the model imports");
    prepare(&Model::from_graph(&graph).expect("the passes are right").program)
}

fn search(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, build: BuildOptions) {
    let form = match build.form {
        Form::Nodes => name.to_owned(),
        Form::Unrolled => format!("{name} unrolled"),
    };
    let options = PlanOptions::gpu(&of_target(DEFAULT_KERNEL_TARGET));
    // Built only if the filter lets the model through, and once.
    let program = OnceCell::new();
    group.bench_function(form, |bencher| {
        let prepared = program.get_or_init(|| prepared(name, &build));
        bencher.iter(|| black_box(partition(prepared, &*options.cost, options.fusion)));
    });
}

fn searches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reduced");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for model in models::all() {
        let forms: &[Form] = if model.has_forms() { &[Form::Nodes, Form::Unrolled] } else { &[Form::Nodes] };
        for &form in forms {
            search(&mut group, model.name, BuildOptions { form, scale: Scale::Reduced, ..BuildOptions::default() });
        }
    }
    group.finish();
    let mut group = criterion.benchmark_group("full");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    FULL.iter().for_each(|name| search(&mut group, name, BuildOptions::default()));
    group.finish();
}

criterion_group!(benches, searches);
criterion_main!(benches);
