#!/usr/bin/env python3
"""Makes PyTorch's values of every option of losses and optimizers, in `tests/training/options`.

  PYTHONPATH=.onnxruntime scripts/training_fixtures.py        # needs PyTorch, 1.13 or later

Two small models are written as `scores.onnx` (scores of shape N, classes) and `map.onnx` (scores of shape N, classes,
height, width). `scores_loss.onnx` and `scores_likelihood.onnx` are the first with a loss of ONNX's behind it, which
ignores a class. `steps.npz` has for each model `<model>/in_x`, for each target `<model>/target_<kind>`, and for each
case `<case>/loss_<step>` and `<case>/w<step>_<parameter>` after the first and the last step. PyTorch computes in
doubles; singles are stored. The cases are those of `tests/tests/training/options.rs`, under the same names.
"""

import pathlib

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "training" / "options"
STEPS = 4
CLASSES = 5
IGNORED = 2

# By name: model, target, loss, optimizer, and the largest norm of the gradients.
CASES = {
    "cross_entropy": ("scores", "classes", {}, ("SGD", dict(lr=0.3)), None),
    "cross_entropy_smoothed": ("scores", "classes", dict(label_smoothing=0.1), ("SGD", dict(lr=0.3)), None),
    "cross_entropy_default_ignored": ("scores", "some", {}, ("SGD", dict(lr=0.3)), None),
    "cross_entropy_ignored": ("scores", "classes", dict(ignore_index=IGNORED), ("SGD", dict(lr=0.3)), None),
    "cross_entropy_smoothed_ignored": (
        "scores", "classes", dict(label_smoothing=0.2, ignore_index=IGNORED), ("SGD", dict(lr=0.3)), None,
    ),
    "cross_entropy_map": ("map", "classes", {}, ("SGD", dict(lr=0.3)), None),
    "cross_entropy_map_smoothed_ignored": (
        "map", "classes", dict(label_smoothing=0.2, ignore_index=IGNORED), ("SGD", dict(lr=0.3)), None,
    ),
    "mse": ("scores", "values", "mse", ("SGD", dict(lr=0.3)), None),
    "mse_map": ("map", "values", "mse", ("SGD", dict(lr=0.3)), None),
    "bce": ("scores", "chances", "bce", ("SGD", dict(lr=0.3)), None),
    "bce_map": ("map", "chances", "bce", ("SGD", dict(lr=0.3)), None),
    "sgd_momentum": ("scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.9)), None),
    "sgd_dampening": ("scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.9, dampening=0.3)), None),
    "sgd_nesterov": ("scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.9, nesterov=True)), None),
    "sgd_decay": ("scores", "classes", {}, ("SGD", dict(lr=0.3, weight_decay=0.1)), None),
    "sgd_momentum_decay": ("scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.5, weight_decay=0.1)), None),
    "sgd_dampening_decay": (
        "scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.5, dampening=0.2, weight_decay=0.1)), None,
    ),
    "sgd_nesterov_decay": (
        "scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.5, nesterov=True, weight_decay=0.1)), None,
    ),
    "adam": ("scores", "classes", {}, ("Adam", dict(lr=0.02)), None),
    "adam_betas": ("scores", "classes", {}, ("Adam", dict(lr=0.02, betas=(0.7, 0.95))), None),
    "adam_eps": ("scores", "classes", {}, ("Adam", dict(lr=0.02, eps=0.01)), None),
    "adam_decay": ("scores", "classes", {}, ("Adam", dict(lr=0.02, weight_decay=0.1)), None),
    "adamw": ("scores", "classes", {}, ("AdamW", dict(lr=0.02)), None),
    "adamw_decay": ("scores", "classes", {}, ("AdamW", dict(lr=0.02, weight_decay=0.3)), None),
    "adamw_all": (
        "scores", "classes", {}, ("AdamW", dict(lr=0.02, betas=(0.7, 0.95), eps=0.01, weight_decay=0.3)), None,
    ),
    "clip_sgd": ("scores", "classes", {}, ("SGD", dict(lr=0.3)), 0.1),
    "clip_nothing": ("scores", "classes", {}, ("SGD", dict(lr=0.3)), 1000.0),
    "clip_nesterov": ("scores", "classes", {}, ("SGD", dict(lr=0.3, momentum=0.9, nesterov=True)), 0.1),
    "clip_adam_decay": ("map", "classes", {}, ("Adam", dict(lr=0.02, eps=0.01, weight_decay=0.1)), 0.1),
}


def parameters(shapes: dict, random: numpy.random.Generator) -> dict:
    """Values of which singles hold each without rounding."""
    return {name: random.normal(0.0, 0.5, shape).astype(numpy.float32) for name, shape in shapes.items()}


def write(name: str, nodes: list, given: dict, output: tuple, values: dict) -> None:
    """`given` and `output`: the shapes by name; `target` is of classes."""
    kinds = {"target": TensorProto.INT64}
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(key, kinds.get(key, TensorProto.FLOAT), shape) for key, shape in given.items()],
        [helper.make_tensor_value_info(output[0], TensorProto.FLOAT, output[1])],
        [numpy_helper.from_array(value, key) for key, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))


def tensor(array: numpy.ndarray) -> torch.Tensor:
    kind = torch.int64 if array.dtype.kind == "i" else torch.float64
    return torch.tensor(array.tolist(), dtype=kind)


def scores_model(random: numpy.random.Generator):
    values = parameters({"one.weight": (6, 4), "one.bias": (6,), "two.weight": (CLASSES, 6), "two.bias": (CLASSES,)}, random)
    nodes = [
        helper.make_node("Gemm", ["x", "one.weight", "one.bias"], ["hidden"], transB=1),
        helper.make_node("Tanh", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "two.weight", "two.bias"], ["scores"], transB=1),
    ]
    write("scores", nodes, {"x": [9, 4]}, ("scores", [9, CLASSES]), values)
    loss = [helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "target"], ["own"], ignore_index=IGNORED)]
    write("scores_loss", nodes + loss, {"x": [9, 4], "target": [9]}, ("own", []), values)
    loss = [
        helper.make_node("LogSoftmax", ["scores"], ["logarithms"], axis=1),
        helper.make_node("NegativeLogLikelihoodLoss", ["logarithms", "target"], ["own"], ignore_index=IGNORED),
    ]
    write("scores_likelihood", nodes + loss, {"x": [9, 4], "target": [9]}, ("own", []), values)

    def forward(w, x):
        hidden = torch.tanh(torch.nn.functional.linear(x, w["one.weight"], w["one.bias"]))
        return torch.nn.functional.linear(hidden, w["two.weight"], w["two.bias"])

    return values, forward, (9, 4), (9, CLASSES)


def map_model(random: numpy.random.Generator):
    values = parameters(
        {"one.weight": (4, 2, 3, 3), "one.bias": (4,), "two.weight": (CLASSES, 4, 1, 1), "two.bias": (CLASSES,)}, random
    )
    nodes = [
        helper.make_node("Conv", ["x", "one.weight", "one.bias"], ["hidden"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["hidden"], ["active"]),
        helper.make_node("Conv", ["active", "two.weight", "two.bias"], ["scores"]),
    ]
    write("map", nodes, {"x": [2, 2, 4, 3]}, ("scores", [2, CLASSES, 4, 3]), values)

    def forward(w, x):
        hidden = torch.sigmoid(torch.nn.functional.conv2d(x, w["one.weight"], w["one.bias"], padding=1))
        return torch.nn.functional.conv2d(hidden, w["two.weight"], w["two.bias"])

    return values, forward, (2, 2, 4, 3), (2, CLASSES, 4, 3)


def targets(shape: tuple, random: numpy.random.Generator) -> dict:
    """What each loss compares scores of a shape with."""
    classes = random.integers(0, CLASSES, shape[:1] + shape[2:])
    # The class that a case ignores is there, and so is one that it does not.
    classes.flat[0], classes.flat[1] = IGNORED, IGNORED + 1
    some = classes.copy()
    some.flat[1::3] = -100
    return {
        "classes": classes,
        "some": some,
        "values": random.normal(0.0, 1.0, shape).astype(numpy.float32),
        "chances": random.uniform(0.0, 1.0, shape).astype(numpy.float32),
    }


def loss(kind, scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    if kind == "mse":
        return torch.nn.functional.mse_loss(scores, target)
    if kind == "bce":
        return torch.nn.functional.binary_cross_entropy_with_logits(scores, target)
    return torch.nn.functional.cross_entropy(scores, target, **kind)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(21)
    models, arrays = {}, {}
    for name, make in {"scores": scores_model, "map": map_model}.items():
        values, forward, given, scored = make(random)
        x, wanted = random.normal(0.0, 1.0, given).astype(numpy.float32), targets(scored, random)
        models[name] = values, forward, x, wanted
        arrays[f"{name}/in_x"] = x
    for name, (model, target, kind, (optimizer, options), norm) in CASES.items():
        values, forward, x, wanted = models[model]
        arrays[f"{model}/target_{target}"] = wanted[target]
        weights = {key: torch.nn.Parameter(tensor(value)) for key, value in values.items()}
        steps = getattr(torch.optim, optimizer)(weights.values(), **options)
        for step in range(1, STEPS + 1):
            steps.zero_grad()
            found = loss(kind, forward(weights, tensor(x)), tensor(wanted[target]))
            found.backward()
            if norm is not None:
                torch.nn.utils.clip_grad_norm_(weights.values(), norm)
            steps.step()
            arrays[f"{name}/loss_{step}"] = numpy.float32(found.item())
            if step in (1, STEPS):
                for key, value in weights.items():
                    arrays[f"{name}/w{step}_{key}"] = numpy.array(value.tolist(), dtype=numpy.float32)
    numpy.savez_compressed(FOLDER / "steps.npz", **arrays)
    print(f"{len(CASES)} cases by PyTorch {torch.__version__} in {FOLDER}")


if __name__ == "__main__":
    main()
