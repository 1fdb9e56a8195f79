"""Operators of images: sampling, pooling, blocks of columns, determinants."""

import numpy

from .case import Case, Unfit, operator


@operator("GridSample")
def grid_sample(chooser, name):
    spatial = [chooser.extent(8) for _ in range(chooser.choice([2, 2, 3]))]
    opset = chooser.choice([16, 20]) if len(spatial) == 2 else 20
    modes = ["bilinear", "nearest", "bicubic"] if opset == 16 else ["linear", "nearest", "cubic"][: 3 if len(spatial) == 2 else 2]
    batch, places = chooser.extent(3), [chooser.extent(5) for _ in spatial]
    element = chooser.element([numpy.float32, numpy.float64])
    data = chooser.quarters([batch, chooser.extent(3), *spatial], element)
    grid = chooser.numbers.uniform(-1.7, 1.7, [batch, *places, len(spatial)])
    grid = chooser.choice([grid, numpy.round(grid * 4) / 4, grid * 4]).astype(element)
    mode = chooser.choice([None, *modes])
    aligned = chooser.choice([None, 0, 1])
    if mode == "nearest":
        # Away from the middles between pixels.
        extents = numpy.array(spatial[::-1])
        pixels = numpy.round((grid + 1) * (extents - 1 if aligned else extents) / 2 - (0 if aligned else 0.5)) + 0.125
        scale = numpy.maximum(extents - 1, 1) if aligned else extents
        grid = ((pixels + (0 if aligned else 0.5)) * 2 / scale - 1).astype(element)
    return Case(name, [data, grid], free=chooser.between(1, 2), opset=opset, mode=mode, align_corners=aligned,
                padding_mode=chooser.choice([None, "zeros", "border", "reflection"]), tolerance=1e-3)


@operator("AffineGrid")
def affine_grid(chooser, name):
    spatial = [chooser.extent(7) for _ in range(chooser.choice([2, 3]))]
    batch = chooser.extent(3)
    aligned = chooser.choice([None, 0, 1])
    if aligned and 1 in spatial:
        raise Unfit("PyTorch, ONNX Runtime and ONNX's reference evaluator have 0, 1 and -1 for the corner of one pixel")
    theta = chooser.quarters([batch, len(spatial), len(spatial) + 1])
    size = numpy.array([batch, chooser.extent(3), *spatial], numpy.int64)
    return Case(name, [theta, size], opset=20, align_corners=aligned)


@operator("Resize")
def resize(chooser, name):
    spatial = [chooser.extent(9) for _ in range(2)]
    shape = [chooser.extent(3), chooser.extent(3), *spatial]
    mode = chooser.choice([None, "nearest", "linear", "cubic"])
    coordinates = [None, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
                   "tf_crop_and_resize"]
    coordinate = chooser.choice(coordinates)
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinate}
    roi, axes = None, chooser.choice([None, [2, 3], [-2, -1]])
    if axes is None and mode == "cubic":
        axes = [2, 3]
    if coordinate == "tf_crop_and_resize":
        low, high = chooser.numbers.uniform(-0.2, 0.4, 2), chooser.numbers.uniform(0.6, 1.3, 2)
        roi = numpy.array([*low, *high] if axes else [0, 0, *low, 1, 1, *high], numpy.float32)
        attributes["extrapolation_value"] = chooser.choice([None, 0.5])
    if mode in (None, "nearest"):
        attributes["nearest_mode"] = chooser.choice([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = chooser.choice([None, -0.5])
        attributes["exclude_outside"] = chooser.choice([None, 0, 1])
    if mode in ("linear", "cubic") and coordinate != "tf_crop_and_resize":
        attributes["antialias"] = chooser.choice([None, None, 0, 1])
    sizes = scales = None
    if chooser.chance(0.5):
        sizes = numpy.array([*([] if axes else shape[:2]), chooser.extent(13), chooser.extent(13)], numpy.int64)
        if axes:
            policies = [None, None, "stretch", "not_larger", "not_smaller"]
            attributes["keep_aspect_ratio_policy"] = chooser.choice(policies)
            # With a policy, ONNX Runtime does not count axes from the back.
            axes = [2, 3]
    else:
        factors = [chooser.choice([0.5, 0.75, 1, 1.5, 2, 2.5, 3]) for _ in range(2)]
        scales = numpy.array([*([] if axes else [1, 1]), *factors], numpy.float32)
        if any(extent * factor < 1 for extent, factor in zip(spatial, factors)):
            raise Unfit("an empty output")
    extents = sizes[-2:] if sizes is not None else [int(extent * factor) for extent, factor in zip(spatial, factors)]
    if roi is not None and list(extents) == spatial:
        raise Unfit("ONNX Runtime copies where no extent changes")
    keeps_one = roi is not None and any(extent == before for extent, before in zip(extents, spatial))
    if keeps_one:
        # The reference evaluator does not count axes from the back.
        axes = axes and [2, 3]
        is_whole = scales is None or all(extent * factor % 1 == 0 for extent, factor in zip(spatial, factors))
        if attributes.get("keep_aspect_ratio_policy") not in (None, "stretch") or not is_whole:
            raise Unfit("the reference evaluator crops to lengths that are not whole")
    why = "ONNX Runtime does not crop an axis whose extent stays" if keeps_one else None
    element = chooser.element([numpy.float32, numpy.float32, numpy.uint8, numpy.int8, numpy.int32, numpy.float64])
    if element is not numpy.float32 and mode not in (None, "nearest"):
        # Between integers ONNX Runtime cuts off what singles give: the last digit decides, unless all weights are exact.
        halves = scales is not None and set(scales.tolist()) <= {0.5, 1, 2} and coordinate in (None, "half_pixel", "asymmetric")
        is_exact = mode == "linear" and not attributes.get("antialias") and halves
        element = chooser.element([numpy.uint8, numpy.int8]) if is_exact else numpy.float32
    data = chooser.array(element, shape)
    if chooser.chance(0.5) and axes is None and scales is not None:
        roi = numpy.zeros(0, numpy.float32) if roi is None else roi
    return Case(name, [data, roi, scales, sizes], opset=chooser.choice([18, 19]), axes=axes, by_reference=why, **attributes,
                tolerance=1e-3)


@operator("Upsample")
def upsample(chooser, name):
    shape = [chooser.extent(3), chooser.extent(3), chooser.extent(7), chooser.extent(7)]
    scales = numpy.array([1, 1, chooser.choice([1, 1.5, 2, 3]), chooser.choice([1, 1.3, 2])], numpy.float32)
    if scales.max() > 1 and all(int(extent * factor) == extent for extent, factor in zip(shape, scales)):
        raise Unfit("ONNX Runtime copies where no extent changes")
    return Case(name, [chooser.quarters(shape), scales], opset=9, mode=chooser.choice([None, "nearest", "linear"]))


def window(chooser, spatial):
    """Attributes of a window that fits."""
    taps = [chooser.between(1, min(3, extent)) for extent in spatial]
    attributes = {"kernel_shape": taps, "strides": chooser.maybe([chooser.between(1, 3) for _ in spatial])}
    if chooser.chance(0.3):
        attributes["auto_pad"] = chooser.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        strides = attributes["strides"] or [1] * len(spatial)
        if any((-(-extent // step) - 1) * step + tap < extent
               for extent, step, tap in zip(spatial, strides, taps)):
            raise Unfit("ONNX Runtime has negative padding where strides leave elements out")
    elif chooser.chance(0.6):
        attributes["pads"] = [chooser.between(0, tap - 1) for tap in taps * 2]
    return attributes


@operator("LpPool", "AveragePool", "MaxPool")
def pool(chooser, name):
    spatial = [chooser.extent(9) for _ in range(chooser.choice([1, 2, 2, 3]))]
    attributes = window(chooser, spatial)
    if chooser.chance(0.3) and "auto_pad" not in attributes:
        attributes["dilations"] = [chooser.between(1, 2) for _ in spatial]
        pads = attributes.get("pads", [0] * 2 * len(spatial))
        reach = [(tap - 1) * step + 1 for tap, step in zip(attributes["kernel_shape"], attributes["dilations"])]
        if any(extent + pads[at] + pads[at + len(spatial)] < reach[at] for at, extent in enumerate(spatial)):
            raise Unfit("a window does not fit")
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = chooser.choice([None, None, 0, 1])
    if name == "LpPool":
        attributes["p"] = chooser.choice([None, 1, 2, 3])
    if name == "AveragePool":
        attributes["count_include_pad"] = chooser.choice([None, 0, 1])
    data = chooser.quarters([chooser.extent(2), chooser.extent(3), *spatial])
    outputs = "y"
    if name == "MaxPool" and chooser.chance(0.4):
        attributes["storage_order"] = chooser.choice([None, 0, 1])
        outputs = "yi"
    return Case(name, [data], outputs=outputs, opset=19 if name == "AveragePool" else 18, **attributes)


@operator("MaxUnpool")
def unpool(chooser, name):
    extents, taps = [chooser.extent(5) for _ in range(chooser.choice([1, 2, 2, 3]))], chooser.choice([1, 2, 3])
    stride = chooser.between(1, taps)
    shape = [chooser.extent(2), chooser.extent(3), *extents]
    unpooled = [(extent - 1) * stride + taps for extent in extents]
    windows = numpy.indices(shape)
    tap = chooser.numbers.integers(0, taps, [len(extents), *shape])
    places = windows[0] * shape[1] + windows[1]
    for at, extent in enumerate(unpooled):
        places = places * extent + windows[at + 2] * stride + tap[at]
    data = chooser.quarters(shape)
    if stride < taps:
        # What goes to one place is the same.
        data = (places % 7 / 4).astype(numpy.float32)
    inputs = [data, places.astype(numpy.int64)]
    if chooser.chance(0.3):
        inputs.append(numpy.array([*shape[:2], *(extent + chooser.between(0, 2) for extent in unpooled)], numpy.int64))
    return Case(name, inputs, free=2, opset=11, kernel_shape=[taps] * len(extents), strides=[stride] * len(extents),
                by_reference="ONNX Runtime counts places in the output's shape")


@operator("RoiAlign")
def regions(chooser, name):
    height, width, count = chooser.between(3, 12), chooser.between(3, 12), chooser.extent(5)
    batch = chooser.extent(3)
    corner = chooser.numbers.uniform(0, [0.6 * width, 0.6 * height], [count, 2])
    size = chooser.numbers.uniform(0.1, [0.4 * width, 0.4 * height], [count, 2])
    scale = chooser.choice([None, 0.5])
    boxes = (numpy.concatenate([corner, corner + size], 1) / (scale or 1)).astype(numpy.float32)
    images = chooser.numbers.integers(0, batch, count)
    return Case(name, [chooser.normal([batch, chooser.extent(3), height, width]), boxes, images], free=3, opset=16,
                mode=chooser.choice([None, "avg", "max"]), output_height=chooser.between(1, 4),
                output_width=chooser.between(1, 4), sampling_ratio=chooser.choice([None, 0, 1, 2]), spatial_scale=scale,
                coordinate_transformation_mode=chooser.choice([None, "half_pixel", "output_half_pixel"]), tolerance=1e-3)


@operator("DeformConv")
def deformed(chooser, name):
    spatial, groups, offset_groups = [chooser.between(3, 7) for _ in range(2)], chooser.choice([1, 2]), chooser.choice([1, 2])
    channels, filters, taps = 2 * chooser.extent(2), 2 * chooser.extent(2), [chooser.between(1, 3) for _ in range(2)]
    strides, pads = [chooser.between(1, 2) for _ in spatial], [chooser.between(0, 1) for _ in range(4)]
    places = [(extent + pads[at] + pads[at + 2] - taps[at]) // strides[at] + 1 for at, extent in enumerate(spatial)]
    count = offset_groups * taps[0] * taps[1]
    inputs = [chooser.quarters([chooser.extent(2), channels, *spatial]),
              chooser.quarters([filters, channels // groups, *taps])]
    inputs.append(chooser.numbers.uniform(-2, 2, [len(inputs[0]), 2 * count, *places]).astype(numpy.float32))
    inputs += [chooser.maybe(chooser.quarters([filters])), chooser.maybe(chooser.normal([len(inputs[0]), count, *places]))]
    while inputs[-1] is None:
        inputs.pop()
    return Case(name, inputs, free=3, opset=19, group=groups, offset_group=offset_groups, strides=strides, pads=pads,
                kernel_shape=taps, tolerance=1e-3, by_reference="ONNX Runtime's release may lack the operator")


@operator("GlobalLpPool")
def global_pool(chooser, name):
    return Case(name, [chooser.quarters(chooser.shape(ranks=(3, 4, 5), most=5))], p=chooser.choice([None, 1, 2, 3]))


@operator("Col2Im")
def columns(chooser, name):
    count = chooser.choice([1, 2, 2, 3])
    image = [chooser.extent(7) for _ in range(count)]
    block = [chooser.between(1, min(3, extent)) for extent in image]
    strides, dilations = [[chooser.between(1, 2) for _ in image] for _ in range(2)]
    pads = [chooser.between(0, 1) for _ in range(2 * count)]
    places = 1
    for at in range(count):
        room = image[at] + pads[at] + pads[at + count] - dilations[at] * (block[at] - 1) - 1
        if room < 0:
            raise Unfit("a block does not fit")
        places *= room // strides[at] + 1
    data = chooser.quarters([chooser.extent(3), chooser.extent(3) * int(numpy.prod(block)), places])
    inputs = [data, numpy.array(image, numpy.int64), numpy.array(block, numpy.int64)]
    return Case(name, inputs, opset=18, strides=strides, dilations=dilations, pads=pads,
                by_reference="ONNX Runtime is wrong in other than two dimensions with dilations")


@operator("Det")
def determinant(chooser, name):
    extent = chooser.extent(5)
    return Case(name, [chooser.quarters([*chooser.shape(ranks=(0, 1, 2), most=4), extent, extent])], tolerance=1e-3)
