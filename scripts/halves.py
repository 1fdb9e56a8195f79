"""What FP16 and BF16 round to, as arrays of singles, and how their tensors are written in a model."""

import numpy
from onnx import TensorProto


class Half:
    """A type of 16 bits: its name, its ONNX type, the distance of 1 to the next number, and the largest value that is of use."""

    def __init__(self, name, onnx_type, epsilon, least, largest):
        self.name, self.onnx_type, self.epsilon, self.least, self.largest = name, onnx_type, epsilon, least, largest

    def cut(self, array):
        """The neighbours of each element toward zero and away from it; equal where the element is representable."""
        array = numpy.asarray(array, numpy.float32)
        if self.name == "bf16":
            bits = array.view(numpy.uint32)
            low = bits & numpy.uint32(0xFFFF0000)
            return low.view(numpy.float32), numpy.where(low == bits, low, low + numpy.uint32(0x10000)).view(numpy.float32)
        with numpy.errstate(over="ignore"):
            nearest = array.astype(numpy.float16)
            outward = numpy.copysign(numpy.float16(numpy.inf), array).astype(numpy.float16)
            inward = numpy.nextafter(nearest, numpy.float16(0))
            beyond = numpy.nextafter(nearest, outward)
        single = nearest.astype(numpy.float32)
        low = numpy.where(numpy.abs(single) > numpy.abs(array), inward.astype(numpy.float32), single)
        high = numpy.where(numpy.abs(single) < numpy.abs(array), beyond.astype(numpy.float32), single)
        return low, high

    def nearest(self, array):
        """Each element rounded to nearest even."""
        array = numpy.asarray(array, numpy.float32)
        if self.name == "f16":
            with numpy.errstate(over="ignore"):
                return array.astype(numpy.float16).astype(numpy.float32)
        bits = array.view(numpy.uint32).astype(numpy.uint64)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return numpy.where(numpy.isfinite(array), rounded.astype(numpy.uint32).view(numpy.float32), array)

    def either(self, array, inward):
        """Each element rounded toward zero where `inward` says so, and away from it elsewhere."""
        low, high = self.cut(array)
        return numpy.where(inward, low, high)

    def step(self, array):
        """The distance of each element to the next one in this type."""
        with numpy.errstate(divide="ignore"):
            exponents = numpy.floor(numpy.log2(numpy.maximum(numpy.abs(array.astype(numpy.float64)), self.least)))
        return numpy.exp2(exponents) * self.epsilon

    def tensor(self, name, array):
        """A constant of this type, whose elements are representable."""
        array = numpy.ascontiguousarray(array, numpy.float32)
        if self.name == "f16":
            raw = array.astype(numpy.float16).tobytes()
        else:
            raw = (array.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes()
        return TensorProto(name=name, data_type=self.onnx_type, dims=array.shape, raw_data=raw)

    def stored(self, array):
        """An array of inputs or outputs as `warpweave` reads and writes it: singles stand for BF16."""
        return array.astype(numpy.float16) if self.name == "f16" else array


HALVES = {
    "f16": Half("f16", TensorProto.FLOAT16, 2.0**-10, 2.0**-14, 2e4),
    "bf16": Half("bf16", TensorProto.BFLOAT16, 2.0**-7, 2.0**-126, 1e6),
}
