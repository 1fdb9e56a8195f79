"""Quantises a model to 8 bits with ONNX Runtime's quantiser, calibrated on two random arrays a static input.

`qdq` puts QuantizeLinear and DequantizeLinear around operators, `qoperator` takes operators of integers, and `dynamic` quantises weights
now and activations in every run. Activations have no sign, weights have one.

    PYTHONPATH=.onnxruntime python3 scripts/quantise_model.py qdq|qoperator|dynamic IN.onnx OUT.onnx
"""

import logging
import sys

import numpy
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

KINDS = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}
BATCHES = 2


class RandomArrays(CalibrationDataReader):
    """Normal values for floating point, 0 and 1 for integers."""

    def __init__(self, model):
        session, random = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]), numpy.random.default_rng(0)

        def array(port):
            shape, kind = [extent if isinstance(extent, int) else 1 for extent in port.shape], KINDS[port.type]
            floating = numpy.issubdtype(kind, numpy.floating)
            return (random.standard_normal(shape) if floating else random.integers(0, 2, shape)).astype(kind)

        self.batches = iter([{port.name: array(port) for port in session.get_inputs()} for _ in range(BATCHES)])

    def get_next(self):
        return next(self.batches, None)


def quantise(kind, source, target):
    logging.disable(logging.WARNING)
    if kind == "dynamic":
        return quantize_dynamic(source, target, weight_type=QuantType.QInt8)
    formats = {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}
    return quantize_static(source, target, RandomArrays(source), quant_format=formats[kind], activation_type=QuantType.QUInt8,
                           weight_type=QuantType.QInt8)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("qdq", "qoperator", "dynamic"):
        sys.exit(__doc__)
    quantise(*sys.argv[1:])
