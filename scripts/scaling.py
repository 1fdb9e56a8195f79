"""Times import, planning and compiling of models that are all of one kind and grow.

Each kind has 10 to 10,000 nodes. `warpweave run --device reference` imports a model and evaluates it; `compile --target host`
imports, plans and proves it; `compile --target sm_90a`, with --gpu, lowers and compiles it too. --check fails where ten times the nodes take more
than thirty times the time, more than ten seconds or more than two gigabytes. --write writes the table of docs/results/scaling.md.

    PYTHONPATH=.onnxruntime python3 scripts/scaling.py [--check] [--write docs/results/scaling.md] [--sizes 10,100,1000]
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, COLUMNS = 4, 16
SECONDS, MEGABYTES = 10, 2048
# n log n from n to 10 n is less than 17 for all n here; times of other programs on the machine come on top.
GROWTH = 30
# Below this a command is mostly its start.
SHORTEST = 0.3
MOST_ON_GPU = 1000


def numbered(count, name="w"):
    """As many different constants."""
    return [numpy_helper.from_array(numpy.full(COLUMNS, at, numpy.float32), f"{name}{at}") for at in range(count)]


def chain(count):
    """One element-wise operator after another."""
    operators = ["Relu", "Sigmoid", "Tanh", "Neg", "Abs"]
    nodes = [helper.make_node(operators[at % 5], [f"v{at}"], [f"v{at + 1}"]) for at in range(count)]
    return nodes, "v0", [f"v{count}"], []


def product_chain(count):
    """The same after a matrix product."""
    nodes, _, outputs, _ = chain(count - 1)
    square = numpy_helper.from_array(numpy.eye(COLUMNS, dtype=numpy.float32), "w")
    return [helper.make_node("MatMul", ["x", "w"], ["v0"]), *nodes], "x", outputs, [square]


def fan(count):
    """Readers of one input, all of which are outputs."""
    nodes = [helper.make_node("Add", ["x", f"w{at}"], [f"y{at}"]) for at in range(count)]
    return nodes, "x", [f"y{at}" for at in range(count)], numbered(count)


def tower(count):
    """A product, an activation and a sum with what came before, again and again."""
    nodes, last = [], "x"
    for at in range(max(count // 3, 1)):
        nodes.append(helper.make_node("MatMul", [last, "w"], [f"m{at}"]))
        nodes.append(helper.make_node("Relu", [f"m{at}"], [f"a{at}"]))
        nodes.append(helper.make_node("Add", [last, f"a{at}"], [f"b{at}"]))
        last = f"b{at}"
    return nodes, "x", [last], [numpy_helper.from_array(numpy.eye(COLUMNS, dtype=numpy.float32) / 2, "w")]


def concat(count):
    """One concatenation of as many values."""
    nodes = [helper.make_node("Add", ["x", f"w{at}"], [f"v{at}"]) for at in range(count - 1)]
    nodes.append(helper.make_node("Concat", [f"v{at}" for at in range(count - 1)], ["y"], axis=0))
    return nodes, "x", ["y"], numbered(count - 1)


def same_concat(count):
    """One concatenation of one value as many times."""
    return [helper.make_node("Concat", ["x"] * count, ["y"], axis=0)], "x", ["y"], []


def links(count, link, constants):
    """A chain of links, each a list of (operator, inputs, output, attributes) over "v", its own names and constants."""
    nodes, last = [], "x"
    for at in range(count):
        def named(name):
            return last if name == "v" else name if name in constants else f"{name}{at}"

        for operator, inputs, output, attributes in link:
            names = [named(name) for name in inputs]
            nodes.append(helper.make_node(operator, names, [f"{output}{at}"], **attributes))
        last = f"{link[-1][2]}{at}"
    arrays = [numpy_helper.from_array(numpy.asarray(array), name) for name, array in constants.items()]
    return nodes, "x", [last], arrays


HALF = {"half": numpy.float32(0.5)}


def twice(count):
    """(v · v + v) / 2, again and again."""
    link = [("Mul", ["v", "v"], "m", {}), ("Add", ["m", "v"], "a", {}), ("Mul", ["a", "half"], "b", {})]
    return links(count, link, HALF)


def thrice(count):
    """(v · v · v + v) / 2, again and again."""
    link = [("Mul", ["v", "v"], "m", {}), ("Mul", ["m", "v"], "n", {}), ("Add", ["n", "v"], "a", {})]
    return links(count, [*link, ("Mul", ["a", "half"], "b", {})], HALF)


def shifted(count):
    """The mean of every element and its neighbour, again and again."""
    bounds = {"zero": numpy.array([0]), "one": numpy.array([1]), "end": numpy.array([COLUMNS]), "axis": numpy.array([1])}
    link = [
        ("Slice", ["v", "one", "end", "axis"], "s", {}), ("Slice", ["v", "zero", "one", "axis"], "t", {}),
        ("Concat", ["s", "t"], "r", {"axis": 1}), ("Add", ["v", "r"], "a", {}), ("Mul", ["a", "half"], "b", {}),
    ]
    return links(count, link, HALF | bounds)


def centred(count):
    """v + (v − mean v) / 10, again and again."""
    link = [
        ("ReduceMean", ["v"], "m", {"axes": [1]}), ("Sub", ["v", "m"], "d", {}), ("Mul", ["d", "tenth"], "e", {}),
        ("Add", ["v", "e"], "a", {}),
    ]
    return links(count, link, {"tenth": numpy.float32(0.1)})


def chosen(count):
    """v where it is more than its sum, and half of it elsewhere, again and again."""
    link = [
        ("ReduceSum", ["v"], "s", {}), ("Greater", ["v", "s"], "c", {}), ("Mul", ["v", "half"], "h", {}),
        ("Where", ["c", "v", "h"], "w", {}),
    ]
    return links(count, link, HALF)


KINDS = {
    "chain": chain, "product and chain": product_chain, "fan": fan, "residual tower": tower, "concat": concat,
    "concat of one": same_concat, "read twice": twice, "read thrice": thrice, "read beside itself": shifted,
    "read about a mean": centred, "read by choice": chosen,
}
# Links of chains, each of several nodes.
CHAINS = {"read twice", "read thrice", "read beside itself", "read about a mean", "read by choice"}


def counts(kind, sizes):
    """The sizes of a kind: chains have a fifth of the links that others have nodes."""
    return [max(size // 5, 2) for size in sizes] if kind in CHAINS else sizes


def save(kind, count, path):
    nodes, given, outputs, constants = KINDS[kind](count)
    value = helper.make_tensor_value_info
    declared = [value(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "grown", [value(given, TensorProto.FLOAT, [ROWS, COLUMNS])], declared, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


# Measured by a small process: a peak includes what its parent took when it began.
MEASURE = """
import os, subprocess, sys, threading, time
start = time.monotonic()
null = subprocess.DEVNULL
process = subprocess.Popen(sys.argv[2:], stdin=null, stdout=null, stderr=null)
timer = threading.Timer(float(sys.argv[1]), process.kill)
timer.start()
_, status, usage = os.wait4(process.pid, 0)
timer.cancel()
process.returncode = 0
print(status, time.monotonic() - start, usage.ru_maxrss / 1024)
"""


def measure(command, limit):
    """Seconds and megabytes of a command; None if it fails or takes longer than the limit."""
    helper_command = [sys.executable, "-S", "-c", MEASURE, str(limit), *command]
    status, seconds, megabytes = subprocess.run(helper_command, capture_output=True, text=True, check=True).stdout.split()
    return (float(seconds), float(megabytes)) if status == "0" else None


def commands(warpweave, path, count, gpu):
    bundle = str(pathlib.Path(path).with_suffix(".weave"))
    found = {
        "import": [warpweave, "run", path, "--device", "reference"],
        "host": [warpweave, "compile", path, "--target", "host", "-o", bundle],
    }
    if gpu and count <= MOST_ON_GPU:
        found["sm_90a"] = [warpweave, "compile", path, "--target", "sm_90a", "-o", bundle]
    return found


def table(warpweave, sizes, gpu, limit):
    results = {}
    with tempfile.TemporaryDirectory(prefix="warpweave-scaling-") as folder:
        path = str(pathlib.Path(folder) / "model.onnx")
        for kind in KINDS:
            for count in counts(kind, sizes):
                save(kind, count, path)
                for name, command in commands(str(warpweave), path, count, gpu).items():
                    results[kind, count, name] = measure(command, limit)
                    print(kind, count, name, results[kind, count, name], flush=True)
    return results


def faults(results, sizes):
    for (kind, count, name), result in results.items():
        where = f"{kind} of {count}, {name}"
        if result is None:
            yield f"{where}: fails or takes too long"
            continue
        if name != "sm_90a" and (result[0] > SECONDS or result[1] > MEGABYTES):
            yield f"{where}: {result[0]:.1f} s, {result[1]:.0f} MB"
        before = results.get((kind, count // 10, name))
        if before and result[0] > GROWTH * max(before[0], SHORTEST):
            yield f"{where}: {result[0]:.1f} s after {before[0]:.1f} s for a tenth"


def document(results, sizes):
    lines = [
        "# Scaling", "",
        "<!-- Written by scripts/scaling.py --write; not by hand. -->", "",
        "Seconds and peak megabytes of one command over models of one kind that grow, with the binary that the tests build, on",
        "two cores. Import is `run --device reference`: import, passes and one evaluation of small tensors. Host is `compile",
        "--target host`: import, the search for a partition, the plan and its proof. *sm_90a* is the same for a GPU, with kernels",
        "and NVRTC; it is left out above 1,000 nodes.", "",
        "A search prices a bounded number of groups a statement. No group has more than 128 statements, and a beam begins again",
        "where more than 1,024 values are open. So what is planned grows with the number of nodes.", "",
        "| Kind | Nodes | Import | Host | sm_90a |", "|---|---|---|---|---|",
    ]
    for kind in KINDS:
        for count in counts(kind, sizes):
            cells = []
            for name in ("import", "host", "sm_90a"):
                result = results.get((kind, count, name))
                cells.append(f"{result[0]:.2f} s, {result[1]:.0f} MB" if result else "–")
            lines.append(f"| {kind} | {count:,} | {' | '.join(cells)} |")
    lines.append("")
    lines.extend(f"- **{kind}**: {build.__doc__}" for kind, build in KINDS.items())
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpweave", type=pathlib.Path, default=pathlib.Path("target/debug/warpweave"))
    parser.add_argument("--sizes", default="10,100,1000,10000")
    parser.add_argument("--gpu", action="store_true", help="compile for sm_90a too")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    results = table(arguments.warpweave, sizes, arguments.gpu, 6 * SECONDS)
    if arguments.write:
        arguments.write.write_text(document(results, sizes))
    found = list(faults(results, sizes)) if arguments.check else []
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
