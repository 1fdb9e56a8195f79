"""NNSmith's graphs as ONNX models.

NNSmith generates a graph of abstract operators, whose shapes and attributes Z3 solves. Its own exporter needs PyTorch; this
module writes the same graphs with onnx alone, in the nodes that PyTorch's exporter uses. Needs what
scripts/fetch_nnsmith.sh and scripts/fetch_onnxruntime.sh fetch.
"""

import sys
import types
import warnings

import numpy
from onnx import helper, numpy_helper

# NNSmith imports omegaconf for its command line only, and warns of a missing picture drawer.
sys.modules.setdefault("omegaconf", types.SimpleNamespace(ListConfig=list))
warnings.filterwarnings("ignore", module="nnsmith")

import z3
from nnsmith.abstract.dtype import DType
from nnsmith.abstract.op import FULL_OPERATOR_SETS, AbsTensor, Constant, Input, MatMul, Placeholder, concretize_op
from nnsmith.gir import GraphIR, InstExpr
from nnsmith.graph_gen import model_gen

OPSET = 21
SECONDS = 60
MOST_ELEMENTS = 2048
SAME_NAME = ["Abs", "Acos", "Add", "And", "Asin", "Atan", "Ceil", "Cos", "Div", "Equal", "Floor", "Greater", "Less", "Max", "Min",
             "MatMul", "Mul", "Neg", "Or", "Pow", "Round", "Sigmoid", "Sin", "Sqrt", "Sub", "Tan", "Where", "Xor"]
RENAMED = {"ReLU": "Relu", "GELU": "Gelu"}
RESIZES = {"NearestInterp": "nearest", "LinearInterp": "linear", "BilinearInterp": "linear", "TrilinearInterp": "linear",
           "BicubicInterp": "cubic"}
PADS = {"ConstPad": "constant", "ReplicatePad": "edge", "ReflectPad": "reflect"}


class Printer:
    """Writes a graph of NNSmith. `draw(element, shape)` gives the values of constants and weights."""

    def __init__(self, ir, draw):
        self.ir, self.draw = ir, draw
        self.nodes, self.tensors, self.inputs = [], [], {}
        for instruction in ir.insts:
            self.instruction(instruction)

    def model(self):
        def declared(name, tensor):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(tensor.dtype.numpy())),
                                                 tensor.shape)

        inputs = [declared(name, tensor) for name, tensor in self.inputs.items()]
        outputs = [declared(name, self.ir.vars[name]) for name in self.ir.leaf_var() if name not in self.inputs]
        graph = helper.make_graph(self.nodes, "nnsmith", inputs, outputs, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def constant(self, array):
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def integers(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def instruction(self, instruction):
        op, arguments, name = instruction.iexpr.op, list(instruction.iexpr.args), instruction.retval()
        if isinstance(op, Input):
            self.inputs[name] = op.abs_tensor
        elif isinstance(op, Constant):
            self.tensors.append(numpy_helper.from_array(self.draw(op.abs_tensor.dtype.numpy(), op.abs_tensor.shape), name))
        else:
            kind = type(op).__name__
            shapes = [self.ir.vars[argument].shape for argument in arguments]
            element = self.ir.vars[arguments[0]].dtype.numpy()
            found, operands, attributes = self.node(kind, op, element, shapes, self.ir.vars[name])
            if kind == "Log2":
                self.nodes.append(helper.make_node("Log", arguments, [f"{name}_ln"]))
                arguments, operands = [f"{name}_ln"], [self.constant(numpy.array(numpy.log(2), element))]
            self.nodes.append(helper.make_node(found, arguments + operands, [name], **attributes))

    def node(self, kind, op, element, shapes, result):
        """The ONNX operator of NNSmith's, the operands behind its own, and its attributes."""
        rank = len(shapes[0])
        if kind in SAME_NAME:
            return kind, [], {}
        if kind in RENAMED:
            return RENAMED[kind], [], {}
        if kind == "Log2":
            return "Div", [], {}
        if kind == "LeakyReLU":
            return "LeakyRelu", [], {"alpha": 0.01}
        if kind == "PReLU":
            return "PRelu", [self.constant(numpy.array([0.25], element))], {}
        if kind == "Clip":
            least, most = (-1.5, 1.5) if issubclass(element, numpy.floating) else (-1, 1)
            least = 0 if issubclass(element, numpy.unsignedinteger) else least
            return "Clip", [self.constant(numpy.array(bound, element)) for bound in (least, most)], {}
        if kind == "Softmax":
            return "Softmax", [], {"axis": op.dim}
        if kind.startswith("Cast"):
            return "Cast", [], {"to": helper.np_dtype_to_tensor_dtype(numpy.dtype(op.extra_attrs["to"].numpy()))}
        if kind.startswith("Concat"):
            return "Concat", [], {"axis": op.extra_attrs["axis"]}
        if kind in ("ArgMin", "ArgMax"):
            return kind, [], {"axis": op.extra_attrs["reduce_dim"], "keepdims": 0}
        if kind == "Squeeze":
            return kind, [self.integers(op.extra_attrs["reduce_dim"])], {}
        if kind.startswith("Reduce"):
            return kind, [self.integers(op.extra_attrs["reduce_dim"])], {"keepdims": 0}
        if kind in ("Tril", "Triu"):
            return "Trilu", [self.constant(numpy.array(op.diagonal, numpy.int64))], {"upper": int(kind == "Triu")}
        if kind == "Transpose":
            order = list(range(rank))
            first, second = op.extra_attrs["dim0"], op.extra_attrs["dim1"]
            order[first], order[second] = order[second], order[first]
            return kind, [], {"perm": order}
        if kind == "Reshape":
            return kind, [self.integers(*op.target_shape)], {}
        if kind.startswith("ExpandLast"):
            return "Expand", [self.integers(*result.shape)], {}
        if kind == "Slice":
            axis, region = op.extra_attrs["axis"], op.extra_attrs["region"]
            extent, start, end = shapes[0][axis], op.start, op.end
            start -= extent if region in ("left", "mid") else 0
            end -= extent if region == "left" and end < extent else 0
            return kind, [self.integers(number) for number in (start, end, axis, op.step)], {}
        return self.window(kind, op, element, shapes, result)

    def window(self, kind, op, element, shapes, result):
        """Operators of windows, pads and sizes."""
        rank = len(shapes[0])
        if kind in PADS:
            pads = numpy.zeros((2, rank), numpy.int64)
            for at, pair in enumerate(zip(op.padding_list[::2], op.padding_list[1::2])):
                pads[:, rank - 1 - at] = pair
            # PyTorch's zero divides by zero soon.
            fill = [self.constant(numpy.array(0.5, element))] if kind == "ConstPad" else []
            return "Pad", [self.integers(*pads.flatten()), *fill], {"mode": PADS[kind]}
        if kind in RESIZES:
            nearest = kind == "NearestInterp"
            coordinates = "asymmetric" if nearest else "pytorch_half_pixel"
            attributes = {"mode": RESIZES[kind], "coordinate_transformation_mode": coordinates}
            attributes |= {"nearest_mode": "floor"} if nearest else {}
            attributes |= {"cubic_coeff_a": -0.75} if kind == "BicubicInterp" else {}
            return "Resize", ["", "", self.integers(*result.shape)], attributes
        if kind in ("MaxPool2d", "AvgPool2d"):
            taps = [op.kernel_h_size, op.kernel_w_size]
            attributes = {"kernel_shape": taps, "strides": [op.stride] * 2, "pads": [op.padding] * 4}
            return ("MaxPool", [], attributes) if kind == "MaxPool2d" else \
                ("AveragePool", [], attributes | {"count_include_pad": 1})
        if kind == "BatchNorm2d":
            weights = [self.draw(element, [op.nfeat]) for _ in range(3)]
            variance = numpy.abs(self.draw(element, [op.nfeat])) + element(0.5)
            return "BatchNormalization", [self.constant(array) for array in (*weights, variance)], {"epsilon": 1e-5}
        if kind in ("Conv1d", "NCHWConv2d"):
            planar = kind == "NCHWConv2d"
            taps = [op.kernel_h_size, op.kernel_w_size] if planar else [op.kernel_size]
            weight = self.draw(element, [op.out_channels, op.in_channels, *taps])
            attributes = {"kernel_shape": taps, "strides": [op.stride] * len(taps), "pads": [op.padding] * 2 * len(taps),
                          "dilations": [op.dilation_h, op.dilation_w] if planar else [op.dilation]}
            return "Conv", [self.constant(weight), self.constant(self.draw(element, [op.out_channels]))], attributes
        raise NotImplementedError(f"NNSmith's operator {kind}")


def single(kind, elements):
    """A graph of one operator on the least extents, for each combination of element types that it and `elements` allow."""
    symbols = [z3.Int(f"p{at}") for at in range(kind.get_num_var_param())]
    symbolic, tensors, solver = kind(*symbols), [], z3.Solver()
    for at, ranks in enumerate(symbolic.inp_ranks):
        rank = tensors[0].ndims if symbolic.same_inp_dims and tensors else min(ranks)
        tensors.append(AbsTensor([z3.Int(f"s{axis}") for axis in range(rank)], kind.in_dtypes[0][at]))
        solver.add(*tensors[-1].gt_zero(), *(extent < 64 for extent in tensors[-1].shape))
    solver.add(*symbolic.checked_requires(tensors))
    solver.add(*(bound for result in symbolic.checked_type_transfer(tensors) for bound in result.gt_zero()))
    if solver.check() != z3.sat:
        raise RuntimeError(f"no extents fit {kind.__name__}")
    solution = solver.model()
    shapes = [[solution.eval(extent, model_completion=True).as_long() for extent in tensor.shape] for tensor in tensors]
    for types_in in kind.in_dtypes:
        if not set(types_in) <= elements:
            continue
        ir, op = GraphIR(), concretize_op(symbolic, solution)
        names = [ir.add_inst(InstExpr(Placeholder(AbsTensor(shape, element)).to_input(), [])).retval()
                 for shape, element in zip(shapes, types_in)]
        given = [ir.vars[name] for name in names]
        results = op.checked_type_transfer(given)
        op.bind_input_like(given)
        op.bind_output_like(results)
        ir.add_inst(InstExpr(op, names))
        if {result.dtype for result in results} <= elements:
            yield types_in, tuple(result.dtype for result in results), ir


def operators(elements, runs):
    """NNSmith's operators, with the element types of `elements` with which `runs(ir)` is true of them alone."""
    found = []
    for kind in [*FULL_OPERATOR_SETS["core"], MatMul]:
        usable = [(taken, given) for taken, given, ir in single(kind, elements) if runs(ir)]
        if usable:
            narrowed = type(kind.__name__, (kind,), {})
            narrowed.in_dtypes = [taken for taken, _ in usable]
            narrowed.out_dtypes = sorted({given for _, given in usable}, key=str)
            found.append(narrowed)
    return found


def generated(seed, kinds, elements, nodes):
    """The graph of a seed."""
    method = ["concolic", "symbolic-cinit"][seed % 2]
    return model_gen(kinds, method, nodes, seed, SECONDS * 1000, max_elem_per_tensor=MOST_ELEMENTS,
                     dtype_choices=sorted(elements, key=str), concr_ph_dim_rng=(1, 24)).make_concrete()


def elements_of(types_of_numpy):
    return {DType(numpy.dtype(element).name) for element in types_of_numpy}
