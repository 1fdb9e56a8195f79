"""Cases from NNSmith's graphs: inputs and weights that keep every value finite, if there are such, and outputs that are
determined."""

import random

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import nnsmith_onnx

IN_KERNELS = [numpy.float32, numpy.int32, numpy.int64, numpy.int8, numpy.uint8, numpy.bool_]
ON_HOST = IN_KERNELS + [numpy.float64, numpy.float16, numpy.int16]
DEVICES = {"host": ON_HOST, "reference": ON_HOST, "emulator": IN_KERNELS, "text": IN_KERNELS}
# Operators of which every implementation gives the same bits.
EXACT = {"Abs", "And", "ArgMax", "ArgMin", "Cast", "Ceil", "Clip", "Concat", "Equal", "Expand", "Floor", "Greater", "Less", "Max",
         "MaxPool", "Min", "Neg", "Or", "Pad", "ReduceMax", "ReduceMin", "Relu", "Reshape", "Round", "Slice", "Squeeze",
         "Transpose", "Trilu", "Where", "Xor"}
# What an inexact operator may err by, relatively; how often such errors are drawn of every graph, and of one that differs; and
# what then passes of outputs.
ERRORS = {"float16": 2.0**-10, "float32": 2.0**-21, "float64": 2.0**-48}
SHAKES, SHAKES_OF_FAILED = 2, 32
TOLERANCE, HALF_TOLERANCE = 1e-3, 2e-2
LARGEST = {"float16": 1e3, "float32": 1e6, "float64": 1e6}
DRAWS = 12
# Whose results ONNX leaves open where an operand is not a number.
UNDEFINED_OF_NAN = {"ArgMax", "ArgMin", "MaxPool", "ReduceMax", "ReduceMin", "Resize"}
# Bounds of what integers come to on the way, from the sizes of operands, and what they come to.
MAGNITUDES = {
    "Add": numpy.add,
    "Sub": numpy.add,
    "Mul": numpy.multiply,
    "MatMul": numpy.matmul,
    "ReduceSum": lambda sizes, axis: numpy.sum(sizes, int(axis[0])),
    "ReduceProd": lambda sizes, axis: numpy.prod(numpy.maximum(sizes, 1), int(axis[0])),
}
WIDE = {"Cast": numpy.trunc, "Neg": numpy.negative, "Sub": numpy.subtract}


def run(model, inputs, optimised=False):
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def is_finite(array):
    return bool(numpy.isfinite(array).all())


class Drawer:
    """Values of inputs and weights. Later draws lie farther from zero and from what overflows."""

    def __init__(self, seed, draw):
        self.numbers, self.draw = numpy.random.default_rng([seed, draw]), draw

    def __call__(self, element, shape):
        if element is numpy.bool_:
            return self.numbers.integers(0, 2, shape).astype(element)
        if issubclass(element, numpy.integer):
            least = 1 if self.draw % 2 else max(-8, numpy.iinfo(element).min)
            return self.numbers.integers(least, 4 if self.draw > 3 else 9, shape).astype(element)
        low, high = [(-1, 1), (-2, 2), (0, 1), (0.1, 0.9), (1, 2), (-0.5, 0.9)][self.draw % 6]
        return self.numbers.uniform(low, high, shape).astype(element)


def watched(model):
    """The model with every value as an output."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for node in model.graph.node for name in node.output)
    return copy


def shaken(model, values, seed):
    """The model with errors of a few units in the last place at every operand and result of every inexact operator."""
    numbers = numpy.random.default_rng(seed)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[:]

    def error(source, target):
        array = values[source]
        # Numbers below the normal ones have units that are a large part of them, and may be flushed to zero.
        unit = 2.0 * float(numpy.finfo(array.dtype).smallest_subnormal)
        sizes = numpy.abs(array.astype(numpy.float64))
        relative = numpy.where(sizes > 0, numpy.clip(unit / numpy.maximum(sizes, unit), ERRORS[array.dtype.name], 1.0), 0.0)
        noise = 1 + relative * numbers.choice([-1, 1], array.shape)
        copy.graph.initializer.append(numpy_helper.from_array(numpy.asarray(noise, array.dtype), f"{target}_noise"))
        return f"{target}_noise"

    for at, node in enumerate(model.graph.node):
        new = onnx.NodeProto()
        new.CopyFrom(node)
        if node.op_type in EXACT:
            copy.graph.node.append(new)
            continue
        for slot, name in enumerate(node.input):
            is_data = node.op_type != "Resize" or slot == 0
            if is_data and name in values and values[name].dtype.name in ERRORS:
                new.input[slot] = f"n{at}_{slot}"
                copy.graph.node.append(helper.make_node("Mul", [name, error(name, new.input[slot])], [new.input[slot]]))
        [result] = node.output
        if values[result].dtype.name in ERRORS:
            new.output[0] = f"n{at}_result"
            copy.graph.node.extend([new, helper.make_node("Mul", [new.output[0], error(result, new.output[0])], [result])])
        else:
            copy.graph.node.append(new)
    return copy


def computed(model, inputs):
    """Every value of a model by name: what its operators give, its inputs and its weights."""
    every = watched(model)
    names = [value.name for value in every.graph.output]
    values = dict(zip(names, map(numpy.asarray, run(every, inputs))))
    return values | inputs | {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def is_determined(model, inputs, values, tolerance, seeds):
    """Whether a model's outputs stay within a quarter of the tolerance whatever its inexact operators err by, by these draws."""
    found = run(model, inputs)
    others = [run(shaken(model, values, seed), inputs) for seed in seeds]
    try:
        others.append(run(model, inputs, optimised=True))
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        pass  # Its optimiser refuses doubles where it expects singles; the plain run still says what is right.
    near = lambda wanted, array: numpy.allclose(wanted, array, tolerance / 4, tolerance / 4, equal_nan=True)
    return all(near(wanted, array) for other in others for wanted, array in zip(found, other))


def is_written_determined(seed, folder):
    """The same of a case that was written and that differs, by many more draws."""
    model = onnx.load(folder / "model.onnx")
    stored = numpy.load(folder / "io.npz")
    inputs = {name.removeprefix("in_"): stored[name] for name in stored.files if name.startswith("in_")}
    seeds = [[seed, SHAKES + at] for at in range(SHAKES_OF_FAILED)]
    with numpy.errstate(all="ignore"):
        return is_determined(model, inputs, computed(model, inputs), float((folder / "tolerance.txt").read_text()), seeds)


class Generator:
    """The cases of a device, whose kernels have its element types."""

    def __init__(self, device):
        self.elements = nnsmith_onnx.elements_of(DEVICES[device])
        self.kinds = nnsmith_onnx.operators(self.elements, self.runs)

    @staticmethod
    def runs(ir):
        """Whether ONNX Runtime has a kernel for the operators of a graph."""
        drawer = Drawer(0, 4)
        printer = nnsmith_onnx.Printer(ir, drawer)
        try:
            run(printer.model(), {name: drawer(tensor.dtype.numpy(), tensor.shape) for name, tensor in printer.inputs.items()})
        except Exception as error:  # ONNX Runtime's errors have no common type.
            if "NOT_IMPLEMENTED" not in str(error) and "INVALID_GRAPH" not in str(error):
                raise
            return False
        return True

    def write(self, seed, folder):
        """Writes a seed's model, arrays and tolerance. Why there is none, if so."""
        nodes = random.Random(seed).randrange(5, 31)
        ir = nnsmith_onnx.generated(seed, self.kinds, self.elements, nodes)
        # A graph that is finite for no draw may still be defined for the first one.
        for attempt, draw in enumerate((*range(DRAWS), 0)):
            drawer = Drawer(seed, draw)
            printer = nnsmith_onnx.Printer(ir, drawer)
            model = printer.model()
            inputs = {name: drawer(tensor.dtype.numpy(), tensor.shape) for name, tensor in printer.inputs.items()}
            with numpy.errstate(all="ignore"):
                values = computed(model, inputs)
                if self.defined(model, values, may_be_infinite=attempt == DRAWS):
                    break
        else:
            return "not defined"
        onnx.checker.check_model(model, full_check=True)
        halves = any(array.dtype == numpy.float16 for array in values.values())
        tolerance = HALF_TOLERANCE if halves else TOLERANCE
        if not is_determined(model, inputs, values, tolerance, [[seed, at] for at in range(SHAKES)]):
            return "not determined"
        found = run(model, inputs)
        onnx.save(model, folder / "model.onnx")
        arrays = {f"in_{name}": array for name, array in inputs.items()}
        numpy.savez(folder / "io.npz", **arrays, **{f"out_{at}": array for at, array in enumerate(found)})
        (folder / "tolerance.txt").write_text(f"{tolerance}")
        return None

    @staticmethod
    def defined(model, values, may_be_infinite):
        """Whether no integer overflows, and every floating-point value is finite or, where that is allowed, read only by
        operators for which ONNX defines it."""
        for node in model.graph.node:
            [result] = (values[name] for name in node.output)
            operands = [values[name].astype(numpy.float64) for name in node.input if name in values]
            if not (may_be_infinite and node.op_type not in UNDEFINED_OF_NAN) and not all(map(is_finite, (*operands, result))):
                return False
            if result.dtype.name in LARGEST:
                most = LARGEST[result.dtype.name]
                if any(numpy.abs(array[numpy.isfinite(array)]).max(initial=0) > most for array in (*operands[:2], result)):
                    return False
            elif result.dtype.kind in "iu":
                limits = numpy.iinfo(result.dtype)
                most = min(limits.max, 2.0**52)
                sizes = [numpy.abs(array) for array in operands]
                if node.op_type in MAGNITUDES and numpy.max(MAGNITUDES[node.op_type](*sizes), initial=0) > most:
                    return False
                ranged = node.op_type in ("Cast", "Neg", "Sub")
                if ranged and not (numpy.min(WIDE[node.op_type](*operands), initial=0) >= max(limits.min, -(2.0**52))
                                   and numpy.max(WIDE[node.op_type](*operands), initial=0) <= most):
                    return False
        return True
