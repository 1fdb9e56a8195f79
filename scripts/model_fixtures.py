#!/usr/bin/env python3
"""Makes two of the test models from a seed: `resnet_bottleneck` and `squeezenet` of `tests/models`, narrow enough to be small.

  python3 scripts/model_fixtures.py [FOLDER]        # needs PyTorch 2.11, onnx and onnxscript; FOLDER is tests/models unless given

PyTorch's exporters write `torchscript.onnx` and, for `squeezenet`, `dynamo.onnx`. `io.npz` has `in_x` and PyTorch's
`out_0`.
"""

import pathlib
import sys

import numpy
import onnx
import torch
from torch import nn

DEFAULT_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models"
SEED = 20
CLASSES = 10


class Unit(nn.Sequential):
    """A convolution without bias, and its normalisation."""

    def __init__(self, inputs, outputs, kernel=1, stride=1):
        convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    """Three convolutions beside a projection."""

    def __init__(self, inputs, inner, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            Unit(inputs, inner), nn.ReLU(), Unit(inner, inner, 3, stride), nn.ReLU(), Unit(inner, outputs))
        self.projection = Unit(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.projection(x))


class Classifier(nn.Module):
    """Means over all places, and a linear layer."""

    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, CLASSES)

    def forward(self, x):
        return self.linear(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


def resnet_bottleneck():
    """A ResNet of one bottleneck a stage, with an eighth of ResNet-50's inner widths."""
    layers, channels = [Unit(3, 32, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 32
    for stage, (inner, outputs) in enumerate([(8, 64), (16, 128), (32, 192), (64, 384)]):
        layers.append(Bottleneck(channels, inner, outputs, 1 if stage == 0 else 2))
        channels = outputs
    return nn.Sequential(*layers, Classifier(channels))


class Fire(nn.Module):
    """Few channels, then many from windows of 1 and of 3."""

    def __init__(self, inputs, squeezed, expanded):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3x3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.expand1x1(x)), torch.relu(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """SqueezeNet 1.1 of three eighths of its widths."""

    def __init__(self):
        super().__init__()
        pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)
        self.features = nn.Sequential(
            nn.Conv2d(3, 24, 3, 2), nn.ReLU(), pool(),
            Fire(24, 8, 24), Fire(48, 8, 24), pool(),
            Fire(48, 12, 48), Fire(96, 12, 48), pool(),
            Fire(96, 18, 72), Fire(144, 18, 72), Fire(144, 24, 96), Fire(192, 24, 96))
        self.classifier = nn.Sequential(nn.Conv2d(192, CLASSES, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


def with_statistics(model):
    """Normalisations with means, variances, scales and offsets of their own."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.1)
    return model


def forget_source(path):
    """Leaves out where in which file each node comes from."""
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if not entry.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(model, path)


def write(folder, name, model, with_dynamo):
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    model = with_statistics(model).eval()
    x = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        numpy.savez(folder / "io.npz", in_x=x.numpy(), out_0=model(x).numpy())
    names = {"input_names": ["x"]}
    torch.onnx.export(model, (x,), folder / "torchscript.onnx", dynamo=False, opset_version=17, **names)
    if with_dynamo:
        torch.onnx.export(model, (x,), folder / "dynamo.onnx", dynamo=True, opset_version=20, external_data=False, **names)
        forget_source(folder / "dynamo.onnx")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    for name, make, with_dynamo in [("resnet_bottleneck", resnet_bottleneck, False), ("squeezenet", SqueezeNet, True)]:
        torch.manual_seed(SEED)
        write(folder, name, make(), with_dynamo)


if __name__ == "__main__":
    main()
