"""Runs the whole lab without a GPU, on host and emulator, and holds its record against what it must be.

Nothing may fail, and nothing may be skipped but what is listed here: the first run on a GPU is then not the first run.

    python3 scripts/lab/check.py --warpweave target/debug/warpweave
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pretended  # noqa: E402
import process  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "gpu_lab.sh"
# Seconds that the lab may take, and what it is told: a slow machine still does all.
LIMIT, BUDGET = 110, 300
NO_GPU = "no GPU among the devices"
# Exactly these are skipped without a GPU, for these reasons.
SKIPPED = {
    "litmus.host": "host runs no kernels",
    "sanitizer": NO_GPU,
    "microbench.host": NO_GPU,
    "microbench.emulator": NO_GPU,
    "calibrate": NO_GPU,
    "peers": NO_GPU,
    "tune.bert_base_128": NO_GPU,
    "tune.lstm_tc": NO_GPU,
}
RAN = {
    "doctor", "selftest.host", "selftest.emulator", "litmus.emulator", "compare.host", "compare.emulator.persistent",
    "compare.emulator.cuda-graph", "compare.emulator.mixed",
    *(f"model.{model}.{on}" for model in ("bert_base_128", "lstm_tc")
      for on in ("host", "emulator.persistent", "emulator.cuda-graph")),
    *(f"profile.{model}.{device}" for model in ("bert_base_128", "lstm_tc") for device in ("host", "emulator")),
}
TABLES = ["Not done", "Checks", "Memory system", "Outputs beside stored ones", "Models", "What units do", "Templates and kernels"]

wrong = []


def expect(holds, what):
    if not holds:
        wrong.append(what)


def lab(binary, out, budget, only="", choices=("--device", "host,emulator", "--reduced"), environment=None):
    """A run of the lab: how it ended, its record, and its seconds."""
    command = ["sh", SCRIPT, *choices, "--budget", budget, "--out", out, "--only", only, binary]
    start = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **(environment or {})})
    return done, json.loads((out / "lab.json").read_text()), time.monotonic() - start


def check_whole(options, out):
    done, record, seconds = lab(options.warpweave, out, BUDGET)
    print(done.stdout, end="")
    expect(done.returncode == 0, f"the lab ended with {done.returncode}: {done.stderr[-2000:]}")
    expect(seconds <= LIMIT, f"it took {seconds:.0f} s of {LIMIT} s")
    skipped = {step["name"]: step["reason"] for step in record["steps"] if step["status"] == "skipped"}
    expect(skipped == SKIPPED, f"skipped are {skipped}, expected {SKIPPED}")
    ran = {step["name"] for step in record["steps"] if step["status"] == "ran"}
    expect(ran == RAN, f"of what ran, {sorted(ran ^ RAN)} are not expected or missing")
    for step in record["steps"]:
        expect(step["status"] != "failed", f"failed: {json.dumps(step)[:3000]}")
        expect(json.loads((out / "steps" / f"{step['name']}.json").read_text()) == step, f"{step['name']} has no file of its own")
    text = (out / "lab.md").read_text()
    for table in TABLES:
        expect(f"## {table}" in text, f"lab.md has no table `{table}`")
    expect(not (out / "lab.zip").exists(), "nothing failed, and there is an archive of it")
    return record


def check_resumed(options, out, before):
    """What ran is kept, word for word."""
    done, record, _ = lab(options.warpweave, out, BUDGET)
    kept = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("kept")]
    expect(set(kept) == RAN, f"a second run keeps {kept}")
    of = lambda record: {step["name"]: step for step in record["steps"] if step["status"] == "ran"}
    expect(of(record) == of(before), "a second run changes what it keeps")


def check_budget(options, out):
    """A small budget is not exceeded, and what does not fit says so."""
    done, record, seconds = lab(options.warpweave, out, 4)
    expect(done.returncode == 0 and seconds < 6, f"4 s took {seconds:.1f} s, ended with {done.returncode}: {done.stdout}")
    reasons = {step["reason"] for step in record["steps"] if step["status"] == "skipped"}
    expect(any(reason.startswith("budget") for reason in reasons), f"nothing is skipped for want of time: {reasons}")
    expect(len(record["steps"]) == len(RAN) + len(SKIPPED), "every step is in the record")


def check_groups():
    """A process that is stopped takes what it has started with it."""
    ended = process.run(["sh", "-c", "sleep 60 & echo $!; wait"], 0.5)
    expect(ended.exit_code is None and ended.seconds < 5, f"a process runs on after its limit: {ended}")
    child = pathlib.Path("/proc", ended.out.strip(), "stat")
    time.sleep(0.2)
    alive = child.exists() and child.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    expect(not alive, "what a stopped process had started runs on")


def check_failure(options, folder):
    """A binary that gives wrong results is told so, with a case that the emulator replays."""
    liar = folder / "liar"
    liar.write_text(f'#!/bin/sh\ncase "$*" in compare*) set -- "$@" --rtol 0 --atol 0;; esac\nexec "{options.warpweave}" "$@"\n')
    os.chmod(liar, 0o755)
    out = folder / "failing"
    done, record, _ = lab(liar, out, BUDGET, "compare.emulator.persistent")
    expect(done.returncode == 1, f"wrong outputs end with {done.returncode}: {done.stderr}")
    failed = [step for step in record["steps"] if step["status"] == "failed"]
    expect([(step["name"], step["exit_code"]) for step in failed] == [("compare.emulator.persistent", 1)], f"failed: {failed}")
    if not failed:
        return
    failed = failed[0]
    cases = [found["case"] for found in failed["findings"]["comparisons"] if found["case"]]
    expect(cases == ["cases/differ"], f"the first case alone is kept, not {cases}")
    replay = [options.warpweave, "compare", out / "cases/differ/model.weave", "--io", out / "cases/differ/io.npz",
              "--device", "emulator", "--rtol", "0", "--atol", "0"]
    done = subprocess.run(list(map(str, replay)), capture_output=True, text=True)
    expect(done.returncode == 1 and "outputs differ" in done.stdout, f"the case is not replayed: {done.stderr}")
    expect((out / "lab.zip").exists(), "the case is in no archive")


def check_pretended(options, folder):
    """Steps that need a GPU, where other programs stand in for it: their findings are in the record, right or wrong."""
    binary = pretended.write(folder / "pretended", options.warpweave)
    path = {"PATH": f"{binary.parent}:{os.environ['PATH']}"}
    wanted = {"sanitizer": "ran", "calibrate": "failed", "peers": "ran", "tune.dlrm": "failed"}
    out = folder / "gpu"
    done, record, _ = lab(binary, out, BUDGET, ",".join(wanted), ("--device", "cuda:0"), path)
    found = {step["name"]: step for step in record["steps"]}
    of = lambda name: (found[name].get("findings") or {}).get
    expect({name: found[name]["status"] for name in wanted} == wanted, f"{done.stdout} {[found[name] for name in wanted]}")
    expect(done.returncode == 1, f"what failed ends with {done.returncode}")
    expect(len(of("sanitizer")("checks") or []) == 4 and of("peers")("peers") == [pretended.PEER], "checks or peers are missing")
    constants = of("calibrate")("constants") or []
    expect([constant["now"] for constant in constants] == [3.0, None], f"constants are {constants}")
    expect((of("tune.dlrm")("recorded"), of("tune.dlrm")("refused")) == (12, 1), f"tuned are {found['tune.dlrm']}")
    names = {"model.resnet50.cuda:0.persistent", "profile.bert_base_128.cuda:0", "compare.cuda:0.mixed", "selftest.cuda:0"}
    expect(names <= set(found), f"of the steps of a GPU, {names - set(found)} are missing")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", type=lambda path: pathlib.Path(path).resolve(), required=True, help="the program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_groups()
        record = check_whole(options, folder / "whole")
        check_resumed(options, folder / "whole", record)
        check_budget(options, folder / "short")
        check_failure(options, folder)
        check_pretended(options, folder)
    for what in wrong:
        print(f"lab: {what}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
