"""Cycles of small programs, and the device's constants."""

from __future__ import annotations

import machine
import steps as lab

PART = "cycles"


def steps(setting):
    for device in setting.devices:
        yield machine.printed_findings("microbench", PART, device, 60, None if device in setting.gpus else "no GPU among the devices")
    yield lab.Step("calibrate", PART, 60, calibrate)


def calibrate(setting, limit):
    lab.need_gpu(setting)
    path = setting.out / "kept" / "arch.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    arguments = ["doctor", "--calibrate", path, "--device", setting.gpus[0]]
    told, ended = lab.printed(setting, arguments, limit, may_fail=True)
    constants = [{key: reading[key] for key in ("constant", "before", "now")} for reading in told["readings"]]
    findings = {"kind": "calibration", "constants": constants}
    if not ended.is_ok:
        raise lab.Failed("a constant could not be measured", ended, findings)
    return findings
