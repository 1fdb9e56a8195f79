"""The machine: what it offers, the self-test, and what is assumed of its memory system."""

from __future__ import annotations

import pathlib
import shutil

import correctness
import process
import steps as lab

PART = "machine"
SANITIZED = ["lstm/torchscript", "dlrm/torchscript"]
SANITIZERS = ["memcheck", "racecheck"]


def steps(setting):
    yield lab.Step("doctor", PART, 60, doctor)
    for device in setting.devices:
        yield lab.Step(f"selftest.{device}", PART, 120, lambda setting, limit, device=device: selftest(setting, limit, device))
    for device in setting.devices:
        yield printed_findings("litmus", PART, device, 60, "host runs no kernels" if device == "host" else None)
    yield lab.Step("sanitizer", PART, 90, sanitizer)


def printed_findings(command, part, device, limit, unable=None):
    """A step of a subcommand that prints its findings as the record holds them; `unable` says why the device cannot."""
    def run(setting, limit):
        if unable:
            raise lab.Skip(unable)
        told, ended = lab.printed(setting, [command, "--device", device], limit, may_fail=True)
        findings = {"kind": command, **{key: value for key, value in told.items() if key != "schema"}}
        if not ended.is_ok:
            raise lab.Failed("something is not as assumed", ended, findings)
        return findings
    return lab.Step(f"{command}.{device}", part, limit, run)


def doctor(setting, limit):
    told, ended = lab.printed(setting, ["doctor"], limit, may_fail=True)
    driver, nvrtc = told["driver"], told["nvrtc"]
    keys = ("name", "compute_capability", "multiprocessors", "memory_bytes")
    gpus = [{key: gpu[key] for key in keys} for gpu in driver.get("devices", [])]
    findings = {"kind": "doctor", "driver": driver.get("version"), "nvrtc": nvrtc.get("version"), "gpus": gpus,
                "threads": told["threads"]}
    if not ended.is_ok:
        raise lab.Failed("something is there and does not work", ended, findings)
    return findings


def selftest(setting, limit, device):
    told, ended = lab.printed(setting, ["selftest", "--device", device], limit, may_fail=True)
    checks = [{"name": f"selftest {case['case']}", "device": found["device"], "passed": case["passed"], "detail": case["reason"]}
              for found in told["devices"] for case in found.get("cases", [])]
    findings = {"kind": "checks", "checks": checks}
    if not ended.is_ok:
        raise lab.Failed("a program of the self-test is wrong", ended, findings)
    return findings


def sanitizer(setting, limit):
    """Two small models under compute-sanitizer: accesses out of bounds, races in shared memory."""
    lab.need_gpu(setting)
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not pathlib.Path(tool).exists():
        raise lab.Skip("compute-sanitizer is not installed")
    left, checks, wrong = lab.Countdown(limit), [], None
    for name in SANITIZED:
        model, io = correctness.files()[name]
        bundle = lab.awaited(setting.bundles.file(name, model, "persistent"), left)
        for check in SANITIZERS:
            compare = [setting.binary, "compare", bundle, "--io", io, "--device", setting.gpus[0], "--wait-limit", "60"]
            ended = process.run([tool, "--tool", check, "--error-exitcode", "99", *compare], left(), setting.environment)
            if ended.exit_code is None:
                raise lab.OutOfTime({"kind": "checks", "checks": checks}, f"budget: after {len(checks)} programs")
            checks.append({"name": f"{check} {name}", "device": setting.gpus[0], "passed": ended.is_ok,
                           "detail": None if ended.is_ok else f"ended with {ended.exit_code}"})
            wrong = wrong or (None if ended.is_ok else ended)
    findings = {"kind": "checks", "checks": checks}
    if wrong:
        raise lab.Failed("compute-sanitizer found something", wrong, findings)
    return findings
