#!/usr/bin/env python3
"""What a call takes, from C and from Python, on an identity of one element, beside ONNX Runtime's: microseconds, the least of several
rounds. Fails beyond the bars.

    PYTHONPATH=.onnxruntime:PACKAGE python3 scripts/call_overhead.py REPEAT

where REPEAT is tests/interfaces/repeat.c, compiled.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

import warpweave as ww

BARS = {"C, bound": 2.0, "Python, bound": 8.0, "Python, unbound": 20.0}
ROUNDS, CALLS = 7, 20000


def identity():
    def port(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])

    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", [port("x")], [port("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def least(call):
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter() - begin) / CALLS)
    return min(rounds) * 1e6


def main():
    model = identity()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "identity.weave"
        session = ww.compile(model, path).session()
        runs = [float(subprocess.run([sys.argv[1], path, "200000"], capture_output=True, text=True, check=True).stdout)
                for _ in range(ROUNDS)]
    x, y = np.ones(1, "float32"), np.zeros(1, "float32")
    found = {"C, bound": min(runs) / 1e3, "Python, unbound": least(lambda: session(x=x))}
    session.bind({"x": x}, {"y": y})
    found["Python, bound"] = least(session.run)
    other = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = other.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    theirs = {"Python, bound": least(lambda: other.run_with_iobinding(binding)), "Python, unbound": least(lambda: other.run(None, {"x": x}))}
    missed = 0
    for name, bar in BARS.items():
        beside = f", ONNX Runtime {theirs[name]:.2f}" if name in theirs else ""
        print(f"{name}: {found[name]:.2f} us of {bar:.0f}{beside}")
        missed += found[name] > bar
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
