"""Takes training steps of random models, and compares what they do to the weights on every device and with differences.

Every seed gives one small model of layers with weights: products, convolutions, normalisations, recurrent cells, attention,
pooling and data movement. One step of gradient descent with a rate of 1 shows the gradients: by what the weights become.
ONNX Runtime computes the same loss a little way along the gradients and along a random direction, on both sides; the slope
must be the gradients'. Models whose slopes differ from one distance to the next have a kink there, and are left out. Three
steps of a random optimizer must give the same weights on every device of --device as on the reference.

    PYTHONPATH=.onnxruntime python3 scripts/random_training.py [--seeds 0:100] [--device host] [--keep DIR]
"""

import argparse
import collections
import concurrent.futures
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

OPSET = 17
BATCH = 3
# Slopes may differ by this share of the larger one, and of what all gradients together could give.
SLOPE = 0.02
NOISE = 2e-3
# Along directions of unit elements; shorter ones are lost in rounding.
DISTANCES = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
# Weights of devices differ by at most this share of the tensor's largest element, and of the step's length.
CLOSE = 2e-3
ACTIVATIONS = ["Relu", "Sigmoid", "Tanh", "Softplus", "Elu", "LeakyRelu", "HardSwish", "Gelu", "Identity", "Softsign", "Selu"]
OPTIMIZERS = [
    "sgd,lr=0.05",
    "sgd,lr=0.02,momentum=0.9",
    "sgd,lr=0.02,momentum=0.9,nesterov=true,weight-decay=0.01",
    "adam,lr=0.01",
    "adamw,lr=0.01,weight-decay=0.1",
]


class Builder:
    """Grows a model layer by layer."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.nodes, self.weights, self.inputs = [], {}, {}

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

    def constant(self, values, element=numpy.int64):
        array = numpy.asarray(values, dtype=element)
        return self.node_constant(array)

    def node_constant(self, array):
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
        kept = [self.node_constant(numpy.zeros(channels, numpy.float32) + at) for at in (0.1, 1.3)]
        scale = self.weight(channels, around=1.0, scale=0.2)
        if self.random.random() < 0.5:
            return self.node("InstanceNormalization", [value, scale, self.weight(channels)]), shape
        return self.node("BatchNormalization", [value, scale, self.weight(channels), *kept]), shape

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
            mask = numpy.triu(numpy.full((steps, steps), -1e4, numpy.float32), 1)
            scores = self.node("Add", [scores, self.node_constant(mask)])
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


def made(seed):
    """A seed's model, its inputs, its loss's name, and the loss's target."""
    builder = Builder(seed)
    output, shape = builder.grow()
    loss = builder.random.choice(["mse", "cross_entropy", "bce_with_logits"])
    if loss == "cross_entropy" and shape[1] < 2:
        loss = "mse"
    target = {
        "mse": lambda: builder.numbers.standard_normal(shape).astype(numpy.float32),
        "cross_entropy": lambda: builder.numbers.integers(0, shape[1], shape[:1]).astype(numpy.int64),
        "bce_with_logits": lambda: builder.numbers.random(shape).astype(numpy.float32),
    }[loss]()
    elements = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.int64): TensorProto.INT64}
    inputs = [helper.make_tensor_value_info(name, elements[array.dtype], array.shape) for name, array in builder.inputs.items()]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    weights = [numpy_helper.from_array(array, name) for name, array in builder.weights.items()]
    graph = helper.make_graph(builder.nodes, "random", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    optimizer = builder.random.choice(OPTIMIZERS)
    return model, builder.inputs, builder.weights, loss, target, optimizer, builder.numbers


class Session:
    """The loss of a model under other weights, by ONNX Runtime."""

    def __init__(self, model, inputs, loss, target):
        model = onnx.ModelProto.FromString(model.SerializeToString())
        # Weights as inputs.
        for weight in model.graph.initializer:
            model.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
        del model.graph.initializer[:]
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.inputs, self.loss, self.target = inputs, loss, target

    def at(self, weights):
        found = self.session.run(None, {**self.inputs, **weights})[0].astype(numpy.float64)
        target = self.target
        if self.loss == "mse":
            return ((found - target) ** 2).mean()
        if self.loss == "bce_with_logits":
            return (numpy.maximum(found, 0) - found * target + numpy.log1p(numpy.exp(-abs(found)))).mean()
        top = found.max(axis=1, keepdims=True)
        logs = found - top - numpy.log(numpy.exp(found - top).sum(axis=1, keepdims=True))
        return -logs[numpy.arange(len(target)), target].mean()


def tensors(path):
    """The tensors of a safetensors file, by name."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    table = json.loads(data[8 : 8 + length])
    found = {}
    for name, entry in table.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        first, end = entry["data_offsets"]
        array = numpy.frombuffer(data[8 + length + first : 8 + length + end], numpy.float32)
        found[name] = array.reshape(entry["shape"])
    return found


class Wrong(Exception):
    """Something that a step does and must not."""


class Refused(Exception):
    """A model that is not taken, and why."""


def tool(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    said = " ".join((done.stdout + done.stderr).split())
    if done.returncode == 3:
        raise Refused(said)
    if done.returncode != 0:
        raise Wrong(f"{arguments[0]}: exit code {done.returncode}: {said[-700:]}")
    return done.stdout


def slope_is_right(session, weights, gradients, direction):
    """Whether the loss's slope along a direction is that of the gradients; none where slopes change with the distance."""
    expected = sum(float((gradients[name] * direction[name]).sum()) for name in gradients)
    most = sum(float(abs(gradients[name] * direction[name]).sum()) for name in gradients)

    def slope(distance):
        sides = [{name: (array + sign * distance * direction[name]).astype(numpy.float32) for name, array in weights.items()}
                 for sign in (1.0, -1.0)]
        return (session.at(sides[0]) - session.at(sides[1])) / (2 * distance)

    slopes = [slope(distance) for distance in DISTANCES]
    allowed = SLOPE * max(abs(expected), *map(abs, slopes)) + NOISE * most + 1e-4
    said = f"slope {slopes[-1]:.6g}, by gradients {expected:.6g} of {most:.3g}"
    if any(abs(found - expected) <= allowed for found in slopes):
        return True, said
    return None if max(slopes) - min(slopes) > allowed else False, said


def check_gradients(program, folder, parts):
    model, inputs, weights, loss, target, _, numbers = parts
    tool(program, "compile", folder / "model.onnx", "-o", folder / "plain.weave", "--target", "host", "--train", f"loss={loss}",
         "--optimizer", "sgd,lr=1")
    tool(program, "train", folder / "plain.weave", "--data", folder / "data.npz", "--steps", 1, "--device", "reference", "--save",
         folder / "plain.safetensors")
    after = tensors(folder / "plain.safetensors")
    missing = sorted(set(weights) - set(after))
    gradients = {name: weights[name].astype(numpy.float64) - after[name] for name in weights if name in after}
    session = Session(model, inputs, loss, target)
    kinks = 0
    for direction in range(3):
        along = {name: numbers.standard_normal(array.shape) for name, array in weights.items()}
        if direction == 0:
            size = max(float(abs(gradient).max()) for gradient in gradients.values()) or 1.0
            along = {name: gradients.get(name, numpy.zeros(array.shape)) / size for name, array in weights.items()}
        along = {name: array if name in gradients else 0 * array for name, array in along.items()}
        right, said = slope_is_right(session, weights, gradients, along)
        if right is None:
            kinks += 1
        elif not right:
            raise Wrong(f"direction {direction}: {said}")
    if missing:
        raise Wrong(f"not trained: {missing}")
    return kinks < 3


def check_devices(program, folder, parts, devices):
    loss, optimizer = parts[3], parts[5]
    target = ["--target", "host"] if all(device == "host" for device in devices) else ["--target", "host,sm_90a"]
    tool(program, "compile", folder / "model.onnx", "-o", folder / "step.weave", *target, "--train", f"loss={loss}", "--optimizer", optimizer)
    saved = {}
    for device in ["reference", *devices]:
        path = folder / f"{device}.safetensors"
        tool(program, "train", folder / "step.weave", "--data", folder / "data.npz", "--steps", 3, "--device", device, "--save", path)
        saved[device] = tensors(path)
    for device in devices:
        for name, expected in saved["reference"].items():
            found = saved[device][name]
            size = max(float(abs(expected).max()), 1e-6)
            if not numpy.isfinite(found).all() or float(abs(found - expected).max()) > CLOSE * max(size, 0.05):
                raise Wrong(f"{device}: {name} differs by {float(abs(found - expected).max()):.3g} of {size:.3g} under {optimizer}")


def check(seed, devices, program, keep):
    """The verdict of one seed, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        parts = made(seed)
        model, inputs, _, _, target, _, _ = parts
        onnx.save(model, folder / "model.onnx")
        numpy.savez(folder / "data.npz", target=target, **{f"in_{name}": array for name, array in inputs.items()})
        try:
            smooth = check_gradients(program, folder, parts)
            check_devices(program, folder, parts, devices)
            return ("ok" if smooth else "kinks"), ""
        except Refused as said:
            return "refused", str(said)
        except (Wrong, subprocess.TimeoutExpired) as said:
            if keep:
                for name in ("model.onnx", "data.npz"):
                    shutil.copy(folder / name, pathlib.Path(keep) / f"{seed}_{name}")
            return "failed", str(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--seeds", default="0:100", help="FIRST:END")
    parser.add_argument("--device", default="host", help="such as host,emulator,text")
    parser.add_argument("--keep", help="a folder for models and data that fail")
    options = parser.parse_args()
    first, end = map(int, options.seeds.split(":"))
    if options.keep:
        pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
    devices = options.device.split(",")
    seeds = range(first, end)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda seed: check(seed, devices, options.warpweave, options.keep), seeds))
    for seed, (verdict, said) in zip(seeds, verdicts):
        if verdict == "failed":
            print(f"seed {seed}: {said}")
    counts = collections.Counter(verdict for verdict, _ in verdicts)
    for reason, count in collections.Counter(said for verdict, said in verdicts if verdict == "refused").most_common(5):
        print(f"{count} refused: {reason[:300]}")
    print(f"{counts['ok']} agree, {counts['kinks']} with kinks agree on all devices, {counts['refused']} refused, {counts['failed']} failed")
    return 1 if counts["failed"] or counts["refused"] > 0.1 * len(seeds) or counts["ok"] < 0.5 * len(seeds) else 0


if __name__ == "__main__":
    sys.exit(main())
