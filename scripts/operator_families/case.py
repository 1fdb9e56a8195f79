"""What the generators have in common: a case, and what chooses its extents and elements."""

import random

import numpy

IN_KERNELS = [numpy.float32, numpy.int32, numpy.int64, numpy.int8, numpy.uint8, numpy.int16, numpy.uint16, numpy.uint32]
ON_HOST = IN_KERNELS + [numpy.float64, numpy.float16, numpy.uint64]
MICROSOFT = "com.microsoft"
GENERATORS = {}


class Unfit(Exception):
    """A configuration that ONNX does not define."""


class Case:
    """One operator: its inputs by position, of which the first `free` are the model's and the others constants."""

    def __init__(self, operator, inputs, outputs="y", free=1, opset=21, domain="", tolerance=1e-4, by_reference=None,
                 storage=None, largest=None, **attributes):
        self.operator, self.inputs, self.free, self.opset, self.domain = operator, inputs, free, opset, domain
        # Why ONNX's reference evaluator is asked, and ONNX Runtime is not.
        self.by_reference = by_reference
        # One character an output; a blank is one that is not wanted.
        self.outputs = [name.strip() for name in outputs]
        self.tolerance = tolerance
        # Beyond which a result of floating point makes this no case: functions that are written differently overflow apart.
        self.largest = largest
        # A type that arrays do not have, of the inputs at these positions and of the first output where "y" is among them: singles
        # are converted to it and back.
        self.storage, self.stored = storage or (None, ())
        self.attributes = {name: value for name, value in attributes.items() if value is not None}


def operator(*names):
    """Registers a generator, a function of a chooser and a name, under the names of operators."""

    def register(generator):
        for name in names:
            GENERATORS[name] = lambda chooser, name=name: generator(chooser, name)
        return generator

    return register


class Chooser:
    """Everything random of one case."""

    def __init__(self, seed, on_host):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.known = ON_HOST if on_host else IN_KERNELS

    def chance(self, probability):
        return self.random.random() < probability

    def choice(self, options):
        return self.random.choice(options)

    def between(self, first, last):
        return self.random.randint(first, last)

    def extent(self, most=17):
        return self.choice([extent for extent in (1, 2, 3, 4, 5, 7, 8, 9, 13, 17, 33) if extent <= most])

    def shape(self, ranks=(1, 2, 3, 4), most=9):
        return [self.extent(most) for _ in range(self.choice(ranks))]

    def axis(self, rank):
        """An axis, as often from the back."""
        return self.between(-rank, rank - 1)

    def element(self, wanted):
        """A type of `wanted` that the device knows; the first in half of the cases."""
        known = [element for element in wanted if element in self.known]
        return known[0] if self.chance(0.5) else self.choice(known)

    def quarters(self, shape, element=numpy.float32):
        """Few values, so that there are ties, and sums in every order are the same."""
        return (self.numbers.integers(-12, 13, shape) / 4).astype(element)

    def normal(self, shape, element=numpy.float32):
        return self.numbers.standard_normal(shape).astype(element)

    def integers(self, element, shape, low=None, high=None):
        bounds = numpy.iinfo(element)
        low, high = bounds.min if low is None else low, bounds.max if high is None else high
        return self.numbers.integers(low, high, shape, element, endpoint=True)

    def booleans(self, shape):
        return self.numbers.integers(0, 2, shape).astype(numpy.bool_)

    def array(self, element, shape):
        """Elements with ties."""
        if element is numpy.bool_:
            return self.booleans(shape)
        if issubclass(element, numpy.floating):
            return self.quarters(shape, element)
        if self.chance(0.3):
            return self.integers(element, shape)
        return self.integers(element, shape, max(-9, numpy.iinfo(element).min), 9)

    def with_specials(self, array, specials=(numpy.inf, -numpy.inf)):
        """With some elements replaced, in one case of five."""
        if array.size and self.chance(0.2):
            places = self.numbers.integers(0, array.size, max(1, array.size // 8))
            array.reshape(-1)[places] = self.numbers.choice(specials, len(places))
        return array

    def places(self, shape, extent, element=numpy.int64):
        """Indices with duplicates, as often from the back."""
        return self.numbers.integers(-extent, extent, shape).astype(element)

    def maybe(self, value, probability=0.5):
        return value if self.chance(probability) else None
