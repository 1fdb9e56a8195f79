"""Compares random control flow over values of which data say the extents with ONNX Runtime.

Every seed gives a graph whose value is, again and again, cut to what a condition marks, sliced, sorted or laid end to end. It
may also go through an `If` on data or a `Loop` that data end, whose graphs do the same. The branches of an `If` and what a loop carries may
have other extents. ONNX Runtime, without optimisations, says what the outputs are, of which one is the last value's shape;
`warpweave compare` must agree on every device of --device, or refuse the model with a reason (exit code 3). At most a tenth
may be refused. Elements are small integers in single precision, so sums are exact.

    PYTHONPATH=.onnxruntime python3 scripts/control_flow_graphs.py [--seeds 0:200] [--device host] [--keep DIR]
"""

import pathlib
import random
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import seeded

OPSET = 18
ROWS = 6
LARGEST = 1 << 20
MOST_REFUSED = 0.1
MOST_EMPTY = 0.1
WORDS = {"ok": "agree", "refused": "refused", "failed": "failed", "empty": "give no outputs"}


class Scope:
    """The nodes of a graph in the making, which reads what stands around it."""

    def __init__(self, generator):
        self.generator, self.nodes = generator, []

    def node(self, operator, inputs, outputs=1, **attributes):
        names = [self.generator.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0]

    def constant(self, array):
        return self.generator.constant(numpy.asarray(array))

    def graph(self, inputs, outputs):
        return helper.make_graph(self.nodes, self.generator.name(), inputs, outputs)


class Generator:
    """A model of one seed. Its value has rows of which data say how many there are, and columns if the seed says so."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.columns = self.random.choice([None, None, 3])
        self.names, self.constants = 0, []

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def constant(self, array):
        name = self.name()
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def single(self, least, most):
        return numpy.float32(self.random.randint(least, most))

    def model(self):
        scope = Scope(self)
        value = "x"
        for _ in range(self.random.randint(2, 5)):
            value = self.step(scope, value, 0)
        shape = scope.node("Shape", [value])
        outputs = [typed(value, TensorProto.FLOAT), typed(shape, TensorProto.INT64)]
        graph = helper.make_graph(scope.nodes, "g", [typed("x", TensorProto.FLOAT, self.shape())], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def shape(self):
        return [ROWS] if self.columns is None else [ROWS, self.columns]

    def step(self, scope, value, depth):
        """A value of the same rank with other rows."""
        plain = [self.arithmetic, self.slice, self.concat, self.compress, self.places, self.centred]
        deep = [self.first, self.top, self.where, self.branches, self.branches, self.loop]
        return self.random.choice(plain if depth > 1 else plain + deep)(scope, value, depth)

    def marks(self, scope, value):
        """Which rows are marked."""
        if self.columns is not None:
            value = scope.node("ReduceSum", [value, scope.constant([1])], keepdims=0)
        return scope.node("Greater", [value, scope.constant(self.single(-2, 2))])

    def arithmetic(self, scope, value, _):
        if self.random.random() < 0.5:
            return scope.node("Neg", [value])
        return scope.node("Add", [value, scope.constant(self.single(-3, 3))])

    def slice(self, scope, value, _):
        start = self.random.randint(0, 2)
        bounds = [[start], [self.random.choice([start + 1, start + 3, 1000])], [0], [self.random.choice([1, 1, 2])]]
        return scope.node("Slice", [value] + [scope.constant(bound) for bound in bounds])

    def concat(self, scope, value, _):
        rows = self.random.randint(1, 3)
        own = numpy.ones([rows] + self.shape()[1:], numpy.float32)
        return scope.node("Concat", [value, self.random.choice([value, scope.constant(own)])], axis=0)

    def compress(self, scope, value, _):
        return scope.node("Compress", [value, self.marks(scope, value)], axis=0)

    def places(self, scope, value, _):
        """Rows picked by the places of those that are marked."""
        found = scope.node("NonZero", [self.marks(scope, value)])
        return scope.node("Gather", [value, scope.node("Squeeze", [found, scope.constant([0])])], axis=0)

    def centred(self, scope, value, _):
        total = scope.node("ReduceSum", [value, scope.constant([0])], keepdims=1)
        return scope.node("Sub", [value, total])

    def first(self, scope, value, _):
        """The first row, which is one that is there."""
        some = scope.node("Concat", [value, scope.constant(numpy.ones([1] + self.shape()[1:], numpy.float32))], axis=0)
        return scope.node("Gather", [some, scope.constant([0])], axis=0)

    def top(self, scope, value, _):
        rows = scope.node("Slice", [scope.node("Shape", [value]), scope.constant([0]), scope.constant([1])])
        fewer = scope.node("Min", [rows, scope.constant([self.random.randint(1, 3)])])
        return scope.node("TopK", [value, fewer], 2, axis=0)

    def where(self, scope, value, _):
        negative = scope.node("Less", [value, scope.constant(numpy.float32(0))])
        return scope.node("Where", [negative, value, scope.node("Mul", [value, scope.constant(numpy.float32(2))])])

    def condition(self, scope, value):
        if self.random.random() < 0.5:
            total = scope.node("ReduceSum", [value], keepdims=0)
            return scope.node("Greater", [total, scope.constant(self.single(-3, 3))])
        return scope.node("Greater", [scope.node("Size", [value]), scope.constant(self.random.randint(0, 6))])

    def inner(self, value, depth, least):
        """A graph that begins with a value, and what it gives."""
        scope = Scope(self)
        for _ in range(self.random.randint(least, 2)):
            value = self.step(scope, value, depth + 1)
        return scope, scope.node("Identity", [value])

    def branches(self, scope, value, depth):
        condition = self.condition(scope, value)
        graphs = [self.inner(value, depth, 0) for _ in range(2)]
        then, otherwise = (inner.graph([], [typed(found, TensorProto.FLOAT)]) for inner, found in graphs)
        return scope.node("If", [condition], then_branch=then, else_branch=otherwise)

    def loop(self, scope, value, depth):
        number, before, carried = self.name(), self.name(), self.name()
        inner, found = self.inner(carried, depth, 1)
        total = inner.node("ReduceSum", [found], keepdims=0)
        goes_on = inner.node("Less", [total, inner.constant(self.single(0, 20))])
        inputs = [typed(number, TensorProto.INT64, []), typed(before, TensorProto.BOOL, [])]
        inputs.append(typed(carried, TensorProto.FLOAT))
        body = inner.graph(inputs, [typed(goes_on, TensorProto.BOOL, []), typed(found, TensorProto.FLOAT)])
        most = scope.constant(self.random.randint(1, 4))
        return scope.node("Loop", [most, scope.constant(True), value], body=body)


def typed(name, element, shape=None):
    return helper.make_tensor_value_info(name, element, shape)


def outputs_of(model, given):
    """What ONNX Runtime finds; `None` where it refuses, or where sums may not be exact."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, {"x": given})
    except Exception:  # Its errors have no base of their own.
        return None
    return found if all(numpy.all(numpy.abs(array) < LARGEST) for array in found) else None


def check(seed, device, program, keep):
    """The verdict of one seed on one device, and what was said."""
    generator = Generator(seed)
    model = generator.model()
    numbers = numpy.random.RandomState(seed)
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        onnx.save(model, folder / "model.onnx")
        for _ in range(2):
            given = numbers.randint(-4, 5, generator.shape()).astype(numpy.float32)
            found = outputs_of(model, given)
            if found is None:
                continue
            numpy.savez(folder / "io.npz", in_x=given, out_0=found[0], out_1=found[1])
            verdict, said = seeded.compared(program, folder, device)
            if verdict == "failed" and keep:
                for name in ("model.onnx", "io.npz"):
                    (keep / f"{seed}_{device}_{name}").write_bytes((folder / name).read_bytes())
            if verdict != "ok":
                return verdict, said
            compared += 1
    return ("ok", "") if compared else ("empty", "")


def main():
    options = seeded.options(__doc__, "0:200")
    seeds, failed = options.seeds, False
    for device in options.devices:
        counts = seeded.counted(seeds, lambda seed: check(seed, device, options.warpweave, options.keep), device, WORDS)
        failed |= counts["failed"] > 0 or counts["refused"] > MOST_REFUSED * len(seeds)
        failed |= counts["empty"] > MOST_EMPTY * len(seeds)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
