//! Cycles and exchanges of small programs, the device's constants, and counters of its profiler.

use serde::Deserialize;
use warpweave_runtime::session::Device;

use super::counters::kernels;
use crate::lab::run::bundles::{Model, Wanted};
use crate::lab::run::child::{Ended, Exit, find_program};
use crate::lab::run::context::{Context, Deadline, Found, NO_GPU, Stop, on_device, word};
use crate::lab::run::options::is_gpu;
use crate::lab::run::predict::FIRST;
use crate::lab::run::step::{Probe, ZooModel};
use crate::lab::{Calibrated, CodeCycles, EdgeTime, Findings, LoopCycles};

/// Kernels of which ncu reads counters.
const COUNTED_LAUNCHES: &str = "4";

#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    loops: Vec<LoopCycles>,
    #[serde(default)]
    edges: Vec<EdgeTime>,
    #[serde(default)]
    code: Vec<CodeCycles>,
}

/// One kind of small programs.
pub fn microbench(context: &Context, device: Device, probe: Probe, deadline: Deadline) -> Found {
    if !is_gpu(device) {
        return Err(Stop::Skip(NO_GPU.to_owned()));
    }
    let arguments = ["microbench", probe.word(), "--device", &device.to_string()].map(str::to_owned);
    let (told, ended): (Counted, Ended) = context.printed(&arguments, deadline)?;
    let found = Findings::Microbench { loops: told.loops, edges: told.edges, code: told.code };
    if ended.is_ok() { Ok(found) } else { Err(Stop::failed("something could not be measured", ended).with(found)) }
}

#[derive(Deserialize)]
struct Constants {
    readings: Vec<Calibrated>,
}

/// The constants of the GPU.
pub fn calibrate(context: &Context, deadline: Deadline) -> Found {
    let device = context.gpu()?;
    let path = word(&context.kept_file("arch.json"));
    let arguments = ["doctor", "--calibrate", &path, "--device", &device.to_string()].map(str::to_owned);
    let (told, ended): (Constants, Ended) = context.printed(&arguments, deadline)?;
    let found = Findings::Calibration { constants: told.readings };
    if ended.is_ok() { Ok(found) } else { Err(Stop::failed("a constant could not be measured", ended).with(found)) }
}

/// What warps of a model's kernels wait for, by the profiler of the CUDA toolkit.
pub fn counters(context: &Context, model: &ZooModel, deadline: Deadline) -> Found {
    let device = context.gpu()?;
    let tool = find_program("ncu", &["/usr/local/cuda/bin"]);
    let tool = tool.ok_or_else(|| Stop::Skip("ncu is not installed".to_owned()))?;
    let bundle = context.bundle(&Wanted { model: Model::Zoo(model.clone()), backend: FIRST }, deadline)?;
    let mut words = vec!["--clock-control", "none", "--cache-control", "none", "--graph-profiling", "node"];
    words.extend(["--section", "WarpStateStats", "--section", "SpeedOfLight", "--csv", "--page", "raw"]);
    words.extend(["--launch-count", COUNTED_LAUNCHES]);
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    words.extend([word(&context.options.binary), "bench".to_owned(), word(&bundle)]);
    words.extend(on_device(device));
    words.extend(["--warmup-ms", "0", "--duration-ms", "0", "--input-sets", "1"].map(str::to_owned));
    let ended = context.children.run(&tool, &words, deadline.left());
    let found = Findings::Counters {
        model: model.label(),
        device: device.to_string(),
        backend: FIRST.to_string(),
        kernels: kernels(&ended.out),
    };
    let is_empty = matches!(&found, Findings::Counters { kernels, .. } if kernels.is_empty());
    match ended.exit {
        Exit::Code(0) if !is_empty => Ok(found),
        _ if ended.out.contains("ERR_NVGPUCTRPERM") || ended.errors.contains("ERR_NVGPUCTRPERM") => {
            Err(Stop::Skip("ncu may not read the device's counters here".to_owned()))
        }
        _ => Err(Stop::failed("ncu gave no counters", ended).with(found)),
    }
}
