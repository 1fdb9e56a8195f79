"""The end of a detector: scores and boxes decoded, the best by TopK, non-maximum suppression, and what remains gathered."""

import numpy

from . import FLOAT, INT64, Builder, Case


def build():
    graph = Builder("detector_head", 1)
    boxes, classes, kept = 96, 3, 8
    scores = graph.node("Sigmoid", ["logits"])
    best = graph.node("ReduceMax", [scores], axes=[2], keepdims=0)
    count = graph.constant(numpy.array([32], numpy.int64))
    _, order = graph.node("TopK", [best, count], outputs=2, axis=1, largest=1, sorted=1)
    column = graph.node("Unsqueeze", [order, graph.constant(numpy.array([2], numpy.int64))])
    shape = lambda width: graph.constant(numpy.array([1, 32, width], numpy.int64))
    picked_scores = graph.node("GatherElements", [scores, graph.node("Expand", [column, shape(classes)])], axis=1)
    deltas = graph.node("GatherElements", ["deltas", graph.node("Expand", [column, shape(4)])], axis=1)
    center, size = graph.node("Split", [deltas], outputs=2, axis=2)
    half = graph.node("Mul", [graph.node("Exp", [size]), graph.constant(numpy.float32(0.5))])
    corners = graph.node("Concat", [graph.node("Sub", [center, half]), graph.node("Add", [center, half])], axis=2)
    by_class = graph.node("Transpose", [picked_scores], perm=[0, 2, 1])
    limits = [graph.constant(numpy.array([kept], numpy.int64)), graph.constant(numpy.array([0.3], numpy.float32)),
              graph.constant(numpy.array([0.4], numpy.float32))]
    selected = graph.node("NonMaxSuppression", [corners, by_class, *limits])
    place = graph.node("Gather", [selected, graph.constant(numpy.int64(2))], axis=1)
    label = graph.node("Gather", [selected, graph.constant(numpy.int64(1))], axis=1)
    flat = graph.node("Squeeze", [corners, graph.constant(numpy.array([0], numpy.int64))])
    graph.output("Gather", [flat, place], "boxes", axis=0)
    graph.output("GatherND", [by_class, selected], "scores")
    graph.output("Identity", [label], "labels")
    model = graph.model([("logits", FLOAT, [1, boxes, classes]), ("deltas", FLOAT, [1, boxes, 4])],
                        [("boxes", FLOAT, ["kept", 4]), ("scores", FLOAT, ["kept"]), ("labels", INT64, ["kept"])])
    return Case(model, {
        "logits": graph.random.standard_normal((1, boxes, classes)).astype(numpy.float32),
        "deltas": (graph.random.standard_normal((1, boxes, 4)) * 0.7).astype(numpy.float32),
    })
