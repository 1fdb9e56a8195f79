"""Writes the tables of results below docs/results, each with the commit and the command in its head.

    python3 scripts/results.py [PART ...] [--warpweave target/release/warpweave]

Parts: models (the files of tests/models), fusion, prices, half_prices and schedules (predictions for the benchmark models at full size),
half (their code and storage in FP16 within bars), zoo (their compilation within bars). Without a part all are written. A part with a
figure beyond its bar is written, and the run fails. Needs Python 3, and for zoo 12 GB of disk.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


# The parts of which a figure is beyond its bar. They are written, and the run fails.
BEYOND = []


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def commit():
    changed = run("git", "status", "--porcelain", "--untracked-files=no").strip()
    return run("git", "rev-parse", "--short=12", "HEAD").strip() + (" with changes" if changed else "")


def models(warpweave):
    """One row for each architecture of tests/models, compiled for host and sm_90a."""
    rows = ["| Model | Groups | Kernel bodies | rTasks | Waits, all proved to end | Arena | Weights | Compile | Local memory |",
            "|---|---|---|---|---|---|---|---|---|"]
    for folder in sorted((ROOT / "tests" / "models").iterdir()):
        files = sorted(folder.glob("*.onnx"))
        if files:
            rows.append(row(warpweave, folder.name, files[0]))
    return "Exports of PyTorch, compiled for the host and for an H200's 132 multiprocessors. **Nothing here was run on a GPU.**", rows


def row(warpweave, name, model):
    with tempfile.TemporaryDirectory() as scratch:
        bundle = pathlib.Path(scratch) / "model.weave"
        said = json.loads(run(warpweave, "compile", model, "-o", bundle, "--target", "host,sm_90a", "--json"))
    gpu = said["targets"][-1]
    counts = [f"{gpu[key]:,}" for key in ("groups", "kernels", "tasks", "waits")]
    kilobytes = [f"{gpu[key] / 1e3:,.0f} KB" for key in ("arena_bytes", "weights_bytes")]
    local = f"{gpu['local_bytes']} bytes" if gpu["local_bytes"] else "none"
    return "| " + " | ".join([name, *counts, *kilobytes, f"{said['seconds']:.1f} s", local]) + " |"


def table(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def fusion(warpweave):
    said = run(sys.executable, "scripts/compare_fusion.py", "--warpweave", warpweave)
    return "What the levels of fusion come to, predicted for an H200 in FP32. Nothing here was measured.", table(said)


def schedules(warpweave):
    said = run("sh", "scripts/compare_schedules.sh", warpweave)
    return (
        "Predicted times under every way of waiting: an H200's 132 units, FP32, batch 1, persistent programs, recurrent layers "
        "unrolled. Nothing here was measured. In parentheses stand the smallest and the largest prediction over ± 15 % on "
        "every rTask's time and over half and twice the assumed constants. A comparison that any of these turns around is "
        "*undetermined*. docs/rammer.md says what the rows are."), table(said)


def zoo(warpweave):
    said = run(sys.executable, "scripts/zoo.py", "--warpweave", warpweave)
    rest = [line for line in said.splitlines() if not line.startswith("|")]
    return "The benchmark models at full size, compiled for the host and sm_90a on this machine.", [*table(said), "", *rest]


def prices(warpweave):
    def compared(*options):
        return table(run(sys.executable, "scripts/compare_prices.py", "--warpweave", warpweave, *options))

    return (
        "What the search takes an rTask of each kernel to cost, and what a model of its machine code takes it to, for an H200 in "
        "FP32. Ratios are code over search: above 1 the search flatters. Times of models are those of the whole schedule under either "
        "price, launch left out; those of templates are sums over rTasks. Nothing here was measured, and no measurement covers "
        "multiply-adds mixed with reads of shared memory. docs/explain.md says what the model of machine code knows."), [
            *compared(),
            "", "Kernels that the search rejected, drawn by a seed, on which no estimate was fitted:", "",
            *compared("--rejected", "200", "--seed", "19"),
            "", "Models drawn by a seed, for other batches:", "",
            *compared("--batches", "12", "--seed", "19")]


def half(warpweave):
    judged = subprocess.run([sys.executable, "scripts/half_bars.py", "--warpweave", warpweave], capture_output=True, text=True, cwd=ROOT)
    if judged.returncode not in (0, 1) or judged.stderr:
        sys.exit(f"scripts/half_bars.py: {judged.stderr}")
    if judged.returncode:
        BEYOND.append("half")
    return (
        "The benchmark models in FP16 (`--precision fp16`), compiled for an H200 as a persistent program and as a CUDA graph. The columns are "
        "the text of kernels that multiply matrices on tensor cores (HMMA), their share of multiply-adds, and the share of bytes that are "
        "stored in 16 bits. `scripts/half_bars.py` defines them. Nothing here was measured.", judged.stdout.splitlines())


def half_prices(warpweave):
    def compared(*options):
        return table(run(sys.executable, "scripts/compare_prices.py", "--warpweave", warpweave, "--precision", "fp16", *options))

    return (
        "The benchmark models in FP16 (`--precision fp16`): what the search takes an rTask of each kernel to cost, and what a model of its "
        "machine code takes it to, for an H200. Columns are those of [prices](prices.md). Nothing here was measured.", [
            *compared(), "", "Kernels that the search rejected, drawn by a seed:", "", *compared("--rejected", "100", "--seed", "19")])


PARTS = {"fusion": fusion, "half": half, "half_prices": half_prices, "models": models, "prices": prices, "schedules": schedules, "zoo": zoo}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--warpweave", type=pathlib.Path, default=ROOT / "target" / "release" / "warpweave")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    RESULTS.mkdir(exist_ok=True)
    for part in arguments.parts or PARTS:
        about, lines = PARTS[part](arguments.warpweave.resolve())
        head = [f"# Results: {part}", "", f"<!-- Written by `python3 scripts/results.py {part}` at {commit()}; not by hand. -->", "", about, ""]
        (RESULTS / f"{part}.md").write_text("\n".join([*head, *lines]) + "\n")
        print(f"docs/results/{part}.md: {len(lines)} lines")
    if BEYOND:
        sys.exit(f"beyond a bar: {', '.join(BEYOND)}")


if __name__ == "__main__":
    main()
