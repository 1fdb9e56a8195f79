"""A quantised inverted residual in QDQ form: weights per channel, activations per tensor."""

import numpy

from . import FLOAT, Builder, Case


def quantised(graph, tensor, scale):
    """A tensor through `QuantizeLinear` and `DequantizeLinear`, as a quantiser leaves it."""
    parameters = [graph.constant(numpy.float32(scale)), graph.constant(numpy.uint8(128))]
    return graph.node("DequantizeLinear", [graph.node("QuantizeLinear", [tensor, *parameters]), *parameters])


def convolution(graph, tensor, outputs, inputs, size, scale, **attributes):
    """A convolution whose weight is stored as bytes, a scale a channel."""
    weight = graph.random.integers(-127, 128, (outputs, inputs, size, size)).astype(numpy.int8)
    scales = (graph.random.uniform(0.5, 1.5, outputs) / (127 * numpy.sqrt(inputs * size * size))).astype(numpy.float32)
    parameters = [graph.constant(scales), graph.constant(numpy.zeros(outputs, numpy.int8))]
    real = graph.node("DequantizeLinear", [graph.constant(weight), *parameters], axis=0)
    bias = graph.constant(graph.random.integers(-900, 900, outputs).astype(numpy.int32))
    bias_scales = graph.constant((scales * scale).astype(numpy.float32))
    real_bias = graph.node("DequantizeLinear", [bias, bias_scales, graph.constant(numpy.zeros(outputs, numpy.int32))], axis=0)
    return graph.node("Conv", [tensor, real, real_bias], **attributes)


def build():
    graph = Builder("quantised_mobilenet_qdq", 4)
    x = quantised(graph, "x", 0.03)
    low, high = graph.constant(numpy.float32(0)), graph.constant(numpy.float32(6))
    clip = lambda tensor: graph.node("Clip", [tensor, low, high])
    wide = quantised(graph, clip(convolution(graph, x, 32, 8, 1, 0.03)), 6 / 255)
    deep = convolution(graph, wide, 32, 1, 3, 6 / 255, group=32, pads=[1, 1, 1, 1])
    deep = quantised(graph, clip(deep), 6 / 255)
    thin = quantised(graph, convolution(graph, deep, 8, 32, 1, 6 / 255), 0.03)
    total = quantised(graph, graph.node("Add", [x, thin]), 0.04)
    pooled = quantised(graph, graph.node("GlobalAveragePool", [total]), 0.04)
    flat = graph.node("Flatten", [pooled])
    weight = graph.random.integers(-127, 128, (8, 5)).astype(numpy.int8)
    real = graph.node("DequantizeLinear", [graph.constant(weight), graph.constant(numpy.float32(0.01)),
                                           graph.constant(numpy.int8(0))])
    scores = graph.node("Gemm", [flat, real, graph.weight(5)])
    parameters = [graph.constant(numpy.float32(0.05)), graph.constant(numpy.uint8(128))]
    graph.output("DequantizeLinear", [graph.node("QuantizeLinear", [scores, *parameters]), *parameters], "scores")
    model = graph.model([("x", FLOAT, ["batch", 8, 10, 10])], [("scores", FLOAT, ["batch", 5])])
    # A value that two orders of summation bring to different sides of a rounding differs by one step.
    return Case(model, {"x": graph.random.standard_normal((2, 8, 10, 10)).astype(numpy.float32)}, atol=0.051)
