//! What makes later steps pointless: a back end that fails in the same way each time, a device that is lost, a compiler that
//! is missing.

use std::collections::BTreeMap;

use warpweave_runtime::session::Device;

use super::options::Backend;
use super::step::{Kind, LabStep};
use crate::lab::Outcome;

/// Equal failures in a row after which a back end is not tried again.
pub const SERIES: usize = 3;

/// Failures of one back end on one device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Series {
    last: Option<Outcome>,
    count: usize,
    /// Why it is not tried again.
    ended: Option<String>,
}

/// What the steps so far have shown.
#[derive(Clone, Default, Debug)]
pub struct Conditions {
    series: BTreeMap<(String, Backend), Series>,
    lost: BTreeMap<String, String>,
    no_compiler: Option<String>,
    differing: Vec<String>,
}

impl Conditions {
    /// Nothing can be compiled, for this reason.
    pub fn lack_compiler(&mut self, reason: String) {
        self.no_compiler = Some(reason);
    }

    /// Why nothing can be compiled.
    pub fn no_compiler(&self) -> Option<&str> {
        self.no_compiler.as_deref()
    }

    /// A device does not answer any more, since this step.
    pub fn lose(&mut self, device: Device, step: &str, reason: &str) {
        let text = format!("{device} is lost since {step}: {reason}");
        self.lost.entry(device.to_string()).or_insert(text);
    }

    /// Why a device is not used.
    pub fn lost(&self, device: Device) -> Option<&str> {
        self.lost.get(&device.to_string()).map(String::as_str)
    }

    /// A program of a back end has run in a step, with this outcome. Gives why the back end is not tried again, once it is not.
    pub fn observe(&mut self, on: (Device, Backend), step: &str, outcome: Outcome) -> Option<String> {
        let (device, backend) = on;
        let series = self.series.entry((device.to_string(), backend)).or_default();
        match outcome {
            Outcome::Missing => {}
            Outcome::Agree => (series.last, series.count) = (None, 0),
            failure => {
                let count = if series.last == Some(failure) { series.count + 1 } else { 1 };
                (series.last, series.count) = (Some(failure), count);
                if count >= SERIES && series.ended.is_none() {
                    let (what, verb) = words(failure);
                    series.ended = Some(format!(
                        "{backend} after {SERIES} {what} in {step}: {backend} programs {verb} on {device}"
                    ));
                }
            }
        }
        series.ended.clone()
    }

    /// Why programs of a back end are not run on a device.
    pub fn ended(&self, device: Device, backend: Backend) -> Option<&str> {
        let ended =
            |part: &Backend| self.series.get(&(device.to_string(), *part)).and_then(|series| series.ended.as_deref());
        [backend].iter().chain(backend.parts()).find_map(ended)
    }

    /// The outputs of a small model were wrong.
    pub fn differ(&mut self, model: &str) {
        if !self.differing.iter().any(|known| known == model) {
            self.differing.push(model.to_owned());
        }
    }

    /// Small models whose outputs were wrong.
    pub fn differing(&self) -> &[String] {
        &self.differing
    }

    /// Why a step is not run, if so; `first` is the GPU of steps that name none.
    pub fn blocked(&self, step: &LabStep, first: Option<Device>) -> Option<String> {
        let gpu = step.gpu(first)?;
        if let Some(lost) = self.lost(gpu) {
            return Some(lost.to_owned());
        }
        if let (Some(reason), true) = (&self.no_compiler, compiles(&step.kind)) {
            return Some(reason.clone());
        }
        step.backend().and_then(|backend| self.ended(gpu, backend)).map(str::to_owned)
    }
}

/// Whether a step compiles device text while it runs.
fn compiles(kind: &Kind) -> bool {
    match kind {
        Kind::Litmus { .. } | Kind::Microbench { .. } | Kind::Calibrate | Kind::SelfTest { .. } | Kind::Tune { .. } => {
            true
        }
        Kind::Doctor
        | Kind::Smoke { .. }
        | Kind::Compare { .. }
        | Kind::Profile { .. }
        | Kind::Model { .. }
        | Kind::Peers
        | Kind::Counters { .. }
        | Kind::Sanitizer => false,
    }
}

/// A failure in the plural, and as what programs do.
fn words(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Agree => ("agreements", "agree"),
        Outcome::Differ => ("differences", "give wrong outputs"),
        Outcome::DeviceFault => ("device faults", "are aborted"),
        Outcome::TimeOut => ("time-outs", "time out"),
        Outcome::Crash => ("crashes", "end without a word"),
        Outcome::Refused => ("refusals", "are refused"),
        Outcome::Missing => ("missing bundles", "are missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::run::options::Call;
    use crate::lab::run::step::ZooModel;

    const GPU: Device = Device::Cuda(0);

    fn compare(backend: Backend) -> LabStep {
        LabStep { kind: Kind::Compare { device: GPU, backend: Some(backend) }, call: Call::Smoke }
    }

    #[test]
    fn three_equal_failures_end_a_back_end() {
        let mut conditions = Conditions::default();
        let mut see = |outcome| conditions.observe((GPU, Backend::Persistent), "compare", outcome);
        for outcome in [Outcome::TimeOut, Outcome::TimeOut, Outcome::Agree, Outcome::TimeOut, Outcome::Differ] {
            assert_eq!(see(outcome), None);
        }
        assert_eq!((see(Outcome::Differ), see(Outcome::Missing)), (None, None));
        let ended = see(Outcome::Differ).expect("these are three");
        assert_eq!(
            ended,
            "persistent after 3 differences in compare: persistent programs give wrong outputs on cuda:0"
        );
        let blocked = |backend| conditions.blocked(&compare(backend), Some(GPU));
        assert_eq!(blocked(Backend::Persistent).as_deref(), Some(ended.as_str()));
        assert_eq!(blocked(Backend::Mixed).as_deref(), Some(ended.as_str()));
        assert_eq!(blocked(Backend::CudaGraph), None);
        let elsewhere = Kind::Compare { device: Device::Emulator, backend: Some(Backend::Persistent) };
        assert_eq!(conditions.blocked(&LabStep { kind: elsewhere, call: Call::Smoke }, Some(GPU)), None);
    }

    #[test]
    fn a_lost_device_and_a_missing_compiler_block_what_needs_them() {
        let mut conditions = Conditions::default();
        conditions.lack_compiler("NVRTC is missing".to_owned());
        let step = |kind| LabStep { kind, call: Call::Measure };
        let tune = step(Kind::Tune { model: ZooModel { name: "dlrm".to_owned(), is_unrolled: false } });
        assert_eq!(conditions.blocked(&tune, Some(GPU)).as_deref(), Some("NVRTC is missing"));
        assert_eq!(conditions.blocked(&compare(Backend::CudaGraph), Some(GPU)), None);
        conditions.lose(GPU, "compare.cuda:0.persistent", "no device");
        let lost = "cuda:0 is lost since compare.cuda:0.persistent: no device";
        assert_eq!(conditions.blocked(&compare(Backend::CudaGraph), Some(GPU)).as_deref(), Some(lost));
        assert_eq!(conditions.blocked(&step(Kind::Calibrate), Some(GPU)).as_deref(), Some(lost));
        assert_eq!(conditions.blocked(&step(Kind::Doctor), Some(GPU)), None);
    }
}
