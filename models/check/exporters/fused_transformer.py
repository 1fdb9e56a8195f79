"""A transformer's layer as ONNX Runtime's optimiser leaves it: fused attention, skip normalisation and gelu."""

import numpy

from . import FLOAT, Builder, Case

WIDTH, HEADS, LENGTH = 32, 4, 6


def build():
    graph = Builder("fused_transformer", 7)
    contrib = dict(domain="com.microsoft")
    mask = graph.constant(numpy.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]], numpy.int32))
    attended = graph.node("Attention", ["x", graph.weight(WIDTH, 3 * WIDTH), graph.weight(3 * WIDTH), mask], num_heads=HEADS,
                          **contrib)
    projected = graph.node("MatMul", [attended, graph.weight(WIDTH, WIDTH)])
    first = graph.node("SkipLayerNormalization", [projected, "x", graph.weight(WIDTH), graph.weight(WIDTH), graph.weight(WIDTH)],
                       epsilon=1e-5, **contrib)
    wide = graph.node("MatMul", [first, graph.weight(WIDTH, 4 * WIDTH)])
    wide = graph.node("BiasGelu", [wide, graph.weight(4 * WIDTH)], **contrib)
    thin = graph.node("MatMul", [wide, graph.weight(4 * WIDTH, WIDTH)])
    second = graph.node("SkipLayerNormalization", [thin, first, graph.weight(WIDTH), graph.weight(WIDTH), graph.weight(WIDTH)],
                        epsilon=1e-5, **contrib)
    query, key, value = (graph.node("MatMul", [second, graph.weight(WIDTH, WIDTH)]) for _ in range(3))
    again = graph.node("MultiHeadAttention", [query, key, value], num_heads=HEADS, **contrib)
    gelu = graph.node("FastGelu", [graph.node("FusedMatMul", [again, graph.weight(WIDTH, WIDTH)], transB=1, alpha=0.5, **contrib)],
                      **contrib)
    graph.output("SkipSimplifiedLayerNormalization", [gelu, second, graph.weight(WIDTH)], "y", epsilon=1e-5, **contrib)
    model = graph.model([("x", FLOAT, [2, LENGTH, WIDTH])], [("y", FLOAT, [2, LENGTH, WIDTH])], domains=["com.microsoft"])
    return Case(model, {"x": graph.random.standard_normal((2, LENGTH, WIDTH)).astype(numpy.float32)})
