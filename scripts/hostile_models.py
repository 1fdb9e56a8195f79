"""Gives warpweave models of the kinds that have gone wrong, and names that try to.

- Models that a few bytes make huge: extents, lists, calls of functions, names, nesting. `compile` and `run` must end within ten
  seconds and two gigabytes, in success or in a clear error, for the kinds that name one in that error.
- Names with quotes, ends of lines, comments and ten thousand letters in every place that a model has for one. The CUDA text must be
  that of the same model with plain names, byte for byte; every message must be of whole lines that the program itself has written.

Needs numpy and onnx; the CUDA text needs NVRTC, which scripts/fetch_cuda.sh fetches.

    PYTHONPATH=.onnxruntime python3 scripts/hostile_models.py [--warpweave target/debug/warpweave]
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from mutated_models import execute, own_models

HUGE = [1 << 25, 1 << 31, (1 << 31) - 1, 1 << 33, 1 << 40, 1 << 62, (1 << 63) - 1]
PLACEHOLDER = b"NOT_UTF_8"
NAMES = {
    "quotes": "{}'\"`",
    "lines": "{}\nerror[usage]: forged\r\n",
    "comment": "{}*/ __trap(); /*",
    "backslash": "{}\\",
    "control": "\x1b[2J{}\x07",
    "direction": "\u202e{}",
    "preprocessor": "\n#error {}\n",
    "long": "{}" + "n" * 10_000,
}


def declared(name, shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, inputs, outputs, constants=(), functions=()):
    tensors = [numpy_helper.from_array(numpy.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "hostile", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=9)


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs, outputs, **attributes)


def huge():
    """Extents: of inputs through each kind of operator, and made by operators from small ones."""
    square = numpy.ones((3, 3), numpy.float32)
    window = numpy.ones((2, 1, 3, 3), numpy.float32)
    open_output = [declared("y", None)]
    for extent in HUGE:
        of_input = {
            "relu": ([node("Relu", ["x"], ["y"])], [extent], ()),
            "transpose": ([node("Transpose", ["x"], ["y"])], [3, extent], ()),
            "sum": ([node("ReduceSum", ["x"], ["y"])], [2, extent], ()),
            "mean of rows": ([node("ReduceMean", ["x"], ["y"], axes=[1])], [extent, 3], ()),
            "product": ([node("MatMul", ["x", "w"], ["y"])], [extent, 3], [("w", square)]),
            "convolution": ([node("Conv", ["x", "w"], ["y"])], [1, 1, extent, 8], [("w", window)]),
            "pooling": ([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])], [1, 2, 5, extent], ()),
            "softmax": ([node("Softmax", ["x"], ["y"])], [extent, 4], ()),
            "concat": ([node("Concat", ["x", "x"], ["y"], axis=0)], [extent], ()),
            "shape": ([node("Shape", ["x"], ["y"])], [extent, 2], ()),
            "recurrence": (
                [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=1)], [extent, 1, 1],
                [("w", numpy.ones((1, 4, 1), numpy.float32)), ("r", numpy.ones((1, 4, 1), numpy.float32))]),
        }
        for name, (nodes, shape, constants) in of_input.items():
            yield f"{name} of {extent}", model(nodes, [declared("x", shape)], open_output, constants), None
        made = {
            "expand": [node("Expand", ["x", "n"], ["y"])],
            "tile": [node("Tile", ["x", "n"], ["y"])],
            "constant of shape": [node("ConstantOfShape", ["n"], ["c"]), node("Add", ["c", "x"], ["y"])],
            "pad": [node("Pad", ["x", "around"], ["y"])],
            "one hot": [node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("OneHot", ["i", "n", "pair"], ["y"])],
            "range": [node("Range", ["zero", "scalar", "step"], ["r"]), node("Mul", ["r", "r"], ["y"])],
            "resize": [node("Unsqueeze", ["x", "axes"], ["u"]), node("Resize", ["u", "", "", "sizes"], ["y"])],
        }
        constants = [
            ("n", numpy.array([extent])), ("around", numpy.array([0, extent])), ("zero", numpy.int64(0)),
            ("scalar", numpy.int64(extent)), ("step", numpy.int64(1)), ("pair", numpy.array([0, 1], numpy.float32)),
            ("axes", numpy.array([0, 1])), ("sizes", numpy.array([1, 1, extent])),
        ]
        for name, nodes in made.items():
            used = {given for one in nodes for given in one.input}
            own = [(key, value) for key, value in constants if key in used]
            yield f"{name} to {extent}", model(nodes, [declared("x", [1])], open_output, own), None
    yield "rank 17", model([node("Relu", ["x"], ["y"])], [declared("x", [1] * 17)], open_output), "rank 17"
    yield "rank 10,000", model([node("Relu", ["x"], ["y"])], [declared("x", [1] * 10_000)], open_output), "rank 10000"
    weights = model([node("Add", ["x", "w"], ["y"])], [declared("x", [1])], open_output, [("w", numpy.ones(1, numpy.float32))])
    for dims in ([1 << 40], [1 << 31, 1 << 31, 1 << 31], [-1], [1] * 20):
        claimed = onnx.ModelProto.FromString(weights.SerializeToString())
        claimed.graph.initializer[0].ClearField("dims")
        claimed.graph.initializer[0].dims.extend(dims)
        yield f"a constant that says {dims}", claimed, "w"
    lists = model([node("Transpose", ["x"], ["y"], perm=[0] * 1_000_000)], [declared("x", [2])], open_output)
    yield "a list of a million numbers", lists, None
    yield "a step of 0", model(
        [node("Range", ["zero", "n", "zero"], ["y"])], [], open_output, [("zero", numpy.int64(0)), ("n", numpy.int64(-3))]), "step"


def function(name, nodes):
    return helper.make_function("own", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])


def calls(name, given, result):
    return helper.make_node(name, [given], [result], domain="own")


def nested():
    """Functions that call functions: without nodes, with long names, without end."""
    open_output, given = [declared("y", None)], [declared("x", [2])]
    levels = 29
    def pair(level):
        return [calls(f"F{level}", "a", "m"), calls(f"F{level}", "m", "b")]
    empty = [function("F0", [])] + [function(f"F{level + 1}", pair(level)) for level in range(levels)]
    yield "empty functions", model([calls(f"F{levels}", "x", "y")], given, open_output, (), empty), "function calls"
    long = "n" * 10_000
    def named(level):
        return [calls(f"G{level}", "a", f"m{long}"), calls(f"G{level}", f"m{long}", "b")]
    relu = function("G0", [node("Relu", ["a"], ["b"])])
    deep = [relu] + [function(f"G{level + 1}", named(level)) for level in range(12)]
    yield "long names in functions", model([calls("G12", "x", "y")], given, open_output, (), deep), "names"
    own = [function("H", [calls("H", "a", "b")])]
    yield "a function of itself", model([calls("H", "x", "y")], given, open_output, (), own), "function depth"


def run_hostile(warpweave, folder):
    for name, hostile, culprit in [*huge(), *nested()]:
        path, bundle = folder / "hostile.onnx", folder / "hostile.weave"
        path.write_bytes(hostile.SerializeToString())
        for command in (["compile", str(path), "--target", "host", "-o", str(bundle)], ["run", str(path), "--device", "host"]):
            fault, code = execute([str(warpweave), *command])
            if fault is None and culprit is not None:
                said = subprocess.run([str(warpweave), *command], capture_output=True, text=True).stderr
                fault = None if code != 0 and culprit in said else f"exit code {code}, nothing of `{culprit}`: {said[:300]}"
            if fault:
                yield f"{name}, {command[0]}: {fault}"


def renamed(plain, name):
    """The model with `name` around every name that it declares."""
    found = onnx.ModelProto.FromString(plain.SerializeToString())

    def around(text):
        return name.format(text) if text else text

    def of_nodes(nodes):
        for one in nodes:
            one.name, one.doc_string = around(one.name or "node"), around("text")
            for values in (one.input, one.output):
                values[:] = [around(value) for value in values]
            if one.domain:
                one.op_type = around(one.op_type)

    graph = found.graph
    graph.name, graph.doc_string, found.doc_string = around(graph.name), around("text"), around("text")
    found.producer_name, found.domain = around("producer"), around("domain")
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = around(value.name)
    of_nodes(graph.node)
    for one in found.functions:
        one.name = around(one.name)
        one.input[:], one.output[:] = [around(value) for value in one.input], [around(value) for value in one.output]
        of_nodes(one.node)
    return found


def cuda_text(warpweave, path, folder):
    command = [str(warpweave), "compile", str(path), "--target", "sm_90a", "-o", str(folder / "named.weave")]
    done = subprocess.run([*command, "--emit", "cuda", "--emit-dir", str(folder / "emitted")], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr
    texts = sorted((folder / "emitted").glob("**/*.cu"))
    return b"".join(text.read_bytes() for text in texts), done.stderr


def breaks(said):
    """Whether a message has a line that no message of the program has, or what moves the cursor."""
    lines = said.splitlines()
    forged = any(line.startswith(("error[usage]: forged", "#error")) for line in lines)
    return forged or re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", said) is not None


def run_named(warpweave, folder):
    for number, plain in enumerate(own_models()):
        path = folder / "named.onnx"
        path.write_bytes(plain.SerializeToString())
        expected, said = cuda_text(warpweave, path, folder)
        if not expected:
            yield f"model {number} has no CUDA text: {said[:300]}"
            continue
        for kind, name in NAMES.items():
            path.write_bytes(renamed(plain, name).SerializeToString())
            found, said = cuda_text(warpweave, path, folder)
            if found != expected:
                yield f"model {number} with {kind} in its names has another CUDA text: {said[:300]}"
            wrong = renamed(plain, name)
            wrong.graph.node[0].op_type = name.format("Absent")
            path.write_bytes(wrong.SerializeToString())
            commands = [["inspect", str(path)], ["run", str(path), "--device", "reference"], ["run", str(path), "--input", "no=no.npy"]]
            for command in commands:
                done = subprocess.run([str(warpweave), *command], capture_output=True, text=True)
                if breaks(done.stderr) or breaks(done.stdout) or done.returncode in (0, 101):
                    yield f"model {number} with {kind} in its names, {command[0]}: {(done.stdout + done.stderr)[:600]!r}"
            path.write_bytes(renamed(plain, name).SerializeToString())
            for command in (["inspect", str(path)], ["run", str(path), "--device", "reference"]):
                done = subprocess.run([str(warpweave), *command], capture_output=True, text=True)
                if breaks(done.stderr) or breaks(done.stdout) or done.returncode != 0:
                    yield f"model {number} with {kind} in its names, {command[0]}: {(done.stdout + done.stderr)[:600]!r}"
        foreign = renamed(plain, PLACEHOLDER.decode() + "{}").SerializeToString().replace(PLACEHOLDER, b"\xff" * len(PLACEHOLDER))
        path.write_bytes(foreign)
        fault, code = execute([str(warpweave), "run", str(path)])
        if fault or code != 3:
            yield f"model {number} with names that are not UTF-8 ends with exit code {code}: {fault}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpweave", type=pathlib.Path, default=pathlib.Path("target/debug/warpweave"))
    parser.add_argument("--only", choices=["hostile", "named"])
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="warpweave-hostile-") as folder:
        checks = {"hostile": run_hostile, "named": run_named}
        for name, check in checks.items():
            if arguments.only in (None, name):
                for fault in check(arguments.warpweave.absolute(), pathlib.Path(folder)):
                    print(fault, flush=True)
                    failed += 1
    print(f"{failed} faults")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
