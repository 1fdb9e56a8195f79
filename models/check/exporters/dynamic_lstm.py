"""A dynamically quantised LSTM: the contrib operator that a quantiser makes of `LSTM`."""

import numpy

from . import FLOAT, Builder, Case


def build():
    graph = Builder("dynamic_lstm", 6)
    steps, features, hidden = 5, 12, 8
    zero = lambda: graph.constant(numpy.array([0], numpy.int8))
    scale = lambda value: graph.constant(numpy.array([value], numpy.float32))
    # The quantised weights are transposed: features first. They have seven bits, as quantisers are told to choose where ONNX
    # Runtime may sum two products of bytes in sixteen bits, which saturate.
    weight = graph.constant(graph.random.integers(-64, 64, (1, features, 4 * hidden)).astype(numpy.int8))
    recurrent = graph.constant(graph.random.integers(-64, 64, (1, hidden, 4 * hidden)).astype(numpy.int8))
    operands = ["x", weight, recurrent, graph.weight(1, 8 * hidden), "", "", "", "", scale(0.004), zero(), scale(0.004), zero()]
    states, last, _ = graph.node("DynamicQuantizeLSTM", operands, outputs=3, domain="com.microsoft", hidden_size=hidden)
    graph.output("Identity", [last], "last")
    flat = graph.node("Squeeze", [states, graph.constant(numpy.array([1], numpy.int64))])
    code, amount, middle = graph.node("DynamicQuantizeLinear", [flat], outputs=3)
    bytes_ = graph.constant(graph.random.integers(-64, 64, (hidden, 6)).astype(numpy.int8))
    sums = graph.node("MatMulInteger", [code, bytes_, middle, graph.constant(numpy.int8(0))])
    real = graph.node("Cast", [sums], to=FLOAT)
    factor = graph.node("Mul", [amount, graph.constant(numpy.float32(0.01))])
    graph.output("Add", [graph.node("Mul", [real, factor]), graph.weight(6)], "y")
    model = graph.model([("x", FLOAT, [steps, 2, features])],
                        [("y", FLOAT, [steps, 2, 6]), ("last", FLOAT, [1, 2, hidden])], domains=["com.microsoft"])
    # A value on a rounding's edge may be one step of the quantisation away.
    return Case(model, {"x": graph.random.standard_normal((steps, 2, features)).astype(numpy.float32)}, atol=0.02)
