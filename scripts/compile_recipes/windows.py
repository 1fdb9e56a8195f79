"""A transformer over windows of a picture, as PyTorch exports it."""

import numpy

from .graph import Graph

WINDOW = 8


def window_transformer():
    """A picture of 256 × 256 to 1,000 classes, after Swin-V2: 22 blocks attend within windows of 8 × 8. Every other block shifts the
    picture by slices and concats before. Cosines stand in place of products, and a small network gives the biases of positions."""
    g = Graph(21)
    x = g.conv(g.input("x", [1, 3, 256, 256]), 3, 96, 4, 4, padding=(0, 0))
    side, width = 64, 96
    x = g.op("Transpose", g.reshape(x, "0", 96, side * side), perm=[0, 2, 1])
    x = g.layer_norm(x, width)
    for stage, (blocks, heads) in enumerate(((2, 3), (2, 6), (16, 12), (2, 24))):
        for at in range(blocks):
            x = block(g, x, side, width, heads, WINDOW // 2 if at % 2 and side > WINDOW else 0)
        if stage < 3:
            x = joined_neighbours(g, x, side, width)
            side, width = side // 2, 2 * width
    x = g.op("Transpose", g.layer_norm(x, width), perm=[0, 2, 1])
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(g.linear(x, width, 1000))
    return g


def rolled(g, x, shift):
    """A cyclic shift along both axes of the picture, by slices and concats."""
    for axis in (1, 2):
        parts = [g.slice(x, shift, 2**31 - 1, axis), g.slice(x, 0, shift, axis)]
        x = g.op("Concat", *parts, axis=axis)
    return x


def block(g, x, side, width, heads, shift):
    count = side // WINDOW
    y = g.reshape(x, "0", side, side, width)
    y = rolled(g, y, shift) if shift else y
    y = g.reshape(y, "0", count, WINDOW, count, WINDOW, width)
    y = g.reshape(g.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), -1, WINDOW * WINDOW, width)
    y = window_attention(g, y, count * count, width, heads, shift)
    y = g.reshape(y, -1, count, count, WINDOW, WINDOW, width)
    y = g.reshape(g.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), -1, side, side, width)
    y = rolled(g, y, -shift) if shift else y
    x = g.op("Add", x, g.layer_norm(g.reshape(y, "0", side * side, width), width))
    inner = g.linear(g.gelu(g.linear(x, width, 4 * width)), 4 * width, width)
    return g.op("Add", x, g.layer_norm(inner, width))


def normal(g, x):
    """Rows of length one, as exporters write it."""
    length = g.op("Clip", g.op("ReduceL2", x, axes=[-1]), g.scalar(1e-12))
    return g.op("Div", x, g.op("Expand", length, g.op("Shape", x)))


def position_bias(g, heads):
    points = WINDOW * WINDOW
    table = g.keep(g.random.standard_normal((1, 15, 15, 2), numpy.float32))
    inner = g.op("Relu", g.linear(table, 2, 512))
    found = g.reshape(g.linear(inner, 512, heads, bias=False), -1, heads)
    index = g.keep(g.random.integers(0, 225, points * points))
    bias = g.reshape(g.op("Gather", found, index, axis=0), points, points, -1)
    bias = g.op("Sigmoid", g.op("Transpose", bias, perm=[2, 0, 1]))
    return g.op("Unsqueeze", g.op("Mul", bias, g.scalar(16)), g.integers(0))


def window_attention(g, x, windows, width, heads, shift):
    points, size = WINDOW * WINDOW, width // heads
    bias = g.weight(3 * width, scale=0.1)
    packed = g.op("Add", g.linear(x, width, 3 * width, bias=False), bias)
    packed = g.op("Transpose", g.reshape(packed, "0", "1", 3, heads, size), perm=[2, 0, 3, 1, 4])
    query, key, value = (g.op("Gather", packed, g.constant(numpy.int64(at)), axis=0) for at in range(3))
    scores = g.op("MatMul", normal(g, query), g.op("Transpose", normal(g, key), perm=[0, 1, 3, 2]))
    limit = g.op("Exp", g.op("Clip", g.keep(g.random.random((heads, 1, 1), numpy.float32)), "", g.scalar(4.6)))
    scores = g.op("Add", g.op("Mul", scores, limit), position_bias(g, heads))
    if shift:
        mask = g.keep(numpy.where(g.random.random((windows, points, points)) < 0.3, -100, 0).astype(numpy.float32))
        scores = g.reshape(scores, 1, windows, heads, points, points)
        scores = g.op("Add", scores, g.op("Unsqueeze", mask, g.integers(0, 2)))
        scores = g.reshape(scores, -1, heads, points, points)
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    mixed = g.reshape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), -1, points, width)
    return g.linear(mixed, width, width)


def joined_neighbours(g, x, side, width):
    """Every second point along both axes, side by side, and fewer channels."""
    x = g.reshape(x, "0", side, side, width)
    parts = [g.slice(g.slice(x, row, 2**31 - 1, 1, 2), column, 2**31 - 1, 2, 2) for column in (0, 1) for row in (0, 1)]
    x = g.reshape(g.op("Concat", *parts, axis=-1), "0", side * side // 4, 4 * width)
    return g.layer_norm(g.linear(x, 4 * width, 2 * width, bias=False), 2 * width)
