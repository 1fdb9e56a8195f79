"""Prints, for every benchmark model at full size, the search's prices of kernels beside those of their machine code.

A kernel flatters where its code is dearer than its price. The percentiles go over kernels, each counted as often as it has
operators. Below the models stand the templates, over all of them. Needs NVRTC, nvdisasm and Python 3 alone; each model is
deleted after its turn.

    python3 scripts/compare_prices.py --warpweave target/release/warpweave [MODEL ...]
"""

import argparse
import collections
import json
import pathlib
import subprocess

FOLDER = pathlib.Path("target/zoo")
HEADS = ["kernels", "p50", "p90", "worst", "within 15 %", "FFMA of contractions and staged kernels"]
MULTIPLIES = ("contraction", "staged")


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def multiply_adds(kernels):
    """The share of multiply-adds among the instructions of kernels that multiply, weighted by rTasks."""
    issues, products = 0, 0
    for kernel in kernels:
        if kernel["template"].startswith(MULTIPLIES):
            issues += kernel["issues"] * kernel["tasks"]
            products += sum(part["issues"] for part in kernel["mix"] if part["operation"] == "FFMA") * kernel["tasks"]
    return f"{100 * products / issues:.0f} %" if issues else "–"


def figures(kernels):
    """The columns of a line: code over search, of single kernels."""
    ratios = [kernel["code_microseconds"] / kernel["search_microseconds"]
              for kernel in kernels for _ in range(kernel["operators"])]
    near = sum(abs(ratio - 1) <= 0.15 for ratio in ratios) / len(ratios)
    return [str(len(kernels)), f"{percentile(ratios, 0.5):.2f}", f"{percentile(ratios, 0.9):.2f}", f"{max(ratios):.2f}",
            f"{100 * near:.0f} %", multiply_adds(kernels)]


def line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warpweave", default="target/release/warpweave")
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    names = arguments.models or [each.split()[0] for each in run(arguments.warpweave, "models", "list").splitlines()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    line(["Model or template", "search us", "code us", "ratio", *HEADS])
    line(["---"] * (4 + len(HEADS)))
    templates, unpriced = collections.defaultdict(list), []
    for name in names:
        path = FOLDER / f"{name}.onnx"
        run(arguments.warpweave, "models", "export", name, "-o", path)
        said = json.loads(run(arguments.warpweave, "explain", path, "--machine-code", "--json"))
        path.unlink()
        priced = [kernel for kernel in said["kernels"] if "code_microseconds" in kernel]
        unpriced += [f"{name} {kernel['kernel']}" for kernel in said["kernels"] if kernel not in priced]
        for kernel in priced:
            templates[kernel["template"].replace("/", " ").split()[0]].append(kernel)
        search, code = said["search_makespan_microseconds"], said["code_makespan_microseconds"]
        line([name, f"{search:.1f}", f"{code:.1f}", f"{code / search:.2f}", *figures(priced)])
    for template, kernels in sorted(templates.items()):
        search, code = (sum(kernel[f"{whose}_microseconds_of_all"] for kernel in kernels) for whose in ("search", "code"))
        line([f"*{template}*", f"{search:.1f}", f"{code:.1f}", f"{code / search:.2f}", *figures(kernels)])
    if unpriced:
        line([f"without a price of the code: {', '.join(unpriced)}", *[""] * (3 + len(HEADS))])


if __name__ == "__main__":
    main()
