"""Recurrent operators, transforms of signals, attention."""

import numpy

from .case import MICROSOFT, Case, Unfit, operator

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS = {"RNN": 1, "GRU": 2, "LSTM": 3}
# Functions of gates with their numbers of parameters.
FUNCTIONS = {"Affine": 2, "Elu": 1, "HardSigmoid": 2, "LeakyRelu": 1, "Relu": 0, "ScaledTanh": 2, "Sigmoid": 0, "Softplus": 0,
             "Softsign": 0, "Tanh": 0, "ThresholdedRelu": 1}


@operator("RNN", "GRU", "LSTM")
def recurrent(chooser, name):
    steps, batch, width, hidden = chooser.extent(7), chooser.extent(4), chooser.extent(5), chooser.extent(5)
    direction = chooser.choice([None, "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    rows = GATES[name] * hidden
    inputs = [chooser.normal([steps, batch, width]), chooser.normal([ways, rows, width]), chooser.normal([ways, rows, hidden])]
    lengths = chooser.numbers.integers(1, steps + 1, batch).astype(numpy.int32)
    inputs += [chooser.maybe(chooser.normal([ways, 2 * rows])), chooser.maybe(lengths)]
    inputs += [chooser.maybe(chooser.normal([ways, batch, hidden]))]
    attributes = {"hidden_size": hidden, "direction": direction, "clip": 0.7 if chooser.chance(0.2) else None}
    if name == "LSTM":
        inputs += [chooser.maybe(chooser.normal([ways, batch, hidden])), chooser.maybe(chooser.normal([ways, 3 * hidden]))]
        attributes["input_forget"] = chooser.choice([None, None, 0, 1])
    if name == "GRU":
        attributes["linear_before_reset"] = chooser.choice([None, 0, 1])
    if chooser.chance(0.3):
        names = [chooser.choice(sorted(FUNCTIONS)) for _ in range(STEPS[name] * ways)]
        attributes["activations"] = names
        # Parameters go to the functions that have them, in order.
        attributes["activation_alpha"] = [0.25 + 0.125 * at for at, f in enumerate(names) if FUNCTIONS[f]] or None
        attributes["activation_beta"] = [0.5 - 0.125 * at for at, f in enumerate(names) if FUNCTIONS[f] > 1] or None
        inputs[0], inputs[1], inputs[2] = [array / 2 for array in inputs[:3]]
    outputs = chooser.choice(["ysc", "ys", "y", " s"] if name == "LSTM" else ["ys", "y", " s"])
    while inputs[-1] is None:
        inputs.pop()
    return Case(name, inputs, outputs=outputs, free=1 if chooser.chance(0.7) else 3, opset=14, largest=1e6, **attributes)


@operator("DFT")
def transform(chooser, name):
    opset = chooser.choice([17, 20])
    kind = chooser.choice(["forward", "real", "inverse", "onesided"])
    shape = [chooser.extent(4), *chooser.shape(ranks=(1, 2), most=9), 1 if kind in ("real", "onesided") else 2]
    place = chooser.between(1, len(shape) - 2)
    axis = chooser.choice([place, place - len(shape)])
    length = chooser.maybe(numpy.array(chooser.extent(13), numpy.int64), 0.4)
    attributes = {"inverse": 1 if kind == "inverse" else None, "onesided": 1 if kind == "onesided" else None}
    inputs = [chooser.normal(shape), length]
    if opset == 17:
        attributes["axis"] = axis
    else:
        inputs.append(numpy.array(axis, numpy.int64))
    return Case(name, inputs, opset=opset, tolerance=1e-3, **attributes)


@operator("STFT")
def short_transform(chooser, name):
    length = chooser.between(8, 40)
    frame, step = chooser.between(2, 8), chooser.between(1, 5)
    onesided = chooser.choice([None, 0, 1])
    signal = chooser.normal([chooser.extent(3), length, 1])
    has_window = chooser.chance(0.6)
    window = chooser.normal([frame]) if has_window else None
    size = numpy.array(frame, numpy.int64) if not has_window or chooser.chance(0.5) else None
    return Case(name, [signal, numpy.array(step, numpy.int64), window, size], opset=17, onesided=onesided, tolerance=1e-3)


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(chooser, name):
    size = numpy.array(chooser.between(2, 33), chooser.choice([numpy.int32, numpy.int64]))
    return Case(name, [size], free=0, opset=17, periodic=chooser.choice([None, 0, 1]),
                output_datatype=chooser.choice([None, 1, 11]))


@operator("Attention")
def attention(chooser, name):
    batch, steps, keys = chooser.extent(3), chooser.extent(5), chooser.extent(7)
    heads = chooser.choice([1, 2, 4])
    groups = chooser.choice([1, 1, 2]) if heads > 1 else 1
    width, value_width = chooser.choice([1, 2, 4, 8]), chooser.choice([1, 3, 4, 8])
    flat = chooser.chance(0.5)
    fewer = heads // groups

    def tensor(heads, steps, width):
        return chooser.normal([batch, steps, heads * width] if flat else [batch, heads, steps, width])

    inputs = [tensor(heads, steps, width), tensor(fewer, keys, width), tensor(fewer, keys, value_width)]
    attributes = {"is_causal": chooser.choice([None, 0, 1]), "scale": chooser.choice([None, 0.3]),
                  "softcap": chooser.choice([None, None, 2.0])}
    if flat:
        attributes.update(q_num_heads=heads, kv_num_heads=fewer)
    past = chooser.extent(4) if chooser.chance(0.3) else 0
    total = past + keys
    mask = None
    if chooser.chance(0.5):
        shape = chooser.choice([[steps, total], [1, 1, steps, total], [batch, 1, steps, total], [batch, heads, steps, total]])
        mask = chooser.quarters(shape)
        if chooser.chance(0.5):
            mask = chooser.booleans(shape)
            mask[..., 0] = True
    inputs.append(mask)
    outputs = "y"
    if past:
        inputs += [chooser.normal([batch, fewer, past, width]), chooser.normal([batch, fewer, past, value_width])]
        outputs = "ykv"
    elif chooser.chance(0.3):
        outputs = "y  q"
        attributes["qk_matmul_output_mode"] = chooser.choice([None, 0, 1, 2, 3])
    why = None
    if past and attributes["is_causal"] and steps != keys:
        if mask is not None and mask.dtype == numpy.bool_:
            raise Unfit("ONNX's reference evaluator adds infinities of both signs")
        why = "ONNX Runtime lets queries see later keys where there are past ones"
    return Case(name, inputs, outputs=outputs, free=3, opset=23, by_reference=why, **attributes)


@operator("RotaryEmbedding")
def rotary(chooser, name):
    batch, heads, steps, width = chooser.extent(3), chooser.extent(3), chooser.extent(5), chooser.choice([2, 4, 6, 8])
    part = chooser.choice([None, None, 2, width])
    # Zero stands for all.
    half = (part or width) // 2
    flat = chooser.chance(0.5)
    data = chooser.normal([batch, steps, heads * width] if flat else [batch, heads, steps, width])
    if chooser.chance(0.5):
        tables = [chooser.normal([batch, steps, half]) for _ in range(2)]
        inputs = [data, *tables]
    else:
        tables = [chooser.normal([9, half]) for _ in range(2)]
        inputs = [data, *tables, chooser.numbers.integers(0, 9, [batch, steps]).astype(numpy.int64)]
    return Case(name, inputs, free=chooser.between(1, len(inputs)), opset=23, interleaved=chooser.choice([None, 0, 1]),
                rotary_embedding_dim=part, num_heads=heads if flat else chooser.maybe(heads))


@operator("MultiHeadAttention")
def multi_head_attention(chooser, name):
    batch, steps, keys, heads = chooser.extent(3), chooser.extent(5), chooser.extent(7), chooser.choice([1, 2, 3])
    width, value_width = chooser.choice([2, 4, 8]), chooser.choice([2, 4])
    one_way = chooser.choice([None, 0, 1])
    inputs = [chooser.normal([batch, steps, heads * width]), chooser.normal([batch, keys, heads * width]),
              chooser.normal([batch, keys, heads * value_width])]
    inputs.append(chooser.maybe(chooser.normal([heads * (2 * width + value_width)])))
    if one_way and steps != keys:
        raise Unfit("ONNX Runtime's causal masks are square")
    mask = chooser.numbers.integers(1, keys + 1, [batch]).astype(numpy.int32)
    every = chooser.numbers.integers(0, 2, [batch, keys]).astype(numpy.int32)
    every[:, 0] = 1
    inputs.append(chooser.choice([None, None, every]) if mask is not None else None)
    inputs.append(chooser.maybe(chooser.quarters([chooser.choice([1, batch]), heads, steps, keys])))
    while inputs[-1] is None:
        inputs.pop()
    return Case(name, inputs, free=3, domain=MICROSOFT, num_heads=heads, scale=chooser.choice([None, 0.4]),
                unidirectional=one_way)
