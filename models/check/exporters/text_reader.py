"""A reader of text lines: convolutions, a recurrent layer both ways over a loop of columns, and the best letters."""

import numpy
from onnx import TensorProto, helper

from . import BOOL, FLOAT, INT64, Builder, Case


def build():
    graph = Builder("text_reader", 10)
    columns = 6
    image = graph.node("HardSwish", [graph.node("Conv", ["image", graph.weight(8, 1, 3, 3), graph.weight(8)], pads=[1] * 4)])
    image = graph.node("MaxPool", [image], kernel_shape=[2, 2], strides=[2, 2])
    image = graph.node("Resize", [image, "", "", graph.constant(numpy.array([2, 8, 1, columns], numpy.int64))], mode="linear",
                       coordinate_transformation_mode="half_pixel")
    sequence = graph.node("Transpose", [graph.node("Squeeze", [image, graph.constant(numpy.array([2], numpy.int64))])],
                          perm=[2, 0, 1])
    weights = [graph.weight(2, 32, 8), graph.weight(2, 32, 8), graph.weight(2, 64)]
    states, _, _ = graph.node("LSTM", [sequence, *weights, "lengths"], outputs=3, hidden_size=8, direction="bidirectional")
    joined = graph.node("Reshape", [graph.node("Transpose", [states], perm=[0, 2, 1, 3]),
                                    graph.constant(numpy.array([columns, 2, 16], numpy.int64))])
    # A loop over the columns, as a scripted model is exported: the running maximum of all columns so far.
    letters = graph.weight(16, 5)
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    body = helper.make_graph([
        helper.make_node("Gather", [joined, "step"], ["column"], axis=0),
        helper.make_node("MatMul", ["column", letters], ["scores"]),
        helper.make_node("Max", ["scores", "best_in"], ["best_out"]),
        helper.make_node("Identity", ["going"], ["going_out"]),
        helper.make_node("Add", ["scores", "best_in"], ["shown"]),
    ], "body", [value("step", INT64, []), value("going", BOOL, []), value("best_in", FLOAT, [2, 5])],
        [value("going_out", BOOL, []), value("best_out", FLOAT, [2, 5]), value("shown", FLOAT, [2, 5])])
    trips = graph.node("Gather", [graph.node("Shape", [joined]), graph.constant(numpy.int64(0))], axis=0)
    start = graph.constant(numpy.full((2, 5), -1, numpy.float32))
    best, scores = graph.node("Loop", [trips, graph.constant(numpy.array(True)), start], outputs=2, body=body)
    graph.output("Identity", [best], "best")
    graph.output("ArgMax", [scores], "letters", axis=2, keepdims=0)
    graph.output("Softmax", [scores], "probabilities", axis=2)
    model = graph.model([("image", FLOAT, [2, 1, 8, 16]), ("lengths", TensorProto.INT32, [2])],
                        [("best", FLOAT, [2, 5]), ("letters", INT64, [columns, 2]), ("probabilities", FLOAT, [columns, 2, 5])])
    return Case(model, {"image": graph.random.standard_normal((2, 1, 8, 16)).astype(numpy.float32),
                        "lengths": numpy.array([columns, columns - 2], numpy.int32)})
