"""Operators of `com.microsoft` and of quantised elements."""

import numpy
from onnx import TensorProto

from .case import MICROSOFT, Case, Unfit, operator
from .images import window


@operator("BiasGelu", "FastGelu", "QuickGelu", "com.microsoft.Gelu")
def gelu(chooser, name):
    shape = chooser.shape()
    inputs = [chooser.normal(shape)]
    if name == "BiasGelu" or (name == "FastGelu" and chooser.chance(0.5)):
        inputs.append(chooser.normal(shape[-1:]))
    alpha = chooser.choice([None, 0.5]) if name == "QuickGelu" else None
    return Case(name.split(".")[-1], inputs, domain=MICROSOFT, alpha=alpha, free=chooser.between(1, len(inputs)))


@operator("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip(chooser, name):
    batch, steps, width = chooser.extent(3), chooser.extent(5), chooser.extent(17)
    other = chooser.choice([[batch, steps, width], [batch, steps, width], [1, steps, width], [steps, width]])
    vectors = [chooser.normal([width]) for _ in range(3)]
    inputs = [chooser.normal([batch, steps, width]), chooser.normal(other), vectors[0]]
    if name == "SkipLayerNormalization":
        inputs.append(chooser.maybe(vectors[1]))
    inputs.append(chooser.maybe(vectors[2]))
    while inputs[-1] is None:
        inputs.pop()
    return Case(name, inputs, outputs=chooser.choice(["y", "y  s"]), free=2, domain=MICROSOFT,
                epsilon=chooser.choice([1e-5, 0.1]), tolerance=1e-3)


@operator("FusedMatMul")
def fused_matmul(chooser, name):
    rows, inner, columns = chooser.extent(7), chooser.extent(9), chooser.extent(7)
    batch = chooser.shape(ranks=(0, 1, 2), most=3)
    left, right = chooser.choice([None, 0, 1]), chooser.choice([None, 0, 1])
    a = chooser.quarters([*batch, *([inner, rows] if left else [rows, inner])])
    b = chooser.quarters([*batch[chooser.between(0, len(batch)) :], *([columns, inner] if right else [inner, columns])])
    return Case(name, [a, b], domain=MICROSOFT, free=chooser.between(1, 2), transA=left, transB=right,
                alpha=chooser.choice([None, 0.5]))


@operator("FusedGemm")
def fused_gemm(chooser, name):
    rows, inner, columns = chooser.extent(7), chooser.extent(9), chooser.extent(7)
    left, right = chooser.choice([None, 0, 1]), chooser.choice([None, 0, 1])
    a = chooser.quarters([inner, rows] if left else [rows, inner])
    b = chooser.quarters([columns, inner] if right else [inner, columns])
    addend = chooser.maybe(chooser.quarters(chooser.choice([[rows, columns], [columns], [rows, 1], [1], []])))
    return Case(name, [a, b] + ([] if addend is None else [addend]), domain=MICROSOFT, transA=left, transB=right,
                alpha=chooser.choice([None, 0.5]), beta=chooser.choice([None, 2.0]),
                activation=chooser.choice(["Relu", "Sigmoid", "Tanh"]))


@operator("FusedConv")
def fused_conv(chooser, name):
    spatial, groups = [chooser.extent(9), chooser.extent(9)], chooser.choice([1, 1, 2])
    attributes = window(chooser, spatial)
    channels, filters = groups * chooser.extent(3), groups * chooser.extent(4)
    weights = chooser.quarters([filters, channels // groups, *attributes["kernel_shape"]])
    inputs = [chooser.quarters([chooser.extent(2), channels, *spatial]), weights]
    if chooser.chance(0.5):
        inputs.append(chooser.quarters([filters]))
    kind = chooser.choice([("Relu", None), ("Tanh", None), ("LeakyRelu", [0.2]), ("Clip", [-1.0, 2.0]), ("Sigmoid", None)])
    return Case(name, inputs, domain=MICROSOFT, group=groups, activation=kind[0], activation_params=kind[1], **attributes)


def scale(chooser, shape=()):
    return chooser.numbers.uniform(0.01, 0.1, shape).astype(numpy.float32)


def quantised(chooser, shape, element=None):
    """A tensor, its scale and its zero."""
    element = element or chooser.choice([numpy.uint8, numpy.int8])
    bounds = numpy.iinfo(element)
    return [chooser.integers(element, shape), scale(chooser), chooser.integers(element, [], bounds.min // 4, bounds.max // 2)]


@operator("QLinearAdd", "QLinearMul")
def quantised_pair(chooser, name):
    shape, element = chooser.shape(), chooser.choice([numpy.uint8, numpy.int8])
    # ONNX Runtime refuses other broadcasts.
    other = chooser.choice([shape, shape[-1:], [1], [1] * len(shape), [*shape[:-1], 1]])
    result = quantised(chooser, [], element)[1:]
    result[0] = result[0] * numpy.float32(2 if name == "QLinearAdd" else 4)
    inputs = [*quantised(chooser, shape, element), *quantised(chooser, other, element), *result]
    return Case(name, inputs, domain=MICROSOFT)


@operator("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def quantised_function(chooser, name):
    shape, element = chooser.shape(), chooser.choice([numpy.uint8, numpy.int8])
    inputs = quantised(chooser, shape, element)
    attributes = {}
    if name == "QLinearLeakyRelu":
        inputs += quantised(chooser, [], element)[1:]
        attributes["alpha"] = chooser.choice([None, 0.1, 0.3])
    else:
        inputs += [numpy.array(1 / 256, numpy.float32), numpy.array(numpy.iinfo(element).min, element)]
    case = Case(name, inputs, domain=MICROSOFT, **attributes)
    if name == "QLinearSoftmax":
        axis = chooser.axis(len(shape))
        if shape[axis] == 1:
            raise Unfit("ONNX Runtime's 256 becomes 0, not 255")
        case.attributes.update(axis=axis, opset=13)
    return case


@operator("QLinearGlobalAveragePool", "QLinearAveragePool")
def quantised_pool(chooser, name):
    element, spatial = chooser.choice([numpy.uint8, numpy.int8]), [chooser.extent(9), chooser.extent(9)]
    last = chooser.choice([0, 0, 1])
    channels = [chooser.extent(5)]
    shape = [chooser.extent(2), *(spatial + channels if last else channels + spatial)]
    attributes = window(chooser, spatial) if name == "QLinearAveragePool" else {}
    if attributes:
        attributes["count_include_pad"] = chooser.choice([None, 0, 1])
    inputs = [*quantised(chooser, shape, element), *quantised(chooser, [], element)[1:]]
    return Case(name, inputs, domain=MICROSOFT, channels_last=last, **attributes)


@operator("QLinearConcat")
def quantised_concatenation(chooser, name):
    shape, element = chooser.shape(), chooser.choice([numpy.uint8, numpy.int8])
    axis = chooser.axis(len(shape))
    inputs = quantised(chooser, [], element)[1:]
    for _ in range(chooser.between(1, 3)):
        shape[axis] = chooser.extent(7)
        inputs += quantised(chooser, list(shape), element)
    case = Case(name, inputs, domain=MICROSOFT, axis=axis)
    # The tensors are the model's inputs, scales and zeros are constants: the first tensor alone is free.
    case.free = 0
    return case


@operator("NhwcMaxPool")
def channels_last_pool(chooser, name):
    spatial = [chooser.extent(9), chooser.extent(9)]
    element = chooser.choice([numpy.uint8, numpy.int8])
    data = chooser.integers(element, [chooser.extent(2), *spatial, chooser.extent(5)])
    return Case(name, [data], domain=MICROSOFT, **window(chooser, spatial))


def without_saturation(weights):
    """Signed weights in seven bits: where a processor has no instruction for it, ONNX Runtime sums two products of an unsigned
    and a signed byte in sixteen bits, which saturate."""
    return weights >> 1 if weights.dtype == numpy.int8 else weights


@operator("QLinearMatMul", "MatMulIntegerToFloat", "MatMulInteger")
def quantised_product(chooser, name):
    rows, inner, columns = chooser.extent(9), chooser.choice([1, 2, 9, 33, 129]), chooser.extent(33)
    batch = chooser.shape(ranks=(0, 0, 1), most=3)
    left = quantised(chooser, [*batch, rows, inner], numpy.uint8)
    right = quantised(chooser, [inner, columns], chooser.choice([numpy.uint8, numpy.int8]))
    right[0] = without_saturation(right[0])
    if chooser.chance(0.5):
        right[1] = scale(chooser, [columns])
        right[2] = chooser.integers(right[0].dtype.type, [columns])
    if name == "MatMulInteger":
        return Case(name, [left[0], right[0], left[2], right[2]], free=chooser.between(1, 2))
    if name == "QLinearMatMul":
        result = quantised(chooser, [], numpy.uint8)[1:]
        result[0] = result[0] * numpy.float32(20)
        return Case(name, [*left, *right, *result])
    bias = [chooser.normal([columns])] if chooser.chance(0.5) else []
    return Case(name, [left[0], right[0], left[1], right[1], left[2], right[2], *bias], domain=MICROSOFT,
                free=chooser.between(1, 2))


@operator("QLinearConv")
def quantised_convolution(chooser, name):
    spatial, groups = [chooser.extent(9), chooser.extent(9)], chooser.choice([1, 1, 2])
    attributes = window(chooser, spatial)
    channels, filters = groups * chooser.extent(3), groups * chooser.extent(4)
    data = quantised(chooser, [chooser.extent(2), channels, *spatial], numpy.uint8)
    weights = quantised(chooser, [filters, channels // groups, *attributes["kernel_shape"]], numpy.int8)
    weights[0] = without_saturation(weights[0])
    weights[2][...] = 0
    if chooser.chance(0.5):
        weights[1], weights[2] = scale(chooser, [filters]), numpy.zeros(filters, numpy.int8)
    result = quantised(chooser, [], numpy.uint8)[1:]
    result[0] = result[0] * numpy.float32(10)
    bias = [chooser.integers(numpy.int32, [filters], -999, 999)] if chooser.chance(0.5) else []
    return Case(name, [*data, *weights, *result, *bias], group=groups, **attributes)


@operator("MatMulNBits")
def few_bits(chooser, name):
    inner, columns, bits = chooser.choice([16, 32, 40, 64]), chooser.extent(9), chooser.choice([4, 8])
    size = chooser.choice([16, 32])
    blocks = -(-inner // size)
    packed = chooser.integers(numpy.uint8, [columns, blocks, size * bits // 8])
    inputs = [chooser.normal([*chooser.shape(ranks=(1, 2), most=5), inner]), packed, chooser.normal([columns * blocks])]
    if chooser.chance(0.5):
        inputs.append(chooser.integers(numpy.uint8, [columns * ((blocks * bits + 7) // 8)]))
    return Case(name, inputs, domain=MICROSOFT, K=inner, N=columns, bits=bits, block_size=size, tolerance=5e-3)


# Types that arrays do not have, which ONNX Runtime's processor quantises to, with the least and the largest integer.
STORED = {
    TensorProto.FLOAT8E4M3FN: None,
    TensorProto.FLOAT8E4M3FNUZ: None,
    TensorProto.FLOAT8E5M2: None,
    TensorProto.FLOAT8E5M2FNUZ: None,
    TensorProto.INT4: (-8, 7),
    TensorProto.UINT4: (0, 15),
}


@operator("Cast")
def conversion(chooser, name):
    element, bounds = chooser.choice(list(STORED.items()))
    shape = chooser.shape()
    if bounds:
        # ONNX Runtime rounds, where ONNX's reference truncates.
        return Case(name, [chooser.integers(numpy.int8, shape, -20, 20).astype(numpy.float32)], storage=(element, "y"), to=element)
    data = chooser.normal(shape) * numpy.float32(chooser.choice([0.01, 1, 300, 1e5]))
    data = chooser.with_specials(data, (numpy.nan, numpy.inf, -numpy.inf, numpy.float32(-0.0)))
    saturate = chooser.choice([None, 0, 1])
    beyond = "ONNX Runtime takes what rounds to the next exponent otherwise" if saturate == 0 else None
    return Case(name, [data], storage=(element, "y"), to=element, saturate=saturate, by_reference=beyond)


def stored(chooser, name, shape, form, attributes):
    """Quantised to a type that arrays do not have, or back."""
    element, bounds = chooser.choice(list(STORED.items()))
    steps = numpy.asarray(chooser.numbers.choice([0.25, 0.5, 1, 2], form or None), numpy.float32)
    low, high = bounds or (0, 0)
    zero = chooser.maybe(chooser.integers(numpy.int8, form, low, high).astype(numpy.float32))
    if name == "QuantizeLinear":
        data = chooser.quarters(shape) * numpy.float32(chooser.choice([1, 50]))
        if zero is None:
            attributes["output_dtype"] = element
        if not bounds:
            attributes["saturate"] = chooser.choice([None, 1])
        positions = ([] if zero is None else [2]) + ["y"]
    else:
        data = chooser.integers(numpy.int8, shape, low, high).astype(numpy.float32) if bounds else chooser.normal(shape)
        positions = [0] + ([] if zero is None else [2])
    return Case(name, [data, steps] + ([] if zero is None else [zero]), storage=(element, positions), **attributes)


@operator("QuantizeLinear", "DequantizeLinear")
def linear(chooser, name):
    shape = chooser.shape()
    element = chooser.element([numpy.uint8, numpy.int8, numpy.int16, numpy.uint16])
    axis, kind = chooser.axis(len(shape)), chooser.choice(["tensor", "axis", "block"])
    attributes = {"axis": None if kind == "tensor" else axis}
    form = [] if kind == "tensor" else [shape[axis]]
    if kind == "block":
        size = chooser.between(1, shape[axis])
        form = list(shape)
        form[axis] = -(-shape[axis] // size)
        attributes["block_size"] = size
    if chooser.chance(0.4):
        return stored(chooser, name, shape, form, attributes)
    bounds = numpy.iinfo(element)
    zero = chooser.maybe(chooser.integers(element, form, bounds.min // 4, bounds.max // 4))
    steps = numpy.asarray(chooser.numbers.choice([0.25, 0.5, 1, 2], form or None), numpy.float32)
    if name == "QuantizeLinear":
        data = chooser.quarters(shape) * numpy.float32(chooser.choice([1, 50]))
        if zero is None:
            attributes["output_dtype"] = {"uint8": 2, "int8": 3, "int16": 5, "uint16": 4}[numpy.dtype(element).name]
    else:
        data = chooser.integers(element, shape)
    return Case(name, [data, steps] + ([] if zero is None else [zero]), **attributes)


@operator("com.microsoft.Attention")
def projected_attention(chooser, name):
    batch, steps, heads, width = chooser.extent(3), chooser.extent(5), chooser.choice([1, 2, 3]), chooser.choice([2, 4])
    hidden, inner = heads * width, chooser.choice([4, 6, 8])
    mask = None
    if chooser.chance(0.5):
        mask = chooser.integers(numpy.int32, [batch, steps], 0, 1)
        mask[:, 0] = 1
    inputs = [chooser.normal([batch, steps, inner]), chooser.normal([inner, 3 * hidden]), chooser.normal([3 * hidden]), mask]
    while inputs[-1] is None:
        inputs.pop()
    return Case("Attention", inputs, domain=MICROSOFT, num_heads=heads, scale=chooser.choice([None, 0.4]),
                unidirectional=chooser.choice([None, 0, 1]), tolerance=1e-3)


@operator("com.microsoft.RotaryEmbedding")
def rotary(chooser, name):
    batch, heads, steps, width = chooser.extent(3), chooser.extent(3), chooser.extent(5), chooser.choice([2, 4, 8])
    flat = chooser.chance(0.5)
    data = chooser.normal([batch, steps, heads * width] if flat else [batch, heads, steps, width])
    places = chooser.integers(numpy.int64, [batch, steps], 0, 8) if chooser.chance(0.5) else None
    if places is None:
        places = chooser.integers(numpy.int64, [1], 0, 9 - steps)
    tables = [chooser.normal([9, width // 2]) for _ in range(2)]
    return Case("RotaryEmbedding", [data, places, *tables], domain=MICROSOFT, free=chooser.between(1, 2),
                interleaved=chooser.choice([None, 0, 1]))


@operator("DynamicQuantizeMatMul")
def dynamic_product(chooser, name):
    inner, columns = chooser.extent(17), chooser.extent(7)
    element = chooser.choice([numpy.uint8, numpy.int8])
    form = chooser.choice([[1], [columns]])
    inputs = [chooser.normal([*chooser.shape(ranks=(1, 2), most=5), inner]), chooser.integers(element, [inner, columns]),
              scale(chooser, form), chooser.maybe(chooser.integers(element, form)), chooser.maybe(chooser.normal([columns]))]
    while inputs[-1] is None:
        inputs.pop()
    return Case(name, inputs, domain=MICROSOFT, tolerance=1e-3)
