"""Takes training steps of random models, and compares gradients with differences and devices with one another.

Every seed gives one small model of layers with weights: products, convolutions, normalisations, recurrent cells, attention,
pooling and data movement. One step of gradient descent with a rate of 1 on the reference shows the gradients. ONNX Runtime
computes the loss on both sides of the weights along three directions. Its slopes must be those of the gradients. A kink near by
moves a slope, so a model whose slope is another is tried with other weights and inputs before it counts as wrong. Three steps of a
random optimizer must then give the same weights on every device of --device as on the reference.

Of the seeds, at most a tenth may be refused, or diverge so that rounding decides. Needs numpy, onnx and onnxruntime; scripts/fetch_onnxruntime.sh fetches them.

    PYTHONPATH=.onnxruntime python3 scripts/random_training.py [--seeds 0:100] [--device host] [--keep DIR]
"""

import dataclasses
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import seeded

OPSET = 17
BATCH = 3
# Slopes differ by at most this share of the larger, and of the sum of all addends' sizes.
CLOSE_SLOPE, SLOPE_NOISE = 0.02, 2e-3
# How far along a direction of unit elements. Rounding hides shorter ones.
DISTANCES = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
# Weights and inputs with which a model is tried before its gradients count as wrong.
ATTEMPTS = 3
# Tensors of two devices differ by at most this share of their largest element, or of a twentieth where all are smaller.
CLOSE, SMALL = 2e-3, 0.05
# Adam scales gradients up to a whole step. Those below this share of the model's largest are rounding noise. A weight that has no
# others, such as a bias before a normalisation, is not trained: what comes behind it would follow the noise.
NOISY = 1e-3
# A weight that grows by more than this factor in three steps diverges, and rounding with it.
DIVERGES = 10.0
# Of the seeds, those that are not compared.
MOST_LOST = 0.1
WORDS = {"ok": "agree", "refused": "refused", "diverged": "diverge", "failed": "failed"}
ACTIVATIONS = ["Relu", "Sigmoid", "Tanh", "Softplus", "Elu", "LeakyRelu", "HardSwish", "Gelu", "Identity", "Softsign", "Selu"]
OPTIMIZERS = ["sgd,lr=0.02", "sgd,lr=0.01,momentum=0.9", "sgd,lr=0.01,momentum=0.9,nesterov=true,weight-decay=0.01", "adam,lr=0.01",
              "adamw,lr=0.01,weight-decay=0.1"]
ELEMENTS = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.int64): TensorProto.INT64}


class Builder:
    """Grows a model layer by layer; attempts of one seed differ in their numbers only."""

    def __init__(self, seed, attempt):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng([seed, attempt])
        self.nodes, self.weights, self.statistics, self.inputs = [], {}, {}, {}

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, *shape, scale=None, around=0.0):
        name = f"w{len(self.weights)}"
        fan = max(1, int(numpy.prod(shape[1:])))
        scale = scale or 1.0 / numpy.sqrt(fan)
        self.weights[name] = (around + scale * self.numbers.standard_normal(shape)).astype(numpy.float32)
        return name

    def statistic(self, array):
        name = f"s{len(self.statistics)}"
        self.statistics[name] = array
        return name

    def constant(self, values, element=numpy.int64):
        array = numpy.asarray(values, dtype=element)
        name = f"t{len(self.nodes)}_0"
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name)))
        return name

    def input(self, name, array):
        self.inputs[name] = array
        return name

    def activation(self, value):
        op = self.random.choice(ACTIVATIONS)
        if op == "Gelu":
            scaled = self.node("Erf", [self.node("Mul", [value, self.constant(0.70710678, numpy.float32)])])
            return self.node("Mul", [value, self.node("Add", [scaled, self.constant(1.0, numpy.float32)])])
        return self.node(op, [value])

    # Values of [BATCH, length].

    def dense(self, value, shape):
        out = self.random.choice([1, 3, 8, 17, 32])
        if self.random.random() < 0.5:
            weight = self.weight(out, shape[1])
            return self.node("Gemm", [value, weight, self.weight(out)], transB=1), (BATCH, out)
        product = self.node("MatMul", [value, self.weight(shape[1], out, scale=shape[1] ** -0.5)])
        return self.node("Add", [product, self.weight(out)]), (BATCH, out)

    def normalised(self, value, shape):
        length = shape[-1]
        if length < 3:
            return value, shape
        if self.random.random() < 0.5:
            return self.node("LayerNormalization", [value, self.weight(length, around=1.0, scale=0.2), self.weight(length)]), shape
        return self.node("Softmax", [value], axis=-1), shape

    def residual(self, value, shape):
        length = shape[-1]
        inner = self.activation(self.node("MatMul", [value, self.weight(length, 2 * length, scale=length**-0.5)]))
        back = self.node("MatMul", [inner, self.weight(2 * length, length, scale=(2 * length) ** -0.5)])
        return self.node("Add", [value, back]), shape

    def pieces(self, value, shape):
        length = shape[-1]
        if length < 4:
            return value, shape
        axis = len(shape) - 1
        cut = self.random.randrange(1, length)
        first, second = self.node("Split", [value, self.constant([cut, length - cut])], outputs=2, axis=axis)
        first = self.activation(first)
        parts = self.random.choice([[second, first], [first, second, first], [second]])
        total = {first: cut, second: length - cut}
        joined = self.node("Concat", parts, axis=axis) if len(parts) > 1 else parts[0]
        return joined, (*shape[:-1], sum(total[part] for part in parts))

    def embedded(self, value, shape):
        rows, width = self.random.choice([5, 11]), self.random.choice([4, 9])
        table = self.weight(rows, width, scale=0.5)
        name = f"ids{len(self.inputs)}"
        ids = self.input(name, self.numbers.integers(0, rows, (BATCH, 2)).astype(numpy.int64))
        found = self.node("Gather", [table, ids], axis=0)
        flat = self.node("Reshape", [found, self.constant([BATCH, 2 * width])])
        return self.node("Concat", [value, flat], axis=1), (BATCH, shape[1] + 2 * width)

    # Values of [BATCH, channels, height, width].

    def convolution(self, value, shape):
        _, channels, height, width = shape
        kernel = self.random.choice([1, 2, 3])
        stride = self.random.choice([1, 1, 2])
        dilation = self.random.choice([1, 1, 2]) if kernel > 1 else 1
        pad = self.random.choice([0, 1, kernel // 2])
        reach = dilation * (kernel - 1) + 1
        if min(height, width) + 2 * pad < reach:
            return value, shape
        depthwise = self.random.random() < 0.3
        groups = channels if depthwise else self.random.choice([1, 1, 2 if channels % 2 == 0 else 1])
        out = groups * self.random.choice([1, 2] if depthwise else [2, 4, 5])
        weight = self.weight(out, channels // groups, kernel, kernel)
        bias = [self.weight(out)] if self.random.random() < 0.6 else []
        found = self.node("Conv", [value, weight, *bias], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                          dilations=[dilation] * 2, pads=[pad] * 4, group=groups)
        size = lambda extent: (extent + 2 * pad - reach) // stride + 1
        return found, (BATCH, out, size(height), size(width))

    def transposed_convolution(self, value, shape):
        _, channels, height, width = shape
        kernel, stride = self.random.choice([2, 3]), self.random.choice([1, 2])
        out = self.random.choice([2, 3])
        if max(height, width) > 8:
            return value, shape
        found = self.node("ConvTranspose", [value, self.weight(channels, out, kernel, kernel)], kernel_shape=[kernel] * 2,
                          strides=[stride] * 2)
        size = lambda extent: (extent - 1) * stride + kernel
        return found, (BATCH, out, size(height), size(width))

    def batch_normalised(self, value, shape):
        channels = shape[1]
        kept = [numpy.full(channels, value, numpy.float32) for value in (0.1, 1.3)]
        scale, bias = self.weight(channels, around=1.0, scale=0.2), self.weight(channels)
        kind = self.random.choice(["of instances", "as in inference", "of batches"])
        if kind == "of instances":
            return self.node("InstanceNormalization", [value, scale, bias]), shape
        if kind == "as in inference":
            constants = [self.constant(array, numpy.float32) for array in kept]
            return self.node("BatchNormalization", [value, scale, bias, *constants]), shape
        names = [self.statistic(array) for array in kept]
        found, *_ = self.node("BatchNormalization", [value, scale, bias, *names], outputs=3, training_mode=1,
                              momentum=self.random.choice([0.5, 0.9, 0.99]))
        return found, shape

    def pooled(self, value, shape):
        _, channels, height, width = shape
        kernel, stride = self.random.choice([2, 3]), self.random.choice([1, 2])
        if min(height, width) < kernel:
            return value, shape
        op = self.random.choice(["MaxPool", "AveragePool"])
        found = self.node(op, [value], kernel_shape=[kernel] * 2, strides=[stride] * 2)
        size = lambda extent: (extent - kernel) // stride + 1
        return found, (BATCH, channels, size(height), size(width))

    def padded(self, value, shape):
        mode = self.random.choice(["constant", "edge", "reflect"])
        if min(shape[2:]) < 3:
            mode = "constant"
        found = self.node("Pad", [value, self.constant([0, 0, 1, 0, 0, 0, 1, 2])], mode=mode)
        return found, (*shape[:2], shape[2] + 2, shape[3] + 2)

    def resized(self, value, shape):
        mode = self.random.choice(["nearest", "linear"])
        if max(shape[2:]) > 8:
            return value, shape
        scales = self.constant([1, 1, 2, 2], numpy.float32)
        return self.node("Resize", [value, "", scales], mode=mode), (*shape[:2], 2 * shape[2], 2 * shape[3])

    def excited(self, value, shape):
        channels = shape[1]
        mean = self.node("GlobalAveragePool", [value])
        gate = self.node("Conv", [mean, self.weight(channels, channels, 1, 1)], kernel_shape=[1, 1])
        return self.node("Mul", [value, self.node("Sigmoid", [gate])]), shape

    def sliced(self, value, shape):
        if min(shape[2:]) < 4:
            return value, shape
        step = self.random.choice([1, 2])
        bounds = [self.constant([1, 0]), self.constant([shape[2], shape[3]]), self.constant([2, 3]), self.constant([1, step])]
        return self.node("Slice", [value, *bounds]), (*shape[:2], shape[2] - 1, -(-shape[3] // step))

    # Values of [BATCH, steps, width].

    def attention(self, value, shape):
        _, steps, width = shape
        heads = 2 if width % 2 == 0 else 1
        def head(transposed):
            product = self.node("MatMul", [value, self.weight(width, width, scale=width**-0.5)])
            split = self.node("Reshape", [product, self.constant([BATCH, steps, heads, width // heads])])
            return self.node("Transpose", [split], perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])
        query, key, values = head(False), head(True), head(False)
        scores = self.node("Div", [self.node("MatMul", [query, key]), self.constant((width / heads) ** 0.5, numpy.float32)])
        if self.random.random() < 0.5:
            mask = numpy.triu(numpy.full((steps, steps), -1e4), 1)
            scores = self.node("Add", [scores, self.constant(mask, numpy.float32)])
        mixed = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), values])
        joined = self.node("Reshape", [self.node("Transpose", [mixed], perm=[0, 2, 1, 3]), self.constant([BATCH, steps, width])])
        return self.node("Add", [value, joined]), shape

    def recurrent(self, value, shape):
        _, steps, width = shape
        op, gates = self.random.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
        hidden = self.random.choice([4, 7])
        directions = self.random.choice([1, 1, 2])
        attributes = {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward"}
        if op == "GRU":
            attributes["linear_before_reset"] = self.random.choice([0, 1])
        over = self.node("Transpose", [value], perm=[1, 0, 2])
        weights = [self.weight(directions, gates * hidden, width, scale=width**-0.5),
                   self.weight(directions, gates * hidden, hidden, scale=hidden**-0.5),
                   self.weight(directions, 2 * gates * hidden, scale=0.3)]
        found, last = self.node(op, [over, *weights], outputs=2, **attributes)
        if self.random.random() < 0.3:
            flat = self.node("Transpose", [last], perm=[1, 0, 2])
            return self.node("Reshape", [flat, self.constant([BATCH, directions * hidden])]), (BATCH, directions * hidden)
        flat = self.node("Transpose", [found], perm=[2, 0, 1, 3])
        return self.node("Reshape", [flat, self.constant([BATCH, steps, directions * hidden])]), (BATCH, steps, directions * hidden)

    def reduced(self, value, shape):
        op = self.random.choice(["ReduceMean", "ReduceMax", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"])
        axis = self.random.randrange(1, len(shape))
        found = self.node(op, [value], axes=[axis], keepdims=1)
        return found, tuple(1 if at == axis else extent for at, extent in enumerate(shape))

    def flattened(self, value, shape):
        length = int(numpy.prod(shape[1:]))
        if self.random.random() < 0.5 and len(shape) == 4:
            return self.node("Flatten", [self.node("GlobalAveragePool", [value])]), (BATCH, shape[1])
        return self.node("Reshape", [value, self.constant([BATCH, length])]), (BATCH, length)

    def grow(self):
        """The model's output, and its shape."""
        start = self.random.choice([(BATCH, 12), (BATCH, 3, 8, 8), (BATCH, 4, 7, 5), (BATCH, 6, 10)])
        value, shape = self.input("x", self.numbers.standard_normal(start).astype(numpy.float32)), start
        for _ in range(self.random.choice([2, 3, 4, 5, 6])):
            kinds = {
                2: [self.dense, self.normalised, self.residual, self.pieces, self.embedded, self.dense],
                3: [self.attention, self.recurrent, self.normalised, self.residual, self.pieces, self.reduced],
                4: [self.convolution, self.convolution, self.transposed_convolution, self.batch_normalised, self.pooled,
                    self.padded, self.resized, self.excited, self.sliced, self.reduced],
            }[len(shape)]
            value, shape = self.random.choice(kinds)(value, shape)
            if self.random.random() < 0.5:
                value = self.activation(value)
        if len(shape) > 2:
            value, shape = self.flattened(value, shape)
        if self.random.random() < 0.7 or not self.weights:
            value, shape = self.dense(value, shape)
        return value, shape


@dataclasses.dataclass
class Example:
    """A model, what it takes, and how it is trained."""

    model: onnx.ModelProto
    inputs: dict
    weights: dict
    statistics: dict
    loss: str
    target: numpy.ndarray
    optimizer: str
    numbers: numpy.random.Generator

    def write(self, folder):
        onnx.save(self.model, folder / "model.onnx")
        inputs = {f"in_{name}": array for name, array in self.inputs.items()}
        numpy.savez(folder / "data.npz", target=self.target, **inputs)


def example(seed, attempt):
    builder = Builder(seed, attempt)
    output, shape = builder.grow()
    loss = builder.random.choice(["mse", "cross_entropy", "bce_with_logits"])
    if loss == "cross_entropy" and shape[1] < 2:
        loss = "mse"
    numbers = builder.numbers
    target = {
        "mse": lambda: numbers.standard_normal(shape).astype(numpy.float32),
        "cross_entropy": lambda: numbers.integers(0, shape[1], shape[:1]).astype(numpy.int64),
        "bce_with_logits": lambda: numbers.random(shape).astype(numpy.float32),
    }[loss]()
    given = builder.inputs.items()
    inputs = [helper.make_tensor_value_info(name, ELEMENTS[array.dtype], array.shape) for name, array in given]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    initializers = {**builder.weights, **builder.statistics}
    given = [numpy_helper.from_array(array, name) for name, array in initializers.items()]
    graph = helper.make_graph(builder.nodes, "random", inputs, outputs, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    return Example(model, builder.inputs, builder.weights, builder.statistics, loss, target, builder.random.choice(OPTIMIZERS), numbers)


class Peer:
    """The loss of an example under other weights, by ONNX Runtime without optimisations."""

    def __init__(self, own):
        model = onnx.ModelProto.FromString(own.model.SerializeToString())
        for weight in model.graph.initializer:
            model.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
        del model.graph.initializer[:]
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        data = model.SerializeToString()
        self.session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self.own = own

    def loss(self, weights):
        found = self.session.run(None, {**self.own.inputs, **self.own.statistics, **weights})[0].astype(numpy.float64)
        target = self.own.target
        if self.own.loss == "mse":
            return ((found - target) ** 2).mean()
        if self.own.loss == "bce_with_logits":
            return (numpy.maximum(found, 0) - found * target + numpy.log1p(numpy.exp(-abs(found)))).mean()
        top = found.max(axis=1, keepdims=True)
        logarithms = found - top - numpy.log(numpy.exp(found - top).sum(axis=1, keepdims=True))
        return -logarithms[numpy.arange(len(target)), target].mean()

    def slope(self, direction, distance):
        def side(sign):
            moved = {name: array + sign * distance * direction[name] for name, array in self.own.weights.items()}
            return self.loss({name: array.astype(numpy.float32) for name, array in moved.items()})

        return (side(1.0) - side(-1.0)) / (2.0 * distance)


class Wrong(Exception):
    """Something that a step must not do."""


class Refused(Exception):
    """A model that is not taken, and why."""


class Diverged(Exception):
    """Steps after which rounding decides."""


def tool(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    said = " ".join((done.stdout + done.stderr).split())
    if done.returncode == 3:
        raise Refused(said)
    if done.returncode != 0:
        raise Wrong(f"{arguments[0]}: exit code {done.returncode}: {said[-700:]}")


def tensors(path):
    """The tensors of a safetensors file, by name."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    found = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, end = (8 + length + offset for offset in entry["data_offsets"])
            found[name] = numpy.frombuffer(data[first:end], numpy.float32).reshape(entry["shape"])
    return found


def trained(program, folder, own, optimizer, targets, device, steps, frozen=()):
    """What a device saves after so many steps."""
    bundle, saved = folder / "step.weave", folder / "saved.safetensors"
    if targets:
        tool(program, "compile", folder / "model.onnx", "-o", bundle, "--target", targets, "--train", f"loss={own.loss}",
             "--optimizer", optimizer, "--trainable", "*", *(word for name in frozen for word in ("--frozen", name)))
    tool(program, "train", bundle, "--data", folder / "data.npz", "--steps", steps, "--device", device, "--save", saved)
    return tensors(saved)


def gradients(program, folder, own):
    """The gradients of all weights, by what one step of rate 1 takes from them."""
    after = trained(program, folder, own, "sgd,lr=1", "host", "reference", 1)
    missing = sorted(set(own.weights) - set(after))
    if missing:
        raise Wrong(f"not trained: {missing}")
    return {name: array.astype(numpy.float64) - after[name] for name, array in own.weights.items()}


def check_slopes(own, found):
    """Compares slopes along the gradients and along two random directions."""
    peer = Peer(own)
    largest = max(float(abs(gradient).max()) for gradient in found.values()) or 1.0
    directions = [{name: gradient / largest for name, gradient in found.items()}]
    directions += [{name: own.numbers.standard_normal(array.shape) for name, array in found.items()} for _ in range(2)]
    for direction in directions:
        addends = [gradient * direction[name] for name, gradient in found.items()]
        expected, size = (sum(float(part.sum()) for part in parts) for parts in (addends, map(abs, addends)))
        slopes = [peer.slope(direction, distance) for distance in DISTANCES]
        allowed = CLOSE_SLOPE * max(abs(expected), *map(abs, slopes)) + SLOPE_NOISE * size + 1e-4
        if all(abs(slope - expected) > allowed for slope in slopes):
            raise Wrong(f"slope {slopes[-1]:.6g}, by gradients {expected:.6g}, whose addends' sizes are {size:.3g}")


def check_devices(program, folder, own, found, devices):
    """Compares what devices save after three steps of the example's optimizer."""
    targets = "host" if devices == ["host"] else "host,sm_90a"
    largest = max(float(abs(gradient).max()) for gradient in found.values())
    adam = own.optimizer.startswith("adam")
    noise = {name: abs(gradient) < NOISY * largest for name, gradient in found.items()} if adam else {}
    frozen = [name for name, small in noise.items() if small.all()]
    expected = trained(program, folder, own, own.optimizer, targets, "reference", 3, frozen)
    for device in devices:
        for name, array in trained(program, folder, own, own.optimizer, None, device, 3).items():
            like = expected[name]
            if name in own.weights and abs(like).max() > DIVERGES * abs(own.weights[name]).max():
                raise Diverged
            is_noise = noise.get(name.rsplit(".", 1)[-1], False)
            difference = float(numpy.where(is_noise, 0.0, abs(array - like)).max(initial=0.0))
            if not difference <= CLOSE * max(float(abs(like).max(initial=0.0)), SMALL):
                raise Wrong(f"{device}: {name} differs by {difference:.3g} under {own.optimizer}")


def check(seed, devices, program, keep):
    """The verdict of one seed, `ok`, `refused`, `diverged` or `failed`, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            for attempt in range(ATTEMPTS):
                own = example(seed, attempt)
                own.write(folder)
                found = gradients(program, folder, own)
                try:
                    check_slopes(own, found)
                    break
                except Wrong:
                    if attempt == ATTEMPTS - 1:
                        raise
            check_devices(program, folder, own, found, devices)
            return "ok", ""
        except Refused as said:
            return "refused", str(said)
        except Diverged:
            return "diverged", ""
        except (Wrong, subprocess.TimeoutExpired) as said:
            if keep:
                for name in ("model.onnx", "data.npz"):
                    shutil.copy(folder / name, keep / f"{seed}_{name}")
            return "failed", str(said)


def main():
    options = seeded.options(__doc__, "0:100")
    verdict = lambda seed: check(seed, options.devices, options.warpweave, options.keep)
    counts = seeded.counted(options.seeds, verdict, options.device, WORDS)
    return 1 if counts["failed"] or counts["refused"] + counts["diverged"] > MOST_LOST * len(options.seeds) else 0


if __name__ == "__main__":
    sys.exit(main())
