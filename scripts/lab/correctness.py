"""The small models of tests/models on every device and back end, beside the outputs that are stored with them."""

from __future__ import annotations

import concurrent.futures
import json
import math
import pathlib
import shutil

import steps as lab
from bundles import NoBundle
from record import write

PART = "correctness"
MODELS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models"
BACKENDS = ["persistent", "cuda-graph", "mixed"]
FEW = ["bert/dynamo", "dlrm/torchscript", "lstm/torchscript", "vit/dynamo"]
# Seconds of one comparison.
LIMIT = 40
# By exit code; what has no word here ended without one.
OUTCOMES = {0: "agree", 1: "differ", 2: "refused", 3: "refused", 4: "refused", 5: "device-fault", 6: "time-out", 7: "differ", 8: "differ"}


def files():
    """Per model's name, its file and the stored arrays."""
    return {f"{path.parent.name}/{path.stem}": (path, path.parent / "io.npz") for path in sorted(MODELS.glob("*/*.onnx"))}


def chosen(setting):
    found = files()
    return {name: found[name] for name in FEW} if setting.is_reduced else found


def steps(setting):
    for device in setting.devices:
        # The host runs every plan in one way.
        for backend in BACKENDS if device != "host" else [None]:
            run = lambda setting, limit, device=device, backend=backend: compare_all(setting, limit, device, backend)
            yield lab.Step(".".join(filter(None, ["compare", device, backend])), PART, 150, run)


def begin(setting):
    """Begins all bundles, so that they are there when they are needed."""
    for backend in BACKENDS:
        for name, (model, _) in chosen(setting).items():
            setting.bundles.file(name, model, backend)


def compare_all(setting, limit, device, backend):
    left, models = lab.Countdown(limit), chosen(setting)
    futures = {name: setting.bundles.file(name, model, backend or BACKENDS[0]) for name, (model, _) in models.items()}
    # One program at a time on a GPU; other devices share the processor's cores.
    workers = 1 if device in setting.gpus else 2
    with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
        jobs = [pool.submit(compare, setting, left, device, name, model, futures[name]) for name, model in models.items()]
        done = [job.result() for job in jobs]
    comparisons = [comparison for comparison, _ in done]
    findings = {"kind": "comparisons", "device": device, "backend": backend, "comparisons": comparisons}
    wrong = [(found["model"], ended) for found, ended in done if found["outcome"] not in ("agree", "missing")]
    wrong += [(found["model"], ended) for found, ended in done if found["outcome"] == "missing" and ended]
    if wrong:
        raise lab.Failed(f"{len(wrong)} of {len(done)} do not agree, the first is {wrong[0][0]}", wrong[0][1], findings)
    missing = sum(found["outcome"] == "missing" for found in comparisons)
    if missing:
        raise lab.OutOfTime(findings, f"budget: {len(done) - missing} of {len(done)} were compared")
    return findings


def compare(setting, left, device, name, files, future):
    """How one comparison went, and the process that failed, if one did."""
    model, io = files
    comparison = {"model": name, "outcome": "missing", "worst_relative": None, "case": None}
    try:
        path = future.result(timeout=max(left(), 0))
    except NoBundle as missing:
        return comparison, missing.ended
    except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        return comparison, None
    if left() < lab.LEAST_SECONDS:
        return comparison, None
    case = setting.work / "cases" / f"{path.stem}.{device.replace(':', '')}"
    shutil.rmtree(case, ignore_errors=True)
    limit = min(LIMIT, left())
    ended = setting.run(["compare", path, "--io", io, "--device", device, "--save-failure", case, "--json"], limit)
    if ended.exit_code is None and limit < LIMIT:
        return comparison, None
    comparison["outcome"] = "time-out" if ended.exit_code is None else OUTCOMES.get(ended.exit_code, "crash")
    told = ended.json() or {}
    # An error divided by an expected 0 is no number.
    errors = [output["worst"]["relative"] for output in told.get("outputs", []) if "worst" in output]
    errors = [error for error in errors if isinstance(error, float) and math.isfinite(error)]
    comparison["worst_relative"] = max(errors, default=None)
    if comparison["outcome"] != "agree":
        comparison["case"] = keep(setting, comparison["outcome"], case, (path, io), ended)
    return comparison, None if ended.is_ok else ended


def keep(setting, outcome, case, files, ended):
    """Keeps the first case of each kind, and gives its folder's name. A process that left none leaves what it was given."""
    kept = setting.out / "cases" / outcome
    if kept.exists():
        return None
    if not case.exists():
        case.mkdir(parents=True)
        for source, name in zip(files, ("model.weave", "io.npz")):
            shutil.copy(source, case / name)
        told = {"schema": "warpweave.case/1", "kind": outcome, "command": ended.command, "exit_code": ended.exit_code,
                "tail": ended.tail(), "replay": "warpweave compare model.weave --io io.npz --device emulator"}
        write(case / "case.json", json.dumps(told, indent=1))
    kept.parent.mkdir(parents=True, exist_ok=True)
    try:
        case.rename(kept)
    except OSError:
        return None  # Another comparison has kept one meanwhile.
    return f"cases/{outcome}"
