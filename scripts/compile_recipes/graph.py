"""Graphs as exporters write them: constants as nodes, shapes computed by nodes, functions in their parts."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 16


class Graph:
    """A model under construction. Weights are seeded; values have static shapes, which exporters' arithmetic computes again."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.initializers, self.inputs, self.outputs, self.count = [], [], [], [], 0

    def input(self, name, shape, element=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def output(self, value, element=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(value, element, None))

    def op(self, operator, *inputs, outputs=1, **attributes):
        """The output of a node, or a list of several."""
        self.count += 1
        names = [f"{operator}_{self.count}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=f"{operator}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array, element=None):
        """A constant as a node."""
        array = numpy.asarray(array, element)
        return self.op("Constant", value=numpy_helper.from_array(array))

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    def integers(self, *values):
        return self.constant(numpy.array(values, numpy.int64))

    def weight(self, *shape, scale=None):
        """A seeded initializer."""
        fan = numpy.prod(shape[1:]) if len(shape) > 2 else shape[0]
        array = self.random.standard_normal(shape, numpy.float32) * numpy.float32(scale or 1 / numpy.sqrt(fan))
        return self.keep(array)

    def keep(self, array):
        """An initializer."""
        self.count += 1
        name = f"w{self.count}"
        self.initializers.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def model(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)

    # Parts that exporters take functions apart into.

    def conv(self, x, inputs, outputs, kernel=3, stride=1, groups=1, padding=None, bias=True):
        kernel = kernel if isinstance(kernel, tuple) else (kernel,) * 2
        stride = stride if isinstance(stride, tuple) else (stride,) * 2
        pads = [size // 2 for size in kernel] if padding is None else list(padding)
        names = [x, self.weight(outputs, inputs // groups, *kernel)]
        if bias:
            names.append(self.weight(outputs, scale=0.1))
        return self.op("Conv", *names, kernel_shape=kernel, strides=stride, pads=pads + pads, group=groups)

    def batch_norm(self, x, channels):
        ones = numpy.ones(channels, numpy.float32)
        parameters = [self.keep(array) for array in (ones, 0 * ones, 0 * ones, ones)]
        return self.op("BatchNormalization", x, *parameters, epsilon=1e-5)

    def linear(self, x, inputs, outputs, bias=True):
        """A product whose weights are transposed by a node, and its bias."""
        weights = self.op("Transpose", self.weight(outputs, inputs, scale=1 / numpy.sqrt(inputs)), perm=[1, 0])
        product = self.op("MatMul", x, weights)
        return self.op("Add", self.weight(outputs, scale=0.1), product) if bias else product

    def layer_norm(self, x, channels):
        mean = self.op("ReduceMean", x, axes=[-1])
        centred = self.op("Sub", x, mean)
        square = self.op("Pow", centred, self.scalar(2))
        variance = self.op("ReduceMean", square, axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.scalar(1e-5)))
        normal = self.op("Div", centred, deviation)
        scaled = self.op("Mul", normal, self.weight(channels, scale=1))
        return self.op("Add", scaled, self.weight(channels, scale=0.1))

    def gelu(self, x):
        scaled = self.op("Div", x, self.scalar(1.4142135))
        both = self.op("Add", self.op("Erf", scaled), self.scalar(1))
        return self.op("Mul", self.op("Mul", x, both), self.scalar(0.5))

    def tanh_gelu(self, x):
        cube = self.op("Mul", x, self.op("Mul", x, x))
        inner = self.op("Add", x, self.op("Mul", cube, self.scalar(0.044715)))
        both = self.op("Add", self.op("Tanh", self.op("Mul", inner, self.scalar(0.7978846))), self.scalar(1))
        return self.op("Mul", self.op("Mul", x, self.scalar(0.5)), both)

    def hard_sigmoid(self, x):
        lifted = self.op("Add", x, self.scalar(3))
        return self.op("Div", self.op("Clip", lifted, self.scalar(0), self.scalar(6)), self.scalar(6))

    def hard_swish(self, x):
        return self.op("Mul", x, self.hard_sigmoid(x))

    def swish(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def squeeze_excite(self, x, channels, narrow):
        pooled = self.op("GlobalAveragePool", x)
        inner = self.op("Relu", self.conv(pooled, channels, narrow, 1))
        return self.op("Mul", x, self.hard_sigmoid(self.conv(inner, narrow, channels, 1)))

    def extent(self, x, axis):
        """The extent of an axis, computed by nodes, in one dimension."""
        found = self.op("Gather", self.op("Shape", x), self.constant(numpy.int64(axis)), axis=0)
        return self.op("Unsqueeze", found, self.integers(0))

    def reshape(self, x, *extents):
        """A reshape; an extent that is text `N` is that of axis N, computed by nodes."""
        if not any(isinstance(extent, str) for extent in extents):
            return self.op("Reshape", x, self.integers(*extents))
        parts = [self.extent(x, int(extent)) if isinstance(extent, str) else self.integers(extent) for extent in extents]
        return self.op("Reshape", x, self.op("Concat", *parts, axis=0))

    def slice(self, x, first, end, axis, step=1):
        return self.op("Slice", x, *(self.integers(value) for value in (first, end, axis, step)))

    def attention(self, x, length, width, heads, mask=None):
        """Attention of many heads, with three products, over one sequence a batch."""
        def split(value, perm):
            return self.op("Transpose", self.reshape(value, "0", length, heads, width // heads), perm=perm)

        query, key, value = (self.linear(x, width, width) for _ in range(3))
        query, key, value = split(query, [0, 2, 1, 3]), split(key, [0, 2, 3, 1]), split(value, [0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", query, key), self.scalar(numpy.sqrt(width // heads)))
        if mask:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        joined = self.reshape(self.op("Transpose", mixed, perm=[0, 2, 1, 3]), "0", length, width)
        return self.linear(joined, width, width)

    def save(self, name, path):
        onnx.save(self.model(name), path)
