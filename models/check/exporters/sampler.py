"""A registration head: an affine grid samples an image, losses and masks select what counts, sums run along rows."""

import numpy

from . import FLOAT, INT64, Builder, Case


def build():
    graph = Builder("sampler", 11)
    size = graph.constant(numpy.array([1, 3, 5, 6], numpy.int64))
    grid = graph.node("AffineGrid", ["theta", size], align_corners=0)
    sampled = graph.node("GridSample", ["image", grid], mode="linear", padding_mode="border", align_corners=0)
    mixed = graph.node("Einsum", [sampled, graph.weight(3, 4)], equation="nchw,cd->nhwd")
    along = graph.node("CumSum", [mixed, graph.constant(numpy.int64(2))])
    graph.output("Identity", [along], "along")
    channels = graph.node("Transpose", [along], perm=[0, 3, 1, 2])
    graph.output("SoftmaxCrossEntropyLoss", [channels, "labels"], "loss", reduction="mean", ignore_index=-1)
    flat = graph.node("Reshape", [along, graph.constant(numpy.array([-1], numpy.int64))])
    positive = graph.node("Greater", [flat, graph.constant(numpy.float32(1.5))])
    graph.output("Compress", [flat, positive], "large")
    graph.output("Transpose", [graph.node("NonZero", [positive])], "places", perm=[1, 0])
    graph.output("LpNormalization", [graph.node("TopK", [along, graph.constant(numpy.array([3], numpy.int64))], outputs=2,
                                                axis=2)[0]], "strongest", axis=-1, p=2)
    model = graph.model([("image", FLOAT, [1, 3, 9, 7]), ("theta", FLOAT, [1, 2, 3]), ("labels", INT64, [1, 5, 6])],
                        [("along", FLOAT, [1, 5, 6, 4]), ("loss", FLOAT, []), ("large", FLOAT, ["n"]), ("places", INT64, ["n", 1]),
                         ("strongest", FLOAT, [1, 5, 3, 4])], opset=20)
    labels = graph.random.integers(-1, 4, (1, 5, 6)).astype(numpy.int64)
    theta = numpy.array([[[0.9, 0.2, 0.1], [-0.15, 1.1, -0.2]]], numpy.float32)
    return Case(model, {"image": graph.random.standard_normal((1, 3, 9, 7)).astype(numpy.float32), "theta": theta,
                        "labels": labels})
