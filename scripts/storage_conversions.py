#!/usr/bin/env python3
"""Writes what ONNX's reference makes of numbers in the types of storage only: a hash a conversion.

  PYTHONPATH=.onnxruntime scripts/storage_conversions.py > graph/tests/data/storage_conversions.txt

A line names a type, the type converted from, the mode and the FNV-1a hash of the codes, or of the values for `decode`. The numbers
are all halves, or singles: every 65,521st bit pattern, and the middle of every two neighbouring values of every type with what
stands beside it. NaN has one code and one value. A test makes the same numbers and compares.
"""

import ml_dtypes
import numpy
from onnx import numpy_helper

FLOATS = {
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0": ml_dtypes.float8_e8m0fnu,
    "f4e2m1": ml_dtypes.float4_e2m1fn,
}
INTEGERS = {"i4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2}
ROUNDINGS = ("up", "down", "nearest")


def fnv(data: bytes) -> str:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def decoded(kind) -> numpy.ndarray:
    """The values of all codes as singles, with one NaN."""
    count = 16 if kind is ml_dtypes.float4_e2m1fn else 256
    values = numpy.arange(count, dtype=numpy.uint8).view(kind).astype(numpy.float32)
    values[numpy.isnan(values)] = numpy.uint32(0x7FC00000).view(numpy.float32)
    return values


def codes(kind, values: numpy.ndarray) -> bytes:
    """The codes of values of a type, with one code for NaN."""
    of = values.view(numpy.uint8).copy()
    of[numpy.isnan(values.astype(numpy.float32))] = numpy.array(numpy.nan, kind).view(numpy.uint8)
    return of.tobytes()


def halves() -> numpy.ndarray:
    return numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16)


def singles() -> numpy.ndarray:
    spread = (numpy.arange(65536, dtype=numpy.uint64) * 65521).astype(numpy.uint32)
    middles = []
    for kind in FLOATS.values():
        values = decoded(kind).astype(numpy.float64)
        values = numpy.unique(values[numpy.isfinite(values)])
        middles.append(((values[:-1] + values[1:]) / 2).astype(numpy.float32).view(numpy.uint32))
    middles = numpy.concatenate(middles)
    return numpy.concatenate([spread, middles - 1, middles, middles + 1]).view(numpy.float32)


def main() -> None:
    for name, kind in FLOATS.items():
        print(name, "-", "decode", fnv(decoded(kind).tobytes()))
    for source, numbers in (("f16", halves()), ("f32", singles())):
        with numpy.errstate(all="ignore"):
            for name, kind in FLOATS.items():
                if name == "f8e8m0":
                    continue
                print(name, source, "plain", fnv(codes(kind, numbers.astype(kind))))
                if name != "f4e2m1":
                    print(name, source, "saturate", fnv(codes(kind, numpy_helper.saturate_cast(numbers, kind))))
            # What lies outside is unspecified, or specified otherwise than the reference has it.
            doubles = numbers.astype(numpy.float64)
            positive = numbers[(doubles >= 2.0**-126) & (doubles <= 2.0**127)]
            for mode in ROUNDINGS:
                for saturate, word in ((True, "saturate"), (False, "plain")):
                    of = numpy_helper.to_float8e8m0(positive, saturate, mode)
                    print("f8e8m0", source, f"{word}-{mode}", fnv(codes(FLOATS["f8e8m0"], of)))
            small = numbers[numpy.abs(doubles) < 2.0**31]
            for name, kind in INTEGERS.items():
                values = small.astype(kind).astype(numpy.int8)
                print(name, source, "plain", fnv(values.tobytes()))


if __name__ == "__main__":
    main()
