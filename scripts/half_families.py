"""Families of nodes of which `half_graphs.Generator` makes random graphs: products, convolutions, normalisations, softmaxes,
islands of singles, and movement of halves."""

import numpy
from onnx import TensorProto

from half_layers import HEAD_SIZES, LENGTHS, MOST_WORK, HalfLayers, Rejected

WIDTHS = [1, 3, 4, 8, 16, 17, 24, 32, 40, 48, 64, 64, 96, 128]
MOST_INPUTS = 4
ACTIVATIONS = ["Relu", "Sigmoid", "Tanh", "Softplus", "Elu", "LeakyRelu", "HardSwish", "HardSigmoid", "Gelu", "Mish", "Selu", "Softsign",
               "Erf", "Neg", "Abs", "Exp", "Celu", "Sin", "Cos", "Atan"]


class HalfFamilies(HalfLayers):
    """What `half_graphs.Generator` inherits."""

    def families(self):
        often = [self.product] * 3 + [self.product_of_values] * 2 + [self.attention] * 3 + [self.convolution] * 4
        often += [self.normalisation] * 3 + [self.pointwise] * 3 + [self.binary] * 3 + [self.movement] * 3
        often += [self.concat, self.split, self.softmax, self.softmax, self.reduction, self.reduction, self.resize]
        often += [self.pooling, self.choice, self.island, self.island, self.feed_forward, self.by_hand, self.rounding]
        return often + [self.recurrent, self.dequantised, self.einsum, self.scattered]

    # What families share.

    def drawn(self, shape, scale=1.0):
        if self.random.random() < 0.25:
            return (self.numbers.integers(-6, 7, shape) / 4).astype(numpy.float32)
        return (scale * self.numbers.standard_normal(shape)).astype(numpy.float32)

    def weight(self, *shape, fan=None):
        fan = fan or int(numpy.prod(shape[:-1])) or 1
        if self.random.random() < 0.2:
            return self.constant(self.numbers.integers(-2, 3, shape).astype(numpy.float32) / 2)
        return self.constant(self.numbers.standard_normal(shape).astype(numpy.float32) / numpy.sqrt(fan))

    def integers(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64), "int")

    def number(self, number):
        return self.constant(numpy.array(number, numpy.float32))

    def pick(self, holds=lambda value: True, kind="half"):
        found = [value for value in self.values if value.kind == kind and numpy.isfinite(value.array).all() and holds(value)]
        if not found:
            raise Rejected("no operand")
        return found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]

    def chance(self, share):
        return self.random.random() < share

    def axis(self, value):
        return self.random.randrange(value.rank)

    def like(self, value):
        """An operand that broadcasts: an earlier value, or a constant."""
        def fits(other):
            try:
                return other is not value and len(numpy.broadcast_shapes(other.shape, value.shape)) <= 5
            except ValueError:
                return False
        if self.chance(0.6):
            try:
                return self.pick(fits)
            except Rejected:
                pass
        return self.constant(self.drawn([extent if self.chance(0.5) else 1 for extent in value.shape]))

    def start(self):
        """The inputs: an image, tokens, heads or matrices."""
        draw, scale = self.random.choice, self.random.choice([1, 1, 1, 0.1, 30])
        for _ in range(draw([1, 1, 2])):
            self.themed(draw(["image", "tokens", "tokens", "heads", "matrix", "row"]), scale)
        if self.chance(0.3):
            self.input(self.random.choice(self.values).shape, kind="bool")

    def themed(self, theme, scale=1.0):
        """An input of a shape that a family takes."""
        draw = self.random.choice
        if theme == "image":
            channels = draw([1, 3, 4, 8, 8, 16, 16, 24, 32])
            shape = [draw([1, 1, 2]), channels, draw([1, 5, 7, 8, 11, 14]), draw([1, 4, 7, 8, 13])]
        elif theme == "tokens":
            shape = [draw([1, 1, 2]), draw(LENGTHS), draw([8, 16, 24, 32, 48, 64, 64, 128, 15, 33])]
        elif theme == "heads":
            shape = [draw([1, 2]), draw([1, 2, 3]), draw(LENGTHS), draw(HEAD_SIZES)]
        elif theme == "matrix":
            shape = [draw(LENGTHS), draw(WIDTHS)]
        else:
            shape = [draw([1, 3]), draw([8, 16, 17, 64, 100])]
        return self.input(shape, scale=scale)

    def pick_or_input(self, theme, holds):
        """An operand, or a new input where there is none and few inputs are."""
        try:
            return self.pick(holds)
        except Rejected:
            if len(self.inputs) >= MOST_INPUTS:
                raise
            return self.themed(theme)

    # Products.

    def product(self):
        value = self.pick(lambda value: value.rank >= 2)
        inner, columns = value.shape[-1], self.random.choice(WIDTHS)
        if value.array.size * columns > MOST_WORK:
            raise Rejected("its size")
        if value.rank == 2 and self.chance(0.5):
            return self.gemm(value, inner, columns)
        result = self.add("MatMul", [value, self.weight(inner, columns)])
        if self.chance(0.6):
            result = self.add("Add", [result, self.constant(self.drawn([columns]))])
        return self.activated(result)

    def gemm(self, value, inner, columns):
        turned = self.random.randrange(2)
        if self.chance(0.3):
            value, left = self.add("Transpose", [value], perm=[1, 0]), 1
        else:
            left = 0
        weight = self.weight(columns, inner, fan=inner) if turned else self.weight(inner, columns)
        bias = self.constant(self.drawn(self.random.choice([[columns], [1, columns], [1], [value.shape[left], 1]])))
        scales = {name: self.random.choice([0.5, 1.0, 2.0]) for name in ("alpha", "beta")} if self.chance(0.3) else {}
        return self.add("Gemm", [value, weight] + [bias] * self.random.randrange(2), transA=left, transB=turned, **scales)

    def activated(self, value):
        if self.chance(0.5):
            return value
        return self.add(self.random.choice(["Relu", "Sigmoid", "Tanh", "Gelu", "HardSwish"]), [value])

    def product_of_values(self):
        left = self.pick(lambda value: value.rank >= 2)
        if self.chance(0.5):
            right = self.pick(lambda value: value.shape[:-1] == left.shape[:-2] + (left.shape[-1],) and value.rank >= 2)
        else:
            right = self.pick(lambda value: value.shape[:-2] == left.shape[:-2] and value.rank == left.rank
                              and value.shape[-1] == left.shape[-1])
            right = self.turned(right)
        if left.array.size * right.shape[-1] > MOST_WORK:
            raise Rejected("its size")
        if self.chance(0.5):
            left = self.scaled(left)
        return self.add("MatMul", [left, right])

    def einsum(self):
        value = self.pick(lambda value: value.rank == 3)
        batch, rows, inner = value.shape
        columns = self.random.choice([3, 8, 16, 32])
        if value.array.size * columns > MOST_WORK:
            raise Rejected("its size")
        equation, shape = self.random.choice([("abc,cd->abd", [inner, columns]), ("abc,acd->adb", [batch, inner, columns]),
                                              ("abc,dbc->ad", [columns, rows, inner]), ("abc,cb->a", [inner, rows])])
        return self.add("Einsum", [value, self.weight(*shape, fan=inner)], equation=equation)

    def scattered(self):
        """Sums of the elements that go to one place, or of a value's elements there."""
        value = self.pick(lambda value: value.rank)
        axis = self.axis(value)
        count = self.random.choice([1, 3, 20, 70])
        shape = [count if at == axis else extent for at, extent in enumerate(value.shape)]
        if numpy.prod(shape) > 4096:
            raise Rejected("its size")
        places = self.constant(self.numbers.integers(0, value.shape[axis], shape), "int")
        return self.add("ScatterElements", [value, places, self.constant(self.drawn(shape))], axis=axis, reduction="add")

    def turned(self, value):
        return self.add("Transpose", [value], perm=[*range(value.rank - 2), value.rank - 1, value.rank - 2])

    def scaled(self, value):
        factor = value.shape[-1] ** -0.5
        if self.chance(0.5):
            return self.add("Mul", [value, self.number(factor)])
        return self.add("Div", [value, self.number(1 / factor)])

    def feed_forward(self):
        value = self.pick(lambda value: value.rank >= 2 and 1 < value.shape[-1] <= 64)
        width = value.shape[-1]
        inner = self.random.choice([width, 2 * width, 24, 32])
        normal = self.layer_normalisation(value) if self.chance(0.6) else value
        hidden = self.add("MatMul", [normal, self.weight(width, inner)])
        if self.chance(0.3):
            gate = self.add("MatMul", [normal, self.weight(width, inner)])
            hidden = self.add("Mul", [hidden, self.add("Mul", [gate, self.add("Sigmoid", [gate])])])
        else:
            hidden = self.gelu_by_hand(hidden) if self.chance(0.4) else self.activated(hidden)
        return self.add("Add", [value, self.add("MatMul", [hidden, self.weight(inner, width)])])

    def gelu_by_hand(self, value):
        inner = self.add("Erf", [self.add("Mul", [value, self.number(0.70710678)])])
        return self.add("Mul", [self.add("Mul", [value, self.number(0.5)]), self.add("Add", [inner, self.number(1.0)])])

    # Softmax, by itself.

    def softmax(self):
        value = self.pick(lambda value: value.rank and value.largest < 40)
        if self.chance(0.3):
            # In steps, as older exporters write it.
            axes = self.integers(value.rank - 1)
            rest = self.add("Sub", [value, self.add("ReduceMax", [value, axes])])
            parts = self.add("Exp", [rest])
            return self.add("Div", [parts, self.add("ReduceSum", [parts, axes])])
        return self.add(self.random.choice(["Softmax", "Softmax", "LogSoftmax"]), [value], axis=self.axis(value))

    # Images.

    def convolution(self):
        value = self.pick_or_input("image", lambda value: value.rank in (3, 4) and value.array.size > 1)
        channels, places = value.shape[1], value.rank - 2
        group = self.random.choice([1, 1, 1, channels, 2])
        if channels % group:
            raise Rejected("groups")
        taps = [self.random.choice([1, 1, 3, 3, 2, 5]) for _ in range(places)]
        out = self.random.choice([1, 3, 8, 16, 24, 32]) if group == 1 else group * self.random.choice([1, 2, 8])
        steps = [self.random.choice([1, 1, 2]) for _ in range(places)]
        pads = [self.random.randrange(tap) for tap in taps] * 2
        is_transposed = self.chance(0.15)
        fan = channels // group * int(numpy.prod(taps))
        if value.array.size * out * int(numpy.prod(taps)) // group > MOST_WORK:
            raise Rejected("its size")
        shape = [channels, out // group, *taps] if is_transposed else [out, channels // group, *taps]
        operands = [value, self.weight(*shape, fan=fan)]
        if self.chance(0.6):
            operands.append(self.constant(self.drawn([out])))
        is_normalised = self.chance(0.3)
        if is_normalised:
            # The normalisation may be folded into these, which are rounded once more then.
            operands[1:] = [self.rounded_again(operand) for operand in operands[1:]]
        more = {} if is_transposed or self.chance(0.8) else {"dilations": [self.random.choice([1, 2]) for _ in range(places)]}
        result = self.add("ConvTranspose" if is_transposed else "Conv", operands, group=group, kernel_shape=taps, pads=pads,
                          strides=steps, **more)
        if is_normalised:
            result = self.batch_normalisation(result)
        else:
            self.convolved.add(result.name)
        if result.shape == value.shape and self.chance(0.5):
            result = self.add("Add", [result, value])
        return self.activated(result)

    def pooling(self):
        value = self.pick(lambda value: value.rank in (3, 4))
        places = value.rank - 2
        if self.chance(0.3):
            return self.add(self.random.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]), [self.large(value)])
        taps = [self.random.choice([1, 2, 3]) for _ in range(places)]
        pads = [self.random.randrange((tap + 1) // 2) for tap in taps] * 2
        if any(tap > extent for tap, extent in zip(taps, value.shape[2:])):
            raise Rejected("a window does not fit")
        strides = [self.random.choice([1, 2]) for _ in range(places)]
        if self.chance(0.5):
            return self.add("MaxPool", [value], kernel_shape=taps, pads=pads, strides=strides)
        if self.chance(0.3):
            return self.add("LpPool", [self.large(value)], kernel_shape=taps, pads=pads, strides=strides)
        return self.add("AveragePool", [value], kernel_shape=taps, pads=pads, strides=strides,
                        count_include_pad=self.random.randrange(2), ceil_mode=0)

    def resize(self):
        value = self.pick(lambda value: value.rank in (3, 4))
        factors = [1.0, 1.0] + [self.random.choice([1.0, 2.0, 0.5, 1.5]) for _ in range(value.rank - 2)]
        factors = self.constant(numpy.array(factors, numpy.float32), "single")
        if self.chance(0.5):
            return self.add("Resize", [value, None, factors], mode="nearest", nearest_mode=self.random.choice(["floor", "round_prefer_floor"]),
                            coordinate_transformation_mode=self.random.choice(["asymmetric", "half_pixel"]))
        return self.add("Resize", [value, None, factors], mode=self.random.choice(["linear", "linear", "cubic"]),
                        coordinate_transformation_mode=self.random.choice(["align_corners", "half_pixel", "asymmetric"]))

    # Normalisations.

    def normalisation(self):
        return self.random.choice([self.layer_normalisation, self.rms_normalisation, self.instance_normalisation,
                                   self.group_normalisation, self.batch_normalisation, self.lp_normalisation,
                                   self.image_normalisation])()

    def large(self, value):
        """The value, or many times it: squares and sums of it are beyond the range of FP16."""
        if self.chance(0.3) and 0 < value.largest < 50:
            return self.add("Mul", [value, self.number(self.random.choice([64.0, 200.0]))])
        return value

    def row(self, value=None):
        return value or self.large(self.pick(lambda value: value.rank and value.shape[-1] > 2))

    def layer_normalisation(self, value=None):
        value = self.row(value)
        axis = self.random.choice([-1, -1, value.rank - 1, max(value.rank - 2, 0)])
        shape = value.shape[axis:]
        operands = [value, self.constant(1 + 0.2 * self.drawn(shape))]
        if self.chance(0.7):
            operands.append(self.constant(self.drawn(shape)))
        return self.add("LayerNormalization", operands, axis=axis, epsilon=self.random.choice([1e-5, 1e-3]))

    def rms_normalisation(self, value=None):
        value = self.row(value)
        return self.add("RMSNormalization", [value, self.constant(1 + 0.2 * self.drawn(value.shape[-1:]))], axis=-1)

    def instance_normalisation(self):
        value = self.large(self.pick(lambda value: value.rank in (3, 4) and numpy.prod(value.shape[2:]) > 3))
        channels = value.shape[1:2]
        return self.add("InstanceNormalization", [value, self.constant(1 + 0.2 * self.drawn(channels)), self.constant(self.drawn(channels))])

    def group_normalisation(self):
        value = self.large(self.pick(lambda value: value.rank in (3, 4) and value.shape[1] > 1 and value.array.size > 8))
        groups = self.random.choice([groups for groups in (1, 2, 3, 4, 8) if value.shape[1] % groups == 0])
        channels = value.shape[1:2]
        return self.add("GroupNormalization", [value, self.constant(1 + 0.2 * self.drawn(channels)), self.constant(self.drawn(channels))],
                        num_groups=groups)

    def batch_normalisation(self, value=None):
        value = value or self.pick(lambda value: value.rank >= 2 and value.name not in self.convolved)
        channels = value.shape[1:2]
        scale, mean, bias = 1 + 0.2 * self.drawn(channels), self.drawn(channels), self.drawn(channels)
        variance = 0.5 + numpy.abs(self.drawn(channels))
        return self.add("BatchNormalization", [value, *(self.constant(array) for array in (scale, bias, mean, variance))])

    def image_normalisation(self):
        value = self.large(self.pick(lambda value: value.rank == 4))
        if self.chance(0.4):
            return self.add("LRN", [value], size=self.random.choice([1, 3, 5]), alpha=self.random.choice([1e-3, 0.1]))
        if any(numpy.prod([value.shape[axis] for axis in axes]) < 4 for axes in [(0, 2, 3)]):
            raise Rejected("a single element")
        return self.add("MeanVarianceNormalization", [value])

    def lp_normalisation(self):
        value = self.row()
        return self.add("LpNormalization", [value], axis=self.axis(value), p=self.random.choice([1, 2]))

    def by_hand(self):
        """A normalisation in steps, each of which is rounded."""
        value = self.pick(lambda value: value.rank and value.shape[-1] > 2 and value.largest < 40)
        axes = self.integers(value.rank - 1)
        centred = self.add("Sub", [value, self.add("ReduceMean", [value, axes])])
        square = self.add("Pow", [centred, self.number(2.0)]) if self.chance(0.5) else self.add("Mul", [centred, centred])
        deviation = self.add("Sqrt", [self.add("Add", [self.add("ReduceMean", [square, axes]), self.number(0.25)])])
        return self.add("Div", [centred, deviation])

    def reduction(self):
        value = self.large(self.pick(lambda value: value.rank))
        axes = [axis for axis in range(value.rank) if self.chance(0.4)] or [self.axis(value)]
        op = self.random.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                                 "ReduceLogSumExp", "CumSum"])
        if op == "CumSum":
            return self.add(op, [value, self.constant(numpy.array(axes[0], numpy.int64), "int")], exclusive=self.random.randrange(2),
                            reverse=self.random.randrange(2))
        return self.add(op, [value, self.integers(*axes)], keepdims=self.random.randrange(2))

    # Element by element.

    def pointwise(self):
        value = self.pick(lambda value: value.largest < 60)
        if self.chance(0.2):
            low, high = sorted(self.drawn([2]).tolist())
            return self.add("Clip", [value, self.number(low), self.number(high)])
        if self.chance(0.15):
            return self.add("Sqrt", [self.add("Abs", [value])])
        if self.chance(0.1):
            return self.gelu_by_hand(value)
        return self.add(self.random.choice(ACTIVATIONS), [value])

    def binary(self):
        value = self.pick()
        op = self.random.choice(["Add", "Add", "Sub", "Mul", "Mul", "Max", "Min", "Div", "PRelu", "Sum"])
        if op == "Div":
            divisor = self.constant(0.5 + numpy.abs(self.drawn([extent if self.chance(0.5) else 1 for extent in value.shape])))
            return self.add(op, [value, divisor])
        if op == "PRelu":
            return self.add(op, [value, self.constant(self.drawn(value.shape[-1:]))])
        return self.add(op, [value, self.like(value)])

    def choice(self):
        value = self.pick()
        if self.chance(0.4) and value.rank >= 2:
            return self.add("Trilu", [value, self.constant(numpy.array(self.random.choice([-1, 0, 1]), numpy.int64), "int")],
                            upper=self.random.randrange(2))
        if self.chance(0.5):
            exact = self.pick(lambda value: value.exact)
            self.add(self.random.choice(["Less", "Greater", "Equal", "LessOrEqual"]), [exact, self.like_exact(exact)], kind="bool")
        try:
            condition = self.pick(lambda mask: numpy.broadcast_shapes(mask.shape, value.shape) == value.shape, kind="bool")
        except ValueError:
            raise Rejected("no operand") from None
        return self.add("Where", [condition, value, self.like(value)])

    def like_exact(self, value):
        return self.constant(self.numbers.integers(-6, 7, value.shape[-1:]).astype(numpy.float32) / 4)

    def island(self):
        """A part of the graph in singles, as exporters keep normalisations and softmaxes."""
        value = self.add("Cast", [self.pick(lambda value: value.rank)], kind="single", to=TensorProto.FLOAT)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            axes = self.integers(value.rank - 1)
            op = self.random.choice(["Softmax", "Mul", "Sigmoid", "ReduceMean", "Sub", "LayerNormalization", "MatMul"])
            if op == "Softmax":
                value = self.add(op, [value], kind="single", axis=-1)
            elif op in ("Mul", "Sub"):
                value = self.add(op, [value, self.constant(self.drawn(value.shape[-1:]), "single")], kind="single")
            elif op == "ReduceMean":
                value = self.add(op, [value, axes], kind="single")
            elif op == "LayerNormalization":
                value = self.add(op, [value, self.constant(self.drawn(value.shape[-1:]), "single")], kind="single", axis=-1)
            elif op == "MatMul":
                shape = [value.shape[-1], self.random.choice([3, 8, 16])]
                value = self.add(op, [value, self.constant(self.drawn(shape), "single")], kind="single")
            else:
                value = self.add(op, [value], kind="single")
        if self.chance(0.8):
            return self.add("Cast", [value], to=self.half.onnx_type)
        return value

    def rounding(self):
        """Casts and roundings of values whose digits are sure."""
        value = self.pick(lambda value: value.exact and value.largest < 100)
        if self.chance(0.5):
            return self.add(self.random.choice(["Floor", "Ceil", "Round", "Sign"]), [value])
        whole = self.add("Cast", [value], kind="int", to=TensorProto.INT64)
        return self.add("Cast", [whole], to=self.half.onnx_type)

    # Movement.

    def movement(self):
        value = self.pick(lambda value: value.rank)
        op = self.random.choice(["Transpose", "Transpose", "Reshape", "Slice", "Slice", "Pad", "Unsqueeze", "Expand", "Gather", "Tile",
                                 "Flatten", "Depth"])
        rank, axis = value.rank, self.axis(value)
        extent = value.shape[axis]
        if op == "Transpose":
            return self.add(op, [value], perm=self.random.sample(range(rank), rank))
        if op == "Reshape":
            return self.add(op, [value, self.integers(*self.random.choice([[-1], [1, -1], [0, -1], [value.array.size, 1]]))])
        if op == "Slice":
            start, step = self.random.randrange(extent), self.random.choice([1, 1, 2, -1])
            end = self.random.randrange(start, extent) + 1 if step > 0 else -1 << 40
            return self.add(op, [value, *(self.integers(number) for number in (start, end, axis, step))])
        if op == "Pad":
            pads = [self.random.choice([0, 0, 1, 3]) for _ in range(2 * rank)]
            if self.chance(0.4):
                pads = [self.random.randrange(min(extent, 3)) for extent in value.shape] * 2
                return self.add(op, [value, self.integers(*pads)], mode=self.random.choice(["reflect", "edge"]))
            return self.add(op, [value, self.integers(*pads), self.number(float(self.drawn([1])[0]))])
        if op == "Unsqueeze":
            return self.add(op, [value, self.integers(self.random.randrange(rank + 1))])
        if op == "Expand":
            return self.add(op, [value, self.integers(self.random.choice([2, 3]), *value.shape)])
        if op == "Gather":
            places = self.numbers.integers(-extent, extent, self.random.choice([[3], [2, 2], [7]]))
            return self.add(op, [value, self.constant(places, "int")], axis=axis)
        if op == "Tile":
            return self.add(op, [value, self.integers(*(self.random.choice([1, 1, 2]) for _ in range(rank)))])
        if op == "Flatten":
            return self.add(op, [value], axis=axis)
        if rank != 4:
            raise Rejected("no image")
        is_image = value.shape[1] % 4 == 0
        return self.add("DepthToSpace" if is_image else "SpaceToDepth", [value], blocksize=2)

    def concat(self):
        value = self.pick(lambda value: value.rank)
        axis = self.axis(value)
        def fits(other):
            return other.rank == value.rank and all(a == b for at, (a, b) in enumerate(zip(other.shape, value.shape)) if at != axis)
        parts = [value] + [self.pick(fits) if self.chance(0.7) else self.constant(self.drawn(value.shape))
                           for _ in range(self.random.choice([1, 1, 2]))]
        return self.add("Concat", self.random.sample(parts, len(parts)), axis=axis)

    def split(self):
        value = self.pick(lambda value: value.rank and max(value.shape) > 1)
        axis = max(range(value.rank), key=lambda axis: value.shape[axis])
        first = self.random.randrange(1, value.shape[axis])
        parts = self.add("Split", [value, self.integers(first, value.shape[axis] - first)], outputs=2, axis=axis)
        if parts[0].shape == parts[1].shape:
            return self.add(self.random.choice(["Mul", "Add"]), parts)
        return parts[0]
