#!/usr/bin/env python3
"""Compiles the training steps of benchmark models for sm_90a and writes what is predicted of them.

  scripts/training_zoo.py --warpweave target/release/warpweave [--write docs/results/training.md] [MODEL ...]

Each model has a batch of 16 and is trained by SGD with momentum. Fails in these cases:
- a step is not compiled, or its code uses local memory;
- other templates than those for products do more than a twentieth of the backward pass's multiply-adds;
- it takes longer than the bar. What counts is the processors' time of the whole command over two, which other work on
  the machine does not lengthen.

Peers are PyTorch's times on an H200, in FP32 at the same batch.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

BATCH = 16
CORES = 2
MOST_SECONDS = 25
# Of the backward pass's multiply-adds, in the templates for products.
LEAST_PRODUCTS = 0.95
# By name: the loss, and the milliseconds of PyTorch's step.
MODELS = {
    "resnet50": ("cross_entropy", 20.6),
    "bert_base_128": ("mse", 31.7),
    "mobilenet_v2": ("cross_entropy", 8.96),
    "lstm_tc": ("cross_entropy", 7.46),
    "dlrm": ("bce_with_logits", 0.769),
}
PHASES = ("forward", "loss", "backward", "optimizer")


def run(warpweave: str, *arguments) -> tuple[dict, float]:
    """The JSON that a command prints, and the processors' seconds that it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [warpweave, *map(str, arguments), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-600:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def measure(warpweave: str, name: str, folder: pathlib.Path) -> dict:
    loss, peer = MODELS[name]
    model, bundle = folder / f"{name}.onnx", folder / f"{name}.weave"
    run(warpweave, "models", "export", name, "--batch", BATCH, "-o", model)
    step = ("--train", f"loss={loss}", "--optimizer", "sgd,lr=0.01,momentum=0.9")
    compiled, busy = run(warpweave, "compile", model, "-o", bundle, "--target", "sm_90a", *step)
    priced, _ = run(warpweave, "explain", model, "--machine-code", *step)
    for path in (model, bundle):
        path.unlink()
    code = priced["code_makespan_microseconds"]
    return {"name": name, "peer": peer, "compiled": compiled["targets"][0], "code": code, "seconds": busy / CORES}


def products(found: dict) -> float:
    backward = next(phase for phase in found["compiled"]["training_profile"]["phases"] if phase["phase"] == "backward")
    return backward["product_multiply_adds"] / max(backward["multiply_adds"], 1)


def times_row(found: dict) -> list:
    profile = found["compiled"]["training_profile"]
    phases = {phase["phase"]: phase for phase in profile["phases"]}
    shares = [f"{phases[phase]['busy_share']:.0%} / {phases[phase]['critical_share']:.0%}" for phase in PHASES]
    advance = profile["advance_seconds"] * 1e3
    predicted = f"{profile['seconds'] * 1e3 + advance:.2f}"
    code = "–" if found["code"] is None else f"{found['code'] / 1e3 + advance:.2f}"
    return [found["name"], predicted, code, f"{advance:.2f}", f"{found['peer']:g}", *shares]


def work_row(found: dict) -> list:
    compiled = found["compiled"]
    profile = compiled["training_profile"]
    memory = sum(profile["memory"].values()) / 2**20
    traffic = profile["optimizer_traffic"]
    update = (traffic["bytes"] + traffic["moved_bytes"]) / traffic["least_bytes"]
    shares = [f"{profile['utilisation']:.0%}", f"{products(found):.1%}", f"{update:.2f}"]
    return [found["name"], *shares, f"{memory:.0f}", str(compiled["groups"]), str(compiled["tasks"])]


TIMES = ["model", "predicted, ms", "at machine-code prices, ms", "of it moving states, ms", "PyTorch, ms", *PHASES]
WORK = ["model", "units busy", "products", "update's bytes", "memory, MiB", "groups", "rTasks"]


def line(cells: list) -> str:
    return "| " + " | ".join(cells) + " |"


def table(heading: list, rows: list) -> list:
    return [line(heading), "|" + "---|" * len(heading), *map(line, rows)]


def document(found: list) -> str:
    return "\n".join(
        [
            "# Results: training steps",
            "",
            f"Plans of training steps for sm_90a, batch {BATCH}, by SGD with momentum, in FP32; `scripts/training_zoo.py` writes this.",
            "Times are the cost model's for an H200, beside those of the same schedule with the prices of `explain --machine-code`; nothing",
            "of this has run on a GPU. What states become is moved behind each launch where it cannot change places with them; the times",
            "have that in them. A phase's cell is its part of the busy time and its part of the critical path. PyTorch's steps were measured.",
            "",
            *table(TIMES, map(times_row, found)),
            "",
            "Products are the part of the backward pass's multiply-adds that contraction, attention and weight-stationary kernels compute.",
            "The update's bytes are a multiple of the fewest: every state read and written once, and every gradient that lies in memory",
            "read.",
            "",
            *table(WORK, map(work_row, found)),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    parser.add_argument("--warpweave", default="target/release/warpweave")
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    measured, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="warpweave-training-") as folder:
        for name in arguments.models:
            try:
                found = measure(arguments.warpweave, name, pathlib.Path(folder))
            except RuntimeError as error:
                wrong.append(f"{name}: {error}")
                continue
            measured.append(found)
            print(line(times_row(found) + work_row(found)[1:]), f"{found['seconds']:.1f} s to compile", flush=True)
            if products(found) < LEAST_PRODUCTS:
                wrong.append(f"{name}: {products(found):.1%} of the backward multiply-adds are in templates for products")
            if local := found["compiled"]["local_bytes"]:
                wrong.append(f"{name}: a thread uses {local} bytes of local memory")
            if found["seconds"] > MOST_SECONDS:
                wrong.append(f"{name}: {found['seconds']:.1f} s to compile, more than {MOST_SECONDS} s")
    if arguments.write:
        arguments.write.write_text(document(measured))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
