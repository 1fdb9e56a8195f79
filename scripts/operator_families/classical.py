"""Operators around networks: linear models, tables of labels, counts of n-grams; sums by Einstein's convention."""

import numpy

from .case import Case, operator

ML = "ai.onnx.ml"
NUMBERS = [numpy.float32, numpy.int64, numpy.int32]


@operator("Binarizer", "Scaler", "Normalizer", "Imputer")
def features(chooser, name):
    shape = [chooser.extent(5), chooser.extent(7)]
    # What ONNX Runtime has.
    wanted = {"Binarizer": [numpy.float32], "Imputer": [numpy.float32, numpy.int64]}
    element = chooser.element(wanted.get(name, NUMBERS))
    data = chooser.array(element, shape)
    attributes = {}
    count = chooser.choice([1, shape[1]])
    if name == "Binarizer":
        attributes["threshold"] = chooser.choice([None, 0.5, -1.25])
    if name == "Scaler":
        # ONNX Runtime needs as many offsets as scales.
        attributes = {key: [float(v) for v in chooser.quarters([count])] for key in ("offset", "scale")}
    if name == "Normalizer":
        attributes["norm"] = chooser.choice([None, "MAX", "L1", "L2"])
    if name == "Imputer" and element is numpy.float32:
        missing = chooser.choice([0.0, 0.25, float("nan")])
        data[chooser.booleans(shape)] = missing
        attributes = {"replaced_value_float": missing,
                      "imputed_value_floats": [float(v) for v in chooser.quarters([count])]}
    elif name == "Imputer":
        attributes = {"replaced_value_int64": 2, "imputed_value_int64s": [int(v) for v in chooser.integers(numpy.int64, [count], -9, 9)]}
    return Case(name, [data], domain=ML, tolerance=1e-4, **attributes)


@operator("LinearRegressor", "LinearClassifier")
def linear(chooser, name):
    rows, width, outputs = chooser.extent(5), chooser.extent(7), chooser.between(1, 4)
    kinds = [numpy.float32] if name == "LinearRegressor" else [numpy.float32, numpy.int64]
    data = chooser.array(chooser.element(kinds), [rows, width])
    scores = outputs
    attributes = {"post_transform": chooser.choice([None, "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])}
    if name == "LinearRegressor":
        attributes = {"targets": outputs, "post_transform": chooser.choice([None, "NONE"])}
    else:
        if outputs == 1:
            scores, outputs = 1, 2
            attributes["post_transform"] = chooser.choice([None, "LOGISTIC"])
        attributes["classlabels_ints"] = [3 * at - 2 for at in range(outputs)]
    attributes["coefficients"] = [float(v) for v in chooser.normal([scores * width])]
    attributes["intercepts"] = [float(v) for v in chooser.normal([scores])]
    return Case(name, [data], outputs="y" if name == "LinearRegressor" else "yz", domain=ML, tolerance=1e-3, **attributes)


@operator("LabelEncoder")
def labels(chooser, name):
    kinds = {"int64s": numpy.int64, "floats": numpy.float32}
    key, value = chooser.choice(sorted(kinds)), chooser.choice(sorted(kinds))
    keys = sorted({int(key) for key in chooser.integers(numpy.int64, [chooser.extent(7)], -9, 9)})
    data = chooser.integers(numpy.int64, chooser.shape(), -9, 9).astype(kinds[key])
    make = {"int64s": int, "floats": float}
    attributes = {f"keys_{key}": [make[key](k) for k in keys], f"values_{value}": [make[value](k * k) for k in keys]}
    if chooser.chance(0.5):
        attributes.update({"default_int64": 7} if value == "int64s" else {"default_float": 0.5})
    return Case(name, [data], domain=ML, **attributes)


@operator("ArrayFeatureExtractor")
def extract(chooser, name):
    shape = chooser.shape(ranks=(1, 2, 3))
    places = chooser.numbers.integers(0, shape[-1], [chooser.extent(5)])
    return Case(name, [chooser.array(chooser.element(NUMBERS), shape), places], free=chooser.between(1, 2), domain=ML)


@operator("TfIdfVectorizer")
def grams(chooser, name):
    length, rows = chooser.extent(13), chooser.choice([[], [chooser.extent(4)]])
    element = chooser.element([numpy.int64, numpy.int32])
    data = chooser.integers(element, [*rows, length], 0, 4)
    pool, starts = [], []
    for size in (1, 2, 3):
        starts.append(len(pool))
        known = {tuple(int(v) for v in chooser.integers(numpy.int64, [size], 0, 4)) for _ in range(chooser.between(1, 5))}
        pool += [number for gram in sorted(known) for number in gram]
    ends = [*starts[1:], len(pool)]
    count = sum((end - start) // (at + 1) for at, (start, end) in enumerate(zip(starts, ends)))
    least = chooser.between(1, 3)
    columns = chooser.random.sample(range(count), count)
    return Case(name, [data], mode=chooser.choice(["TF", "IDF", "TFIDF"]), min_gram_length=least,
                max_gram_length=chooser.between(least, 3), max_skip_count=chooser.between(0, 3), pool_int64s=pool,
                ngram_counts=starts, ngram_indexes=columns, weights=[0.25 * (at + 1) for at in range(count)])


@operator("Einsum")
def einsum(chooser, name):
    extents = {label: chooser.extent(5) for label in "abcij"}
    equation = chooser.choice(["...ij,...jc->...ic", "...i,...i", "ii->i", "ii", "...ii->...i", "ab,bc,cj->aj", "aij,...i->...aj",
                               "...ij->...ji", "i...,i...->...", "ai,bi->ab"])
    batch = chooser.shape(ranks=(0, 1, 2), most=3)
    inputs = []
    for term in equation.split("->")[0].split(","):
        own = [extent if chooser.chance(0.7) else 1 for extent in batch[chooser.between(0, len(batch)) :]]
        front, dots, back = term.partition("...")
        shape = [extents[label] for label in front] + (own if dots else []) + [extents[label] for label in back]
        inputs.append(chooser.quarters(shape))
    return Case(name, inputs, free=len(inputs), equation=equation, tolerance=1e-3)


@operator("MeanVarianceNormalization")
def normalise(chooser, name):
    data = chooser.normal([chooser.extent(3), chooser.extent(4), chooser.extent(5), chooser.between(2, 6)])
    return Case(name, [data], axes=chooser.choice([None, [0, 2, 3], [2, 3], [1, 3]]), tolerance=1e-3)
