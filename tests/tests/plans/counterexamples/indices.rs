//! Plans that check their indices badly.

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::ElementType;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::index_records::IndexRecords;
use warpweave::plan::verify::verify;
use warpweave_tests::pipeline::{self, plan_under};
use warpweave_tests::sketch::Sketch;

/// Rows of two tables by the same indices.
fn gathers() -> ExecutionPlan {
    let mut sketch = Sketch::new(3);
    let rows = sketch.typed_input(ElementType::I64, &[6]);
    let [short, long] = [5, 9].map(|extent| sketch.weight(&[extent, 4]));
    let found = [short, long].map(|table| sketch.gather(table, rows));
    plan_under(&sketch.finish(&found), FusionLevel::Register, &pipeline::options(2)).1.plan
}

/// Plans of gathers, each wrong in one way; the unchanged one is right.
pub fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let plan = gathers();
    assert_eq!(plan.memory.index_records.checks.len(), 2, "one tensor indexes two dimensions");
    verify(plan.clone()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |change: &dyn Fn(&mut IndexRecords)| {
        let mut plan = gathers();
        change(&mut plan.memory.index_records);
        plan
    };
    let of_first = |change: &dyn Fn(&mut i64)| {
        changed(&|records| change(&mut records.checks.values_mut().next().expect("there is a check").extent))
    };
    vec![
        ("IndexRecords", changed(&|records| records.offset = 0)),
        ("IndexRecords", changed(&|records| records.offset += 8)),
        ("IndexRecords", changed(&|records| records.offset -= 4)),
        ("IndexRecords", changed(&|records| records.offset = u64::MAX)),
        ("IndexRecords", changed(&|records| records.checks = records.checks.values().rev().copied().collect())),
        ("IndexRecords", of_first(&|extent| *extent = 0)),
        ("UncheckedIndex", of_first(&|extent| *extent += 1)),
        ("UncheckedIndex", changed(&|records| *records = IndexRecords::default())),
    ]
}
