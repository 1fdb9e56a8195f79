"""A block of shifted windows: the mask is made by `ScatterND`, the shift by slices end to end."""

import numpy

from . import FLOAT, Builder, Case

SIZE, WINDOW, SHIFT, WIDTH, HEADS = 8, 4, 2, 16, 2


def roll(graph, tensor, amount):
    """Rows and columns moved cyclically, as `torch.roll` is exported."""
    vector = lambda *values: graph.constant(numpy.array(values, numpy.int64))
    for axis in (1, 2):
        cut = amount % SIZE
        front = graph.node("Slice", [tensor, vector(cut), vector(1 << 62), vector(axis)])
        back = graph.node("Slice", [tensor, vector(0), vector(cut), vector(axis)])
        tensor = graph.node("Concat", [front, back], axis=axis)
    return tensor


def windows(graph, tensor, width):
    shape = lambda *values: graph.constant(numpy.array(values, numpy.int64))
    count = SIZE // WINDOW
    split = graph.node("Reshape", [tensor, shape(1, count, WINDOW, count, WINDOW, width)])
    moved = graph.node("Transpose", [split], perm=[0, 1, 3, 2, 4, 5])
    return graph.node("Reshape", [moved, shape(-1, WINDOW * WINDOW, width)])


def build():
    graph = Builder("swin_block", 3)
    shape = lambda *values: graph.constant(numpy.array(values, numpy.int64))
    tokens, count = WINDOW * WINDOW, (SIZE // WINDOW) ** 2
    # Regions numbered one after another, each written by a ScatterND as `mask[:, h, w, :] = n` is exported.
    mask = graph.node("ConstantOfShape", [shape(1, SIZE, SIZE, 1)])
    bounds = [(0, SIZE - WINDOW), (SIZE - WINDOW, SIZE - SHIFT), (SIZE - SHIFT, SIZE)]
    for number, (rows, columns) in enumerate([(a, b) for a in bounds for b in bounds]):
        places = numpy.array([[0, row, column, 0] for row in range(*rows) for column in range(*columns)], numpy.int64)
        values = graph.constant(numpy.full(len(places), number, numpy.float32))
        mask = graph.node("ScatterND", [mask, graph.constant(places), values])
    regions = graph.node("Reshape", [windows(graph, mask, 1), shape(count, tokens)])
    rows = graph.node("Unsqueeze", [regions, shape(1)])
    columns = graph.node("Unsqueeze", [regions, shape(2)])
    same = graph.node("Equal", [graph.node("Sub", [rows, columns]), graph.constant(numpy.float32(0))])
    zero, hidden = (graph.constant(numpy.float32(value)) for value in (0, -100))
    bias = graph.node("Unsqueeze", [graph.node("Where", [same, zero, hidden]), shape(1)])

    normalised = graph.node("LayerNormalization", ["x", graph.weight(WIDTH), graph.weight(WIDTH)], axis=-1)
    shifted = windows(graph, roll(graph, normalised, SHIFT), WIDTH)
    projected = graph.node("Add", [graph.node("MatMul", [shifted, graph.weight(WIDTH, 3 * WIDTH)]), graph.weight(3 * WIDTH)])
    parts = graph.node("Reshape", [projected, shape(count, tokens, 3, HEADS, WIDTH // HEADS)])
    parts = graph.node("Transpose", [parts], perm=[2, 0, 3, 1, 4])
    query, key, value = (graph.node("Gather", [parts, graph.constant(numpy.int64(at))], axis=0) for at in range(3))
    query = graph.node("Mul", [query, graph.constant(numpy.float32((WIDTH // HEADS) ** -0.5))])
    scores = graph.node("MatMul", [query, graph.node("Transpose", [key], perm=[0, 1, 3, 2])])
    weights = graph.node("Softmax", [graph.node("Add", [scores, bias])], axis=-1)
    mixed = graph.node("Transpose", [graph.node("MatMul", [weights, value])], perm=[0, 2, 1, 3])
    mixed = graph.node("MatMul", [graph.node("Reshape", [mixed, shape(count, tokens, WIDTH)]), graph.weight(WIDTH, WIDTH)])
    side = SIZE // WINDOW
    back = graph.node("Reshape", [mixed, shape(1, side, side, WINDOW, WINDOW, WIDTH)])
    back = graph.node("Reshape", [graph.node("Transpose", [back], perm=[0, 1, 3, 2, 4, 5]), shape(1, SIZE, SIZE, WIDTH)])
    # Rows whose positions come at run time get a marker added.
    marked = graph.node("ScatterND", [roll(graph, back, -SHIFT), "places", "markers"], reduction="add")
    graph.output("Add", ["x", marked], "y")
    model = graph.model([("x", FLOAT, [1, SIZE, SIZE, WIDTH]), ("places", 7, [3, 3]), ("markers", FLOAT, [3, WIDTH])],
                        [("y", FLOAT, [1, SIZE, SIZE, WIDTH])])
    random = graph.random
    return Case(model, {
        "x": random.standard_normal((1, SIZE, SIZE, WIDTH)).astype(numpy.float32),
        "places": numpy.array([[0, 1, 2], [0, 7, 7], [0, 1, 2]], numpy.int64),
        "markers": random.standard_normal((3, WIDTH)).astype(numpy.float32),
    })
