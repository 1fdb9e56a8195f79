"""Families of random graphs in which one expression reads a value several times: shifted copies added to one another, and
chains of centring, Where over sums, softmax and normalisation. `random_graphs.Generator` has them beside its own."""

import numpy

LONGEST_CHAIN = 12


class Rejected(Exception):
    """A node that ONNX Runtime does not take, or whose result is of no use."""


class RepeatedReads:
    """What `random_graphs.Generator` inherits; its `add` puts each new value last in `values`."""

    def added(self, op, operands, exact=True, **attributes):
        self.add(op, operands, exact, **attributes)
        return self.values[-1]

    def integers(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def sliced(self, value, axis, start, end, step=1):
        bounds = [self.integers(number) for number in (start, end, axis, step)]
        return self.added("Slice", [value, *bounds])

    def shifted(self, value, axis):
        """A value of the same shape whose elements along an axis lie at other indices."""
        extent = value.array.shape[axis]
        distance = self.random.randrange(1, extent) if extent > 1 else 0
        way = self.random.choice(["roll", "pad", "slice", "reverse", "gather", "same"])
        if way == "same" or distance == 0:
            return value
        if way == "roll":
            parts = [self.sliced(value, axis, distance, 1 << 40), self.sliced(value, axis, 0, distance)]
            return self.added("Concat", parts, axis=axis)
        if way in ("pad", "slice"):
            pads = numpy.zeros((2, value.array.ndim), numpy.int64)
            fill = self.constant(self.array(value.element, []))
            if way == "slice":
                # Both ends grow, and the slice takes a window of the first size.
                pads[:, axis] = distance
                start = self.random.randrange(2 * distance + 1)
                wide = self.added("Pad", [value, self.integers(*pads.flatten()), fill])
                return self.sliced(wide, axis, start, start + extent)
            before = self.random.random() < 0.5
            pads[0 if before else 1, axis] = distance
            kept = self.sliced(value, axis, 0, extent - distance) if before else self.sliced(value, axis, distance, 1 << 40)
            return self.added("Pad", [kept, self.integers(*pads.flatten()), fill])
        if way == "reverse":
            return self.sliced(value, axis, extent - 1, -1 << 40, -1)
        places = self.constant(self.numbers.integers(-extent, extent, extent))
        return self.added("Gather", [value, places], axis=axis)

    def joined(self, first, second):
        if first.element is numpy.bool_:
            return self.added(self.random.choice(["And", "Or", "Xor"]), [first, second])
        return self.added(self.random.choice(["Add", "Add", "Sub", "Mul", "Max", "Min"]), [first, second])

    def rereading(self):
        """A value that an expression reads two or three times, mostly at shifted indices."""
        value = self.pick(lambda value: value.array.ndim)
        axis = self.random.randrange(value.array.ndim)
        result = self.shifted(value, axis)
        for _ in range(self.random.choice([1, 2, 2])):
            axis = axis if self.random.random() < 0.7 else self.random.randrange(value.array.ndim)
            result = self.joined(result, self.shifted(value, axis))

    def repeated_squares(self):
        """Sums of a value with itself, over and over: each step reads the last one twice or thrice."""
        value = self.pick(lambda value: value.is_float or value.is_integer)
        for _ in range(self.random.randrange(2, 7)):
            value = self.added(self.random.choice(["Add", "Sub", "Max"]),
                               [value, self.shifted(value, 0) if value.array.ndim else value])

    def floats(self, largest=20.0):
        """A value of singles or doubles with a row of several elements, and its last axis."""
        value = self.pick(lambda value: value.element in (numpy.float32, numpy.float64) and value.array.ndim
                          and value.array.shape[-1] > 1)
        if float(numpy.abs(value.array).max()) > largest:
            raise Rejected("too large")
        return value, value.array.ndim - 1

    def number(self, value, number):
        return self.constant(numpy.array(number, value.element))

    def centred(self, value, axis):
        mean = self.added("ReduceMean", [value, self.integers(axis)], exact=False, keepdims=1)
        return self.added("Sub", [value, mean], exact=False)

    def centring_chain(self):
        """x + c (x - mean(x)), repeated."""
        value, axis = self.floats()
        factor = self.random.choice([-0.5, 0.25, 1.1])
        for _ in range(self.random.randrange(2, LONGEST_CHAIN)):
            scaled = self.added("Mul", [self.number(value, factor), self.centred(value, axis)], exact=False)
            value = self.added("Add", [value, scaled], exact=False)

    def normalisation_chain(self):
        """Softmax or normalisation with what it reads added to it, repeated."""
        value, axis = self.floats()
        for _ in range(self.random.randrange(2, LONGEST_CHAIN // 2)):
            if self.random.random() < 0.4:
                part = self.added("Softmax", [value], exact=False, axis=axis)
            elif self.random.random() < 0.4:
                rest = self.added("ReduceMax", [value, self.integers(axis)], keepdims=1)
                part = self.added("Exp", [self.added("Sub", [value, rest])], exact=False)
                total = self.added("ReduceSum", [part, self.integers(axis)], exact=False, keepdims=1)
                part = self.added("Div", [part, total], exact=False)
            else:
                centre = self.centred(value, axis)
                square = self.added("Mul", [centre, centre], exact=False)
                mean = self.added("ReduceMean", [square, self.integers(axis)], exact=False, keepdims=1)
                root = self.added("Sqrt", [self.added("Add", [mean, self.number(value, 0.5)], exact=False)], exact=False)
                part = self.added("Div", [centre, root], exact=False)
            value = part if self.random.random() < 0.3 else self.added("Add", [value, part], exact=False)

    def where_chain(self):
        """Where over a sum of its own operand, repeated; all sums are exact."""
        value = self.pick(lambda value: value.array.ndim and value.exact
                          and value.element in (numpy.float32, numpy.float64, numpy.int32, numpy.int64))
        axis = self.random.randrange(value.array.ndim)
        for _ in range(self.random.randrange(2, LONGEST_CHAIN)):
            if not value.exact or not self.summed(value, 2 * value.array.shape[axis]):
                raise Rejected("not exact")
            self.within(value.element, 2 * numpy.sum(numpy.abs(value.array.astype(numpy.longdouble)), axis=axis))
            total = self.added("ReduceSum", [value, self.integers(axis)], keepdims=1)
            if self.random.random() < 0.5:
                condition = self.added(self.random.choice(["Less", "Greater"]), [value, total])
            else:
                condition = self.constant(self.array(numpy.bool_, value.array.shape))
            other = total if self.random.random() < 0.5 else self.added("Sub", [value, total])
            operands = [other, value] if self.random.random() < 0.5 else [value, other]
            value = self.added("Where", [condition, *operands])
