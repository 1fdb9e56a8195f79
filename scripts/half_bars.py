"""Holds the code and the storage of every benchmark model in FP16 against bars, by plan and machine code for sm_90a.

A line a model and back end: of kernels with products of matrices (HMMA) the bytes of text and the registers; the share of
multiply-adds of contractions and attention that tensor cores do; what is excepted from that share, products of a single row or
column and groups of fewer than 8 channels; the share of weights and activations that is stored in 16 bits; conversions from half
to single inside a loop with a product of matrices, and those of them in loops without an inner one that has products. Partial sums of
divided reductions stay in singles; one column has the share with them. Below stand the median of those kernels' text and the text
of a layer that is repeated. Every figure beyond its bar is named, and fails the run, as does a model without figures. Needs NVRTC,
nvdisasm and Python 3 alone; each model is deleted after its turn.

    python3 scripts/half_bars.py --warpweave target/release/warpweave [MODEL ...]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

FOLDER = pathlib.Path("target/zoo")
BACKENDS = ("persistent", "cuda-graph")
# So many benchmark models there are.
MODELS = 19
KILOBYTE = 1024
# Of a kernel with products of matrices.
MOST_TEXT = 12 * KILOBYTE
MOST_MEDIAN_TEXT = 9 * KILOBYTE
MOST_REGISTERS = 168
LEAST_ON_TENSOR_CORES = 0.95
LEAST_HALF = 0.90
# A model of equal layers, what the names of the nodes of one of them in the middle begin with, and the bytes of its kernels.
REPEATED = ("bert_base_128", "layer5.", 96 * KILOBYTE)
HEAD = ["model", "back end", "kernels", "with HMMA", "text KB", "largest", "registers", "on tensor cores", "excepted", "16 bits",
        "of weights", "of activations", "with partial sums", "conversions", "in inner loops"]


class Failure(Exception):
    """A command failed."""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        words = " ".join(["warpweave", *map(str, command[1:])])
        raise Failure(f"{words}: exit code {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def line(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "–"


def kilobytes(count):
    return f"{count / KILOBYTE:.1f}"


def total(kernels, figure):
    return sum(kernel[figure] for kernel in kernels)


def text_of_layer(kernels, name):
    """Bytes of the distinct kernels that compute nodes of a layer."""
    own = [kernel for kernel in kernels if any(f'"node:{name}' in nodes for nodes in kernel["operator_nodes"])]
    if not own:
        raise Failure(f"no kernel is of a node whose name begins with {name}")
    return total(own, "text_bytes")


def judged(kernels, stored):
    """The cells of a line, and what is beyond a bar."""
    matrix = [kernel for kernel in kernels if kernel["matrix_instructions"]]
    wrong = [f"{kernel['kernel']}, {kernel['template']}: {kernel['text_bytes']} bytes of text, the bar is {MOST_TEXT}"
             for kernel in matrix if kernel["text_bytes"] > MOST_TEXT]
    wrong += [f"{kernel['kernel']}, {kernel['template']}: {kernel['own_registers']} registers, the bar is {MOST_REGISTERS}"
              for kernel in matrix if kernel["own_registers"] > MOST_REGISTERS]
    wrong += [f"{kernel['kernel']}, {kernel['template']}: {kernel['conversions_in_matrix_loops']} conversions from half to single in a "
              "loop with products of matrices" for kernel in matrix if kernel["conversions_in_matrix_loops"]]
    every, excepted = total(kernels, "multiply_adds"), total(kernels, "excepted_multiply_adds")
    tensor, bound = total(kernels, "tensor_multiply_adds"), every - excepted
    if bound and tensor < LEAST_ON_TENSOR_CORES * bound:
        wrong.append(f"{percent(tensor, bound)} of multiply-adds on tensor cores, the bar is {100 * LEAST_ON_TENSOR_CORES:.0f} %")
        wrong += slow_products(kernels, bound)
    weights, activations = stored["weights"], stored["activations"]
    half, whole = (weights[which] + activations[which] for which in ("half_bytes", "bytes"))
    if half < LEAST_HALF * whole:
        wrong.append(f"{percent(half, whole)} of weights and activations in 16 bits, the bar is {100 * LEAST_HALF:.0f} %")
    parts = stored["partial_sums"]
    texts = [kernel["text_bytes"] for kernel in matrix]
    cells = [len(kernels), len(matrix), kilobytes(statistics.median(texts)) if texts else "–", kilobytes(max(texts, default=0)),
             max((kernel["own_registers"] for kernel in matrix), default="–"), percent(tensor, bound), percent(excepted, every),
             percent(half, whole), percent(weights["half_bytes"], weights["bytes"]),
             percent(activations["half_bytes"], activations["bytes"]),
             percent(half + parts["half_bytes"], whole + parts["bytes"]), total(matrix, "conversions_in_matrix_loops"),
             total(matrix, "conversions_in_inner_matrix_loops")]
    return cells, wrong, texts


def slow_products(kernels, bound):
    """The kernels with most multiply-adds that should be on tensor cores and are not."""
    def missing(kernel):
        return kernel["multiply_adds"] - kernel["excepted_multiply_adds"] - kernel["tensor_multiply_adds"]

    most = sorted(kernels, key=missing, reverse=True)[:2]
    return [f"{kernel['kernel']}, {kernel['template']}: {percent(missing(kernel), bound)} of multiply-adds on ordinary cores"
            for kernel in most if missing(kernel)]


def check(warpweave, name):
    """What is beyond a bar in a model, and the bytes of its kernels with products of matrices, by back end."""
    path = FOLDER / f"{name}.onnx"
    beyond, texts = [], {}
    try:
        run(warpweave, "models", "export", name, "-o", path)
        for backend in BACKENDS:
            options = ("--machine-code", "--precision", "fp16", "--backend", backend, "--json")
            said = json.loads(run(warpweave, "explain", path, *options))
            cells, wrong, texts[backend] = judged(said["kernels"], said["stored"])
            line([name, backend, *cells])
            if name == REPEATED[0]:
                layer, most = text_of_layer(said["kernels"], REPEATED[1]), REPEATED[2]
                texts[f"layer, {backend}"] = layer
                if layer > most:
                    wrong.append(f"a repeated layer: {layer} bytes of text, the bar is {most}")
            beyond += [f"{name}, {backend}: {what}" for what in wrong]
    finally:
        for file in FOLDER.glob(f"{name}.onnx*"):
            file.unlink()
    return beyond, texts


def check_all(warpweave, names):
    """What is beyond a bar, and how many models have figures."""
    line(HEAD)
    line(["---"] * 2 + ["---:"] * (len(HEAD) - 2))
    beyond, texts, done, layers = [], {backend: [] for backend in BACKENDS}, 0, []
    for name in names:
        try:
            wrong, own = check(warpweave, name)
        except (Failure, KeyError) as failure:
            beyond.append(f"{name}: {failure}")
            continue
        done += 1
        beyond += wrong
        for backend in BACKENDS:
            texts[backend] += own[backend]
        layers += [f"{what}: {kilobytes(own[what])} KB" for what in own if what not in BACKENDS]
    print()
    for backend, own in texts.items():
        median = statistics.median(own) if own else 0
        print(f"- text of the {len(own)} kernels with HMMA, {backend}: median {kilobytes(median)} KB, bar {kilobytes(MOST_MEDIAN_TEXT)}.")
        if median > MOST_MEDIAN_TEXT:
            beyond.append(f"{backend}: the median of kernels with HMMA is {median:.0f} bytes of text, the bar is {MOST_MEDIAN_TEXT}")
    for layer in layers:
        print(f"- text of a repeated layer of {REPEATED[0]}: {layer.removeprefix('layer, ')}, bar {kilobytes(REPEATED[2])}.")
    print(f"- {done} of {len(names)} models have figures.")
    return beyond, done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("models", nargs="*", help="names; all that there are if left out")
    options = parser.parse_args()
    names = [model["name"] for model in json.loads(run(options.warpweave, "models", "list", "--json"))["models"]]
    beyond = [] if len(names) >= MODELS else [f"{len(names)} models are listed, of at least {MODELS}"]
    unknown = [name for name in options.models if name not in names]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; there are {', '.join(names)}")
    names = options.models or names
    FOLDER.mkdir(parents=True, exist_ok=True)
    wrong, done = check_all(options.warpweave, names)
    beyond += wrong
    if done < len(names):
        beyond.append(f"{done} models have figures, of {len(names)}")
    if beyond:
        print("\nBeyond a bar:\n")
    for what in beyond:
        print(f"- {what}.")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
