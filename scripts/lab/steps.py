"""The steps in order of worth, and how each is performed within its time."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import time
import traceback
import typing

import correctness
import cycles
import machine
import models
import process
from bundles import NoBundle
from record import Result

# Fewer seconds than this are of no use to any step.
LEAST_SECONDS = 0.5


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of the lab."""

    name: str
    part: str
    limit: float
    """Seconds that it may take at most."""
    run: typing.Callable
    """Called with the setting and the seconds that it has; gives findings."""


class Countdown:
    """The seconds that are left of some."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def __call__(self):
        return self.end - time.monotonic()


class Skip(Exception):
    """A step that cannot be done here, and why."""


class Failed(Exception):
    """A step that found something wrong, or did not come to its end."""

    def __init__(self, reason, ended=None, findings=None):
        super().__init__(reason)
        self.ended, self.findings = ended, findings


class OutOfTime(Exception):
    """A step that the budget ended; `findings` is how far it came."""

    def __init__(self, findings=None, reason="budget"):
        super().__init__(reason)
        self.findings = findings


def all_steps(setting):
    """Every step, of most worth first. A further command of the program is one line here."""
    return [
        *machine.steps(setting),
        *correctness.steps(setting),
        *cycles.steps(setting),
        *models.measurements(setting),
        *models.profiles(setting),
        *models.tunings(setting),
    ]


def perform(step, setting):
    """The result of a step, whatever becomes of it."""
    if setting.only and step.name not in setting.only:
        return Result("skipped", reason="not asked for")
    start = time.monotonic()
    seconds = lambda: time.monotonic() - start
    left = min(step.limit, setting.budget.left(step.part))
    if left < LEAST_SECONDS:
        return Result("skipped", reason="budget")
    try:
        findings = step.run(setting, left)
    except Skip as skip:
        return Result("skipped", seconds(), reason=str(skip))
    except OutOfTime as late:
        return Result("skipped", seconds(), late.findings, str(late))
    except Failed as failed:
        if left < step.limit and failed.ended and failed.ended.exit_code is None:
            return Result("skipped", seconds(), failed.findings, f"budget: {failed}")
        return Result("failed", seconds(), failed.findings, str(failed), failed.ended)
    except Exception as error:  # One step that cannot make sense of what it is told must not end all others.
        told = process.Ended([], None, "", traceback.format_exc(), seconds())
        return Result("failed", seconds(), reason=f"{type(error).__name__}: {error}", ended=told)
    return Result("ran", seconds(), findings)


def awaited(future, left):
    """A file that is being made; its want is the step's failure."""
    try:
        return future.result(timeout=max(left(), 0))
    except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        raise OutOfTime() from None
    except NoBundle as missing:
        if missing.ended is None:
            raise OutOfTime() from None
        raise Failed(str(missing), missing.ended) from None


def printed(setting, arguments, limit, may_fail=False):
    """The JSON that the program prints. A failed check is left to the caller where that may be."""
    ended = setting.run([*arguments, "--json"], limit)
    if ended.exit_code is None:
        raise Failed(f"stopped after {limit:.0f} s", ended)
    told = ended.json()
    if (ended.is_ok or (may_fail and ended.exit_code == 1)) and told is not None:
        return told, ended
    raise Failed(f"{arguments[0]} ended with {ended.exit_code}", ended)


def need_gpu(setting):
    if not setting.gpus:
        raise Skip("no GPU among the devices")
