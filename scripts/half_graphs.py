"""Random graphs whose floating point is stored in FP16 or BF16, as `random_graphs.py --element f16` compares them.

A graph is evaluated node by node by ONNX Runtime in singles, several times: rounded to nearest after every node, not rounded,
and rounded up or down at random. The first of these is what is expected. The spread of an element is how far the others are
from it. An element may differ by the sum of BAR times its spread, SHARE times the largest spread of its tensor, and a unit in
the last place. Where no evaluation differs, all bits must be equal. A graph that differs by more is evaluated MOST_DRAWN times
before it counts. A value in which rounding grows beyond MOST_SPREAD is left out.
"""

import itertools
import pathlib
import random
import subprocess
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from half_families import HalfFamilies, Rejected
from halves import HALVES

OPSET = 23
# Evaluations that round up or down at random, in pairs of which one rounds up where the other rounds down; and those of a graph
# that seems wrong.
DRAWN, MOST_DRAWN = 4, 64
# Normalisations, whose definition rounds once more before the scale and the bias, their last operands.
NORMALISATIONS = ("LayerNormalization", "RMSNormalization", "GroupNormalization", "InstanceNormalization", "BatchNormalization")
# Multiples of what the evaluations differ by that an element, and that any element of its tensor, may differ by.
BAR, SHARE = 2.0, 0.1
# The largest difference of evaluations over a tensor's largest value, in units in the last place.
MOST_SPREAD = 25
# What a sum of singles may be off by, over its tensor's largest value: sums are added in other orders.
SINGLE_NOISE = 2.0**-20
MOST_ELEMENTS = 12000
ARRAYS = {"bool": numpy.bool_, "int": numpy.int64, "byte": numpy.int8, "half": numpy.float32, "single": numpy.float32}


class Value:
    """A tensor: its name, its kind (`half`, `single`, `int` or `bool`), and its elements in each evaluation. It is exact if
    its elements are small multiples of a 64th, so that sums do not depend on their order."""

    def __init__(self, name, kind, arrays):
        self.name, self.kind, self.arrays = name, kind, arrays
        self.exact = True
        if self.is_float:
            scaled = arrays[0].astype(numpy.float64) * 64
            same = all(numpy.array_equal(array, arrays[0]) for array in self.usual)
            self.exact = same and bool((numpy.abs(scaled) < 1 << 17).all() and (scaled == numpy.floor(scaled)).all())

    @property
    def array(self):
        return self.arrays[0]

    @property
    def usual(self):
        """The evaluations that every graph has: what a graph consists of follows from them alone."""
        return self.arrays[: 2 + DRAWN]

    @property
    def shape(self):
        return self.arrays[0].shape

    @property
    def rank(self):
        return self.arrays[0].ndim

    @property
    def is_float(self):
        return self.kind in ("half", "single")

    @property
    def largest(self):
        finite = numpy.abs(self.array[numpy.isfinite(self.array)])
        return float(finite.max(initial=0))

    def spread(self, arrays):
        """The largest difference of some evaluations from the first, for each element."""
        with numpy.errstate(invalid="ignore"):
            apart = [numpy.where(array == self.array, 0, numpy.abs(array.astype(numpy.float64) - self.array))
                     for array in arrays]
        return numpy.max(apart, axis=0)


class Generator(HalfFamilies):
    """Grows a graph node by node; each node is run alone, so that only what has a use stays."""

    def __init__(self, seed, half, drawn=DRAWN):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        # What rounds at random, for each pair of evaluations.
        self.ways = [numpy.random.default_rng([seed, pair]) for pair in range(drawn // 2)]
        self.half = half
        self.values, self.inputs, self.nodes, self.constants = [], [], [], {}
        # Names of results of convolutions without a normalisation behind them.
        self.convolved = set()
        self.numbered = itertools.count()

    @property
    def evaluations(self):
        return 2 + 2 * len(self.ways)

    def onnx_type(self, kind):
        return self.half.onnx_type if kind == "half" else helper.np_dtype_to_tensor_dtype(numpy.dtype(ARRAYS[kind]))

    def same(self, name, kind, array):
        return Value(name, kind, [numpy.ascontiguousarray(array, ARRAYS[kind])] * self.evaluations)

    def constant(self, array, kind="half"):
        array = self.half.nearest(array) if kind == "half" else numpy.asarray(array)
        value = self.same(f"c{next(self.numbered)}", kind, array)
        self.constants[value.name] = value
        return value

    def input(self, shape, kind="half", scale=1.0):
        array = self.half.nearest(self.drawn(shape, scale)) if kind == "half" else self.numbers.integers(0, 2, shape)
        value = self.same(f"x{len(self.inputs)}", kind, array)
        self.inputs.append(value)
        self.values.append(value)
        return value

    def add(self, op, operands, kind="half", outputs=1, infinite=False, **attributes):
        """Adds a node and gives its value, or its values if there are several."""
        given = [operand for operand in operands if operand is not None]
        names = ["" if operand is None else operand.name for operand in operands]
        results = [f"v{next(self.numbered)}" for _ in range(outputs)]
        session = self.alone(op, names, results, {value.name: value for value in given}.values(), attributes)
        found = []
        for at in range(self.evaluations):
            try:
                arrays = session.run(None, {value.name: value.arrays[at] for value in given})
            except Exception as error:
                raise Rejected(str(error)) from None
            found.append(arrays)
        noise = self.noise(op, given)
        values = [Value(name, kind, self.stored(arrays, kind, noise)) for name, arrays in zip(results, zip(*found))]
        for value in values:
            self.fits(value, infinite)
        self.nodes.append(helper.make_node(op, names, results, **attributes))
        self.values.extend(values)
        return values[0] if outputs == 1 else values

    def as_one(self, op, operands, parts, **attributes):
        """Adds one node for what `parts` adds, whose results may be rounded or not; gives its value."""
        nodes, values = len(self.nodes), len(self.values)
        result = parts()
        self.nodes[nodes:] = [helper.make_node(op, [operand.name for operand in operands], [result.name], **attributes)]
        self.values[values:] = [result]
        return result

    def rounded_again(self, constant):
        """A constant that evaluations but the first take as off by half a unit in the last place."""
        for at in range(2, len(constant.arrays)):
            off = self.ways[at // 2 - 1].uniform(-0.5, 0.5, constant.shape) * self.half.epsilon
            constant.arrays[at] = (constant.array * (1 + off)).astype(numpy.float32)
        return constant

    def alone(self, op, names, results, given, attributes):
        """A session of the node in singles."""
        inputs = [helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.array.dtype), value.shape)
                  for value in given]
        if attributes.get("to") == self.half.onnx_type:
            attributes = {**attributes, "to": TensorProto.FLOAT}
        graph = helper.make_graph([helper.make_node(op, names, results, **attributes)], "alone", inputs,
                                  [helper.make_empty_tensor_value_info(name) for name in results])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        try:
            return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Rejected(str(error)) from None

    def noise(self, op, given):
        """What a node may be off by before its result is stored: over its largest element, over each element, and absolutely."""
        if op in NORMALISATIONS:
            return SINGLE_NOISE, self.half.epsilon, self.half.epsilon * sum(value.largest for value in given[2:4])
        if op in ("LSTM", "GRU", "RNN"):
            return SINGLE_NOISE, 0.0, self.half.epsilon * (2 + given[0].shape[0])
        return 0.0 if all(value.exact for value in given) else SINGLE_NOISE, 0.0, 0.0

    def stored(self, arrays, kind, noise):
        """What a node's result is stored as in each evaluation. Of two drawn ones each is off the other way."""
        arrays = [numpy.asarray(array) for array in arrays]
        if kind not in ("half", "single"):
            return arrays
        drawn = []
        for numbers, array in zip(self.ways, arrays[2::2]):
            drawn += [numbers.uniform(-1, 1, array.shape), numbers.random(array.shape) < 0.5]
        moved = [self.moved(array, noise, (-1) ** at * drawn[at // 2 * 2]) for at, array in enumerate(arrays[2:])]
        if kind == "single":
            return arrays[:2] + moved
        rounded = [self.half.either(array, drawn[at // 2 * 2 + 1] ^ (at % 2 == 1)) for at, array in enumerate(moved)]
        return [self.half.nearest(arrays[0]), arrays[1], *rounded]

    def moved(self, array, noise, ways):
        """Elements off by as much as `noise` allows. What only moves elements, or has few digits, stays as it is."""
        of_largest, of_each, absolute = noise
        most = of_largest * numpy.abs(array[numpy.isfinite(array)]).max(initial=0) + absolute
        with numpy.errstate(invalid="ignore"):
            moved = numpy.where(self.half.nearest(array) == array, array, array + (most + of_each * numpy.abs(array)) * ways)
        return moved.astype(numpy.float32)

    def fits(self, value, infinite):
        if not 0 < value.array.size <= MOST_ELEMENTS or value.rank > 6:
            raise Rejected("its size")
        if not value.is_float:
            if any(not numpy.array_equal(array, value.array) for array in value.usual):
                raise Rejected("rounding decides")
            return
        if any(numpy.isnan(array).any() for array in value.usual) or not infinite and any(
            not numpy.isfinite(array).all() for array in value.usual
        ):
            raise Rejected("not finite")
        if value.largest > self.half.largest:
            raise Rejected("too large")
        if float(value.spread(value.usual[1:]).max()) > MOST_SPREAD * self.half.epsilon * value.largest:
            raise Rejected("rounding decides")

    def grow(self):
        """The outputs of the graph, if it has any."""
        self.start()
        families, wanted = self.families(), self.random.randrange(4, 18)
        for _ in range(8 * wanted):
            if len(self.nodes) >= wanted:
                break
            try:
                self.random.choice(families)()
            except Rejected:
                pass
        read = {name for node in self.nodes for name in node.input}
        results = [value for value in self.values if value not in self.inputs and numpy.isfinite(value.array).all()]
        leaves = [value for value in results if value.name not in read]
        inner = [value for value in results if value.name in read]
        return leaves + self.random.sample(inner, min(len(inner), self.random.choice([0, 0, 1, 2])))

    def model(self, outputs):
        def declared(value):
            return helper.make_tensor_value_info(value.name, self.onnx_type(value.kind), value.shape)

        read = {name for node in self.nodes for name in node.input}
        constants = [self.half.tensor(name, value.array) if value.kind == "half" else numpy_helper.from_array(value.array, name)
                     for name, value in self.constants.items() if name in read]
        graph = helper.make_graph(self.nodes, "halves", [declared(v) for v in self.inputs], [declared(v) for v in outputs], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def bars(half, value):
    """How far each element of an output may be from what is expected."""
    spread = value.spread(value.arrays[1:])
    if not value.is_float:
        return numpy.where(spread > 0, numpy.inf, 0.0)
    allowed = BAR * spread + SHARE * spread.max()
    if value.kind == "single":
        return allowed + 1e-5 * numpy.abs(value.array) + 1e-6 * value.largest
    return allowed + half.step(value.array) * (allowed > 0)


def judged(half, outputs, folder):
    """What is wrong with the arrays that a run has left, and the largest error as a share of what is allowed."""
    most = 0.0
    for at, value in enumerate(outputs):
        found = numpy.load(folder / f"out_{at}.npy")
        expected = half.stored(value.array) if value.kind == "half" else value.array
        if found.shape != value.shape or found.dtype != expected.dtype:
            return f"{value.name} is {found.dtype}{list(found.shape)} instead of {expected.dtype}{list(value.shape)}", most
        with numpy.errstate(invalid="ignore"):
            error = numpy.abs(found.astype(numpy.float64) - value.array.astype(numpy.float64))
        error = numpy.where(numpy.isfinite(error), error, numpy.inf)
        allowed = bars(half, value)
        share = numpy.divide(error, allowed, out=numpy.where(error > 0, numpy.inf, 0.0), where=allowed > 0)
        if share.max() > 1:
            worst = numpy.unravel_index(share.argmax(), share.shape)
            place = [int(index) for index in worst]
            return (f"{value.name} {list(value.shape)}, {int((share > 1).sum())} elements differ, worst at {place}: "
                    f"{found[worst]} instead of {value.array[worst]}, {allowed[worst]:.3g} is allowed"), most
        most = max(most, float(share.max()))
    return "", most


def write(seed, half, folder):
    """Writes a seed's model, its inputs for `run`, and both with what is expected for `compare`; gives its outputs."""
    generator = Generator(seed, half)
    outputs = generator.grow()
    if not outputs:
        return None
    model = generator.model(outputs)
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")
    given = {value.name: half.stored(value.array) if value.kind == "half" else value.array for value in generator.inputs}
    numpy.savez(folder / "in.npz", **given)
    stored = {f"out_{at}": half.stored(value.array) if value.kind == "half" else value.array for at, value in enumerate(outputs)}
    numpy.savez(folder / "io.npz", **{f"in_{name}": array for name, array in given.items()}, **stored)
    return outputs


def check(seed, device, element, program, keep):
    """The verdict of one seed on one device: `ok`, `refused`, `failed` or `empty`, and what was said."""
    half = HALVES[element]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        outputs = write(seed, half, folder)
        if outputs is None:
            return "empty", ""
        command = [program, "run", str(folder / "model.onnx"), "--device", device, "--input", str(folder / "in.npz"), "--output",
                   str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            said = " ".join((done.stdout + done.stderr).split())
            if done.returncode == 3 and "error" in said:
                return "refused", said
            said = f"exit code {done.returncode}: {said}" if done.returncode else judged(half, outputs, folder)[0]
            if said and done.returncode == 0:
                said = judged(half, Generator(seed, half, MOST_DRAWN).grow(), folder)[0]
        except subprocess.TimeoutExpired:
            said = "no result after 120 s"
        if said and keep:
            for name in ("model.onnx", "io.npz"):
                target = keep / f"{element}_{seed}_{device}_{name}"
                target.write_bytes((folder / name).read_bytes())
        return ("failed" if said else "ok"), said
