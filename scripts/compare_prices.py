"""Prints, for every benchmark model at full size, the search's prices of kernels beside those of their machine code.

A kernel flatters where its code is dearer than its price. The percentiles go over kernels, each counted as often as it
has operators. Below the models stand the templates, over all of them, and the cycles of dispatches. With --rejected the
kernels are not those of the plans but so many that the search rejected, in equal numbers from each model. With
--batches so many of the models are compiled for other batches. A seed draws either. With --precision the models are stored
so, and kernels on tensor cores are templates of their own. Needs NVRTC, nvdisasm and Python 3 alone; each model is deleted
after its turn.

    python3 scripts/compare_prices.py --warpweave target/release/warpweave [--rejected N | --batches N] [--seed S]
        [--precision fp16] [MODEL ...]
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess

FOLDER = pathlib.Path("target/zoo")
HEADS = ["kernels", "p50", "p90", "worst", "within 15 %", "FFMA and HMMA of contractions and staged kernels"]
PRODUCTS = ("FFMA", "HMMA")
MULTIPLIES = ("contraction", "staged")
DISPATCHES = {
    "dispatch_cycles": "the last store of an rTask",
    "dispatch_cycles_behind_data": "when that store has taken its turn on the data path",
}
BATCHES = (2, 3, 4, 5, 6, 8)


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
            products += sum(part["issues"] for part in kernel["mix"] if part["operation"] in PRODUCTS) * kernel["tasks"]
    return f"{100 * products / issues:.0f} %" if issues else "–"


def figures(kernels):
    """The columns of a line: code over search, of single kernels."""
    ratios = [kernel["code_microseconds"] / kernel["search_microseconds"]
              for kernel in kernels for _ in range(kernel["operators"])]
    near = sum(abs(ratio - 1) <= 0.15 for ratio in ratios) / len(ratios)
    return [str(len(kernels)), f"{percentile(ratios, 0.5):.2f}", f"{percentile(ratios, 0.9):.2f}", f"{max(ratios):.2f}",
            f"{100 * near:.0f} %", multiply_adds(kernels)]


def template_of(kernel):
    """The template, and whether it multiplies on tensor cores as its name says."""
    name = kernel["template"].replace("/", " ").split()[0]
    return f"{name}, tensor cores" if " mma " in kernel["template"] else name


def line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def explained(warpweave, name, *options, batch=1):
    path = FOLDER / f"{name}.onnx"
    run(warpweave, "models", "export", name, "--batch", batch, "-o", path)
    said = json.loads(run(warpweave, "explain", path, "--machine-code", "--json", *options))
    path.unlink()
    return said


def spread(ratios):
    """How far code lies from search, either way, in most cases."""
    apart = [abs(ratio - 1) for ratio in ratios]
    shares = [f"{100 * sum(each <= limit for each in apart) / len(apart):.0f} %" for limit in (0.15, 0.25)]
    return [str(len(ratios)), f"{percentile(ratios, 0.1):.2f}", f"{percentile(ratios, 0.5):.2f}", f"{percentile(ratios, 0.9):.2f}",
            f"{max(ratios):.2f}", *shares]


def rejected(warpweave, names, count, seed, precision):
    line(["Model", "kernels", "p10", "p50", "p90", "worst", "within 15 %", "within 25 %", "without a price"])
    line(["---"] * 9)
    ratios, missing = [], 0
    for place, name in enumerate(names):
        own = count * (place + 1) // len(names) - count * place // len(names)
        said = explained(warpweave, name, "--rejected", own, "--seed", seed, *precision)
        each = [kernel["code_microseconds"] / kernel["search_microseconds"] for kernel in said["rejected"]]
        ratios, missing = ratios + each, missing + said["unpriced"]
        if each:
            line([name, *spread(each), str(said["unpriced"])])
    line(["*all*", *spread(ratios), str(missing)])


def chosen(warpweave, models, precision):
    line(["Model or template", "search us", "code us", "ratio", *HEADS])
    line(["---"] * (4 + len(HEADS)))
    templates, unpriced, dispatches = collections.defaultdict(list), [], collections.defaultdict(list)
    for name, batch in models:
        said = explained(warpweave, name, *precision, batch=batch)
        priced = [kernel for kernel in said["kernels"] if kernel.get("code_microseconds")]
        unpriced += [f"{name} {kernel['kernel']}" for kernel in said["kernels"] if kernel not in priced]
        for field, since in DISPATCHES.items():
            dispatches[since] += [kernel[field] for kernel in priced if kernel[field] is not None]
        for kernel in priced:
            templates[template_of(kernel)].append(kernel)
        search, code = said["search_makespan_microseconds"], said["code_makespan_microseconds"]
        shown = name if batch == 1 else f"{name}, batch {batch}"
        whole = ["–", "–"] if code is None else [f"{code:.1f}", f"{code / search:.2f}"]
        line([shown, f"{search:.1f}", *whole, *figures(priced)])
    for template, kernels in sorted(templates.items()):
        search, code = (sum(kernel[f"{whose}_microseconds_of_all"] for kernel in kernels) for whose in ("search", "code"))
        line([f"*{template}*", f"{search:.1f}", f"{code:.1f}", f"{code / search:.2f}", *figures(kernels)])
    every = [kernel for kernels in templates.values() for kernel in kernels]
    line(["*all*", "", "", "", *figures(every)])
    if unpriced:
        line([f"without a price of the code: {', '.join(unpriced)}", *[""] * (3 + len(HEADS))])
    for since, cycles in dispatches.items():
        if cycles:
            spans = ", ".join(f"p{share} {percentile(cycles, share / 100)}" for share in (10, 50, 90))
            line([f"cycles from {since} to the first operand of the next rTask: {spans}", *[""] * (3 + len(HEADS))])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warpweave", default="target/release/warpweave")
    parser.add_argument("--rejected", type=int, metavar="N")
    parser.add_argument("--batches", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--precision", choices=["fp16", "bf16"])
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    warpweave = arguments.warpweave
    precision = ["--precision", arguments.precision] if arguments.precision else []
    names = arguments.models or [each.split()[0] for each in run(warpweave, "models", "list").splitlines()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.rejected:
        rejected(warpweave, names, arguments.rejected, arguments.seed, precision)
    elif arguments.batches:
        drawn = random.Random(arguments.seed)
        sample = drawn.sample(names, min(arguments.batches, len(names)))
        chosen(warpweave, [(name, drawn.choice(BATCHES)) for name in sample], precision)
    else:
        chosen(warpweave, [(name, 1) for name in names], precision)


if __name__ == "__main__":
    main()
