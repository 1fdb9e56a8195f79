"""Compares the sums of tensor cores in fusion/plan/tests/tensor_sums.bin with those of MMA-Sim, or writes that file.

Fragments of every kind are made from a seed: normal and subnormal numbers, zeros, infinities, NaN, sums that cancel, and products below
the least number to which terms are aligned. The file has whole fragments, and digests of the sums of all others; the test
`tensor_sums` of the crate `warpweave-plan` makes the same fragments. Needs Python 3.10, a C++ compiler and the package `mmasim`
2.1.1, in an environment of its own.

    python3 scripts/mma_exact.py [--write]
"""

import argparse
import pathlib
import struct
import sys

import numpy
import torch
from mmasim.nv_ptx.sim import MMA

FILE = pathlib.Path(__file__).parent.parent / "fusion/plan/tests/tensor_sums.bin"
GENERATIONS = ["Ampere", "Hopper"]
# The shape, the factors and the sums of a kind, how many fragments it has, and how many of them the file holds.
KINDS = [
    ("m16n8k16", "f16", "f32", 20_000, 100),
    ("m16n8k16", "bf16", "f32", 20_000, 100),
    ("m16n8k16", "f16", "f16", 5_000, 75),
    ("m16n8k8", "f16", "f32", 5_000, 75),
    ("m16n8k8", "bf16", "f32", 5_000, 75),
    ("m16n8k8", "tf32", "f32", 5_000, 75),
]
# Exponent bits and fraction bits.
LAYOUTS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23)}
ROWS, COLUMNS = 16, 8
# Fragments that one digest is of.
BATCH = 500
# Numbers that the generator draws for one fragment at most.
STRIDE = 1024
STYLES = 8


def u64(value):
    return numpy.uint64(value)


def draws(seed, indices):
    """The numbers of SplitMix64 (Steele, Lea and Flood, 2014) at these indices of its sequence."""
    z = u64(seed) + (indices.astype(numpy.uint64) + u64(1)) * u64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB)
    return z ^ (z >> u64(31))


def bits(draw, first, count):
    return ((draw >> u64(first)) & u64((1 << count) - 1)).astype(numpy.int64)


def middle_exponent(style, layout):
    """The first biased exponent of a style's factors, and how many follow."""
    exponent_bits, _ = layout
    largest = (1 << exponent_bits) - 1
    bias = largest >> 1
    wide = min(24, largest - 7)
    tiny = (40, 32) if exponent_bits == 8 else (0, 8)
    middle = (bias - wide // 2, wide)
    return [(0, largest + 1), (bias - 4, 8), (1, largest - 1), (0, 3), middle, middle, (bias - 4, 8), tiny][style]


def assemble(draw, exponent, layout):
    exponent_bits, fraction_bits = layout
    sign, fraction = bits(draw, 0, 1), bits(draw, 1, fraction_bits)
    return (sign << exponent_bits | exponent) << fraction_bits | fraction


def with_specials(draw, word, layout, share):
    """Replaces one in `share` elements: by a zero, an infinity, a NaN or the largest number."""
    exponent_bits, fraction_bits = layout
    largest, ones = (1 << exponent_bits) - 1, (1 << fraction_bits) - 1
    codes = [0, largest << fraction_bits, largest << fraction_bits | 1, (largest - 1) << fraction_bits | ones]
    special = numpy.array(codes)[bits(draw, 48, 2)] | bits(draw, 0, 1) << (exponent_bits + fraction_bits)
    return numpy.where(bits(draw, 40, 8) % share == 0, special, word)


def factor(draw, style, layout):
    first, count = middle_exponent(style, layout)
    word = assemble(draw, first + bits(draw, 24, 16) % count, layout)
    return with_specials(draw, word, layout, 64) if style == 5 else word


def earlier_sum(draw, style, factors, layout):
    exponent_bits, fraction_bits = layout
    first, count = middle_exponent(style, factors)
    middle = 2 * (first + count // 2 - ((1 << factors[0]) - 1 >> 1)) + ((1 << exponent_bits) - 1 >> 1)
    most = (1 << exponent_bits) - 2
    near = numpy.clip(middle - 12 + bits(draw, 24, 16) % 24, 0, most)
    mode = bits(draw, 50, 2)
    exponent = numpy.where(mode == 1, 1 + bits(draw, 24, 16) % most, near)
    word = assemble(draw, exponent, layout)
    word = numpy.where(mode == 0, bits(draw, 0, 1) << (exponent_bits + fraction_bits), word)
    return with_specials(draw, word, layout, 64) if style in (0, 5) else word


def fragments(kind, first, count):
    """The matrices of fragments, as bits: left, right and the earlier sums. A fragment's style is its number modulo STYLES."""
    shape, factors, sums, _, _ = KINDS[kind]
    depth = int(shape.split("k")[1])
    layout, sum_layout = LAYOUTS[factors], LAYOUTS[sums]
    sizes = [ROWS * depth, depth * COLUMNS, ROWS * COLUMNS]
    matrices = [numpy.zeros((count, size), numpy.int64) for size in sizes]
    for number in range(count):
        fragment = first + number
        style = fragment % STYLES
        offset = fragment * STRIDE
        for which, size in enumerate(sizes):
            draw = draws(kind, numpy.arange(offset, offset + size))
            word = earlier_sum(draw, style, layout, sum_layout) if which == 2 else factor(draw, style, layout)
            matrices[which][number] = word
            offset += size
        if style == 6:
            cancel(matrices[0][number].reshape(ROWS, depth), matrices[1][number].reshape(depth, COLUMNS), layout)
    if factors == "tf32":
        # The lower bits of a register are ignored, whatever they are.
        matrices[0], matrices[1] = matrices[0] << 13 | 0x1555, matrices[1] << 13 | 0x0AAA
    shapes = [(count, ROWS, depth), (count, depth, COLUMNS), (count, ROWS, COLUMNS)]
    return [matrix.reshape(shape) for matrix, shape in zip(matrices, shapes)]


def cancel(left, right, layout):
    """Makes products of odd indices the negatives of those before them, but for a last bit in every third."""
    sign = 1 << sum(layout)
    left[:, 1::2] = left[:, 0::2] ^ sign
    right[1::2, :] = right[0::2, :]
    left[::3, 1::2] ^= 1


def tensor(words, kind):
    if kind in ("f16", "bf16"):
        halves = torch.from_numpy(words.astype(numpy.uint16).view(numpy.int16))
        return halves.view(torch.float16 if kind == "f16" else torch.bfloat16)
    return torch.from_numpy(words.astype(numpy.uint32).view(numpy.int32)).view(torch.float32)


def simulated(generation, kind, left, right, old):
    shape, factors, sums, _, _ = KINDS[kind]
    operation = MMA(generation, f"{shape}.{sums}.{factors}.{factors}.{sums}")
    a, b, c = tensor(left, factors), tensor(right, factors), tensor(old, sums)
    rows = a[:, :, None, :].expand(-1, -1, COLUMNS, -1)
    columns = b.transpose(1, 2)[:, None, :, :].expand(-1, ROWS, -1, -1)
    result = operation.dpa(rows, columns, c)
    if sums == "f16":
        return result.view(torch.int16).numpy().view(numpy.uint16)
    return result.view(torch.int32).numpy().view(numpy.uint32)


def digest(words):
    """FNV-1a of 64 bits over words of 32."""
    value = 0xCBF29CE484222325
    for word in words.reshape(-1).tolist():
        value = (value ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def packed(words, width):
    return numpy.ascontiguousarray(words, dtype=numpy.uint16 if width == 16 else numpy.uint32).tobytes()


def make():
    """The file's bytes: for each kind its whole fragments, then a digest of every batch for each generation."""
    data = bytearray()
    for kind, (shape, factors, sums, count, whole) in enumerate(KINDS):
        digests = []
        for first in range(0, count, BATCH):
            left, right, old = fragments(kind, first, BATCH)
            results = [simulated(generation, kind, left, right, old) for generation in GENERATIONS]
            digests += [digest(result) for result in results]
            if first == 0:
                factor_width, sum_width = 32 if factors == "tf32" else 16, 16 if sums == "f16" else 32
                for number in range(whole):
                    data += packed(left[number], factor_width) + packed(right[number], factor_width)
                    for words in [old, *results]:
                        data += packed(words[number], sum_width)
        data += struct.pack(f"<{len(digests)}Q", *digests)
        print(f"{shape} {factors} {sums}: {count} fragments", flush=True)
    return bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = make()
    if options.write:
        FILE.write_bytes(data)
    elif data != FILE.read_bytes():
        sys.exit(f"{FILE} differs from the sums of MMA-Sim")


if __name__ == "__main__":
    main()
