"""The lab: every step in order of worth, each within its limit, all within the budget. See scripts/gpu_lab.sh."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys

import archive
import correctness
import models
import process
import record
import steps
from setting import Budget, Setting


def arguments():
    parser = argparse.ArgumentParser(prog="gpu_lab.sh", description=__doc__)
    parser.add_argument("binary", type=pathlib.Path, metavar="BINARY", help="the warpweave program")
    parser.add_argument("--budget", type=float, default=540, metavar="SECONDS", help="for everything together")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("target/lab"), metavar="DIR", help="for the results")
    parser.add_argument("--device", default="cuda:0", metavar="D,D", help="cuda:N, or host,emulator without a GPU")
    parser.add_argument("--reduced", action="store_true", help="few models, of less width and depth")
    parser.add_argument("--only", default="", metavar="STEP,STEP", help="these steps alone; others are kept or skipped")
    options = parser.parse_args()
    if not options.budget > 0:
        parser.error("--budget must be above 0")
    if not os.access(options.binary, os.X_OK) or not options.binary.is_file():
        parser.error(f"{options.binary} is no program that can be run; build one with `cargo build --release`")
    return options


def run_all(setting, book):
    """Runs what is not done yet, in order; every result is written before the next step begins."""
    everything = steps.all_steps(setting)
    unknown = [name for name in setting.only if name not in {step.name for step in everything}]
    if unknown:
        sys.exit(f"no such step: {', '.join(unknown)}; there are {', '.join(step.name for step in everything)}")
    if not setting.only and any(book.kept(step.name) is None for step in everything):
        correctness.begin(setting)
        models.begin(setting)
    for step in everything:
        kept = book.kept(step.name)
        if kept is not None:
            print(f"kept     {step.name}", flush=True)
            continue
        result = steps.perform(step, setting)
        book.add(step, result)
        reason = f": {result.reason}" if result.reason else ""
        print(f"{result.status:<8} {step.name} {result.seconds:.1f} s{reason}", flush=True)


def stop(*_):
    process.stop_all()
    sys.exit(130)


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    options.out.mkdir(parents=True, exist_ok=True)
    setting = Setting(
        binary=options.binary.resolve(), out=options.out.resolve(), devices=tuple(options.device.split(",")),
        is_reduced=options.reduced, only=tuple(filter(None, options.only.split(","))), budget=Budget(options.budget))
    book = record.Book(setting)
    try:
        run_all(setting, book)
    finally:
        setting.bundles.close()
        book.finish()
    archive.write(setting)
    tables = process.run([str(setting.binary), "lab", "show", str(setting.out / "lab.json")], limit=20)
    if not tables.is_ok:
        print(tables.tail(), file=sys.stderr)
        return 1
    record.write(setting.out / "lab.md", tables.out)
    print(f"{setting.out / 'lab.md'}: {book.summary()}")
    return 1 if book.has_failed() else 0


if __name__ == "__main__":
    sys.exit(main())
