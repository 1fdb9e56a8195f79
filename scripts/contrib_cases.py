"""Compares small models of the operators of com.microsoft, and of quantised ones, with ONNX Runtime.

Every case is one operator with its inputs; ONNX Runtime, without optimisations, says what its outputs are, and `warpweave
compare` must agree on every device of --device. A case of which ONNX Runtime knows nothing is an error too.

    PYTHONPATH=.onnxruntime python3 scripts/contrib_cases.py [--device reference,host,emulator] [--only NAME] [--keep DIR]
"""

import argparse
import concurrent.futures
import math
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 21
MICROSOFT = "com.microsoft"
RANDOM = numpy.random.default_rng(7)
CASES = []
# The fewest of them, so that a family that is left out fails.
FEWEST_CASES = 140


class Case:
    """One operator: its inputs by position, of which the first `free` are the model's and the others constants."""

    def __init__(self, name, operator, inputs, outputs=1, domain=MICROSOFT, free=1, tolerance=1e-5, stated=None, **attributes):
        self.name, self.operator, self.domain = name, operator, domain
        self.inputs, self.outputs, self.free = inputs, outputs, free
        # What the output is, where ONNX Runtime does not say it.
        self.tolerance, self.stated, self.attributes = tolerance, stated, attributes

    def model(self):
        names = ["" if array is None else f"x{at}" for at, array in enumerate(self.inputs)]
        given = [at for at, array in enumerate(self.inputs) if array is not None]
        free, fixed = given[: self.free], given[self.free :]
        inputs = [value(names[at], self.inputs[at]) for at in free]
        constants = [numpy_helper.from_array(self.inputs[at], names[at]) for at in fixed]
        outputs = self.outputs if isinstance(self.outputs, list) else [f"y{at}" for at in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, domain=self.domain, **self.attributes)
        results = [onnx.ValueInfoProto(name=name) for name in outputs if name]
        graph = helper.make_graph([node], self.name, inputs, results, constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return model, {names[at]: self.inputs[at] for at in free}


class Whole:
    """A model of several operators: nodes over `x` and constants by name."""

    tolerance = 1e-5
    stated = None

    def __init__(self, name, data, nodes, constants, opset=OPSET):
        self.name, self.data, self.nodes, self.constants, self.opset = name, data, nodes, constants, opset

    def model(self):
        result = onnx.ValueInfoProto(name=self.nodes[-1].output[0])
        constants = [numpy_helper.from_array(numpy.asarray(array), name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, self.name, [value("x", self.data)], [result], constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10), {"x": self.data}


def node(operator, inputs, output, domain="", **attributes):
    return helper.make_node(operator, inputs.split(), [output], domain=domain, **attributes)


def value(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def case(name, operator, inputs, **rest):
    CASES.append(Case(name, operator, inputs, **rest))


def singles(*shape):
    return RANDOM.standard_normal(shape).astype(numpy.float32)


def halves(array):
    return array.astype(numpy.float16)


def weights(*shape):
    """Signed bytes of seven bits: ONNX Runtime may sum products of bytes in sixteen bits, which saturate."""
    return integers(numpy.int8, *shape) >> 1


def integers(element, *shape):
    bounds = numpy.iinfo(element)
    return RANDOM.integers(bounds.min, bounds.max, shape, element, endpoint=True)


def scale(value):
    return numpy.array(value, numpy.float32)


def zero(element, value):
    return numpy.array(value, element)


def activations():
    case("gelu", "Gelu", [singles(2, 9)])
    case("bias_gelu", "BiasGelu", [singles(2, 3, 8), singles(8)])
    case("fast_gelu", "FastGelu", [singles(2, 9)])
    case("fast_gelu_bias", "FastGelu", [singles(2, 3, 8), singles(8)])
    case("quick_gelu", "QuickGelu", [singles(2, 9)])
    case("quick_gelu_alpha", "QuickGelu", [singles(2, 9)], alpha=0.5)


def normalisations():
    x, skip, gamma, beta, bias = singles(2, 3, 8), singles(2, 3, 8), singles(8), singles(8), singles(8)
    case("skip", "SkipLayerNormalization", [x, skip, gamma, beta], free=2)
    case("skip_bias_sum", "SkipLayerNormalization", [x, skip, gamma, beta, bias], free=2, outputs=["y", "", "", "s"])
    case("skip_row", "SkipLayerNormalization", [x, singles(3, 8), gamma, beta], free=2, epsilon=0.01)
    case("skip_simplified", "SkipSimplifiedLayerNormalization", [x, skip, gamma], free=2)
    case("skip_simplified_bias", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], free=2,
         outputs=["y", "", "", "s"], epsilon=0.01)
    case("simplified", "SimplifiedLayerNormalization", [x, gamma], domain="", axis=-1, epsilon=1e-5, stash_type=1)
    # ONNX Runtime's optimiser writes these into models of any opset.
    early = [node("LayerNormalization", "x g b", "n", axis=-1, epsilon=1e-5), node("SimplifiedLayerNormalization", "n g", "y")]
    CASES.append(Whole("normalisation_of_opset_11", x, early, {"g": gamma, "b": beta}, opset=11))
    words, segments = RANDOM.integers(0, 10, (2, 4), numpy.int32), RANDOM.integers(0, 2, (2, 4), numpy.int32)
    tables = [singles(10, 8), singles(6, 8), singles(2, 8)]
    mask = numpy.array([[1, 1, 1, 0], [1, 1, 0, 0]], numpy.int32)
    case("embed", "EmbedLayerNormalization", [words, segments, *tables, gamma, beta], free=2, outputs=2)
    case("embed_mask", "EmbedLayerNormalization", [words, segments, *tables, gamma, beta, mask], free=2, outputs=3)
    places = numpy.array([[3, 2, 1, 0], [0, 0, 5, 1]], numpy.int32)
    case("embed_positions", "EmbedLayerNormalization",
         [words, None, tables[0], tables[1], None, gamma, beta, mask, places], outputs=2, epsilon=0.01)


def products():
    case("fused_matmul", "FusedMatMul", [singles(2, 4, 3), singles(2, 5, 4)], transA=1, transB=1, alpha=0.5)
    case("fused_matmul_plain", "FusedMatMul", [singles(3, 4), singles(4, 5)])
    case("fused_matmul_batches", "FusedMatMul", [singles(4, 2, 3), singles(3, 2, 5)], transBatchA=1, transBatchB=1)
    case("fused_matmul_batches_turned", "FusedMatMul", [singles(4, 2, 6, 3), singles(2, 6, 5, 4)], transA=1, transBatchA=1,
         transB=1)
    for name, extra in [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Sigmoid", {}), ("Tanh", {})]:
        case(f"fused_gemm_{name}", "FusedGemm", [singles(3, 4), singles(5, 4), singles(5)], transB=1, alpha=0.5,
             activation=name, **extra)
    x, w, b = singles(1, 2, 6, 5), singles(4, 2, 3, 3), singles(4)
    case("fused_conv_relu", "FusedConv", [x, w, b], activation="Relu", pads=[1, 1, 1, 1])
    case("fused_conv_sum", "FusedConv", [x, w, b, singles(1, 4, 4, 3)], activation="Relu")
    case("fused_conv_clip", "FusedConv", [x, w], activation="Clip", activation_params=[-0.5, 0.5], strides=[2, 1])
    case("fused_conv_leaky", "FusedConv", [x, w], activation="LeakyRelu", activation_params=[0.3])


def attention():
    x, w, b = singles(2, 5, 8), singles(8, 24), singles(24)
    case("attention", "Attention", [x, w, b], num_heads=2)
    case("attention_causal", "Attention", [x, w, b], num_heads=2, unidirectional=1)
    case("attention_lengths", "Attention", [x, w, b, numpy.array([5, 3], numpy.int32)], num_heads=2)
    mask = numpy.array([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], numpy.int32)
    case("attention_mask", "Attention", [x, w, b, mask], num_heads=4)
    case("attention_ends_and_starts", "Attention", [x, w, b, numpy.array([5, 4, 1, 0], numpy.int32)], num_heads=2)
    each = RANDOM.integers(0, 2, (2, 5, 5), numpy.int32)
    case("attention_mask_of_queries", "Attention", [x, w, b, each], num_heads=2)
    case("attention_half", "Attention", [halves(x), halves(w / 4), halves(b), mask], num_heads=2, free=3, tolerance=5e-3)
    case("attention_bias", "Attention", [x, w, b, None, None, singles(1, 2, 5, 5)], num_heads=2, scale=0.3)
    case("attention_widths", "Attention", [x, singles(8, 20), singles(20)], num_heads=2, qkv_hidden_sizes=[8, 8, 4])
    q, k, v = singles(2, 3, 8), singles(2, 6, 8), singles(2, 6, 4)
    case("heads", "MultiHeadAttention", [q, k, v], free=3, num_heads=2)
    case("heads_offsets", "MultiHeadAttention", [q, k, v, singles(20)], free=3, num_heads=4, scale=0.5)
    hidden = numpy.array([[1, 1, 1, 1, 1, 0], [1, 0, 0, 1, 1, 1]], numpy.int32)
    case("heads_mask", "MultiHeadAttention", [q, k, v, None, hidden], free=3, num_heads=2)
    case("heads_mask_of_queries", "MultiHeadAttention", [q, k, v, None, RANDOM.integers(0, 2, (2, 3, 6), numpy.int32)], free=3,
         num_heads=2)
    case("heads_half", "MultiHeadAttention", [halves(q), halves(k), halves(v), halves(singles(20)), hidden], free=5, num_heads=2,
         tolerance=5e-3)
    case("heads_bias", "MultiHeadAttention", [q, k, v, None, None, singles(1, 2, 3, 6)], free=3, num_heads=2)


def pasts():
    """Attention with keys and values of earlier runs before its own."""
    x, w, b, past = singles(2, 3, 8), singles(8, 24), singles(24), singles(2, 2, 2, 4, 4)
    case("past", "Attention", [x, w, b, None, past], num_heads=2, unidirectional=1, free=4, outputs=2)
    mask = numpy.array([[1] * 7, [1, 0, 1, 1, 1, 1, 1]], numpy.int32)
    case("past_mask", "Attention", [x, w, b, mask, past], num_heads=2, unidirectional=1, free=5, outputs=2)
    case("present", "Attention", [x, w, b], num_heads=2, unidirectional=1, outputs=2)
    q, k, v = singles(2, 1, 8), singles(2, 1, 8), singles(2, 1, 8)
    keys, values = singles(2, 2, 4, 4), singles(2, 2, 4, 4)
    case("heads_past", "MultiHeadAttention", [q, k, v, None, None, None, keys, values], free=5, num_heads=2, outputs=3)
    case("heads_past_bias", "MultiHeadAttention", [q, k, v, singles(24), None, singles(1, 2, 1, 5), keys, values], free=7,
         num_heads=2, outputs=3)
    case("heads_causal", "MultiHeadAttention", [singles(2, 3, 8) for _ in range(3)], free=3, num_heads=2, unidirectional=1)
    case("heads_past_causal", "MultiHeadAttention", [*(singles(2, 3, 8) for _ in range(3)), None, None, None, keys, values],
         free=5, num_heads=2, outputs=3, unidirectional=1)
    case("heads_crossed", "MultiHeadAttention", [singles(2, 3, 8), keys, values], free=3, num_heads=2)


def caches():
    """Attention over a cache: a prompt, places behind it, one place; packed; shared heads."""
    heads, groups, width, most = 4, 2, 16, 12
    tables = [numpy.cos(angles := singles(most, width // 2)), numpy.sin(angles)]

    def grouped(name, batch, places, past, lasts, packed=False, rotary=False, bias=False, **attributes):
        total = numpy.array(max(lasts) + 1, numpy.int32)
        extents = [heads, groups, groups]
        parts = [singles(batch, places, count * width) for count in extents]
        inputs = [numpy.concatenate(parts, 2), None, None] if packed else parts
        pasts = [singles(batch, groups, past, width) if past else None for _ in range(2)]
        inputs = [*inputs, *pasts, numpy.array(lasts, numpy.int32), total, *(tables if rotary else [None, None])]
        if bias:
            inputs += [None, singles(1, 1, places, max(past, int(total)))]
        free = sum(array is not None for array in inputs[:6])
        case(f"cache_{name}", "GroupQueryAttention", inputs, free=free, outputs=3, num_heads=heads, kv_num_heads=groups,
             do_rotary=int(rotary), tolerance=1e-4, **attributes)

    grouped("prompt", 2, 5, 0, [4, 4])
    grouped("prompt_packed", 2, 5, 0, [4, 4], packed=True)
    grouped("prompt_rotary", 1, 5, 0, [4], rotary=True)
    grouped("prompt_interleaved", 1, 5, 0, [4], rotary=True, rotary_interleaved=1, packed=True)
    grouped("prompt_window", 1, 7, 0, [6], local_window_size=3)
    grouped("prompt_softcap", 1, 5, 0, [4], softcap=2.0, scale=0.5)
    grouped("next", 2, 1, 6, [6, 6])
    grouped("next_lengths", 2, 1, 6, [6, 3], rotary=True)
    grouped("next_packed", 2, 1, 6, [6, 4], packed=True, rotary=True)
    grouped("next_window", 2, 1, 6, [6, 5], local_window_size=4, rotary=True)
    grouped("next_bias", 1, 1, 6, [6], bias=True)
    grouped("several", 1, 3, 6, [8], rotary=True)
    grouped("buffer", 2, 1, 10, [6, 3], rotary=True)


def pools_of_channels_last():
    xs, ys = [scale(0.03137), zero(numpy.uint8, 120)], [scale(0.02891), zero(numpy.uint8, 110)]
    image = integers(numpy.uint8, 1, 7, 6, 3)
    case("pool_last", "QLinearAveragePool", [image, *xs, *ys], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0],
         channels_last=1)
    case("global_pool_last", "QLinearGlobalAveragePool", [image, *xs, *ys], channels_last=1)


def others():
    """Operators under another name, and those that stand for a few others."""
    case("transpose_matmul", "TransposeMatMul", [singles(4, 3), singles(5, 4)], transA=1, transB=1, alpha=0.5)
    case("contributed_trilu", "Trilu", [singles(2, 4, 5), numpy.array(1, numpy.int64)], upper=0)
    case("contributed_gather_nd", "GatherND", [singles(3, 4, 5), numpy.array([[0, 1], [2, 3]], numpy.int64)])
    case("contributed_grid", "GridSample", [singles(1, 2, 5, 4), RANDOM.uniform(-1, 1, (1, 3, 3, 2)).astype(numpy.float32)],
         mode="bilinear", padding_mode="border")
    case("contributed_pad", "Pad", [singles(2, 3), numpy.array([1, 0, 0, 2], numpy.int64), scale(0.5)])
    case("expand_dims", "ExpandDims", [singles(2, 3), numpy.array(-2, numpy.int32)])
    case("distances", "CDist", [singles(4, 6), singles(5, 6)], metric="euclidean", free=2)
    case("squared_distances", "CDist", [singles(4, 6), singles(5, 6)], metric="sqeuclidean", free=2)
    for element in (numpy.uint16, numpy.int16, numpy.uint8):
        short = numpy.dtype(element).name
        case(f"contributed_quantise_{short}", "QuantizeLinear", [singles(3, 5), scale(0.0137), zero(element, 7)])
        case(f"contributed_dequantise_{short}", "DequantizeLinear", [integers(element, 3, 5), scale(0.0137), zero(element, 7)])
    x, w = integers(numpy.uint8, 1, 6, 5, 4), weights(3, 4, 3, 3)
    xs, ys = [scale(0.03), zero(numpy.uint8, 100)], [scale(1.3), zero(numpy.uint8, 130)]
    case("conv_last", "QLinearConv", [x, *xs, w, scale(0.1), zero(numpy.int8, 0), *ys, RANDOM.integers(-99, 99, 3, numpy.int32)],
         channels_last=1, pads=[1, 1, 1, 1])
    a, b = integers(numpy.uint8, 3, 8), weights(5, 8)
    ends = [scale(0.02137), zero(numpy.uint8, 120), b, scale(0.1171), zero(numpy.int8, 3), RANDOM.integers(-999, 999, 5, numpy.int32)]
    case("gemm_quantised", "QGemm", [a, *ends, scale(0.9), zero(numpy.uint8, 130)], transB=1)
    case("gemm_to_float", "QGemm", [a, *ends], transB=1, alpha=0.5)
    pair = [[integers(numpy.uint8, 2, 5), scale(s), zero(numpy.uint8, z)] for s, z in [(0.03137, 120), (0.05391, 130)]]
    case("where", "QLinearWhere", [RANDOM.integers(0, 2, (2, 5)).astype(bool), *pair[0], *pair[1], scale(0.0613),
                                   zero(numpy.uint8, 125)])
    # ONNX Runtime has no kernels of these for processors.
    x, bias, residual = singles(2, 3, 8), singles(8), singles(2, 3, 8)
    case("bias_add", "BiasAdd", [x, bias, residual], stated=x + bias + residual, free=3)
    left, right = numpy.split((x + bias).astype(numpy.float64), 2, 2)
    error = numpy.vectorize(math.erf)(right / math.sqrt(2))
    case("split_gelu", "BiasSplitGelu", [x, bias], stated=(left * right * (1 + error) / 2).astype(numpy.float32))
    image = integers(numpy.uint8, 2, 3, 7)
    mean = numpy.mean((image.astype(numpy.float64) - 100) * 0.03, 2, keepdims=True) / 0.0171
    mean = numpy.clip(numpy.round(mean) + 110, 0, 255).astype(numpy.uint8)
    case("reduce_mean", "QLinearReduceMean", [image, *xs, scale(0.0171), zero(numpy.uint8, 110)], axes=[2], keepdims=1,
         stated=mean)
    weight = singles(8, 5)
    sums = (x @ weight + bias[:5]).astype(numpy.float64)
    curve = numpy.tanh(math.sqrt(2 / math.pi) * (sums + 0.044715 * sums**3))
    case("gemm_gelu", "GemmFastGelu", [x, weight, bias[:5]], stated=(sums * (1 + curve) / 2).astype(numpy.float32))


def rotations():
    x, tables = singles(2, 5, 16), [numpy.cos(angles := singles(9, 4)), numpy.sin(angles)]
    places = RANDOM.integers(0, 9, (2, 5), numpy.int64)
    case("rotary", "RotaryEmbedding", [x, places, *tables], free=2)
    case("rotary_interleaved", "RotaryEmbedding", [x, places, *tables], free=2, interleaved=1)
    case("rotary_first", "RotaryEmbedding", [x, numpy.array([3], numpy.int64), *tables], free=2)
    case("rotary_heads", "RotaryEmbedding", [singles(2, 3, 5, 8), places, *tables], free=2)
    case("rotary_part", "RotaryEmbedding", [singles(2, 5, 24), places, *tables], free=2, num_heads=2,
         rotary_embedding_dim=8, interleaved=1)


def quantised_products():
    a, b = integers(numpy.uint8, 3, 8), weights(8, 5)
    one, columns = scale(0.02), singles(5) ** 2 + 0.01
    case("to_float", "MatMulIntegerToFloat", [a, b, one, scale(0.1), zero(numpy.uint8, 120), zero(numpy.int8, 3)])
    case("to_float_bias", "MatMulIntegerToFloat", [a, b, one, columns, None, None, singles(5)])
    case("dynamic", "DynamicQuantizeMatMul", [singles(3, 8), b, scale([0.1]), zero(numpy.int8, [3]), singles(5)])
    for bits in (4, 8):
        packed = integers(numpy.uint8, 5, 3, 16 * bits // 8)
        scales, points = singles(5, 3), integers(numpy.uint8, 5, (3 * bits + 7) // 8)
        extents = {"K": 40, "N": 5, "bits": bits, "block_size": 16}
        case(f"few_bits_{bits}", "MatMulNBits", [singles(2, 3, 40), packed, scales.flatten()], tolerance=1e-3, **extents)
        case(f"few_bits_{bits}_zeros", "MatMulNBits",
             [singles(3, 40), packed, scales.flatten(), points.flatten(), None, singles(5)], tolerance=1e-3, **extents)
    case("dynamic_columns", "DynamicQuantizeMatMul", [singles(3, 8), b, columns])
    ys, yz = scale(0.9), zero(numpy.uint8, 130)
    case("matmul", "QLinearMatMul", [a, one, zero(numpy.uint8, 120), b, scale(0.1), zero(numpy.int8, 3), ys, yz], domain="")
    case("matmul_columns", "QLinearMatMul",
         [a, one, zero(numpy.uint8, 120), b, columns, numpy.zeros(5, numpy.int8), ys, yz], domain="")
    x, w = integers(numpy.uint8, 1, 2, 6, 5), weights(4, 2, 3, 3)
    xs, xz = scale(0.03), zero(numpy.uint8, 100)
    case("conv", "QLinearConv", [x, xs, xz, w, scale(0.1), zero(numpy.int8, 0), scale(1.3), yz], domain="")
    channels = singles(4) ** 2 + 0.01
    bias = RANDOM.integers(-999, 999, 4, numpy.int32)
    case("conv_channels", "QLinearConv", [x, xs, xz, w, channels, numpy.zeros(4, numpy.int8), scale(1.3), yz, bias],
         domain="", pads=[1, 1, 1, 1], strides=[2, 1])
    case("conv_groups", "QLinearConv", [x, xs, xz, w[:, :1], scale(0.1), zero(numpy.int8, 0), scale(0.7), yz, bias],
         domain="", group=2)


def quantised_elements():
    for element, xz, yz in [(numpy.uint8, 120, 130), (numpy.int8, -3, 5)]:
        short = numpy.dtype(element).name
        a, b = integers(element, 2, 3, 8), integers(element, 3, 8)
        # Scales whose ratios leave no value half way between two integers.
        left, right, result = [[scale(s), zero(element, z)] for s, z in [(0.03137, xz), (0.05391, yz), (0.07219, 7)]]
        case(f"add_{short}", "QLinearAdd", [a, *left, b, *right, *result])
        case(f"mul_{short}", "QLinearMul", [a, *left, b, *right, *result])
        case(f"sigmoid_{short}", "QLinearSigmoid", [a, *left, scale(1 / 256), zero(element, xz)])
        case(f"leaky_{short}", "QLinearLeakyRelu", [a, *left, *result], alpha=0.2)
        image = integers(element, 1, 3, 7, 6)
        case(f"global_pool_{short}", "QLinearGlobalAveragePool", [image, *left, *result], channels_last=0)
        case(f"pool_{short}", "QLinearAveragePool", [image, *left, *result], kernel_shape=[3, 2], strides=[2, 2],
             pads=[1, 0, 1, 0])
        case(f"concat_{short}", "QLinearConcat", [*result, a, *left, integers(element, 2, 2, 8), *right],
             axis=1, free=0)
        case(f"softmax_{short}", "QLinearSoftmax", [a, *left, scale(1 / 256), zero(element, xz)], axis=-1, opset=13)
        case(f"nhwc_pool_{short}", "NhwcMaxPool", [integers(element, 1, 7, 6, 3)], kernel_shape=[3, 2], strides=[2, 2])


def blocks():
    gates = [weights(1, 6, 16), weights(1, 4, 16), singles(1, 32), None, None, None, None]
    scales = [scale([0.01]), zero(numpy.int8, [3]), scale([0.02]), zero(numpy.int8, [0])]
    case("quantised_lstm", "DynamicQuantizeLSTM", [singles(3, 1, 6), *gates, *scales], outputs=3, hidden_size=4)
    case("quantised_lstm_state", "DynamicQuantizeLSTM",
         [singles(2, 1, 6), *gates[:4], singles(1, 1, 4), singles(1, 1, 4), None, *scales], outputs=2, hidden_size=4)
    case("dequantise_blocks", "DequantizeLinear", [weights(4, 6), singles(4, 2), weights(4, 2)],
         domain="", axis=1, block_size=3)
    case("dequantise_vector", "DequantizeLinear", [weights(6), singles(2), weights(2)],
         domain="", axis=0, block_size=3)
    few = RANDOM.integers(-8, 7, (2, 6), endpoint=True).astype(ml_dtypes.int4)
    unpacked = [node("DequantizeLinear", "q s z", "r", MICROSOFT, axis=0), node("Mul", "r x", "y")]
    parameters = {"q": few, "s": scale([0.5, 0.25]), "z": few[:, 0]}
    CASES.append(Whole("dequantise_four_bits", singles(2, 6), unpacked, parameters, opset=14))
    case("quantise_blocks", "QuantizeLinear", [singles(4, 6), singles(2, 6) ** 2 + 0.1], domain="", axis=0, block_size=2)
    w = weights(8, 24)
    case("q_attention", "QAttention", [integers(numpy.uint8, 1, 5, 8), w, singles(24), scale(0.01), scale(0.01), None,
                                       zero(numpy.uint8, 120), zero(numpy.int8, 0)], num_heads=2)


def tables():
    """Rows of tables of few bits, in blocks of 16."""
    picks, scales = RANDOM.integers(0, 7, (2, 3)), singles(7, 3)
    axes = {"gather_axis": 0, "quantize_axis": 1, "block_size": 16}
    for element in (ml_dtypes.int4, ml_dtypes.uint4):
        low, high = int(ml_dtypes.iinfo(element).min), int(ml_dtypes.iinfo(element).max)
        few = lambda *shape: RANDOM.integers(low, high, shape, endpoint=True).astype(element)
        for zeros in ([], [few(7, 3)]):
            nodes = [node("GatherBlockQuantized", "t x s" + " z" * len(zeros), "y", MICROSOFT, **axes)]
            constants = {"t": few(7, 48), "s": scales, **({"z": zeros[0]} if zeros else {})}
            CASES.append(Whole(f"table_of_{element.__name__}_{len(zeros)}", picks, nodes, constants))
    for bits in (4, 8):
        packed = integers(numpy.uint8, 7, 48 * bits // 8)
        for zeros in ([], [integers(numpy.uint8, 7, -(-3 * bits // 8))]):
            nodes = [node("GatherBlockQuantized", "t x s" + " z" * len(zeros), "y", MICROSOFT, bits=bits, **axes)]
            constants = {"t": packed, "s": scales, **({"z": zeros[0]} if zeros else {})}
            CASES.append(Whole(f"table_of_bytes_{bits}_{len(zeros)}", picks, nodes, constants))


def mobile_net():
    """A block of MobileNet v2 — expand, depthwise, project, add — in both forms of quantisation."""
    x = integers(numpy.uint8, 1, 4, 6, 6)
    shapes = {"e": (8, 4, 1, 1), "d": (8, 1, 3, 3), "p": (4, 8, 1, 1)}
    constants = {"z": zero(numpy.uint8, 120), "zw": zero(numpy.int8, 0), "s": scale(0.02137)}
    for at, (name, shape) in enumerate(shapes.items()):
        constants[f"w{name}"] = weights(*shape)
        constants[f"sw{name}"], constants[f"s{name}"] = scale(0.01171), scale([0.04913, 0.15317, 0.21713][at])
        constants[f"b{name}"] = RANDOM.integers(-99, 99, shape[0], numpy.int32)
    constants["sy"] = scale(0.19171)
    windows = {"e": {}, "d": {"group": 8, "pads": [1, 1, 1, 1]}, "p": {}}
    order = [("x", "s", "e"), ("e", "se", "d"), ("d", "sd", "p")]
    nodes = [node("QLinearConv", f"{data} {s} z w{n} sw{n} zw s{n} z b{n}", n, **windows[n]) for data, s, n in order]
    nodes.append(node("QLinearAdd", "x s z p sp z sy z", "y", MICROSOFT))
    CASES.append(Whole("mobile_net_qlinear", x, nodes, constants))
    nodes = [node("DequantizeLinear", "x s z", "x_real")]
    for data, s, n in order:
        constants[f"sb{n}"] = scale(constants[s] * constants[f"sw{n}"])
        nodes.append(node("DequantizeLinear", f"w{n} sw{n} zw", f"{n}_weight"))
        nodes.append(node("DequantizeLinear", f"b{n} sb{n}", f"{n}_bias"))
        nodes.append(node("Conv", f"{data}_real {n}_weight {n}_bias", f"{n}_conv", **windows[n]))
        nodes.append(node("QuantizeLinear", f"{n}_conv s{n} z", f"{n}_q"))
        nodes.append(node("DequantizeLinear", f"{n}_q s{n} z", f"{n}_real"))
    nodes += [node("Add", "x_real p_real", "sum"), node("QuantizeLinear", "sum sy z", "y")]
    CASES.append(Whole("mobile_net_qdq", x, nodes, constants))


def transformer():
    """A layer of BERT as ONNX Runtime's optimiser fuses it."""
    shapes = {"w": (16, 48), "b": (48,), "wo": (16, 16), "bo": (16,), "g": (16,), "h": (16,), "w1": (16, 32), "b1": (32,),
              "w2": (32, 16), "b2": (16,)}
    constants = {name: singles(*shape) / 3 for name, shape in shapes.items()}
    nodes = [
        node("Attention", "x w b", "a", MICROSOFT, num_heads=4),
        node("MatMul", "a wo", "o"),
        node("SkipLayerNormalization", "o x g h bo", "n", MICROSOFT, epsilon=1e-6),
        node("MatMul", "n w1", "m"),
        node("BiasGelu", "m b1", "f", MICROSOFT),
        node("MatMul", "f w2", "r"),
        node("SkipLayerNormalization", "r n g h b2", "y", MICROSOFT, epsilon=1e-6),
    ]
    CASES.append(Whole("transformer", singles(2, 7, 16), nodes, constants))


def run(case, options, folder):
    """Why a case fails on which devices."""
    model, inputs = case.model()
    folder = folder / case.name
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    if case.stated is not None:
        return compared(case, options, folder, inputs, [case.stated])
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])
        outputs = session.run(None, inputs)
    except Exception as error:  # What ONNX Runtime raises has no common type.
        return [f"{case.name}: ONNX Runtime: {error}"]
    return compared(case, options, folder, inputs, outputs)


def compared(case, options, folder, inputs, outputs):
    """Why a case with these outputs fails on which devices."""
    arrays = {f"in_{name}": array for name, array in inputs.items()}
    arrays.update({f"out_{at}": output for at, output in enumerate(outputs)})
    numpy.savez(folder / "io.npz", **arrays)
    failures = []
    # Kernels have no halves.
    is_half = any(array.dtype == numpy.float16 for array in inputs.values())
    devices = options.device.split(",")
    for device in (device for device in devices if not is_half or device in ("reference", "host")):
        command = [options.warpweave, "compare", str(folder / "model.onnx"), "--io", str(folder / "io.npz"),
                   "--device", device, "--atol", str(case.tolerance)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            failures.append(f"{case.name} on {device}: {(done.stderr or done.stdout).strip()}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/debug/warpweave")
    parser.add_argument("--device", default="reference,host,emulator", help="what `warpweave compare` runs on")
    parser.add_argument("--only", help="the cases whose names contain this")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder in which models and arrays stay")
    options = parser.parse_args()
    for group in (activations, normalisations, products, attention, pasts, caches, pools_of_channels_last, others, rotations, quantised_products, quantised_elements, blocks, tables,
                  mobile_net, transformer):
        group()
    chosen = [case for case in CASES if not options.only or options.only in case.name]
    if not chosen:
        sys.exit("no case has such a name")
    if len(CASES) < FEWEST_CASES:
        sys.exit(f"{len(CASES)} cases are there, and there must be {FEWEST_CASES}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failures = [line for lines in pool.map(lambda case: run(case, options, folder), chosen) for line in lines]
    print("\n".join(failures + [f"{len(chosen)} cases, {len(failures)} failures"]))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
