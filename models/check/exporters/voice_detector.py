"""A voice detector for two sample rates: an `If` on the rate chooses the branch; the rate is fixed when it is compiled."""

import numpy
from onnx import helper

from . import FLOAT, INT64, Builder, Case


def branch(graph, name, window):
    """A branch that frames the captured signal, with its own weights."""
    inner = Builder(name, window)
    bank = inner.constant((inner.random.standard_normal((16, 1, window)) / window).astype(numpy.float32), f"{name}_bank")
    pads = inner.constant(numpy.array([0, 0, window // 2, 0, 0, window // 2], numpy.int64), f"{name}_pads")
    padded, frames, output = (f"{name}_{each}" for each in ("padded", "frames", "magnitudes"))
    nodes = [
        helper.make_node("Pad", ["signal", pads], [padded], mode="reflect"),
        helper.make_node("Conv", [padded, bank], [frames], strides=[window // 2]),
        helper.make_node("Abs", [frames], [f"{name}_absolute"]),
        helper.make_node("ReduceMean", [f"{name}_absolute"], [output], axes=[2], keepdims=0),
    ]
    result = helper.make_tensor_value_info(output, FLOAT, None)
    return helper.make_graph(nodes, name, [], [result], inner.initializers)


def build():
    graph = Builder("voice_detector", 2)
    wide = graph.node("Equal", ["sr", graph.constant(numpy.int64(16000))])
    features = graph.node("If", [wide], then_branch=branch(graph, "wide", 64), else_branch=branch(graph, "narrow", 32))
    sequence = graph.node("Unsqueeze", [features, graph.constant(numpy.array([0], numpy.int64))])
    weights = [graph.weight(1, 32, 16), graph.weight(1, 32, 8), graph.weight(1, 64)]
    _, state, cell = graph.node("LSTM", [sequence, *weights, "", "h", "c"], outputs=3, hidden_size=8)
    graph.output("Identity", [state], "hn")
    graph.output("Identity", [cell], "cn")
    last = graph.node("Squeeze", [state, graph.constant(numpy.array([0], numpy.int64))])
    logit = graph.node("Gemm", [graph.node("Relu", [last]), graph.weight(1, 8), graph.weight(1)], transB=1)
    graph.output("Sigmoid", [logit], "speech")
    model = graph.model([("signal", FLOAT, [1, 1, 512]), ("sr", INT64, []), ("h", FLOAT, [1, 1, 8]), ("c", FLOAT, [1, 1, 8])],
                        [("speech", FLOAT, [1, 1]), ("hn", FLOAT, [1, 1, 8]), ("cn", FLOAT, [1, 1, 8])], opset=16)
    random = graph.random
    return Case(model, {
        "signal": random.standard_normal((1, 1, 512)).astype(numpy.float32),
        "sr": numpy.array(16000, numpy.int64),
        "h": random.standard_normal((1, 1, 8)).astype(numpy.float32),
        "c": random.standard_normal((1, 1, 8)).astype(numpy.float32),
    }, constants={"sr": "16000"})
