"""Compares random graphs of mixed element types with ONNX Runtime.

Every seed gives one small graph of casts, comparisons, integer and floating-point arithmetic, reductions, products, pooling
and data movement, and of values that one expression reads several times (scripts/repeated_reads.py). ONNX Runtime, without
optimisations, says what its outputs are; `warpweave compare` must agree on every device of --device, or refuse the model
with a reason (exit code 3). Of a device's graphs at most a tenth may be refused.

Sums of singles are kept exact, so that their order does not matter, and what is not exact is never compared, rounded to
an integer or cast to one. Needs numpy, onnx and onnxruntime; scripts/fetch_onnxruntime.sh fetches them.

    PYTHONPATH=.onnxruntime python3 scripts/random_graphs.py [--seeds 0:200] [--device host] [--element f16] [--keep DIR]
"""

import itertools
import pathlib
import random
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import half_graphs
import seeded
from repeated_reads import Rejected, RepeatedReads

OPSET = 21
IN_KERNELS = [numpy.float32, numpy.float16, numpy.int32, numpy.int64, numpy.int8, numpy.uint8, numpy.bool_]
ON_HOST = IN_KERNELS + [numpy.float64, numpy.int16, numpy.uint16, numpy.uint32, numpy.uint64]
DEVICES = {"host": ON_HOST, "reference": ON_HOST, "emulator": IN_KERNELS, "text": IN_KERNELS,
           "machine-code": IN_KERNELS}
# Multiples of a 64th below this size, and sums of them, are singles and half-precision products of none other.
LARGEST_EXACT = 1 << 17
LARGEST_INEXACT = 1e3
MOST_REFUSED = 0.1
WORDS = {"ok": "agree", "refused": "refused", "failed": "failed", "empty": "give no graph"}


class Value:
    """A tensor of the graph: its name, its elements, and whether they are the same in every order of evaluation."""

    def __init__(self, name, array, exact):
        self.name, self.array, self.exact = name, array, exact

    @property
    def element(self):
        return self.array.dtype.type

    @property
    def is_float(self):
        return issubclass(self.element, numpy.floating)

    @property
    def is_integer(self):
        return issubclass(self.element, numpy.integer)


def run(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def model_of(nodes, inputs, constants, outputs):
    def declared(value):
        return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.array.dtype), value.array.shape)

    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "random", [declared(v) for v in inputs], [declared(v) for v in outputs], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


class Generator(RepeatedReads):
    """Grows a graph node by node; each node is run alone first, so that only what has a use stays."""

    def __init__(self, seed, elements):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.elements = elements
        self.values, self.inputs, self.nodes, self.constants = [], [], [], {}
        self.numbered = itertools.count()

    def array(self, element, shape):
        if element is numpy.bool_:
            return self.numbers.integers(0, 2, shape).astype(element)
        if issubclass(element, numpy.floating):
            return (self.numbers.integers(-12, 13, shape) / 4).astype(element)
        information = numpy.iinfo(element)
        if self.random.random() < 0.3:
            return self.numbers.integers(information.min, information.max, shape, dtype=element, endpoint=True)
        return self.numbers.integers(max(-9, information.min), 10, shape).astype(element)

    def input(self):
        rank = self.random.choice([1, 2, 2, 3, 4])
        shape = [self.random.choice([1, 2, 3, 4, 5, 17]) if rank < 4 else self.random.choice([1, 2, 5]) for _ in range(rank)]
        value = Value(f"x{len(self.inputs)}", self.array(self.random.choice(self.elements), shape), True)
        self.inputs.append(value)
        self.values.append(value)

    def constant(self, array):
        name = f"c{next(self.numbered)}"
        self.constants[name] = array
        return Value(name, array, True)

    def pick(self, holds=lambda value: True):
        found = [value for value in self.values if holds(value)]
        if not found:
            raise Rejected("no operand")
        # Newer values more often, so that chains grow.
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def like(self, value, exact=False):
        """An operand of the same type that broadcasts: an earlier value or a constant."""
        def fits(other):
            if other.element is not value.element or (exact and not other.exact):
                return False
            try:
                return numpy.broadcast_shapes(other.array.shape, value.array.shape) is not None
            except ValueError:
                return False
        if self.random.random() < 0.6:
            return self.pick(fits)
        shape = [extent if self.random.random() < 0.5 else 1 for extent in value.array.shape]
        return self.constant(self.array(value.element, shape))

    def add(self, op, operands, exact=True, **attributes):
        node = helper.make_node(op, [operand.name for operand in operands], [f"v{len(self.nodes)}"], **attributes)
        alone = [operand for operand in {operand.name: operand for operand in operands}.values()]
        given = [value for value in alone if value.name not in self.constants]
        fixed = {value.name: value.array for value in alone if value.name in self.constants}
        probe = onnx.ModelProto()
        probe.CopyFrom(model_of([node], given, fixed, []))
        probe.graph.output.append(helper.make_empty_tensor_value_info(node.output[0]))
        try:
            with numpy.errstate(all="ignore"):
                [result] = run(probe, {value.name: value.array for value in given})
        except Exception as error:
            raise Rejected(str(error)) from None
        value = Value(node.output[0], numpy.asarray(result), exact and all(operand.exact for operand in operands))
        if not self.defined(op, operands, value.array):
            raise Rejected("ONNX Runtime is known to be wrong here")
        if value.array.size == 0 or value.array.size > 4096 or value.array.ndim > 6:
            raise Rejected("its size")
        if value.is_float:
            if not numpy.isfinite(value.array).all():
                raise Rejected("not finite")
            largest = float(numpy.abs(value.array).max())
            if value.exact and value.element is numpy.float32:
                scaled = value.array.astype(numpy.float64) * 64
                value.exact = largest < LARGEST_EXACT and bool((scaled == numpy.floor(scaled)).all())
            if not value.exact and largest > LARGEST_INEXACT:
                raise Rejected("too large to be compared")
        self.nodes.append(node)
        self.values.append(value)

    @staticmethod
    def defined(op, operands, found):
        """False where ONNX Runtime contradicts NumPy in an operator that NumPy defines: wide integers in Clip and Cast."""
        arrays = [operand.array for operand in operands]
        with numpy.errstate(all="ignore"):
            if op == "Clip":
                return numpy.array_equal(found, numpy.clip(*arrays))
            if op == "Cast":
                return numpy.array_equal(found, arrays[0].astype(found.dtype))
        return True

    def summed(self, value, count):
        """Whether sums of `count` elements are exact in every order."""
        if not value.is_float:
            return True
        if value.element in (numpy.float16,) or not value.exact:
            return False
        return float(numpy.abs(value.array).max()) * count < LARGEST_EXACT

    def within(self, element, magnitudes):
        """Rejects sums, products and powers of integers that overflow, which ONNX does not define, or that doubles do not
        hold, in which ONNX Runtime computes them."""
        if issubclass(element, numpy.integer) and float(numpy.max(magnitudes)) > min(numpy.iinfo(element).max / 2, 2.0**52):
            raise Rejected("overflow")

    # One method a family of operators.

    def arithmetic(self):
        value = self.pick(lambda value: value.element is not numpy.bool_)
        op = self.random.choice(["Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "Pow"])
        other = self.like(value)
        if op in ("Div", "Mod"):
            if value.is_float and op == "Mod":
                raise Rejected("fmod is another operator")
            if (other.array == 0).any() or (value.is_integer and (other.array.astype(numpy.int64) == -1).any()):
                raise Rejected("division by zero or overflow")
            return self.add(op, [value, other], exact=value.is_integer)
        if op == "Pow":
            exponent = self.constant(numpy.array(self.random.choice([2, 3]), value.element))
            self.within(value.element, numpy.abs(value.array.astype(numpy.float64)) ** 3)
            return self.add(op, [value, exponent])
        return self.add(op, [value, other])

    def function(self):
        value = self.pick(lambda value: value.element is not numpy.bool_)
        if value.is_float and self.random.random() < 0.35:
            op = self.random.choice(["Tanh", "Sigmoid", "Exp", "Erf", "Softplus"])
            if float(numpy.abs(value.array).max()) > 6:
                raise Rejected("too large")
            return self.add(op, [value], exact=False)
        op = self.random.choice(["Neg", "Abs", "Sign", "Relu", "Floor", "Ceil", "Round", "Identity"])
        if op in ("Sign", "Floor", "Ceil", "Round") and not value.exact:
            raise Rejected("not continuous")
        return self.add(op, [value])

    def clip(self):
        value = self.pick(lambda value: value.element is not numpy.bool_)
        low, high = sorted(self.array(value.element, [2]).tolist())
        bounds = [self.constant(numpy.array(bound, value.element)) for bound in (low, high)]
        return self.add("Clip", [value, *bounds])

    def comparison(self):
        value = self.pick(lambda value: value.exact)
        ops = ["Equal"] if value.element is numpy.bool_ else ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]
        return self.add(self.random.choice(ops), [value, self.like(value, exact=True)])

    def logic(self):
        value = self.pick(lambda value: value.element is numpy.bool_)
        if self.random.random() < 0.3:
            return self.add("Not", [value])
        return self.add(self.random.choice(["And", "Or", "Xor"]), [value, self.like(value)])

    def where(self):
        condition = self.pick(lambda value: value.element is numpy.bool_)
        value = self.pick()
        return self.add("Where", [condition, value, self.like(value)])

    def cast(self):
        value = self.pick()
        to = self.random.choice(self.elements)
        if value.is_float and not issubclass(to, numpy.floating):
            if not value.exact:
                raise Rejected("not exact")
            if to is not numpy.bool_:
                information = numpy.iinfo(to)
                least, most = float(value.array.min()), float(value.array.max())
                if least <= max(information.min, -1e18) - 1 or most >= min(information.max, 1e18):
                    raise Rejected("out of range")
        return self.add("Cast", [value], to=helper.np_dtype_to_tensor_dtype(numpy.dtype(to)))

    def reduction(self):
        value = self.pick(lambda value: value.array.ndim and value.element is not numpy.bool_)
        axes = [axis for axis in range(value.array.ndim) if self.random.random() < 0.5] or [value.array.ndim - 1]
        count = int(numpy.prod([value.array.shape[axis] for axis in axes]))
        op = self.random.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd"])
        exact = op in ("ReduceMax", "ReduceMin") or self.summed(value, count)
        if op == "ReduceProd" and value.is_float and count > 3:
            raise Rejected("too long a product")
        if op == "ReduceMean" and value.is_integer:
            raise Rejected("the mean of integers is not defined the same everywhere")
        magnitudes = numpy.abs(value.array.astype(numpy.longdouble))
        if op == "ReduceProd":
            self.within(value.element, numpy.prod(numpy.maximum(magnitudes, 1), axis=tuple(axes)))
        elif op == "ReduceSum":
            self.within(value.element, numpy.sum(magnitudes, axis=tuple(axes)))
        operand = self.constant(numpy.array(axes, numpy.int64))
        return self.add(op, [value, operand], exact=exact and op != "ReduceMean", keepdims=self.random.randrange(2))

    def product(self):
        value = self.pick(lambda value: value.array.ndim >= 2)
        inner, columns = value.array.shape[-1], self.random.choice([1, 3, 4, 16])
        other = self.constant(self.array(value.element, [inner, columns]))
        if not self.summed(value, 4 * inner):
            raise Rejected("not exact")
        self.within(value.element, numpy.abs(value.array.astype(numpy.float64)) @ numpy.abs(other.array.astype(numpy.float64)))
        return self.add("MatMul", [value, other])

    def pooling(self):
        value = self.pick(lambda value: value.array.ndim == 4 and value.element is not numpy.bool_)
        taps = self.random.choice([1, 2, 3])
        pads = [self.random.randrange(taps) for _ in range(4)]
        strides = [self.random.choice([1, 2])] * 2
        if any(extent + pads[at] + pads[at + 2] < taps for at, extent in enumerate(value.array.shape[2:])):
            raise Rejected("a window does not fit")
        if self.random.random() < 0.3:
            return self.add("AveragePool", [value], exact=False, kernel_shape=[taps, taps], pads=pads, strides=strides,
                            count_include_pad=self.random.randrange(2))
        return self.add("MaxPool", [value], kernel_shape=[taps, taps], pads=pads, strides=strides)

    def convolution(self):
        value = self.pick(lambda value: value.array.ndim == 4 and value.is_float)
        channels, taps = value.array.shape[1], self.random.choice([1, 3])
        if not self.summed(value, 4 * channels * taps * taps):
            raise Rejected("not exact")
        weight = self.constant(self.array(value.element, [self.random.choice([1, 3, 8]), channels, taps, taps]))
        return self.add("Conv", [value, weight], kernel_shape=[taps, taps], pads=[taps // 2] * 4)

    def softmax(self):
        value = self.pick(lambda value: value.is_float and value.array.ndim)
        if float(numpy.abs(value.array).max()) > 20:
            raise Rejected("too large")
        return self.add("Softmax", [value], exact=False, axis=self.random.randrange(value.array.ndim))

    def movement(self):
        value = self.pick(lambda value: value.array.ndim)
        rank = value.array.ndim
        def integers(array):
            return self.constant(numpy.array(array, numpy.int64))
        op = self.random.choice(["Transpose", "Reshape", "Slice", "Concat", "Pad", "Reflect", "Unsqueeze", "Expand", "Gather"])
        if op == "Transpose":
            return self.add(op, [value], perm=self.random.sample(range(rank), rank))
        if op == "Reshape":
            return self.add(op, [value, integers(self.random.choice([[-1], [1, -1], [value.array.size, 1]]))])
        if op == "Slice":
            axis = self.random.randrange(rank)
            start = self.random.randrange(value.array.shape[axis])
            step = self.random.choice([1, 1, 2, -1])
            end = value.array.shape[axis] if step > 0 else -1 << 40
            return self.add(op, [value, integers([start]), integers([end]), integers([axis]), integers([step])])
        if op == "Concat":
            axis = self.random.randrange(rank)
            return self.add(op, [value, self.constant(self.array(value.element, value.array.shape))], axis=axis)
        if op == "Pad":
            pads = [self.random.choice([0, 1, 2]) for _ in range(2 * rank)]
            return self.add(op, [value, integers(pads), self.constant(self.array(value.element, []))])
        if op == "Reflect":
            pads = [self.random.randrange(extent) for extent in value.array.shape] * 2
            return self.add("Pad", [value, integers(pads)], mode="reflect")
        if op == "Unsqueeze":
            return self.add(op, [value, integers([self.random.randrange(rank + 1)])])
        if op == "Expand":
            return self.add(op, [value, integers([self.random.choice([2, 3]), *value.array.shape])])
        axis = self.random.randrange(rank)
        extent = value.array.shape[axis]
        return self.add(op, [value, integers([self.random.randrange(-extent, extent) for _ in range(3)])], axis=axis)

    def place(self):
        value = self.pick(lambda value: value.array.ndim and value.exact and value.element is not numpy.bool_)
        axis = self.random.randrange(value.array.ndim)
        if self.random.random() < 0.3 and value.element in (numpy.int32, numpy.int64, numpy.float32):
            if not self.summed(value, value.array.shape[axis]):
                raise Rejected("not exact")
            self.within(value.element, numpy.sum(numpy.abs(value.array.astype(numpy.longdouble)), axis=axis))
            operand = self.constant(numpy.array(axis, numpy.int64))
            flags = {name: self.random.randrange(2) for name in ("exclusive", "reverse")}
            return self.add("CumSum", [value, operand], **flags)
        return self.add(self.random.choice(["ArgMax", "ArgMin"]), [value], axis=axis, keepdims=self.random.randrange(2),
                        select_last_index=self.random.randrange(2))

    def quantisation(self):
        if self.random.random() < 0.5:
            value = self.pick(lambda value: value.element in (numpy.int8, numpy.uint8))
            scale = self.constant(numpy.array(self.random.choice([0.25, 0.5, 1, 2]), numpy.float32))
            return self.add("DequantizeLinear", [value, scale, self.constant(self.array(value.element, []))])
        value = self.pick(lambda value: value.element is numpy.float32 and value.exact)
        scale = self.constant(numpy.array(self.random.choice([0.25, 0.5, 1, 2]), numpy.float32))
        zero = self.constant(self.array(self.random.choice([numpy.int8, numpy.uint8]), []))
        return self.add("QuantizeLinear", [value, scale, zero])

    def integer_product(self):
        value = self.pick(lambda value: value.array.ndim >= 2 and value.element in (numpy.int8, numpy.uint8))
        inner, columns = value.array.shape[-1], self.random.choice([1, 3, 16])
        other = self.constant(self.array(self.random.choice([numpy.int8, numpy.uint8]), [inner, columns]))
        zeros = [self.constant(self.array(operand.element, [])) for operand in (value, other)]
        return self.add("MatMulInteger", [value, other, *zeros])

    def quantised_product(self):
        """A product of dequantised bytes, as quantised models have them."""
        value = self.pick(lambda value: value.array.ndim >= 2 and value.element in (numpy.int8, numpy.uint8))
        is_convolution = value.array.ndim == 4 and self.random.random() < 0.7
        channels, columns = value.array.shape[1 if is_convolution else -1], self.random.choice([1, 3, 16])
        taps = [self.random.choice([1, 3])] * 2 if is_convolution else []
        weight = self.constant(self.array(self.random.choice([numpy.int8, numpy.uint8]),
                                          [columns, channels, *taps] if is_convolution else [channels, columns]))

        def dequantised(operand, shape, **attributes):
            scale = self.constant((2.0 ** self.numbers.integers(-2, 2, shape)).astype(numpy.float32))
            zero = self.constant(self.array(operand.element, shape))
            self.add("DequantizeLinear", [operand, scale, zero], **attributes)
            return self.values[-1]

        if channels * int(numpy.prod(taps)) > 256:
            raise Rejected("not exact")
        shape = [columns] if self.random.random() < 0.7 else []
        factors = [dequantised(value, []), dequantised(weight, shape, axis=0 if is_convolution else 1)]
        if is_convolution:
            return self.add("Conv", factors, kernel_shape=taps, pads=[self.random.randrange(2)] * 4)
        return self.add("MatMul", factors)

    def grow(self):
        for _ in range(self.random.choice([1, 2, 3])):
            self.input()
        families = [self.arithmetic] * 4 + [self.function] * 2 + [self.cast] * 4 + [self.comparison] * 2
        families += [self.reduction] * 3 + [self.product] * 2 + [self.pooling] * 2 + [self.movement] * 3
        families += [self.clip, self.logic, self.where, self.convolution, self.softmax]
        families += [self.place, self.quantisation, self.integer_product, self.quantised_product]
        families += [self.rereading] * 2 + [self.repeated_squares, self.where_chain]
        families += [self.centring_chain, self.normalisation_chain]
        wanted = self.random.randrange(6, 22)
        for _ in range(12 * wanted):
            if len(self.nodes) >= wanted:
                break
            known = dict(self.constants)
            try:
                self.random.choice(families)()
            except Rejected:
                read = {name for node in self.nodes for name in node.input}
                self.constants = {name: array for name, array in self.constants.items() if name in known or name in read}
        read = {name for node in self.nodes for name in node.input}
        leaves = [value for value in self.values if value.name not in read and value not in self.inputs]
        inner = [value for value in self.values if value.name in read and value not in self.inputs]
        outputs = leaves + self.random.sample(inner, min(len(inner), self.random.choice([0, 0, 1, 2])))
        return model_of(self.nodes, self.inputs, self.constants, outputs) if outputs else None


def write(seed, elements, folder):
    """Writes a seed's model and the arrays that it takes and gives; the relative error that passes. `None` if the seed gives
    no graph, or one of which ONNX Runtime computes another value node by node."""
    generator = Generator(seed, elements)
    model = generator.grow()
    if model is None:
        return None
    onnx.checker.check_model(model)
    given = {value.name: value.array for value in generator.inputs}
    found = run(model, given)
    alone = {value.name: value.array for value in generator.values}
    if not all(numpy.array_equal(array, alone[output.name]) for array, output in zip(found, model.graph.output)):
        # A run of the whole graph computes runs of half-precision nodes in singles.
        return None
    arrays = {f"in_{name}": array for name, array in given.items()}
    arrays.update({f"out_{at}": array for at, array in enumerate(found)})
    onnx.save(model, folder / "model.onnx")
    numpy.savez(folder / "io.npz", **arrays)
    # Half-precision numbers that are not exact differ by units in the last place, which later nodes add up.
    is_coarse = any(value.element is numpy.float16 and not value.exact for value in generator.values)
    return 4e-3 if is_coarse else 1e-3


def check(seed, device, program, keep):
    """The verdict of one seed on one device: `ok`, `refused`, `failed` or `empty`, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tolerance = write(seed, DEVICES[device], folder)
        if tolerance is None:
            return "empty", ""
        verdict, said = seeded.compared(program, folder, device, ["--atol", "1e-3", "--rtol", str(tolerance)])
        if verdict == "failed" and keep:
            for name in ("model.onnx", "io.npz"):
                target = keep / f"{seed}_{device}_{name}"
                target.write_bytes((folder / name).read_bytes())
        return verdict, said


def element_option(parser):
    parser.add_argument("--element", choices=["f16", "bf16"], help="graphs whose floating point has this type (half_graphs.py)")


def main():
    options = seeded.options(__doc__, "0:200", element_option)
    seeds, failed = options.seeds, False
    for device in options.devices:
        def checked(seed):
            if options.element:
                return half_graphs.check(seed, device, options.element, options.warpweave, options.keep)
            return check(seed, device, options.warpweave, options.keep)

        counts = seeded.counted(seeds, checked, f"{device} in {options.element}" if options.element else device, WORDS)
        graphs = len(seeds) - counts["empty"]
        failed |= counts["failed"] > 0 or counts["refused"] > MOST_REFUSED * graphs or counts["ok"] < 0.8 * len(seeds)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
