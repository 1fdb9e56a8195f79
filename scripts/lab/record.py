"""The record: a file a step, and all of them as lab.json, both written anew after every step."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os

import process

FORMAT = "warpweave-lab"
VERSION = 1


@dataclasses.dataclass(frozen=True)
class Result:
    """How a step ended."""

    status: str
    """ran, failed or skipped"""
    seconds: float = 0.0
    findings: dict | None = None
    reason: str = ""
    ended: process.Ended | None = None
    """The command that failed."""


def write(path, text):
    """Writes a file so that no half of it is ever seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


def _of(step, result):
    told = {"name": step.name, "part": step.part, "seconds": round(result.seconds, 3), "status": result.status,
            "findings": result.findings}
    if result.status == "skipped":
        told["reason"] = result.reason
    if result.status == "failed":
        ended = result.ended
        told["reason"] = result.reason
        told["command"] = ended.command if ended else []
        told["exit_code"] = ended.exit_code if ended else None
        told["tail"] = ended.tail() if ended else ""
    return told


class Book:
    """The record of a lab in its folder; steps that ran under the same program and options are kept."""

    def __init__(self, setting):
        self.setting = setting
        self.path = setting.out / "lab.json"
        version = process.run([setting.binary, "--version"], 20).out.strip() or "unknown"
        self.binary = {"version": version, "sha256": setting.sha256}
        self.options = {"devices": list(setting.devices), "reduced": setting.is_reduced,
                        "budget_seconds": setting.budget.seconds}
        self.began = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.before = 0.0
        self.steps = {}
        self.old = self._read()

    def _read(self):
        """What an earlier run left, by name."""
        try:
            found = json.loads(self.path.read_text())
            same = found["format"] == FORMAT and found["version"] == VERSION and found["binary"] == self.binary
            same = same and all(found["options"][key] == self.options[key] for key in ("devices", "reduced"))
            if not same:
                return {}
            self.began, self.before = found["began"], found["seconds"]
            return {step["name"]: step for step in found["steps"] if step["status"] == "ran"}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def kept(self, name):
        """An earlier run's result of a step, if that ran to its end."""
        if name in self.old:
            self.steps[name] = self.old[name]
        return self.old.get(name)

    def add(self, step, result):
        self.steps[step.name] = _of(step, result)
        write(self.setting.out / "steps" / f"{step.name}.json", json.dumps(self.steps[step.name], indent=1))
        self.finish()

    def finish(self):
        seconds = round(self.before + self.setting.budget.used(), 1)
        whole = {"format": FORMAT, "version": VERSION, "began": self.began, "seconds": seconds, "options": self.options,
                 "binary": self.binary, "steps": list(self.steps.values())}
        write(self.path, json.dumps(whole, indent=1) + "\n")

    def has_failed(self):
        return any(step["status"] == "failed" for step in self.steps.values())

    def summary(self):
        of = lambda status: sum(step["status"] == status for step in self.steps.values())
        return f"{of('ran')} steps ran, {of('failed')} failed, {of('skipped')} skipped"
