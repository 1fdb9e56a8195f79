//! Every element that indexes a dimension is checked, and has a record.

use crate::plan::MemoryPlan;
use crate::plan::index_records::checks;
use crate::verify::operators::Operators;
use crate::verify::violation::Violation;

pub(super) fn check(operators: &Operators, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    if !memory.has_sound_index_records() {
        violations.push(Violation::IndexRecords);
    }
    for (id, operator) in operators.iter() {
        if !checks(operator.kernel.body())
            .all(|check| check.is_some_and(|check| memory.index_records.word(check).is_some()))
        {
            violations.push(Violation::UncheckedIndex(id));
        }
    }
}
