"""What all steps share: the program, where results go, the devices, and the time that is left."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import pathlib
import time

import process
from bundles import Bundles

# Seconds for the record and its tables after the last step.
RESERVE = 6.0
# By when, as a share of the budget, the steps of a part are over; what a part leaves is for those after it.
ENDS = {"machine": 0.22, "correctness": 0.45, "cycles": 0.53, "models": 0.84, "profiles": 0.96, "tuning": 1.0}


class Budget:
    """The time of the whole lab."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.start = time.monotonic()

    def used(self):
        return time.monotonic() - self.start

    def left(self, part):
        """Seconds until the steps of a part must be over."""
        reserve = min(RESERVE, self.seconds / 10)
        return (self.seconds - reserve) * ENDS[part] - self.used()


@dataclasses.dataclass
class Setting:
    """A run of the lab."""

    binary: pathlib.Path
    out: pathlib.Path
    devices: tuple
    is_reduced: bool
    only: tuple
    """Names of the steps that are wanted; all if empty."""
    budget: Budget

    @property
    def work(self):
        """Files that are of no use afterwards, of this very program."""
        return self.out / "work" / f"{self.sha256[:12]}{'-reduced' if self.is_reduced else ''}"

    def named(self, model):
        """A model's name as the program gives it: those of less width and depth are named so."""
        return f"{model}-reduced" if self.is_reduced else model

    @functools.cached_property
    def sha256(self):
        return hashlib.sha256(self.binary.read_bytes()).hexdigest()

    @functools.cached_property
    def bundles(self):
        return Bundles(self)

    @property
    def gpus(self):
        return [device for device in self.devices if device.startswith("cuda:")]

    def run(self, arguments, limit):
        """Runs the program."""
        return process.run([self.binary, *arguments], limit, self.environment)

    @functools.cached_property
    def doctor(self):
        """What `doctor` says; empty if it says nothing."""
        return process.run([self.binary, "doctor", "--json"], 60, self.environment).json() or {}

    @functools.cached_property
    def environment(self):
        """Where NVRTC is, if the program does not find it itself: a wheel of PyTorch may have brought it."""
        found = process.run([self.binary, "doctor", "--json"], 60).json() or {}
        if found.get("nvrtc", {}).get("found") or "WARPWEAVE_CUDA_DIR" in os.environ:
            return {}
        asked = process.run(["python3", "-c", "import sys; print('\\n'.join(sys.path))"], 20)
        for folder in asked.out.split("\n"):
            if folder and any(pathlib.Path(folder, "nvidia/cu13/lib").glob("libnvrtc.so*")):
                return {"WARPWEAVE_CUDA_DIR": folder}
        return {}

    @functools.cached_property
    def listed_models(self):
        """The program's benchmark models."""
        return (process.run([self.binary, "models", "list", "--json"], 20).json() or {}).get("models", [])

    def target(self):
        """What kernels are compiled for: the first GPU's architecture, or the default one."""
        for device in self.gpus:
            ordinal = int(device.split(":")[1])
            for gpu in self.doctor.get("driver", {}).get("devices", []):
                if gpu["ordinal"] == ordinal:
                    major, minor = gpu["compute_capability"].split(".")
                    return f"sm_{major}{minor}" + ("a" if int(major) >= 9 else "")
        return "sm_90a"
