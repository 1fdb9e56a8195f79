"""Normalisations, convolutions and movements of data."""

import numpy

from .case import Case, Unfit, operator
from .images import window

MOVED = [numpy.float32, numpy.int32, numpy.int64, numpy.uint8, numpy.int8, numpy.float64, numpy.float16]


def vector(values):
    return numpy.array(values, numpy.int64)


@operator("Pad")
def pad(chooser, name):
    shape = chooser.shape(most=7)
    mode = chooser.choice([None, "constant", "edge", "reflect", "wrap"])
    least = {"reflect": 0, "edge": 0, "wrap": 0}.get(mode, -1)
    pads = [chooser.between(least if extent > 2 else 0, min(3, extent - 1) if mode in ("reflect", "wrap") else 3)
            for extent in shape * 2]
    axes = None
    if chooser.chance(0.3):
        chosen = chooser.random.sample(range(len(shape)), chooser.between(1, len(shape)))
        pads = [pads[at] for at in chosen] + [pads[at + len(shape)] for at in chosen]
        axes = vector([at - len(shape) if chooser.chance(0.5) else at for at in chosen])
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.uint8, numpy.int8, numpy.float64])
    fill = None
    if mode in (None, "constant"):
        fill = chooser.maybe(chooser.array(element, []))
    return Case(name, [chooser.array(element, shape), vector(pads), fill, axes], opset=19, mode=mode)


@operator("Slice")
def cut(chooser, name):
    shape = chooser.shape()
    chosen = chooser.random.sample(range(len(shape)), chooser.between(1, len(shape)))
    starts, ends, steps = [], [], []
    for at in chosen:
        extent, step = shape[at], chooser.choice([1, 1, 2, 3, -1, -2])
        low, high = sorted([chooser.between(0, extent - 1), chooser.between(0, extent - 1)])
        first, last = (low, high + 1) if step > 0 else (high, low - 1)
        starts.append(first - extent if chooser.chance(0.3) else first)
        far = 2**31 if step > 0 else -(2**31)
        ends.append(far if chooser.chance(0.3) or last < 0 else last)
        steps.append(step)
    axes = [at - len(shape) if chooser.chance(0.5) else at for at in chosen]
    inputs = [chooser.array(chooser.element(MOVED), shape), vector(starts), vector(ends), vector(axes), vector(steps)]
    return Case(name, inputs, opset=13)


@operator("Tile")
def tile(chooser, name):
    shape = chooser.shape(most=5)
    return Case(name, [chooser.array(chooser.element(MOVED), shape), vector([chooser.between(1, 3) for _ in shape])])


@operator("Split")
def split(chooser, name):
    shape = chooser.shape()
    axis = chooser.axis(len(shape))
    count = chooser.between(1, min(3, shape[axis]))
    data = chooser.array(chooser.element(MOVED), shape)
    if chooser.chance(0.5):
        return Case(name, [data], outputs="abc"[:count], opset=18, axis=axis, num_outputs=count)
    cuts = sorted(chooser.random.sample(range(1, shape[axis]), count - 1))
    parts = numpy.diff([0, *cuts, shape[axis]])
    return Case(name, [data, vector(parts)], outputs="abc"[:count], axis=axis)


@operator("Trilu")
def triangle(chooser, name):
    data = chooser.array(chooser.element([numpy.float32, numpy.int64, numpy.float64]), chooser.shape(ranks=(2, 3, 4)))
    return Case(name, [data, chooser.maybe(numpy.array(chooser.between(-4, 4), numpy.int64))], opset=14,
                upper=chooser.choice([None, 0, 1]))


@operator("OneHot")
def one_hot(chooser, name):
    shape = chooser.shape(ranks=(1, 2, 3))
    depth = chooser.extent(7)
    index = chooser.numbers.integers(-depth - 2, depth + 2, shape).astype(numpy.int64)
    element = chooser.element([numpy.float32, numpy.int64])
    values = numpy.array([0, 1] if chooser.chance(0.5) else [2, -3]).astype(element)
    return Case(name, [index, numpy.array(depth, numpy.int64), values], axis=chooser.between(-len(shape) - 1, len(shape)))


@operator("DepthToSpace", "SpaceToDepth")
def blocks(chooser, name):
    size, channels = chooser.choice([1, 2, 3]), chooser.extent(3)
    high, wide, batch = chooser.extent(4), chooser.extent(4), chooser.extent(2)
    if name == "SpaceToDepth":
        return Case(name, [chooser.quarters([batch, channels, high * size, wide * size])], blocksize=size, opset=13)
    data = chooser.quarters([batch, channels * size * size, high, wide])
    return Case(name, [data], blocksize=size, opset=13, mode=chooser.choice([None, "DCR", "CRD"]))


@operator("LayerNormalization", "RMSNormalization")
def layer_normalization(chooser, name):
    shape = chooser.shape(ranks=(2, 3, 4))
    axis = chooser.axis(len(shape))
    inner = shape[axis:] if axis >= 0 else shape[len(shape) + axis :]
    inputs = [chooser.normal(shape), chooser.normal(inner)]
    if name == "LayerNormalization" and chooser.chance(0.5):
        inputs.append(chooser.normal(inner))
    return Case(name, inputs, opset=23 if name.startswith("R") else 17, axis=axis, epsilon=chooser.choice([None, 0.1]),
                tolerance=1e-3)


@operator("InstanceNormalization", "GroupNormalization", "BatchNormalization")
def channel_normalization(chooser, name):
    groups, each = chooser.choice([1, 2, 3]), chooser.extent(3)
    channels = groups * each
    data = chooser.normal([chooser.extent(3), channels, *chooser.shape(ranks=(1, 2, 3), most=5)])
    if data[0, 0].size * (each if name.startswith("G") else 1) == 1 and not name.startswith("B"):
        raise Unfit("a mean of one element")
    vectors = [chooser.normal([channels]) for _ in range(3)] + [abs(chooser.normal([channels])) + numpy.float32(0.1)]
    if name == "BatchNormalization":
        return Case(name, [data, *vectors], opset=15, epsilon=chooser.choice([None, 0.1]))
    attributes = {"num_groups": groups} if name == "GroupNormalization" else {}
    return Case(name, [data, *vectors[:2]], opset=21, epsilon=chooser.choice([1e-5, 0.1]), tolerance=2e-3, **attributes)


@operator("LRN")
def local_response(chooser, name):
    return Case(name, [chooser.quarters(chooser.shape(ranks=(4,), most=7))], size=chooser.choice([1, 3, 5]),
                alpha=chooser.choice([None, 0.5]), beta=chooser.choice([None, 0.5]), bias=chooser.choice([None, 2.0]))


@operator("Conv")
def convolution(chooser, name):
    spatial, groups = [chooser.extent(9) for _ in range(chooser.choice([1, 2, 2, 3]))], chooser.choice([1, 1, 2, 3])
    attributes = window(chooser, spatial)
    channels, filters = groups * chooser.extent(3), groups * chooser.extent(4)
    weights = chooser.quarters([filters, channels // groups, *attributes["kernel_shape"]])
    inputs = [chooser.quarters([chooser.extent(2), channels, *spatial]), weights]
    if chooser.chance(0.5):
        inputs.append(chooser.quarters([filters]))
    return Case(name, inputs, group=groups, free=chooser.between(1, 2), **attributes)


@operator("ConvTranspose")
def transposed_convolution(chooser, name):
    spatial, groups = [chooser.extent(5) for _ in range(chooser.choice([1, 2, 2]))], chooser.choice([1, 1, 2])
    taps, steps = [chooser.between(1, 3) for _ in spatial], [chooser.between(1, 3) for _ in spatial]
    dilations = [chooser.choice([1, 1, 2]) for _ in spatial]
    attributes = {"strides": steps, "dilations": dilations}
    if chooser.chance(0.5):
        attributes["output_padding"] = [chooser.between(0, max(step, wide) - 1) for step, wide in zip(steps, dilations)]
    if chooser.chance(0.5):
        attributes["pads"] = [chooser.between(0, (tap - 1) // 2) for tap in taps * 2]
    channels, filters = groups * chooser.extent(3), chooser.extent(4)
    inputs = [chooser.quarters([chooser.extent(2), channels, *spatial]), chooser.quarters([channels, filters, *taps])]
    if chooser.chance(0.5):
        inputs.append(chooser.quarters([groups * filters]))
    return Case(name, inputs, group=groups, free=chooser.between(1, 2), **attributes)


@operator("Softmax", "LogSoftmax")
def softmax(chooser, name):
    shape = chooser.shape()
    data = chooser.quarters(shape) * numpy.float32(chooser.choice([1, 1, 40]))
    # Before opset 13 the axis is the second unless it is given.
    opset = 13 if len(shape) == 1 else chooser.choice([11, 13])
    return Case(name, [data], axis=chooser.maybe(chooser.axis(len(shape))), opset=opset)


@operator("Gemm")
def gemm(chooser, name):
    rows, inner, columns = chooser.extent(), chooser.extent(33), chooser.extent()
    left, right = chooser.choice([None, 0, 1]), chooser.choice([None, 0, 1])
    a = chooser.quarters([inner, rows] if left else [rows, inner])
    b = chooser.quarters([columns, inner] if right else [inner, columns])
    addend = chooser.maybe(chooser.quarters(chooser.choice([[rows, columns], [columns], [rows, 1], [1, columns], [1], []])))
    return Case(name, [a, b] + ([] if addend is None else [addend]), transA=left, transB=right, free=chooser.between(1, 2),
                alpha=chooser.choice([None, 0.5]), beta=chooser.choice([None, 2.0]))
