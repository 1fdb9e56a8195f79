"""Operators of indices, order and places."""

import numpy

from .case import Case, Unfit, operator

NUMBERS = [numpy.float32, numpy.int32, numpy.int64, numpy.float64, numpy.float16, numpy.int8, numpy.uint8]
REDUCTIONS = [None, "none", "add", "mul", "max", "min"]


def small(chooser, element, shape):
    """Elements whose products do not overflow."""
    if issubclass(element, numpy.floating):
        return chooser.quarters(shape, element)
    return chooser.integers(element, shape, 0 if numpy.iinfo(element).min == 0 else -2, 2)


@operator("ScatterElements")
def scatter_elements(chooser, name):
    shape = chooser.shape()
    axis = chooser.axis(len(shape))
    updated = [chooser.between(1, extent) for extent in shape]
    updated[axis] = chooser.extent(9)
    reduction = chooser.choice(REDUCTIONS)
    # ONNX Runtime's updates of narrow elements have no reductions.
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.float64])
    index = chooser.places(updated, shape[axis], chooser.choice([numpy.int32, numpy.int64]))
    if chooser.chance(0.3):
        index[...] = chooser.between(-shape[axis], shape[axis] - 1)
    inputs = [small(chooser, element, shape), index, small(chooser, element, updated)]
    return Case(name, inputs, free=chooser.between(1, 3), opset=chooser.choice([18, 21]), axis=chooser.maybe(axis) or axis,
                reduction=reduction)


@operator("ScatterND")
def scatter_nd(chooser, name):
    shape = chooser.shape(most=5)
    length = chooser.between(1, len(shape))
    listed = chooser.shape(ranks=(0, 1, 2, 3), most=5)
    columns = [chooser.places([*listed, 1], extent) for extent in shape[:length]]
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.float64])
    updates = small(chooser, element, [*listed, *shape[length:]])
    inputs = [small(chooser, element, shape), numpy.concatenate(columns, -1), updates]
    return Case(name, inputs, free=chooser.between(1, 3), opset=18, reduction=chooser.choice(REDUCTIONS))


@operator("TensorScatter")
def tensor_scatter(chooser, name):
    batch, heads, longest, width = chooser.extent(3), chooser.extent(3), chooser.extent(9), chooser.extent(5)
    count = chooser.between(1, longest)
    mode = chooser.choice([None, "linear", "circular"])
    last = longest - 1 if mode == "circular" else longest - count
    starts = chooser.maybe(chooser.numbers.integers(0, last + 1, batch).astype(numpy.int64), 0.7)
    past, update = chooser.quarters([batch, heads, longest, width]), chooser.quarters([batch, heads, count, width])
    return Case(name, [past, update, starts], free=chooser.between(1, 3), opset=24, mode=mode)


@operator("TopK")
def top_k(chooser, name):
    shape = chooser.shape(most=17)
    axis = chooser.axis(len(shape))
    if chooser.chance(0.4):
        # Long rows are sorted, short ones counted.
        shape = chooser.shape(ranks=(1, 2, 3), most=3)
        axis = chooser.axis(len(shape))
        shape[axis] = chooser.between(257, 700)
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.float64])
    data = chooser.array(element, shape)
    if issubclass(element, numpy.floating):
        data = chooser.with_specials(data)
    count = numpy.array([chooser.between(1, shape[axis])], numpy.int64)
    return Case(name, [data, count], outputs="vi", axis=axis,
                largest=chooser.choice([None, 0, 1]), sorted=1)


@operator("ArgMax", "ArgMin")
def extreme_place(chooser, name):
    shape = chooser.shape(most=17)
    element = chooser.element([numpy.float32, numpy.int32, numpy.float64, numpy.uint8, numpy.int8])
    data = chooser.array(element, shape)
    if issubclass(element, numpy.floating):
        data = chooser.with_specials(data)
    return Case(name, [data], axis=chooser.axis(len(shape)), keepdims=chooser.choice([None, 0, 1]),
                select_last_index=chooser.choice([None, 0, 1]), opset=13)


@operator("Hardmax")
def hardmax(chooser, name):
    shape = chooser.shape()
    data = chooser.array(chooser.element([numpy.float32]), shape)
    opset = 13 if len(shape) == 1 else chooser.choice([7, 11, 13, 21])
    return Case(name, [data], axis=chooser.maybe(chooser.axis(len(shape)) if opset > 7 else len(shape) - 1), opset=opset)


@operator("GatherND")
def gather_nd(chooser, name):
    shape = chooser.shape(most=5)
    batch = chooser.between(0, len(shape) - 1)
    length = chooser.between(1, len(shape) - batch)
    listed = [*shape[:batch], *chooser.shape(ranks=(0, 1, 2), most=5)]
    columns = [chooser.places([*listed, 1], extent) for extent in shape[batch : batch + length]]
    data = chooser.array(chooser.element([*NUMBERS, numpy.bool_]), shape)
    return Case(name, [data, numpy.concatenate(columns, -1)], free=chooser.between(1, 2), opset=13, batch_dims=batch)


@operator("GatherElements")
def gather_elements(chooser, name):
    shape = chooser.shape()
    axis = chooser.axis(len(shape))
    picked = [chooser.between(1, extent) for extent in shape]
    picked[axis] = chooser.extent(9)
    index = chooser.places(picked, shape[axis], chooser.choice([numpy.int32, numpy.int64]))
    return Case(name, [chooser.array(chooser.element(NUMBERS), shape), index], free=chooser.between(1, 2), axis=axis)


@operator("NonZero")
def non_zero(chooser, name):
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.uint8])
    return Case(name, [small(chooser, element, chooser.shape())])


@operator("Compress")
def compress(chooser, name):
    shape = chooser.shape()
    axis = chooser.maybe(chooser.axis(len(shape)), 0.7)
    count = int(numpy.prod(shape)) if axis is None else shape[axis]
    data = chooser.array(chooser.element(NUMBERS), shape)
    return Case(name, [data, chooser.booleans([chooser.between(1, count)])], free=chooser.between(1, 2), axis=axis)


@operator("NonMaxSuppression")
def non_max_suppression(chooser, name):
    batch, classes, boxes = chooser.extent(2), chooser.extent(3), chooser.extent(17)
    corners = chooser.numbers.random((batch, boxes, 2, 2)).astype(numpy.float32)
    centres = chooser.choice([None, 0, 1])
    if not centres and chooser.chance(0.5):
        corners.sort(axis=2)
    scores = chooser.quarters([batch, classes, boxes])
    most = chooser.maybe(numpy.array([chooser.between(0, 6)], numpy.int64), 0.9)
    overlap = chooser.maybe(numpy.array([chooser.choice([0, 0.3, 0.5, 1])], numpy.float32), 0.7)
    least = chooser.maybe(numpy.array([chooser.choice([-1, 0.1, 0.5])], numpy.float32))
    inputs = [corners.reshape(batch, boxes, 4), scores, most, overlap, least]
    return Case(name, inputs, free=2, opset=11, center_point_box=centres)


@operator("Unique")
def unique(chooser, name):
    shape = chooser.shape(ranks=(1, 2, 3), most=6)
    element = chooser.element([numpy.float32, numpy.int64, numpy.float64, numpy.int8])
    axis = chooser.maybe(chooser.axis(len(shape)), 0.6)
    return Case(name, [small(chooser, element, shape)], outputs="vifc", opset=11, axis=axis,
                sorted=chooser.choice([None, 0, 1]))


@operator("ReverseSequence")
def reverse_sequence(chooser, name):
    shape = chooser.shape(ranks=(2, 3, 4))
    time = chooser.choice([None, 0, 1])
    lengths = chooser.numbers.integers(1, shape[1 if time == 1 else 0] + 1, shape[0 if time == 1 else 1])
    data = chooser.array(chooser.element(NUMBERS), shape)
    batch = None if time is None else 1 - time
    return Case(name, [data, lengths.astype(numpy.int64)], free=chooser.between(1, 2), time_axis=time, batch_axis=batch)


@operator("EyeLike")
def eye_like(chooser, name):
    shape = chooser.shape(ranks=(2,))
    data = chooser.array(chooser.element([numpy.float32, numpy.int32, numpy.int64]), shape)
    return Case(name, [data], k=chooser.maybe(chooser.between(-5, 5)), dtype=chooser.choice([None, 1, 6, 7]))


@operator("CenterCropPad")
def center_crop_pad(chooser, name):
    shape = chooser.shape()
    axes = chooser.maybe(chooser.random.sample(range(len(shape)), chooser.between(1, len(shape))))
    count = len(shape) if axes is None else len(axes)
    wanted = numpy.array([chooser.extent() for _ in range(count)], numpy.int64)
    if axes is not None:
        axes = [axis - len(shape) if chooser.chance(0.5) else axis for axis in axes]
    return Case(name, [chooser.array(chooser.element(NUMBERS), shape), wanted], opset=18, axes=axes)


@operator("CumSum", "CumProd")
def running(chooser, name):
    shape = chooser.shape()
    axis = chooser.axis(len(shape))
    if name == "CumSum" and chooser.chance(0.2):
        # Long axes are combined in blocks.
        shape[axis] = chooser.between(1025, 1500)
    element = chooser.element([numpy.float32, numpy.int32, numpy.int64, numpy.float64])
    if name == "CumProd" and numpy.prod(shape) > 4096:
        raise Unfit("a long product")
    axis = numpy.array(axis, chooser.choice([numpy.int32, numpy.int64]))
    return Case(name, [small(chooser, element, shape), axis], opset=26 if name == "CumProd" else 14,
                exclusive=chooser.choice([None, 0, 1]), reverse=chooser.choice([None, 0, 1]))
