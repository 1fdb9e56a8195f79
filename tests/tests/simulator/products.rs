//! The 48 dependent products of 128 rows with the weights of BERT-base, which hand-written programs computed on an H200.

use warpweave::explain::{ExplainedPlan, explain};
use warpweave::frontend::{ImportOptions, import_bytes};
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::streams::tagged::Tagging;
use warpweave::models::{BuildOptions, Precision, build};
use warpweave::plan::plan::EdgeKind;
use warpweave::plan::plan::backend::BackendChoice;
use warpweave::plan::template::product_work::ProductWork;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::target::Target;
use warpweave::{Build, Model};
use warpweave_tests::suite::Suite;

/// Multiply-adds of all products.
const MULTIPLY_ADDS: u64 = 12 * 128 * (768 * 2304 + 768 * 768 + 2 * 768 * 3072);
/// Microseconds that the plan may be predicted to take. The fastest hand-written program by counters took 244 on an H200, that by
/// validity marks 221, and cuBLAS in a graph 246.
const MOST_PLANNED: f64 = 265.0;

/// Predictions that a measured program bounds.
pub fn add(suite: &mut Suite) {
    suite.trial("products planned with counters or nodes", plan_of_products);
}

/// The plan of least predicted time without tagged values.
fn planned() -> ExplainedPlan {
    let options = BuildOptions { precision: Precision::Fp16, ..BuildOptions::default() };
    let mut file = Vec::new();
    build("products_48", &options).expect("the model is built").write_to(&mut file).expect("memory takes all");
    let graph = import_bytes(file.into(), None, &ImportOptions::default()).expect("the model is imported");
    let build = Build::new(Model::from_graph(&graph).expect("the graph is lowered")).expect("the passes are right");
    let options = build.options(BundleTarget::Gpu(Target::Sm90a)).expect("no times are recorded");
    let (partition, _) = build.limit.partition(build.prepared(), &options);
    let by_counters = PlanOptions { tagging: Tagging::Nothing, backend: BackendChoice::Auto, ..options };
    explain(build.prepared(), &partition, &by_counters).expect("the plan verifies")
}

fn plan_of_products() {
    let explained = planned();
    let plan = explained.plan.plan();
    assert!(plan.memory.tensors.values().all(|tensor| tensor.edge == EdgeKind::Counter), "no value is tagged");
    let mut work = ProductWork::default();
    plan.operators().values().for_each(|operator| work += ProductWork::of(&operator.kernel));
    assert_eq!(work.all, MULTIPLY_ADDS, "all products are computed, whole");
    let predicted = explained.simulation.makespan;
    eprintln!("48 products, {}: {predicted:.1} us, launch left out", plan.backend());
    assert!(predicted <= MOST_PLANNED, "{predicted:.1} us, of at most {MOST_PLANNED}");
}
