"""Models as exporters and optimisers write them, a file each: `build()` returns a `Case`."""

import dataclasses
import importlib
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass
class Case:
    """A model with its inputs; `constants` are inputs that are fixed when the model is compiled."""

    model: onnx.ModelProto
    inputs: dict
    constants: dict = dataclasses.field(default_factory=dict)
    rtol: float = 1e-3
    atol: float = 1e-4


class Builder:
    """A graph in the making."""

    def __init__(self, name, seed):
        self.name, self.nodes, self.initializers = name, [], []
        self.random = numpy.random.default_rng(seed)

    def node(self, operator, inputs, outputs=1, domain="", **attributes):
        """Appends a node; the name of its output, or of each."""
        names = [f"{operator}_{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, name=f"{operator}_{len(self.nodes)}", domain=domain,
                                           **attributes))
        return names[0] if outputs == 1 else names

    def output(self, operator, inputs, name, domain="", **attributes):
        """Appends a node whose output is the model's."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))

    def constant(self, array, name=None):
        """An initializer."""
        name = name or f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape, scale=None):
        """A seeded initializer of normally distributed singles."""
        fan = numpy.prod(shape[1:]) if len(shape) > 1 else shape[0]
        scale = scale or 1 / numpy.sqrt(fan)
        return self.constant((self.random.standard_normal(shape) * scale).astype(numpy.float32))

    def model(self, inputs, outputs, opset=17, domains=()):
        """The model; inputs and outputs are pairs of a name and a type with a shape."""
        value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
        graph = helper.make_graph(self.nodes, self.name, [value(*each) for each in inputs],
                                  [value(*each) for each in outputs], self.initializers)
        opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


FLOAT, INT64, BOOL, UINT8, INT8 = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8)


# The fewest models, so that lost files fail.
FEWEST = 11


def cases():
    """The names of all models, and how to build them."""
    files = sorted(pathlib.Path(__file__).parent.glob("[a-z]*.py"))
    if len(files) < FEWEST:
        raise FileNotFoundError(f"{len(files)} models are there, and there must be {FEWEST}")
    return {file.stem: importlib.import_module(f"{__name__}.{file.stem}").build for file in files}
