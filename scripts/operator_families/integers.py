"""Sums of products of integers, from bytes to values whose sums wrap."""

import numpy

from .case import Case, operator

LENGTHS = [1, 2, 3, 17, 64, 129, 700]


@operator("MatMul")
def wrapping_product(chooser, name):
    """Around what fits 16 bits, and far beyond."""
    most = chooser.choice([100, 32767, 32769, 2**31 - 1])
    rows, length, columns = chooser.extent(33), chooser.choice(LENGTHS), chooser.extent(33)
    inputs = [chooser.integers(numpy.int32, shape, -most, most) for shape in ([rows, length], [length, columns])]
    if chooser.chance(0.5):
        inputs[0][0, 0] = chooser.choice([-32768, 32768, -(2**31)])
    return Case(name, inputs, free=chooser.between(1, 2))


@operator("ConvInteger")
def convolution(chooser, name):
    groups, size = chooser.choice([1, 1, 2]), chooser.choice([1, 3])
    channels, filters, extent = groups * chooser.extent(5), groups * chooser.extent(9), chooser.between(3, 17)
    image = chooser.integers(numpy.uint8, [2, channels, extent, extent])
    weights = chooser.integers(numpy.uint8, [filters, channels // groups, size, size])
    zeros = [chooser.integers(numpy.uint8, []), chooser.integers(numpy.uint8, [])]
    return Case(name, [image, weights, *zeros], kernel_shape=[size, size], pads=[size // 2] * 4, strides=[chooser.choice([1, 2])] * 2,
                group=groups)


SATURATES = "ONNX Runtime adds two products in 16 bits on some processors"


@operator("MatMulIntegerOfBytes")
def product_of_bytes(chooser, name):
    """Bytes with a sign and without one on either side, extremes among them, and zero points that are constants or not."""
    elements = [chooser.choice([numpy.uint8, numpy.int8]) for _ in range(2)]
    rows, length, columns = chooser.extent(33), chooser.choice([1, 2, 3, 4, 5, 63, 129, 1030, 4096]), chooser.extent(33)
    factors = [chooser.integers(element, shape) for element, shape in zip(elements, ([rows, length], [length, columns]))]
    if chooser.chance(0.3):
        factors = [numpy.full_like(factor, chooser.choice([numpy.iinfo(factor.dtype).min, numpy.iinfo(factor.dtype).max]))
                   for factor in factors]
    middle = {numpy.uint8: [0, 128, 255], numpy.int8: [0, -128, 127]}
    zeros = [numpy.array(chooser.choice(middle[element]), element) for element in elements]
    return Case("MatMulInteger", [*factors, *zeros], free=chooser.between(1, 4), by_reference=SATURATES)
