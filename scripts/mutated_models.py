"""Gives warpweave damaged and hostile models: each must end in success or in a clear error.

Every seed takes one of ONNX's node tests or a small model from here, and changes a few fields of its protobuf message.
Numbers become extremes, names others, operators, types and attributes others, and lists are cut or repeated. Now and
then bytes of the file are changed. `compile --target host` and `run` must end within ten seconds, in two gigabytes,
without a panic, an abort or a signal. They must end with exit code 0 or with a message that names its kind and does not
blame warpweave. Needs numpy and onnx.

    PYTHONPATH=.onnxruntime python3 scripts/mutated_models.py [--seeds 0:2000] [--keep DIR]
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import onnx
from google.protobuf.descriptor import FieldDescriptor
from onnx import TensorProto, helper, numpy_helper

SECONDS = 10
MEGABYTES = 2048
LARGEST_BASE = 1 << 14
INTEGERS = [0, 1, -1, 2, 3, 7, 8, 9, 127, 255, 1 << 15, 1 << 31, -(1 << 31), 1 << 33, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, float("inf"), float("-inf"), float("nan")]
TEXTS = ["", "x", "a'b\"c", "*/", "line\nline", "back\\slash", "\0", "ä→", "/../", "%s%n", "n" * 10_000]
ERROR = re.compile(r"error\[[a-z-]+\]: \S")
INTEGRAL = {
    FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_ENUM,
}


def own_models():
    """Small models of what the node tests lack: several nodes, recurrences, functions, constants."""
    def declared(name, shape, element=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, element, shape)

    def model(nodes, inputs, outputs, constants=(), functions=()):
        tensors = [numpy_helper.from_array(array, name) for name, array in constants]
        graph = helper.make_graph(nodes, "small", inputs, outputs, tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=9)

    node = helper.make_node
    weights = numpy.linspace(-1, 1, 4 * 3 * 3 * 3, dtype=numpy.float32).reshape(4, 3, 3, 3)
    yield model(
        [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
         node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("GlobalAveragePool", ["p"], ["g"]),
         node("Flatten", ["g"], ["f"]), node("Softmax", ["f"], ["y"])],
        [declared("x", [1, 3, 8, 8])], [declared("y", [1, 4])], [("w", weights)])
    square = numpy.eye(8, dtype=numpy.float32)
    yield model(
        [node("MatMul", ["x", "w"], ["q"]), node("Transpose", ["q"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["s"]),
         node("Softmax", ["s"], ["a"]), node("MatMul", ["a", "q"], ["o"]), node("Add", ["o", "x"], ["y"])],
        [declared("x", [2, 5, 8])], [declared("y", [2, 5, 8])], [("w", square)])
    yield model(
        [node("LSTM", ["x", "w", "r"], ["all", "last"], hidden_size=4), node("Squeeze", ["last"], ["y"])],
        [declared("x", [3, 1, 4])], [declared("y", None)],
        [("w", numpy.ones((1, 16, 4), numpy.float32)), ("r", numpy.ones((1, 16, 4), numpy.float32))])
    yield model(
        [node("Gather", ["table", "i"], ["g"]), node("Shape", ["g"], ["s"]), node("Reshape", ["g", "s"], ["h"]),
         node("Concat", ["h", "h"], ["c"], axis=0), node("Slice", ["c", "zero", "two"], ["d"]), node("ReduceMean", ["d"], ["y"])],
        [declared("i", [4], TensorProto.INT64)], [declared("y", None)],
        [("table", square), ("zero", numpy.array([0])), ("two", numpy.array([2]))])
    inner = helper.make_function("own", "Inner", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    outer = helper.make_function(
        "own", "Outer", ["a"], ["b"], [node("Inner", ["a"], ["m"], domain="own"), node("Inner", ["m"], ["b"], domain="own")],
        [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])
    yield model([node("Outer", ["x"], ["y"], domain="own")], [declared("x", [4])], [declared("y", [4])], (), [inner, outer])


def bases():
    found = [model.SerializeToString() for model in own_models()] * 20
    for path in sorted(pathlib.Path(".onnx/node").glob("*/model.onnx")):
        if path.stat().st_size <= LARGEST_BASE:
            found.append(path.read_bytes())
    return found


def fields(message):
    """All set fields below a message, with the messages that hold them; none where protobuf holds text of the writer alone."""
    for field, value in message.ListFields():
        yield message, field
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for below in value if field.is_repeated else [value]:
                yield from fields(below)


def scalar(rng, field, names):
    if field.type in INTEGRAL:
        bits = 31 if field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_ENUM) else 63
        value = rng.choice(INTEGERS) if rng.random() < 0.4 else rng.randrange(-2, 17)
        value = max(-(1 << bits), min(value, (1 << bits) - 1))
        return abs(value) if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_UINT32) else value
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return rng.choice(FLOATS)
    if field.type == FieldDescriptor.TYPE_STRING:
        return rng.choice(TEXTS) if rng.random() < 0.3 else rng.choice(names)
    return rng.choice([b"", b"\xff\xfe", b"SAME_UPPER", b"linear", bytes(rng.randrange(256) for _ in range(rng.randrange(40)))])


def mutate(rng, model, names):
    found = list(fields(model))
    message, field = rng.choice(found)
    if field.type == FieldDescriptor.TYPE_STRING and rng.random() < 0.7:
        # Most names are of something that is then not there, which the first check says; numbers go deeper.
        message, field = rng.choice(found)
    value = getattr(message, field.name)
    choice = rng.random()
    if choice < 0.12:
        message.ClearField(field.name)
    elif not field.is_repeated:
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            setattr(message, field.name, scalar(rng, field, names))
    elif choice < 0.3 and len(value):
        del value[rng.randrange(len(value))]
    elif choice < 0.5 and len(value):
        value.extend([value[rng.randrange(len(value))]] * rng.choice([1, 1, 2, 9]))
    elif field.type != FieldDescriptor.TYPE_MESSAGE:
        if len(value) and choice < 0.9:
            value[rng.randrange(len(value))] = scalar(rng, field, names)
        else:
            value.append(scalar(rng, field, names))


def mutant(seed, originals):
    rng = random.Random(seed)
    serialised = rng.choice(originals)
    model = onnx.ModelProto.FromString(serialised)
    graph = model.graph
    names = [name for node in graph.node for name in (*node.input, *node.output, node.op_type)] + ["y", "Relu", "MatMul", "axis"]
    names += rng.sample(OPERATORS, 4)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            mutate(rng, model, names)
        except ValueError:
            pass  # An enumeration of this version of protobuf that is closed.
    serialised = model.SerializeToString()
    if rng.random() < 0.1 and serialised:
        damaged = bytearray(serialised)
        for _ in range(rng.randrange(1, 6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        serialised = bytes(damaged[: rng.randrange(len(damaged))] if rng.random() < 0.3 else damaged)
    return serialised


OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas()})


def execute(command):
    """What is wrong with how a command ends, or None, and its exit code."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2 * MEGABYTES << 20, 2 * MEGABYTES << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, preexec_fn=limit)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        out.seek(0)
        text = out.read().decode(errors="replace")
    code = process.returncode
    if seconds >= SECONDS:
        return f"takes more than {SECONDS} s", code
    if code < 0:
        return f"ends with signal {-code}: {text[-300:]}", code
    if usage.ru_maxrss >> 10 > MEGABYTES:
        return f"takes {usage.ru_maxrss >> 10} MB", code
    if "panicked" in text or "report this as an error of warpweave" in text:
        return text[-600:], code
    if code != 0 and not ERROR.search(text):
        return f"exit code {code} without a message: {text[-300:]}", code
    return None, code


def judge(seed, originals, warpweave, keep):
    """The findings of one seed, and how its commands ended."""
    findings, codes = [], []
    with tempfile.TemporaryDirectory(prefix="warpweave-mutated-") as folder:
        path = pathlib.Path(folder) / "model.onnx"
        path.write_bytes(mutant(seed, originals))
        bundle = str(pathlib.Path(folder) / "out.weave")
        for command in (["compile", str(path), "--target", "host", "-o", bundle], ["run", str(path), "--device", "host"]):
            fault, code = execute([str(warpweave), *command])
            codes.append((command[0], code))
            if fault:
                findings.append(f"seed {seed}, {command[0]}: {fault}")
        if findings and keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{seed}.onnx").write_bytes(path.read_bytes())
    return findings, codes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpweave", type=pathlib.Path, default=pathlib.Path("target/debug/warpweave"))
    parser.add_argument("--seeds", default="0:2000", help="first and last, such as 0:2000")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for models that fail")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split(":"))
    originals = bases()
    if len(originals) < 500:
        sys.exit("ONNX's node tests are not in .onnx; scripts/fetch_onnx_tests.sh fetches them")
    ends, failed = collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        judged = pool.map(lambda seed: judge(seed, originals, arguments.warpweave, arguments.keep), range(first, last))
        for findings, codes in judged:
            ends.update(codes)
            failed += bool(findings)
            for finding in findings:
                print(finding, flush=True)
    for (command, code), count in sorted(ends.items()):
        print(f"{command}: {count} end with exit code {code}")
    good = ends["compile", 0]
    print(f"{last - first} mutants, {failed} fail")
    # If hardly any mutant compiles, the mutations test the decoder alone.
    if failed or good * 10 < last - first:
        sys.exit(1)


if __name__ == "__main__":
    main()
