"""Models of sequences: bytes, words, sound, and a graph's nodes and edges."""

import numpy
from onnx import TensorProto

from .graph import Graph


def file_type():
    """Bytes of a file to its type: one-hot, dense, norms as Keras writes them, two convolutions over 1,024 blocks, the maximum
    over time."""
    g = Graph(1)
    x = g.input("bytes", [1, 4096], TensorProto.INT32)
    x = g.op("OneHot", x, g.constant(numpy.int32(257)), g.constant(numpy.array([0, 1], numpy.float32)), axis=-1)
    x = g.tanh_gelu(g.linear(x, 257, 64))
    x = keras_norm(g, g.reshape(x, 1, 1024, 256), 256)
    x = g.op("Unsqueeze", g.op("Transpose", x, perm=[0, 2, 1]), g.integers(2))
    x = g.op("Squeeze", g.conv(x, 256, 512, (1, 5), padding=(0, 0)), g.integers(2))
    x = keras_norm(g, g.tanh_gelu(g.op("Transpose", x, perm=[0, 2, 1])), 512)
    x = g.op("Conv", g.op("Transpose", x, perm=[0, 2, 1]), g.weight(512, 512, 5), kernel_shape=[5])
    x = keras_norm(g, g.tanh_gelu(g.op("Transpose", x, perm=[0, 2, 1])), 512)
    x = keras_norm(g, g.op("ReduceMax", x, axes=[1], keepdims=0), 512)
    g.output(g.op("Softmax", g.linear(x, 512, 214), axis=-1))
    return g


def keras_norm(g, x, channels):
    """A layer norm from the means of values and of squares, with one factor and one addend a channel."""
    mean = g.op("ReduceMean", x, axes=[-1])
    variance = g.op("Sub", g.op("ReduceMean", g.op("Mul", x, x), axes=[-1]), g.op("Mul", mean, mean))
    deviation = g.op("Sqrt", g.op("Add", g.op("Relu", variance), g.scalar(1e-3)))
    factor = g.op("Mul", g.op("Reciprocal", deviation), g.weight(channels, scale=1))
    addend = g.op("Sub", g.weight(channels, scale=0.1), g.op("Mul", mean, factor))
    return g.op("Add", g.op("Mul", x, factor), addend)


def recurrent_tagger():
    """Words to tags: an embedding, two bidirectional LSTM layers over 48 steps, a dense layer, the best tag."""
    g = Graph(2)
    length, width = 48, 256
    words = g.input("words", [1, length], TensorProto.INT64)
    x = g.op("Gather", g.weight(20000, 128, scale=1), words)
    x = g.op("Transpose", x, perm=[1, 0, 2])
    for inputs in (128, 2 * width):
        matrices = [g.keep(g.random.standard_normal(shape, numpy.float32) / numpy.float32(16))
                    for shape in ((2, 4 * width, inputs), (2, 4 * width, width), (2, 8 * width))]
        starts = [g.op("ConstantOfShape", g.op("Concat", g.integers(2), g.extent(x, 1), g.integers(width), axis=0))
                  for _ in range(2)]
        y, _, _ = g.op("LSTM", x, *matrices, "", *starts, outputs=3, hidden_size=width, direction="bidirectional")
        x = g.reshape(g.op("Transpose", y, perm=[0, 2, 1, 3]), length, 1, 2 * width)
    x = g.op("Transpose", x, perm=[1, 0, 2])
    scores = g.op("LogSoftmax", g.linear(g.layer_norm(x, 2 * width), 2 * width, 50), axis=-1)
    g.output(scores)
    g.output(g.op("ArgMax", scores, axis=-1, keepdims=0), TensorProto.INT64)
    return g


def word_tagger():
    """Words to tags: a transformer of four layers over 128 words, with a mask and embeddings of positions."""
    g = Graph(3)
    length, width = 128, 384
    words, given = (g.input(name, [1, length], TensorProto.INT64) for name in ("words", "mask"))
    positions = g.slice(g.keep(numpy.arange(512)[None]), 0, length, 1)
    mask = g.op("Cast", g.op("Unsqueeze", given, g.integers(1, 2)), to=TensorProto.FLOAT)
    mask = g.op("Mul", g.op("Sub", g.scalar(1), mask), g.scalar(-10000))
    x = g.op("Add", g.op("Gather", g.weight(30522, width, scale=1), words), g.op("Gather", g.weight(512, width, scale=1), positions))
    x = g.layer_norm(x, width)
    for _ in range(4):
        x = g.layer_norm(g.op("Add", g.attention(x, length, width, 12, mask), x), width)
        inner = g.gelu(g.linear(x, width, 4 * width))
        x = g.layer_norm(g.op("Add", g.linear(inner, 4 * width, width), x), width)
    g.output(g.op("Softmax", g.linear(x, width, 9), axis=-1))
    return g


def speech_encoder():
    """Sound to letters: two convolutions with stride, and 16 blocks of two dense halves, attention with relative positions by
    a shift, and a gated convolution over time; 200 frames of 144 channels after the convolutions."""
    g = Graph(4)
    x = g.input("sound", [1, 1, 803, 80])
    width, length = 144, 200
    x = g.op("Relu", g.conv(x, 1, width, 3, 2, padding=(0, 0)))
    x = g.op("Relu", g.conv(x, width, width, 3, 2, padding=(0, 0)))
    x = g.reshape(g.op("Transpose", x, perm=[0, 2, 1, 3]), "0", length, width * 19)
    x = g.op("Mul", g.linear(x, width * 19, width), g.scalar(numpy.sqrt(width)))
    positions = g.keep(g.random.standard_normal((1, 2 * length - 1, width), numpy.float32))
    for _ in range(16):
        x = g.op("Add", x, g.op("Mul", half_dense(g, x, width), g.scalar(0.5)))
        x = g.op("Add", x, relative_attention(g, g.layer_norm(x, width), positions, length, width, 4))
        x = g.op("Add", x, gated_convolution(g, x, width))
        x = g.op("Add", x, g.op("Mul", half_dense(g, x, width), g.scalar(0.5)))
        x = g.layer_norm(x, width)
    g.output(g.op("LogSoftmax", g.linear(x, width, 128), axis=-1))
    return g


def half_dense(g, x, width):
    return g.linear(g.swish(g.linear(g.layer_norm(x, width), width, 4 * width)), 4 * width, width)


def gated_convolution(g, x, width):
    x = g.op("Transpose", g.layer_norm(x, width), perm=[0, 2, 1])
    x = g.op("Conv", x, g.weight(2 * width, width, 1), g.weight(2 * width, scale=0.1), kernel_shape=[1])
    value, gate = g.op("Split", x, g.integers(width, width), outputs=2, axis=1)
    x = g.op("Mul", value, g.op("Sigmoid", gate))
    x = g.op("Conv", x, g.weight(width, 1, 15), g.weight(width, scale=0.1), kernel_shape=[15], pads=[7, 7], group=width)
    x = g.swish(g.batch_norm(x, width))
    x = g.op("Conv", x, g.weight(width, width, 1), g.weight(width, scale=0.1), kernel_shape=[1])
    return g.op("Transpose", x, perm=[0, 2, 1])


def relative_attention(g, x, positions, length, width, heads):
    size = width // heads

    def split(value, rows, perm):
        return g.op("Transpose", g.reshape(value, "0", rows, heads, size), perm=perm)

    query = g.reshape(g.linear(x, width, width), "0", length, heads, size)
    key, value = split(g.linear(x, width, width), length, [0, 2, 3, 1]), split(g.linear(x, width, width), length, [0, 2, 1, 3])
    places = split(g.linear(positions, width, width, bias=False), 2 * length - 1, [0, 2, 3, 1])
    by_content, by_place = (
        g.op("Transpose", g.op("Add", query, g.weight(heads, size, scale=0.1)), perm=[0, 2, 1, 3]) for _ in range(2))
    shifted = g.op("MatMul", by_place, places)
    shifted = g.op("Pad", shifted, g.integers(0, 0, 0, 1, 0, 0, 0, 0))
    shifted = g.slice(g.reshape(shifted, "0", heads, 2 * length, length), 1, 2 * length, 2)
    shifted = g.slice(g.reshape(shifted, "0", heads, length, 2 * length - 1), 0, length, 3)
    scores = g.op("Div", g.op("Add", g.op("MatMul", by_content, key), shifted), g.scalar(numpy.sqrt(size)))
    mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    return g.linear(g.reshape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), "0", length, width), width, width)


def graph_network():
    """Nodes and edges to a number: six rounds in which edges gather both their nodes and nodes add up their edges by
    scattering, with gates and norms; 512 nodes and 4,096 edges."""
    g = Graph(5)
    nodes, edges, width = 512, 4096, 64
    x = g.input("nodes", [nodes, 32])
    ends = g.input("ends", [2, edges], TensorProto.INT64)
    edge = g.linear(g.input("lengths", [edges, 16]), 16, width)
    source, target = (g.op("Gather", ends, g.constant(numpy.int64(at)), axis=0) for at in range(2))
    spread = g.op("Expand", g.op("Unsqueeze", target, g.integers(1)), g.integers(edges, width))
    empty = g.op("ConstantOfShape", g.op("Concat", g.extent(x, 0), g.integers(width), axis=0))
    x = g.linear(x, 32, width)
    for _ in range(6):
        read, written = g.op("Gather", x, source, axis=0), g.op("Gather", x, target, axis=0)
        joined = g.op("Concat", read, written, edge, axis=1)
        edge = g.op("Add", edge, g.layer_norm(g.swish(g.linear(joined, 3 * width, width)), width))
        gate = g.op("Sigmoid", g.linear(edge, width, width))
        message = g.op("Mul", gate, g.linear(read, width, width))
        total = g.op("ScatterElements", empty, spread, message, axis=0, reduction="add")
        norm = g.op("ScatterElements", empty, spread, gate, axis=0, reduction="add")
        mean = g.op("Div", total, g.op("Add", norm, g.scalar(1e-6)))
        x = g.op("Add", x, g.op("Relu", g.layer_norm(g.op("Add", g.linear(x, width, width), mean), width)))
    g.output(g.linear(g.op("ReduceMean", x, axes=[0]), width, 1))
    return g
