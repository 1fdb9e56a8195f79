"""Element-wise operators, reductions and losses."""

import numpy

from .case import Case, operator

INTEGERS = [numpy.int32, numpy.int64, numpy.int8, numpy.uint8, numpy.int16, numpy.uint16, numpy.uint32, numpy.uint64]


def pair(chooser, array):
    """Two operands that broadcast, `array` giving each."""
    shape = chooser.shape()
    shapes = [[extent if chooser.chance(0.7) else 1 for extent in shape] for _ in range(2)]
    cut = chooser.between(0, len(shape) - 1)
    at = chooser.between(0, 1)
    shapes[at] = shapes[at][cut:]
    return [array(shape) for shape in shapes]


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(chooser, name):
    element = chooser.element(INTEGERS)
    inputs = pair(chooser, lambda shape: chooser.integers(element, shape))
    return Case(name, inputs, free=chooser.between(1, 2), opset=18)


@operator("BitwiseNot")
def complement(chooser, name):
    return Case(name, [chooser.integers(chooser.element(INTEGERS), chooser.shape())], opset=18)


@operator("BitShift")
def shift(chooser, name):
    # ONNX Runtime has shifts of unsigned integers only.
    element = chooser.element([numpy.uint8, numpy.uint32, numpy.uint64])
    inputs = pair(chooser, lambda shape: chooser.integers(element, shape))
    inputs[1] = inputs[1] % (numpy.iinfo(element).bits)
    return Case(name, inputs, free=chooser.between(1, 2), direction=chooser.choice(["LEFT", "RIGHT"]))


@operator("Mod")
def modulo(chooser, name):
    element = chooser.element([numpy.int32, numpy.int64, numpy.float32, numpy.int8, numpy.uint8, numpy.int16])
    inputs = pair(chooser, lambda shape: chooser.array(element, shape))
    if element is numpy.int64:
        # ONNX Runtime's fmod is one of doubles.
        inputs = [array % 1000 - 500 for array in inputs]
    inputs[1][inputs[1] == 0] = 3
    is_float = issubclass(element, numpy.floating)
    return Case(name, inputs, free=chooser.between(1, 2), fmod=1 if is_float else chooser.choice([None, 0, 1]), opset=13)


@operator("Pow")
def power(chooser, name):
    element = chooser.element([numpy.int32, numpy.int64])
    # ONNX Runtime computes with doubles: no power leaves those that they hold exactly.
    inputs = pair(chooser, lambda shape: chooser.integers(element, shape, -9, 9))
    inputs[1] = abs(inputs[1])
    return Case(name, inputs, free=chooser.between(1, 2), opset=15)


@operator("Max", "Min")
def extreme(chooser, name):
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.float64, numpy.uint8, numpy.int8])
    inputs = pair(chooser, lambda shape: chooser.array(element, shape))
    if issubclass(element, numpy.floating):
        inputs = [chooser.with_specials(array, (numpy.nan, numpy.inf, -numpy.inf)) for array in inputs]
    return Case(name, inputs, free=chooser.between(1, 2), opset=13)


@operator("Acos", "Asin", "Atan", "Acosh", "Asinh", "Atanh", "Tan", "Sinh", "Cosh")
def inverse(chooser, name):
    data = chooser.numbers.uniform(-1, 1, chooser.shape()).astype(numpy.float32)
    if name in ("Atan", "Asinh"):
        data = chooser.with_specials(data * chooser.choice([1e-6, 1, 100, 1e10, 1e38]).__float__()).astype(numpy.float32)
    if name == "Acosh":
        data = 1 + abs(data) * numpy.float32(chooser.choice([1e-3, 1, 100, 1e38]))
    if name in ("Sinh", "Cosh"):
        data *= numpy.float32(chooser.choice([1e-6, 1, 10, 89]))
    if name in ("Acos", "Asin"):
        data = chooser.with_specials(data, (1, -1, 0, numpy.nan))
    return Case(name, [data])


@operator("Shrink")
def shrink(chooser, name):
    element = chooser.element([numpy.float32, numpy.float64, numpy.int32, numpy.int8, numpy.uint8])
    data = chooser.integers(element, chooser.shape(), 0, 9) if issubclass(element, numpy.integer) else None
    data = chooser.with_specials(chooser.quarters(chooser.shape(), element)) if data is None else data
    return Case(name, [data], lambd=chooser.choice([None, 0.25, 1.5, 2.0]),
                bias=chooser.choice([None, 0.5, 1.0, -1.0]))


@operator("Swish", "HardSwish", "HardSigmoid", "Celu", "Elu", "Selu", "ThresholdedRelu", "Mish", "Softplus", "Softsign")
def activation(chooser, name):
    attributes = {}
    if name in ("Swish", "HardSigmoid", "Celu", "Elu", "Selu", "ThresholdedRelu"):
        attributes["alpha"] = chooser.choice([None, 0.25, 1.5])
    if name == "HardSigmoid":
        attributes["beta"] = chooser.choice([None, 0.3])
    data = chooser.quarters(chooser.shape()) * numpy.float32(chooser.choice([1, 1, 30]))
    return Case(name, [data], opset=24 if name == "Swish" else 18, **attributes)


@operator("ReduceLogSumExp", "ReduceLogSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd")
def reduction(chooser, name):
    shape = chooser.shape(most=5)
    element = chooser.element([numpy.float32, numpy.float64])
    data = chooser.quarters(shape, element)
    if name == "ReduceLogSum":
        data = abs(data) + element(0.25)
    elif name == "ReduceLogSumExp":
        data *= element(chooser.choice([1, 1, 50]))
        data = chooser.with_specials(data, (-numpy.inf,))
    elif name != "ReduceProd" and chooser.chance(0.3):
        data = data.astype(numpy.int32)
    chosen = chooser.random.sample(range(len(shape)), chooser.between(0, len(shape)))
    axes = [axis - len(shape) if chooser.chance(0.5) else axis for axis in chosen]
    attributes = {"keepdims": chooser.choice([None, 0, 1])}
    if chooser.chance(0.3):
        return Case(name, [data], opset=13, axes=axes or None, **attributes)
    attributes["noop_with_empty_axes"] = chooser.choice([None, 0, 1])
    operand = None if not axes and chooser.chance(0.5) else numpy.array(axes, numpy.int64)
    return Case(name, [data, operand], opset=18, **attributes)


@operator("LpNormalization")
def lp_normalization(chooser, name):
    shape = chooser.shape()
    data = chooser.quarters(shape)
    return Case(name, [data], axis=chooser.axis(len(shape)), p=chooser.choice([None, 1, 2]))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(chooser, name):
    batch, classes, rest = chooser.extent(5), chooser.extent(7), chooser.shape(ranks=(0, 1, 2), most=4)
    scores = chooser.normal([batch, classes, *rest])
    element = chooser.choice([numpy.int32, numpy.int64])
    targets = chooser.numbers.integers(0, classes, [batch, *rest]).astype(element)
    ignored = chooser.choice([None, -1, 0, 255])
    if ignored is not None and targets.size > 1:
        targets.reshape(-1)[1:][chooser.booleans([targets.size - 1])] = ignored
        targets.reshape(-1)[0] = classes - 1
    weights = chooser.maybe(numpy.abs(chooser.normal([classes])) + numpy.float32(0.1))
    outputs = "y" if name.startswith("Neg") else chooser.choice(["y", "yp"])
    if ignored == 0 and classes == 1:
        ignored = None
        targets[...] = 0
    return Case(name, [scores, targets, weights], outputs=outputs, free=chooser.between(1, 3), opset=13,
                reduction=chooser.choice([None, "none", "sum", "mean"]), ignore_index=ignored)
