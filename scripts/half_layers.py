"""Layers of which `half_graphs.Generator` makes random graphs: attention, recurrent layers, and products of dequantised weights."""

import numpy

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40]
HEAD_SIZES = [8, 16, 24, 32, 40, 48, 64, 5, 12, 13, 33]
# Multiply-adds of one product.
MOST_WORK = 1 << 19
MOST_STEPS = 12


class Rejected(Exception):
    """A node that ONNX Runtime does not take, or whose result is of no use."""


class HalfLayers:
    """What `half_families.HalfFamilies` inherits."""

    # Attention.

    def attention(self):
        """Heads of Q, K and V, from values or from projections of tokens; softmax of scaled and masked products; products."""
        if self.chance(0.5):
            query, key, value = self.projected()
        else:
            query = self.pick_or_input("heads", lambda value: value.rank == 4 and value.shape[3] > 1)
            batch, heads, _, size = query.shape
            length = self.random.choice(LENGTHS)
            if self.chance(0.4):
                key = value = self.constant(self.drawn([batch, heads, length, size]))
            else:
                key, value = (self.input([batch, self.random.choice([heads, 1]) if at else heads, length, size]) for at in range(2))
        if query.array.size * key.shape[2] > MOST_WORK:
            raise Rejected("its size")
        if self.chance(0.15):
            return self.attention_operator(query, key, value)
        early = self.chance(0.4)
        scores = self.add("MatMul", [self.scaled(query) if early else query, self.turned(key)])
        scores = scores if early else self.scaled(scores)
        if self.chance(0.7):
            scores = self.masked(scores)
        weights = self.add("Softmax", [scores], axis=self.random.choice([-1, scores.rank - 1]))
        result = self.add("MatMul", [weights, value])
        if self.chance(0.7):
            batch, heads, rows, size = result.shape
            joined = self.add("Transpose", [result], perm=[0, 2, 1, 3])
            result = self.add("Reshape", [joined, self.integers(batch, rows, heads * size)])
        return result

    def attention_operator(self, query, key, value):
        if value.shape[1] != key.shape[1]:
            raise Rejected("heads")
        rows, columns = query.shape[2], key.shape[2]
        causal = self.chance(0.4)
        hidden = numpy.triu(numpy.ones([rows, columns], bool), 1)
        bias = numpy.where(hidden, -numpy.inf, 0.0).astype(numpy.float32) if causal else self.drawn([rows, columns])
        mask = self.constant(bias)

        def parts():
            scores = self.add("MatMul", [query, self.turned(key)])
            scores = self.add("Mul", [scores, self.number(query.shape[3] ** -0.5)])
            weights = self.add("Softmax", [self.add("Add", [scores, mask], infinite=True)], axis=-1)
            return self.add("MatMul", [weights, value])

        return self.as_one("Attention", [query, key, value] + ([] if causal else [mask]), parts, is_causal=int(causal))

    def projected(self):
        tokens = self.pick_or_input("tokens", lambda value: value.rank == 3 and value.shape[2] > 1)
        batch, length, width = tokens.shape
        heads, size = self.random.choice([1, 2, 3, 4]), self.random.choice(HEAD_SIZES)
        if batch * length * width * heads * size > MOST_WORK:
            raise Rejected("its size")
        normal = self.layer_normalisation(tokens) if self.chance(0.4) else tokens
        if self.chance(0.3):
            joined = self.add("MatMul", [normal, self.weight(width, 3 * heads * size)])
            parts = self.add("Split", [joined, self.integers(*[heads * size] * 3)], outputs=3, axis=2)
        else:
            parts = [self.add("MatMul", [normal, self.weight(width, heads * size)]) for _ in range(3)]
            if self.chance(0.5):
                parts = [self.add("Add", [part, self.constant(self.drawn([heads * size]))]) for part in parts]
        shape = self.integers(0, 0, heads, size)
        return [self.add("Transpose", [self.add("Reshape", [part, shape])], perm=[0, 2, 1, 3]) for part in parts]

    def masked(self, scores):
        rows, columns = scores.shape[2:]
        hidden = self.numbers.random([rows, columns]) < 0.3
        if self.chance(0.5):
            hidden = numpy.triu(numpy.ones([rows, columns], bool), 1 + max(columns - rows, 0))
        hidden[:, 0] = False
        least = self.random.choice([-1e4, -3e4, -numpy.inf])
        if self.chance(0.5):
            mask = self.constant(numpy.where(hidden, least, 0).astype(numpy.float32))
            return self.add("Add", [scores, mask], infinite=True)
        condition = self.constant(hidden, "bool")
        return self.add("Where", [condition, self.number(least), scores], infinite=True)

    # Recurrent layers.

    def recurrent(self):
        """A layer whose state is rounded after every step, which its definition in singles does not do."""
        value = self.pick_or_input("tokens", lambda value: value.rank == 3 and value.shape[2] > 1 and value.largest < 8)
        steps, batch, width = value.shape
        size, op = self.random.choice([3, 8, 16, 24, 32]), self.random.choice(["LSTM", "GRU", "RNN"])
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        direction = self.random.choice(["forward", "forward", "reverse", "bidirectional"])
        ways = 2 if direction == "bidirectional" else 1
        if steps > MOST_STEPS or steps * batch * width * gates * size * ways > MOST_WORK:
            raise Rejected("its size")
        operands = [value, self.weight(ways, gates * size, width, fan=width), self.weight(ways, gates * size, size, fan=size)]
        if self.chance(0.7):
            operands.append(self.constant(0.5 * self.drawn([ways, 2 * gates * size])))
        more = {"linear_before_reset": self.random.randrange(2)} if op == "GRU" else {}
        return self.add(op, operands, direction=direction, hidden_size=size, **more)

    # Weights of bytes.

    def dequantised(self):
        value = self.pick(lambda value: value.rank >= 2 and value.shape[-1] > 1)
        inner, columns = value.shape[-1], self.random.choice([1, 8, 16, 24, 32, 64])
        if value.array.size * columns > MOST_WORK:
            raise Rejected("its size")
        by_column = self.chance(0.6)
        codes = self.constant(self.numbers.integers(-9, 10, [inner, columns], dtype=numpy.int8), "byte")
        scales = numpy.abs(self.drawn([columns] if by_column else [])) / 8 + 0.05
        zeros = [self.constant(self.numbers.integers(-3, 4, scales.shape, dtype=numpy.int8), "byte")] if self.chance(0.5) else []
        weight = self.add("DequantizeLinear", [codes, self.constant(scales), *zeros], axis=1)
        return self.add("MatMul", [value, weight])
