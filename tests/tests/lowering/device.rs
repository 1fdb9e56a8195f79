//! NVRTC takes the printed text of samples and cases, and the code passes the gates.

use warpweave::codegen::kernel_ir::Program;
use warpweave::codegen::prelude::device_source;
use warpweave::codegen::print::{ENTRY_NAME, cuda};
use warpweave::fusion::partition::FusionLevel;
use warpweave::runtime::gates::judge;
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::target::Target;
use warpweave_tests::pipeline::compile;
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

use crate::text::all_cases;

/// Adds a trial for each sample and one for all cases.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("device {}", sample.name), move || {
            check(&compile(&sample.program, 4, FusionLevel::Register).lowered.program);
        });
    }
    suite.trial("device cases", || check(&all_cases(0, FusionLevel::Register).0.lowered.program));
}

fn check(program: &Program) {
    let nvrtc = Nvrtc::locate().unwrap_or_else(|error| panic!("{error}"));
    let source = device_source(&cuda(program));
    let report = judge(&nvrtc, &source, ENTRY_NAME, program.threads, Target::Sm90a);
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.violations, []);
}
