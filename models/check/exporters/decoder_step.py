"""One step of a decoder: rotary positions, grouped attention over a cache that grows, gated units."""

import numpy

from . import FLOAT, INT64, Builder, Case

WIDTH, HEADS, GROUPS, PAST, HEAD = 32, 4, 2, 5, 8


def build():
    graph = Builder("decoder_step", 8)
    shape = lambda *values: graph.constant(numpy.array(values, numpy.int64))
    ids = graph.node("Gather", [graph.weight(50, WIDTH, scale=1.0), "ids"], axis=0)
    normalised = graph.node("RMSNormalization", [ids, graph.weight(WIDTH)], axis=-1, epsilon=1e-6)
    angles = numpy.outer(numpy.arange(16), 10000.0 ** (-numpy.arange(HEAD // 2) / (HEAD // 2))).astype(numpy.float32)
    tables = [graph.constant(numpy.cos(angles)), graph.constant(numpy.sin(angles))]

    def heads(count):
        projected = graph.node("MatMul", [normalised, graph.weight(WIDTH, count * HEAD)])
        return graph.node("Transpose", [graph.node("Reshape", [projected, shape(1, -1, count, HEAD)])], perm=[0, 2, 1, 3])

    query, key = (graph.node("RotaryEmbedding", [heads(count), *tables, "positions"]) for count in (HEADS, GROUPS))
    mixed, present_key, present_value = graph.node("Attention", [query, key, heads(GROUPS), "", "past_key", "past_value"],
                                                   outputs=3, is_causal=1)
    graph.output("Identity", [present_key], "present_key")
    graph.output("Identity", [present_value], "present_value")
    mixed = graph.node("Reshape", [graph.node("Transpose", [mixed], perm=[0, 2, 1, 3]), shape(1, -1, HEADS * HEAD)])
    hidden = graph.node("Add", [ids, graph.node("MatMul", [mixed, graph.weight(HEADS * HEAD, WIDTH)])])
    normalised = graph.node("RMSNormalization", [hidden, graph.weight(WIDTH)], axis=-1, epsilon=1e-6)
    gate = graph.node("MatMul", [normalised, graph.weight(WIDTH, 48)])
    gate = graph.node("Mul", [gate, graph.node("Sigmoid", [gate])])
    up = graph.node("MatMul", [normalised, graph.weight(WIDTH, 48)])
    down = graph.node("MatMul", [graph.node("Mul", [gate, up]), graph.weight(48, WIDTH)])
    logits = graph.node("MatMul", [graph.node("Add", [hidden, down]), graph.weight(WIDTH, 50)])
    graph.output("Identity", [logits], "logits")
    graph.output("ArgMax", [logits], "next", axis=-1, keepdims=0)
    cache = [1, GROUPS, "past", HEAD]
    grown = [1, GROUPS, "total", HEAD]
    model = graph.model([("ids", INT64, [1, 2]), ("positions", INT64, [1, 2]), ("past_key", FLOAT, cache), ("past_value", FLOAT, cache)],
                        [("logits", FLOAT, [1, 2, 50]), ("next", INT64, [1, 2]), ("present_key", FLOAT, grown),
                         ("present_value", FLOAT, grown)], opset=23)
    random = graph.random
    past = lambda: random.standard_normal((1, GROUPS, PAST, HEAD)).astype(numpy.float32)
    return Case(model, {"ids": numpy.array([[3, 17]], numpy.int64), "positions": numpy.array([[PAST, PAST + 1]], numpy.int64),
                        "past_key": past(), "past_value": past()})
