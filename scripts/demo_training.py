#!/usr/bin/env python3
"""Trains a small convolutional net and a small transformer from random weights, and shows that they have learned.

  PYTHONPATH=.onnxruntime scripts/demo_training.py [--warpweave PATH] [--output DIR]

The tasks are made here from a seed: bars of four orientations in noisy images, and sequences whose first token says which of the
others is the answer. Each model is compiled as a training step, trained on the host, evaluated on samples that it has not seen, and
written back as ONNX. The script fails below 98 % accuracy, above three minutes for both, or if ONNX Runtime gives other outputs for
the trained model than warpweave does. DIR gets the models and the curves of the loss.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LEAST_ACCURACY = 0.98
MOST_SECONDS = 180.0
MOST_DIFFERENCE = 1e-4
BATCH = 64
BATCHES = 40
HELD_OUT = 8
SIDE = 12
ORIENTATIONS = 4
LENGTH = 9
ANSWERS = 5
WIDTH = 32


def bars(random: numpy.random.Generator, count: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Noisy images with a bar that lies, stands, rises or falls, and which of these it does."""
    classes = random.integers(0, ORIENTATIONS, count)
    images = random.normal(0.0, 0.3, (count, 1, SIDE, SIDE))
    for image, kind in zip(images[:, 0], classes):
        row, column = random.integers(0, SIDE - 5, 2)
        for step in range(6):
            across, down = [(step, 2), (2, step), (step, 5 - step), (step, step)][kind]
            image[row + down, column + across] += 1.0
    return images.astype(numpy.float32), classes.astype(numpy.int64)


def questions(random: numpy.random.Generator, count: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Sequences of tokens, of which the first names a place, and the token that stands there."""
    tokens = random.integers(0, ANSWERS, (count, LENGTH))
    places = random.integers(1, LENGTH, count)
    answers = tokens[numpy.arange(count), places]
    tokens[:, 0] = ANSWERS + places - 1
    return tokens.astype(numpy.int64), answers.astype(numpy.int64)


class Builder:
    """An ONNX graph with random weights."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng(seed)
        self.nodes: list = []
        self.weights: list = []

    def weight(self, name: str, *shape: int) -> str:
        """A weight of a variance that keeps that of what it is multiplied with."""
        fan = int(numpy.prod(shape[1:])) if len(shape) > 2 else shape[0]
        return self.constant(name, self.random.normal(0.0, (2.0 / fan) ** 0.5, shape).astype(numpy.float32))

    def constant(self, name: str, value: numpy.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def full(self, name: str, value: float, *shape: int) -> str:
        return self.constant(name, numpy.full(shape, value, numpy.float32))

    def node(self, operator: str, inputs: list, **attributes) -> str:
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def linear(self, name: str, x: str, given: int, made: int) -> str:
        product = self.node("MatMul", [x, self.weight(f"{name}.weight", given, made)])
        return self.node("Add", [product, self.full(f"{name}.bias", 0.0, made)])

    def normalised(self, name: str, x: str) -> str:
        scale, shift = self.full(f"{name}.weight", 1.0, WIDTH), self.full(f"{name}.bias", 0.0, WIDTH)
        return self.node("LayerNormalization", [x, scale, shift], axis=-1)

    def write(self, path: pathlib.Path, given: onnx.ValueInfoProto, scores: str, classes: int) -> None:
        self.nodes.append(helper.make_node("Identity", [scores], ["scores"]))
        output = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [BATCH, classes])
        graph = helper.make_graph(self.nodes, path.stem, [given], [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))


def convolutional(path: pathlib.Path) -> None:
    """Two convolutions with batch normalisation and pooling, and a linear layer."""
    build, x, channels = Builder(1), "x", 1
    for layer, made in enumerate((8, 16)):
        name = f"layer{layer}"
        x = build.node("Conv", [x, build.weight(f"{name}.conv.weight", made, channels, 3, 3)], pads=[1, 1, 1, 1])
        parts = [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)]
        x = build.node("BatchNormalization", [x] + [build.full(f"{name}.norm.{part}", value, made) for part, value in parts])
        x = build.node("MaxPool", [build.node("Relu", [x])], kernel_shape=[2, 2], strides=[2, 2])
        channels = made
    x = build.linear("head", build.node("Flatten", [x]), channels * (SIDE // 4) ** 2, ORIENTATIONS)
    build.write(path, helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, 1, SIDE, SIDE]), x, ORIENTATIONS)


def transformer(path: pathlib.Path) -> None:
    """An embedding of tokens and places, a layer of attention and a perceptron, and a linear layer of the first place."""
    build = Builder(2)
    embedded = build.node("Gather", [build.weight("tokens", ANSWERS + LENGTH - 1, WIDTH), "x"])
    x = build.node("Add", [embedded, build.weight("places", LENGTH, WIDTH)])
    inner = build.normalised("norm1", x)
    query, key, value = (build.linear(f"attention.{part}", inner, WIDTH, WIDTH) for part in ("query", "key", "value"))
    scores = build.node("MatMul", [query, build.node("Transpose", [key], perm=[0, 2, 1])])
    scores = build.node("Mul", [scores, build.constant("scale", numpy.float32(WIDTH**-0.5))])
    attended = build.node("MatMul", [build.node("Softmax", [scores], axis=-1), value])
    x = build.node("Add", [x, build.linear("attention.output", attended, WIDTH, WIDTH)])
    hidden = build.node("Relu", [build.linear("perceptron.in", build.normalised("norm2", x), WIDTH, 2 * WIDTH)])
    x = build.node("Add", [x, build.linear("perceptron.out", hidden, 2 * WIDTH, WIDTH)])
    first = build.node("Gather", [x, build.constant("first", numpy.int64(0))], axis=1)
    x = build.linear("head", build.normalised("norm3", first), WIDTH, ANSWERS)
    build.write(path, helper.make_tensor_value_info("x", TensorProto.INT64, [BATCH, LENGTH]), x, ANSWERS)


# By name: the model, the task, the steps, and the optimizer.
DEMOS = {
    "convolutional": (convolutional, bars, 400, "sgd,lr=0.05,momentum=0.9,weight-decay=1e-4"),
    "transformer": (transformer, questions, 1500, "adam,lr=3e-3"),
}


def demonstrate(name: str, warpweave: str, folder: pathlib.Path) -> float:
    """Trains a model, and returns how many seconds that took."""
    make, task, steps, optimizer = DEMOS[name]
    folder.mkdir(parents=True, exist_ok=True)
    model, bundle, weights, trained = (
        folder / file for file in ("model.onnx", "step.weave", "weights.safetensors", "trained.onnx")
    )
    make(model)
    random = numpy.random.default_rng(21)
    archives = {"train.npz": BATCH * BATCHES, "held_out.npz": BATCH * HELD_OUT}
    for file, count in archives.items():
        given, classes = task(random, count)
        numpy.savez(folder / file, in_x=given, target=classes)

    def run(*arguments) -> dict:
        command = [warpweave, *map(str, arguments), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    start = time.monotonic()
    run("compile", model, "-o", bundle, "--target", "host", "--train", "loss=cross_entropy", "--optimizer", optimizer)
    found = run(
        *("train", bundle, "--data", folder / "train.npz", "--steps", steps, "--lr-schedule", "cosine"),
        *("--eval", folder / "held_out.npz", "--save", weights, "-o", folder),
    )
    seconds = time.monotonic() - start
    run("export-weights", model, weights, "-o", trained)
    accuracy = found["evaluation"]["accuracy"]
    exported = compare(trained, folder, run)
    print(
        f"{name}: {steps} steps in {seconds:.1f} s, {found['samples_per_second']:.0f} samples/s, loss {found['losses'][0]:.3f} to "
        f"{found['losses'][-1]:.4f}; of samples not seen {accuracy:.2%} right, {exported:.2%} by ONNX Runtime with the trained "
        f"model; {folder / 'loss.svg'}"
    )
    if min(accuracy, exported) < LEAST_ACCURACY:
        sys.exit(f"{name} has not learned: less than {LEAST_ACCURACY:.0%} is right")
    return seconds


def compare(trained: pathlib.Path, folder: pathlib.Path, run) -> float:
    """Compares ONNX Runtime with warpweave on a trained model, and returns how much of what was held out is right."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(trained, options, providers=["CPUExecutionProvider"])
    archive = numpy.load(folder / "held_out.npz")
    right = 0
    for at in range(0, BATCH * HELD_OUT, BATCH):
        given, classes = archive["in_x"][at : at + BATCH], archive["target"][at : at + BATCH]
        (scores,) = session.run(None, {"x": given})
        right += int((scores.argmax(axis=1) == classes).sum())
        if at == 0:
            numpy.save(folder / "x.npy", given)
            run("run", trained, "--device", "host", "--input", f"x={folder / 'x.npy'}", "--output", folder / "scores.npz")
            own = numpy.load(folder / "scores.npz")["scores"]
            difference = float(numpy.abs(own - scores).max() / numpy.abs(scores).max())
            if difference > MOST_DIFFERENCE:
                sys.exit(f"{trained}: ONNX Runtime's outputs differ by {difference:.1e} of the largest")
    return right / (BATCH * HELD_OUT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/release/warpweave")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("target/demo_training"))
    arguments = parser.parse_args()
    seconds = sum(demonstrate(name, arguments.warpweave, arguments.output / name) for name in DEMOS)
    if seconds > MOST_SECONDS:
        sys.exit(f"it took {seconds:.0f} s, more than {MOST_SECONDS:.0f} s")
    print(f"both in {seconds:.1f} s")


if __name__ == "__main__":
    main()
