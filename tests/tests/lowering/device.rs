//! NVRTC takes the printed text of samples and cases, and the code passes the gates.

use warpweave::codegen::print::UnitSize;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::runtime::target::Target;
use warpweave_tests::gates;
use warpweave_tests::pipeline::compile;
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

use crate::text::all_cases;

/// Adds a trial for each sample and one for all cases.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("device {}", sample.name), move || {
            gates::check(
                &compile(&sample.program, 4, FusionLevel::Register).lowered.program,
                UnitSize::default(),
                Target::Sm90a,
            );
        });
    }
    suite.trial("device cases, one unit of kernels and the entry's", || {
        let size = UnitSize { kernels: usize::MAX, bytes: usize::MAX };
        assert_eq!(gates::check(&all_cases(0, FusionLevel::Register).0.lowered.program, size, Target::Sm90a), 2);
    });
    suite.trial("device cases, linked", || {
        let program = all_cases(0, FusionLevel::Register).0.lowered.program;
        assert!(gates::check(&program, UnitSize::default(), Target::Sm90a) > 2);
    });
}
