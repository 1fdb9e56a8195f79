"""The same kind of block in operators over quantised tensors."""

import numpy

from . import FLOAT, Builder, Case


def build():
    graph = Builder("quantised_mobilenet_qlinear", 5)
    number = lambda value, kind: graph.constant(kind(value))
    scale = lambda value: number(value, numpy.float32)
    zero = lambda value: number(value, numpy.uint8)

    def convolution(tensor, given, made, outputs, inputs, size, **attributes):
        weight = graph.constant(graph.random.integers(-127, 128, (outputs, inputs, size, size)).astype(numpy.int8))
        scales = (graph.random.uniform(0.5, 1.5, outputs) / (127 * numpy.sqrt(inputs * size * size))).astype(numpy.float32)
        bias = graph.constant(graph.random.integers(-900, 900, outputs).astype(numpy.int32))
        operands = [tensor, scale(given[0]), zero(given[1]), weight, graph.constant(scales),
                    graph.constant(numpy.zeros(outputs, numpy.int8)), scale(made[0]), zero(made[1]), bias]
        return graph.node("QLinearConv", operands, **attributes)

    x = graph.node("QuantizeLinear", ["x", scale(0.03), zero(128)])
    wide = convolution(x, (0.03, 128), (6 / 255, 0), 32, 8, 1)
    deep = convolution(wide, (6 / 255, 0), (6 / 255, 0), 32, 1, 3, group=32, pads=[1, 1, 1, 1])
    thin = convolution(deep, (6 / 255, 0), (0.03, 128), 8, 32, 1)
    total = graph.node("QLinearAdd", [x, scale(0.03), zero(128), thin, scale(0.03), zero(128), scale(0.04), zero(128)],
                       domain="com.microsoft")
    pooled = graph.node("QLinearGlobalAveragePool", [total, scale(0.04), zero(128), scale(0.04), zero(128)],
                        domain="com.microsoft", channels_last=0)
    flat = graph.node("Flatten", [pooled])
    weight = graph.constant(graph.random.integers(-127, 128, (8, 5)).astype(numpy.int8))
    scores = graph.node("QLinearMatMul", [flat, scale(0.04), zero(128), weight, scale(0.01), number(0, numpy.int8),
                                          scale(0.05), zero(128)])
    graph.output("DequantizeLinear", [scores, scale(0.05), zero(128)], "scores")
    model = graph.model([("x", FLOAT, [2, 8, 10, 10])], [("scores", FLOAT, [2, 5])], domains=["com.microsoft"])
    return Case(model, {"x": graph.random.standard_normal((2, 8, 10, 10)).astype(numpy.float32)}, atol=0.051)
