"""Models of pictures: recognisers, detectors, segmentation, and transformers over windows."""

import numpy
from onnx import TensorProto

from .graph import Graph


def text_recogniser():
    """A line of text to letters: depthwise blocks with learned affine steps, hard-swish and squeeze-and-excite, two blocks of
    global mixing between convolutions, and 6,625 classes at each of 40 places."""
    g = Graph(11)
    x = norm_conv(g, g.input("x", [1, 3, 48, 320]), 3, 16, 3, 2)
    channels = 16
    blocks = [(3, 32, 1, 0), (3, 64, 1, 0), (3, 64, 1, 0), (3, 128, (2, 1), 0), (3, 128, 1, 0), (3, 240, (1, 2), 0),
              *[(5, 240, 1, 0)] * 4, (5, 480, (2, 1), 1), (5, 480, 1, 1), (5, 480, (2, 1), 0), (5, 480, 1, 0)]
    for kernel, outputs, stride, excites in blocks:
        x = light_block(g, x, channels, outputs, kernel, stride, excites)
        channels = outputs
    x = g.op("AveragePool", x, kernel_shape=[3, 2], strides=[3, 2])
    before, width, length = x, 120, 40
    x = g.swish(norm_conv(g, x, channels, channels // 8, (1, 3)))
    x = g.swish(norm_conv(g, x, channels // 8, width, 1))
    x = g.op("Transpose", g.reshape(x, "0", width, length), perm=[0, 2, 1])
    for _ in range(2):
        x = g.op("Add", x, packed_attention(g, g.layer_norm(x, width), length, width, 8))
        inner = g.swish(g.linear(g.layer_norm(x, width), width, 2 * width))
        x = g.op("Add", x, g.linear(inner, 2 * width, width))
    x = g.reshape(g.layer_norm(x, width), "0", 1, length, width)
    x = g.swish(norm_conv(g, g.op("Transpose", x, perm=[0, 3, 1, 2]), width, channels, 1))
    x = g.op("Concat", before, x, axis=1)
    x = g.swish(norm_conv(g, x, 2 * channels, channels // 8, (1, 3)))
    x = g.swish(norm_conv(g, x, channels // 8, width, 1))
    x = g.op("Transpose", g.op("Squeeze", x, g.integers(2)), perm=[0, 2, 1])
    g.output(g.op("Softmax", g.linear(x, width, 6625), axis=2))
    return g


def norm_conv(g, x, inputs, outputs, kernel, stride=1, groups=1):
    return g.batch_norm(g.conv(x, inputs, outputs, kernel, stride, groups, bias=False), outputs)


def affine(g, x):
    return g.op("Add", g.op("Mul", x, g.weight(1, scale=1)), g.weight(1, scale=1))


def light_block(g, x, inputs, outputs, kernel, stride, excites):
    x = affine(g, g.hard_swish(affine(g, g.conv(x, inputs, inputs, kernel, stride, inputs))))
    if excites:
        x = g.squeeze_excite(x, inputs, inputs // 4)
    x = affine(g, g.conv(x, inputs, outputs, 1))
    return affine(g, g.hard_swish(x))


def packed_attention(g, x, length, width, heads):
    """Attention whose three products are one."""
    packed = g.reshape(g.linear(x, width, 3 * width), "0", length, 3, heads, width // heads)
    packed = g.op("Transpose", packed, perm=[2, 0, 3, 1, 4])
    query, key, value = (g.op("Squeeze", g.slice(packed, at, at + 1, 0), g.integers(0)) for at in range(3))
    scores = g.op("MatMul", g.op("Mul", query, g.scalar((width // heads) ** -0.5)), g.op("Transpose", key, perm=[0, 1, 3, 2]))
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    return g.linear(g.reshape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), "0", length, width), width, width)


def inverted(g, x, inputs, outputs, wide, kernel, stride, excites, activate):
    """An inverted residual block."""
    y = activate(norm_conv(g, x, inputs, wide, 1)) if wide != inputs else x
    y = activate(norm_conv(g, y, wide, wide, kernel, stride, wide))
    y = g.squeeze_excite(y, wide, wide // 4) if excites else y
    y = norm_conv(g, y, wide, outputs, 1)
    return g.op("Add", x, y) if stride == 1 and inputs == outputs else y


MOBILE = [
    (16, 16, 3, 1, 0, 0), (24, 64, 3, 2, 0, 0), (24, 72, 3, 1, 0, 0), (40, 72, 5, 2, 1, 0), (40, 120, 5, 1, 1, 0),
    (40, 120, 5, 1, 1, 0), (80, 240, 3, 2, 0, 1), (80, 200, 3, 1, 0, 1), (80, 184, 3, 1, 0, 1), (80, 184, 3, 1, 0, 1),
    (112, 480, 3, 1, 1, 1), (112, 672, 3, 1, 1, 1), (160, 672, 5, 2, 1, 1), (160, 960, 5, 1, 1, 1), (160, 960, 5, 1, 1, 1),
]


def mobile_features(g, x):
    """What each block of the large MobileNet-V3 gives."""
    x, channels, found = g.hard_swish(norm_conv(g, x, 3, 16, 3, 2)), 16, []
    for outputs, wide, kernel, stride, excites, swishes in MOBILE:
        activate = g.hard_swish if swishes else lambda value: g.op("Relu", value)
        x = inverted(g, x, channels, outputs, wide, kernel, stride, excites, activate)
        channels = outputs
        found.append((x, channels))
    return found


def mobile_classifier():
    """A picture of 224 × 224 to 1,000 classes: the large MobileNet-V3, hard-swish and gates in their parts."""
    g = Graph(12)
    x, channels = mobile_features(g, g.input("x", [1, 3, 224, 224]))[-1]
    x = g.op("GlobalAveragePool", g.hard_swish(norm_conv(g, x, channels, 960, 1)))
    x = g.op("Flatten", x, axis=1)
    g.output(g.linear(g.hard_swish(g.linear(x, 960, 1280)), 1280, 1000))
    return g


def small_detector():
    """A picture of 320 × 320 to boxes: a mobile backbone, six levels of depthwise heads, decoded boxes, suppression."""
    g = Graph(13)
    features = mobile_features(g, g.input("x", [1, 3, 320, 320]))
    levels, (x, channels) = [features[11], features[14]], features[14]
    for outputs in (512, 256, 256, 128):
        x = inverted(g, x, channels, outputs, outputs // 2, 3, 2, 0, lambda value: g.op("Clip", value, g.scalar(0), g.scalar(6)))
        channels = outputs
        levels.append((x, channels))
    scores, places, count = [], [], 0
    for (level, channels), side in zip(levels, (20, 10, 5, 3, 2, 1)):
        for found, size in ((scores, 21), (places, 4)):
            head = g.op("Relu", norm_conv(g, level, channels, channels, 3, 1, channels))
            head = g.conv(head, channels, 6 * size, 1)
            head = g.reshape(head, "0", 6, size, side, side)
            found.append(g.reshape(g.op("Transpose", head, perm=[0, 3, 4, 1, 2]), "0", side * side * 6, size))
        count += side * side * 6
    scores = g.op("Softmax", g.op("Concat", *scores, axis=1), axis=-1)
    boxes = decoded_boxes(g, g.op("Concat", *places, axis=1), count)
    best = g.op("Transpose", g.slice(scores, 1, 21, 2), perm=[0, 2, 1])
    limits = [g.integers(20), g.constant(numpy.array([0.5], numpy.float32)), g.constant(numpy.array([0.3], numpy.float32))]
    g.output(g.op("NonMaxSuppression", boxes, best, *limits), TensorProto.INT64)
    g.output(boxes)
    g.output(scores)
    return g


def decoded_boxes(g, places, count):
    anchors = g.keep(g.random.random((1, count, 4), numpy.float32) + numpy.float32(0.1))
    corner = [g.slice(anchors, at, at + 1, 2) for at in range(4)]
    moved = [g.op("Div", g.slice(places, at, at + 1, 2), g.scalar(10 if at < 2 else 5)) for at in range(4)]
    middle = [g.op("Add", g.op("Mul", moved[at], corner[at + 2]), corner[at]) for at in range(2)]
    size = [g.op("Mul", g.op("Exp", moved[at + 2]), corner[at + 2]) for at in range(2)]
    half = [g.op("Mul", value, g.scalar(0.5)) for value in size]
    low = [g.op("Sub", middle[at], half[at]) for at in range(2)]
    high = [g.op("Add", middle[at], half[at]) for at in range(2)]
    return g.op("Concat", *low, *high, axis=2)


def grid_detector():
    """A picture of 640 × 640 to boxes: split and concatenated bottlenecks with swish, a pyramid up and down by resizing, heads
    whose distances are expectations, suppression."""
    g = Graph(14)
    x = swish_conv(g, g.input("images", [1, 3, 640, 640]), 3, 16, 3, 2)
    kept = []
    for inputs, outputs, repeats in ((16, 32, 1), (32, 64, 2), (64, 128, 2), (128, 256, 1)):
        x = split_bottlenecks(g, swish_conv(g, x, inputs, outputs, 3, 2), outputs, outputs, repeats, True)
        kept.append(x)
    x = pooled_pyramid(g, x, 256)
    middle = split_bottlenecks(g, g.op("Concat", twice(g, x), kept[2], axis=1), 384, 128, 1, False)
    fine = split_bottlenecks(g, g.op("Concat", twice(g, middle), kept[1], axis=1), 192, 64, 1, False)
    again = g.op("Concat", swish_conv(g, fine, 64, 64, 3, 2), middle, axis=1)
    middle = split_bottlenecks(g, again, 192, 128, 1, False)
    again = g.op("Concat", swish_conv(g, middle, 128, 128, 3, 2), x, axis=1)
    coarse = split_bottlenecks(g, again, 384, 256, 1, False)
    heads = [grid_head(g, level, channels) for level, channels in ((fine, 64), (middle, 128), (coarse, 256))]
    count = 6400 + 1600 + 400
    joined = g.op("Concat", *(g.reshape(head, "0", 144, -1) for head in heads), axis=2)
    distances, classes = g.op("Split", joined, g.integers(64, 80), outputs=2, axis=1)
    spread = g.op("Transpose", g.reshape(distances, "0", 4, 16, count), perm=[0, 2, 1, 3])
    steps = g.keep(numpy.arange(16, dtype=numpy.float32).reshape(1, 16, 1, 1))
    expected = g.reshape(g.op("Conv", g.op("Softmax", spread, axis=1), steps), "0", 4, count)
    low, high = g.op("Split", expected, g.integers(2, 2), outputs=2, axis=1)
    anchors = g.keep(g.random.random((1, 2, count), numpy.float32) * 80)
    first, last = g.op("Sub", anchors, low), g.op("Add", anchors, high)
    boxes = g.op("Transpose", g.op("Mul", g.op("Concat", first, last, axis=1), g.scalar(8)), perm=[0, 2, 1])
    limits = [g.integers(10), g.constant(numpy.array([0.5], numpy.float32)), g.constant(numpy.array([0.3], numpy.float32))]
    scores = g.op("Sigmoid", classes)
    g.output(g.op("NonMaxSuppression", boxes, scores, *limits), TensorProto.INT64)
    g.output(boxes)
    g.output(scores)
    return g


def swish_conv(g, x, inputs, outputs, kernel, stride=1):
    return g.swish(g.conv(x, inputs, outputs, kernel, stride))


def split_bottlenecks(g, x, inputs, outputs, repeats, adds):
    half = outputs // 2
    parts = g.op("Split", swish_conv(g, x, inputs, outputs, 1), g.integers(half, half), outputs=2, axis=1)
    for _ in range(repeats):
        inner = swish_conv(g, swish_conv(g, parts[-1], half, half, 3), half, half, 3)
        parts.append(g.op("Add", parts[-1], inner) if adds else inner)
    return swish_conv(g, g.op("Concat", *parts, axis=1), half * len(parts), outputs, 1)


def pooled_pyramid(g, x, channels):
    parts = [swish_conv(g, x, channels, channels // 2, 1)]
    for _ in range(3):
        parts.append(g.op("MaxPool", parts[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    return swish_conv(g, g.op("Concat", *parts, axis=1), 2 * channels, channels, 1)


def twice(g, x, mode="nearest", scale=2):
    scales = g.constant(numpy.array([1, 1, scale, scale], numpy.float32))
    rule = {"nearest": "asymmetric", "linear": "half_pixel"}[mode]
    nearest = {"nearest_mode": "floor"} if mode == "nearest" else {}
    return g.op("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=rule, **nearest)


def grid_head(g, x, channels):
    def branch(width, outputs):
        return g.conv(swish_conv(g, swish_conv(g, x, channels, width, 3), width, width, 3), width, outputs, 1)

    return g.op("Concat", branch(64, 64), branch(80, 80), axis=1)


def pyramid_segmenter():
    """A picture of 256 × 256 to 21 classes a point: residual blocks, dilation, pooling at four sizes, and a pyramid of
    levels that are resized, added and concatenated."""
    g = Graph(15)
    x = g.op("Relu", norm_conv(g, g.input("x", [1, 3, 256, 256]), 3, 64, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    channels, levels = 64, []
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for at in range(2):
            y = g.op("Relu", norm_conv(g, x, channels, outputs, 3, stride if at == 0 else 1))
            y = norm_conv(g, y, outputs, outputs, 3)
            beside = x if at > 0 or channels == outputs else norm_conv(g, x, channels, outputs, 1, stride)
            x, channels = g.op("Relu", g.op("Add", y, beside)), outputs
        levels.append((x, outputs))
    pooled = [x]
    for side in (1, 2, 4, 8):
        size = 8 // side
        part = g.op("AveragePool", x, kernel_shape=[size, size], strides=[size, size])
        part = g.op("Relu", norm_conv(g, part, 512, 128, 1))
        pooled.append(twice(g, part, "linear", 8 // side) if side < 8 else part)
    x = g.op("Relu", norm_conv(g, g.op("Concat", *pooled, axis=1), 1024, 128, 3))
    outputs = [x]
    for level, width in reversed(levels[:-1]):
        x = g.op("Add", twice(g, x, "linear"), norm_conv(g, level, width, 128, 1))
        x = g.op("Relu", norm_conv(g, x, 128, 128, 3))
        outputs.append(x)
    sized = [twice(g, value, "linear", 2 ** (3 - at)) if at < 3 else value for at, value in enumerate(outputs)]
    x = g.op("Relu", norm_conv(g, g.op("Concat", *sized, axis=1), 512, 128, 3))
    g.output(g.op("ArgMax", twice(g, g.conv(x, 128, 21, 1), "linear", 4), axis=1), TensorProto.INT64)
    return g


def shuffled_classifier():
    """A picture of 224 × 224 to 1,000 classes: grouped convolutions whose channels are shuffled by reshapes and transposes,
    halves of channels taken by slices and concatenated."""
    g = Graph(16)
    x = g.op("Relu", norm_conv(g, g.input("x", [1, 3, 224, 224]), 3, 24, 3, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    channels, side = 24, 56
    for outputs, repeats in ((176, 4), (352, 8), (704, 4)):
        side //= 2
        for at in range(repeats):
            half = outputs // 2
            if at == 0:
                left = norm_conv(g, norm_conv(g, x, channels, channels, 3, 2, channels), channels, half, 1)
                left, right, inputs, stride = g.op("Relu", left), x, channels, 2
            else:
                left, right = (g.slice(x, first, first + half, 1) for first in (0, half))
                inputs, stride = half, 1
            right = g.op("Relu", norm_conv(g, right, inputs, half, 1))
            right = norm_conv(g, right, half, half, 3, stride, half)
            right = g.op("Relu", norm_conv(g, right, half, half, 1, 1, 4))
            x = g.op("Concat", left, right, axis=1)
            x = g.op("Transpose", g.reshape(x, "0", 2, half, side, side), perm=[0, 2, 1, 3, 4])
            x, channels = g.reshape(x, "0", outputs, side, side), outputs
    x = g.op("Relu", norm_conv(g, x, channels, 1024, 1))
    g.output(g.linear(g.op("ReduceMean", x, axes=[2, 3], keepdims=0), 1024, 1000))
    return g
