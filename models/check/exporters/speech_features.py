"""Logarithms of a mel spectrum, normalised over time, as a speech model begins; a convolution subsamples them."""

import numpy

from . import FLOAT, Builder, Case


def build():
    graph = Builder("speech_features", 9)
    frame, step, samples, bands = 32, 16, 256, 10
    number = lambda value: graph.constant(numpy.float32(value))
    pads = graph.constant(numpy.array([0, frame // 2, 0, frame // 2], numpy.int64))
    padded = graph.node("Pad", ["signal", pads], mode="reflect")
    emphasised = graph.node("Unsqueeze", [padded, graph.constant(numpy.array([2], numpy.int64))])
    window = graph.node("HannWindow", [graph.constant(numpy.int64(frame))])
    spectrum = graph.node("STFT", [emphasised, graph.constant(numpy.int64(step)), window, graph.constant(numpy.int64(frame))])
    power = graph.node("ReduceSumSquare", [spectrum], axes=[3], keepdims=0)
    bank = graph.constant(numpy.abs(graph.random.standard_normal((frame // 2 + 1, bands))).astype(numpy.float32))
    mel = graph.node("Log", [graph.node("Clip", [graph.node("MatMul", [power, bank]), number(1e-6)])])
    mean = graph.node("ReduceMean", [mel], axes=[1], keepdims=1)
    centred = graph.node("Sub", [mel, mean])
    deviation = graph.node("Sqrt", [graph.node("ReduceMean", [graph.node("Mul", [centred, centred])], axes=[1], keepdims=1)])
    normalised = graph.node("Div", [centred, graph.node("Add", [deviation, number(1e-4)])])
    image = graph.node("Unsqueeze", [normalised, graph.constant(numpy.array([1], numpy.int64))])
    small = graph.node("Relu", [graph.node("Conv", [image, graph.weight(4, 1, 3, 3), graph.weight(4)], strides=[2, 2])])
    moved = graph.node("Transpose", [small], perm=[0, 2, 1, 3])
    rows = graph.node("Reshape", [moved, graph.constant(numpy.array([0, 0, -1], numpy.int64))])
    scores = graph.node("LogSoftmax", [graph.node("MatMul", [rows, graph.weight(16, 7)])], axis=-1)
    graph.output("Identity", [scores], "scores")
    graph.output("ReduceLogSumExp", [scores], "total", axes=[-1], keepdims=0)
    model = graph.model([("signal", FLOAT, [2, samples])], [("scores", FLOAT, [2, 8, 7]), ("total", FLOAT, [2, 8])])
    return Case(model, {"signal": graph.random.standard_normal((2, samples)).astype(numpy.float32)})
