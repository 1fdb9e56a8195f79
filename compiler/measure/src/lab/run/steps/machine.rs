//! The machine: what it offers, the self-test, and what is assumed of its memory system.

use serde::Deserialize;
use warpweave_runtime::session::Device;

use crate::lab::run::child::{Exit, find_program};
use crate::lab::run::context::{Context, Deadline, Found, Stop, Told, ToldDevice, absent, outcome, word};
use crate::lab::run::fixtures::SANITIZED;
use crate::lab::run::predict::{FIRST, windows};
use crate::lab::{Check, Findings, Gpu, LitmusTest};

const SANITIZERS: [&str; 2] = ["memcheck", "racecheck"];
/// What a sanitized program ends with if something was found.
const SANITIZER_FOUND: i32 = 99;
/// Messages of each litmus program that a stand-in exchanges, which is slow.
const DRY_ROUNDS: &str = "100";
/// Most models that run under compute-sanitizer.
const MOST_SANITIZED: usize = 2;

/// What the machine offers; a missing compiler, linker or GPU is a failure.
pub fn doctor(context: &Context) -> Found {
    let (told, ended) = &context.doctor;
    let Some(told) = told else { return Err(Stop::failed("doctor does not answer", ended.clone())) };
    let Told { nvrtc, linker, nvdisasm, driver, threads } = told;
    let gpu = |gpu: &ToldDevice| Gpu {
        name: gpu.name.clone(),
        compute_capability: gpu.compute_capability.clone(),
        multiprocessors: gpu.multiprocessors,
        memory_bytes: gpu.memory_bytes,
    };
    let found = Findings::Doctor {
        driver: driver.version.clone(),
        nvrtc: nvrtc.version.clone(),
        linker: linker.as_ref().and_then(|linker| linker.version.clone()),
        disassembler: nvdisasm.as_ref().and_then(|nvdisasm| nvdisasm.version.clone()),
        gpus: driver.devices.iter().map(gpu).collect(),
        threads: *threads,
    };
    let failed = |reason: String| Err(Stop::failed(reason, ended.clone()).with(found.clone()));
    let missing = [("NVRTC", Some(nvrtc)), ("nvJitLink", linker.as_ref())].into_iter().find_map(|(name, part)| {
        let part = part.filter(|part| !part.found)?;
        Some(format!("{name} is missing: {}", part.reason.as_deref().unwrap_or("it was not found")))
    });
    if let Some(reason) = missing {
        return failed(reason);
    }
    if let Some(reason) = context.options.gpus().find_map(|device| absent(told, device)) {
        return failed(reason);
    }
    if !ended.is_ok() {
        return failed("something is there and does not work".to_owned());
    }
    Ok(found)
}

#[derive(Deserialize)]
struct SelfTested {
    devices: Vec<TestedDevice>,
}

#[derive(Deserialize)]
struct TestedDevice {
    device: String,
    #[serde(default)]
    cases: Vec<TestedCase>,
}

#[derive(Deserialize)]
struct TestedCase {
    case: String,
    passed: bool,
    reason: Option<String>,
}

/// The built-in programs.
pub fn self_test(context: &Context, device: Device, deadline: Deadline) -> Found {
    let arguments = ["selftest", "--device", &device.to_string()].map(str::to_owned);
    let (told, ended): (SelfTested, _) = context.printed(&arguments, deadline)?;
    let check = |device: &str, case: TestedCase| Check {
        name: format!("selftest {}", case.case),
        device: device.to_owned(),
        passed: case.passed,
        detail: case.reason,
    };
    let of_device = |found: TestedDevice| {
        let device = found.device;
        found.cases.into_iter().map(move |case| check(&device, case)).collect::<Vec<_>>()
    };
    let found = Findings::Checks { checks: told.devices.into_iter().flat_map(of_device).collect() };
    if ended.is_ok() { Ok(found) } else { Err(Stop::failed("a program of the self-test is wrong", ended).with(found)) }
}

#[derive(Deserialize)]
struct Littered {
    tests: Vec<LitmusTest>,
}

/// What plans assume of memory.
pub fn litmus(context: &Context, step: &str, device: Device, deadline: Deadline) -> Found {
    if !device.runs_kernels() {
        return Err(Stop::Skip(format!("{device} runs no kernels")));
    }
    let limit = windows::LITMUS.to_string();
    let mut arguments = ["litmus", "--device", &device.to_string(), "--limit", &limit].map(str::to_owned).to_vec();
    if context.options.dry.is_some() {
        arguments.extend(["--rounds", DRY_ROUNDS].map(str::to_owned));
    }
    let (told, ended): (Littered, _) = context.observed((device, Some(FIRST)), step, &arguments, deadline)?;
    let found = Findings::Litmus { tests: told.tests };
    if ended.is_ok() { Ok(found) } else { Err(Stop::failed("memory is not as plans assume", ended).with(found)) }
}

/// Models that differed under compute-sanitizer: accesses out of bounds, races in shared memory. Asked for alone, it takes
/// some that are small.
pub fn sanitizer(context: &Context, deadline: Deadline) -> Found {
    let device = context.gpu()?;
    let differing = context.conditions().differing().to_vec();
    let names: Vec<String> = match (differing.is_empty(), context.options.only.is_empty()) {
        (true, true) => return Err(Stop::Skip("no model differed".to_owned())),
        (true, false) => SANITIZED.map(str::to_owned).into(),
        (false, _) => differing.into_iter().take(MOST_SANITIZED).collect(),
    };
    let tool = find_program("compute-sanitizer", &["/usr/local/cuda/bin"]);
    let tool = tool.ok_or_else(|| Stop::Skip("compute-sanitizer is not installed".to_owned()))?;
    let (mut checks, mut wrong) = (Vec::new(), None);
    for fixture in names.iter().filter_map(|name| context.fixtures.named(name)) {
        let bundle = context.bundle(&fixture.wanted(FIRST), deadline)?;
        for check in SANITIZERS {
            let code = SANITIZER_FOUND.to_string();
            let mut words = ["--tool", check, "--error-exitcode", &code].map(str::to_owned).to_vec();
            words.extend([word(&context.options.binary), "compare".to_owned(), word(&bundle)]);
            words.extend(["--io".to_owned(), word(&fixture.io), "--device".to_owned(), device.to_string()]);
            // Instrumented code is slow.
            words.extend(["--wait-limit", "60"].map(str::to_owned));
            let ended = context.children.run(&tool, &words, deadline.left());
            let found = || Findings::Checks { checks: checks.clone() };
            if matches!(ended.exit, Exit::Limit | Exit::Stopped) {
                let reason = format!("budget: after {} programs", checks.len());
                return Err(Stop::Time { reason, findings: Some(Box::new(found())) });
            }
            checks.push(Check {
                name: format!("{check} {}", fixture.name),
                device: device.to_string(),
                passed: ended.is_ok(),
                detail: (!ended.is_ok()).then(|| format!("ended with {:?}: {:?}", ended.exit, outcome(ended.exit))),
            });
            wrong = wrong.or((!ended.is_ok()).then_some(ended));
        }
    }
    let found = Findings::Checks { checks };
    match wrong {
        Some(ended) => Err(Stop::failed("compute-sanitizer found something", ended).with(found)),
        None => Ok(found),
    }
}
