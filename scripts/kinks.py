"""Writes PyTorch's gradients at kinks, and where derivatives are infinite, to tests/training/kinks.json.

A case is an operator over inputs v0, v1, …, as the graph text has it, with the inputs' values, and the gradient of the sum of its
output with respect to each. Needs PyTorch 2.15, in which `clamp` shares a gradient between tensors that are equal, and gives
none to numbers.

    python3 scripts/kinks.py
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F

FROM = (2, 15)
AROUND_ZERO = [-1.0, 0.0, 2.0, 0.0]
AROUND_BOUNDS = [-1.0, 0.0, 0.5, 1.0, 2.0]
ENDS = [-1.0, 0.0, 1.0]
ROWS = [[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
WITH_ZEROS = [[0.0, 2.0, 3.0], [0.0, 0.0, 4.0], [1.0, 2.0, 3.0]]
WINDOWS = [[[1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 2.0, 2.0]]]

# Of odd orders PyTorch sums powers with their signs, which is another function.
NORMED = [[[0.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 0.0]]]

# At centres of pixels, at edges, and beyond them.
PIXELS = [[[[[1.0, 2.0], [4.0, 8.0]]]], [[[[0.5, 0.5], [1.0, 0.0], [-0.5, -0.5], [0.0, 0.0]]]]]


def pixels(aligned):
    return lambda x, grid: F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=aligned)


# An operator, how it is written, its inputs, and what PyTorch has for it.
CASES = [
    ("Abs", "", [AROUND_ZERO], torch.abs),
    ("Relu", "", [AROUND_ZERO], F.relu),
    ("LeakyRelu", "{alpha = float 0.5}", [AROUND_ZERO], lambda x: F.leaky_relu(x, 0.5)),
    ("PRelu", "", [AROUND_ZERO, [0.5]], F.prelu),
    ("Elu", "{alpha = float 2.0}", [AROUND_ZERO], lambda x: F.elu(x, 2.0)),
    ("Celu", "{alpha = float 2.0}", [AROUND_ZERO], lambda x: F.celu(x, 2.0)),
    ("Selu", "", [AROUND_ZERO], F.selu),
    ("ThresholdedRelu", "{alpha = float 1.0}", [AROUND_BOUNDS], lambda x: F.threshold(x, 1.0, 0.0)),
    ("HardSigmoid", "{alpha = float 0.16666667, beta = float 0.5}", [[-3.0, 0.0, 3.0]], F.hardsigmoid),
    ("HardSwish", "", [[-3.0, 0.0, 3.0]], F.hardswish),
    ("Shrink", "{lambd = float 0.5, bias = float 0.5}", [[-1.0, -0.5, 0.0, 0.5, 1.0]], lambda x: F.softshrink(x, 0.5)),
    ("Shrink", "{lambd = float 0.5, bias = float 0.0}", [[-1.0, -0.5, 0.0, 0.5, 1.0]], lambda x: F.hardshrink(x, 0.5)),
    ("Softsign", "", [AROUND_ZERO], F.softsign),
    ("Clip", "{min = float 0.0, max = float 1.0}", [AROUND_BOUNDS], lambda x: torch.clamp(x, 0.0, 1.0)),
    ("Clip", "{min = float 0.0, max = float 1.0}", [AROUND_BOUNDS], lambda x: F.hardtanh(x, 0.0, 1.0)),
    ("Clip", "{min = float 0.0, max = float 6.0}", [[-1.0, 0.0, 1.0, 6.0, 7.0]], F.relu6),
    ("Clip", "{min = float 0.0}", [AROUND_BOUNDS], lambda x: torch.clamp(x, min=0.0)),
    ("Clip", "{max = float 1.0}", [AROUND_BOUNDS], lambda x: torch.clamp(x, max=1.0)),
    ("Clip", "", [AROUND_BOUNDS, 0.0, 1.0], torch.clamp),
    ("Clip", "", [AROUND_BOUNDS, 0.0], lambda x, low: torch.clamp(x, min=low)),
    ("Max", "", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], torch.maximum),
    ("Min", "", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], torch.minimum),
    ("ReduceMax", "{axes = ints [1], keepdims = int 0}", [ROWS], lambda x: torch.amax(x, 1)),
    ("ReduceMin", "{axes = ints [1], keepdims = int 0}", [ROWS], lambda x: torch.amin(x, 1)),
    ("ReduceL1", "{axes = ints [1], keepdims = int 0}", [ROWS], lambda x: torch.linalg.vector_norm(x, 1, 1)),
    ("ReduceL2", "{axes = ints [1], keepdims = int 0}", [ROWS], lambda x: torch.linalg.vector_norm(x, 2, 1)),
    ("ReduceProd", "{axes = ints [1], keepdims = int 0}", [WITH_ZEROS], lambda x: torch.prod(x, 1)),
    ("ReduceLogSum", "{axes = ints [1], keepdims = int 0}", [ROWS], lambda x: torch.log(torch.sum(x, 1))),
    ("MaxPool", "{kernel_shape = ints [2], strides = ints [1]}", [WINDOWS], lambda x: F.max_pool1d(x, 2, 1)),
    ("LpPool", "{kernel_shape = ints [2], strides = ints [2], p = int 2}", [NORMED], lambda x: F.lp_pool1d(x, 2, 2)),
    ("GlobalMaxPool", "", [WINDOWS], lambda x: F.adaptive_max_pool1d(x, 1)),
    ("Floor", "", [[0.5, 1.0, -1.5]], torch.floor),
    ("Ceil", "", [[0.5, 1.0, -1.5]], torch.ceil),
    ("Round", "", [[0.5, 1.0, -1.5]], torch.round),
    ("Sign", "", [AROUND_ZERO], torch.sign),
    ("Mod", "{fmod = int 1}", [[-4.0, 2.0, 3.0], [2.0, 2.0, 2.0]], torch.fmod),
    ("Softplus", "", [AROUND_ZERO], F.softplus),
    ("Mish", "", [AROUND_ZERO], F.mish),
    ("Softmax", "{axis = int 1}", [ROWS], lambda x: torch.softmax(x, 1)),
    ("LogSoftmax", "{axis = int 1}", [ROWS], lambda x: torch.log_softmax(x, 1)),
    ("ReduceLogSumExp", "{axes = ints [1], keepdims = int 0}", [ROWS], lambda x: torch.logsumexp(x, 1)),
    ("Sinh", "", [AROUND_ZERO], torch.sinh),
    ("Asinh", "", [AROUND_ZERO], torch.asinh),
    ("GridSample", "{mode = string \"linear\", align_corners = int 0}", PIXELS, pixels(False)),
    ("GridSample", "{mode = string \"linear\", align_corners = int 1}", PIXELS, pixels(True)),
    ("Sqrt", "", [[0.0, 4.0]], torch.sqrt),
    ("Log", "", [[0.0, 1.0]], torch.log),
    ("Reciprocal", "", [[0.0, 2.0]], torch.reciprocal),
    ("Asin", "", [ENDS], torch.asin),
    ("Acos", "", [ENDS], torch.acos),
    ("Atanh", "", [ENDS], torch.atanh),
    ("Acosh", "", [[1.0, 2.0]], torch.acosh),
    ("Div", "", [[1.0, 0.0, 2.0], [0.0, 1.0, 2.0]], torch.div),
    ("Pow", "", [[0.0, 0.0, 0.0, 0.0, 2.0], [0.5, 1.0, 2.0, 0.0, 0.0]], torch.pow),
]


def number(value):
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def array(tensor):
    return {"shape": list(tensor.shape), "values": [number(value) for value in tensor.flatten().tolist()]}


def case(operator, attributes, inputs, function):
    tensors = [torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in inputs]
    output = function(*tensors)
    output.sum().backward()
    return {
        "operator": operator,
        "attributes": attributes,
        "inputs": [array(tensor.detach()) for tensor in tensors],
        "output": list(output.shape),
        "gradients": [array(torch.zeros_like(tensor) if tensor.grad is None else tensor.grad) for tensor in tensors],
    }


def main():
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    assert version >= FROM, f"PyTorch {torch.__version__} has other gradients of clamp"
    lines = [json.dumps(case(*one)) for one in CASES]
    path = pathlib.Path(__file__).parent.parent / "tests" / "training" / "kinks.json"
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
