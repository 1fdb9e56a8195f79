"""Memory of arrays: which it is, and whether a session can use it."""

import sys

import numpy as np

from . import _native
from ._errors import Error

_NUMPY = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "f16": "f2", "f32": "f4", "f64": "f8",
}
_EXTENDED = {
    "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu",
}
# DLPack's code and bits of what NumPy has no name for.
_DLPACK = {(0, 8): "i1", (0, 16): "i2", (0, 32): "i4", (0, 64): "i8", (1, 8): "u1", (1, 16): "u2", (1, 32): "u4",
           (1, 64): "u8", (2, 16): "f2", (2, 32): "f4", (2, 64): "f8", (6, 8): "?"}
_BFLOAT = (4, 16)


def dtype(element):
    """NumPy's type of an element. Types that NumPy lacks are those of `ml_dtypes`, or integers of the same bits without it."""
    if element in _NUMPY:
        return np.dtype(_NUMPY[element])
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype("u2" if element == "bf16" else "u1")
    return np.dtype(getattr(ml_dtypes, _EXTENDED[element])) if element in _EXTENDED else np.dtype("u1")


class Port:
    """An input, an output or a state: `name`, `element`, `shape`, `dtype`."""

    def __init__(self, described):
        self.name = described["name"]
        self.element = described["element"]
        self.shape = tuple(described["shape"])
        self.bytes = described["bytes"]
        self.dtype = dtype(self.element)
        #: The dimensions whose extents depend on data, of which the shape has the most.
        self.open = tuple(described.get("open", ()))
        self.role = described.get("role")
        default = described.get("default")
        self.default = None if default is None else np.frombuffer(default, self.dtype).reshape(self.shape)

    def __repr__(self):
        return f"Port({self.name!r}, {self.element}{list(self.shape)})"


class Memory:
    """Where an array lies, and what keeps it."""

    def __init__(self, address, shape, strides, type_, read_only, keeper):
        self.address, self.shape, self.read_only, self.keeper = address, tuple(shape), read_only, keeper
        #: Bytes from one element to the next along each dimension; None where they stand side by side.
        self.strides = None if strides is None else tuple(strides)
        self.type = type_


def memory_of(value):
    """The memory of an array that another library may own; None of a value that is none."""
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        address, read_only = interface["data"]
        type_ = getattr(value, "dtype", None)
        type_ = np.dtype(interface["typestr"]) if type_ is None else np.dtype(type_)
        return Memory(address, interface["shape"], interface.get("strides"), type_, read_only, value)
    if not hasattr(value, "__dlpack__"):
        return None
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = value.__dlpack__()
    lent = _native.from_dlpack(capsule)
    if not lent["on_processor"]:
        raise Error("the array lies on another device than the processor", code="input",
                    help="copy it to the processor, such as with `.cpu()`")
    code, bits, lanes = lent["dtype"]
    if (code, bits) == _BFLOAT:
        type_ = dtype("bf16")
    elif (code, bits) in _DLPACK and lanes == 1:
        type_ = np.dtype(_DLPACK[code, bits])
    else:
        raise Error(f"the array has elements of DLPack's type {code} of {bits} bits", code="input",
                    help="convert it to the type of the input")
    strides = lent["strides"] and [stride * type_.itemsize for stride in lent["strides"]]
    return Memory(lent["address"], lent["shape"], strides, type_, lent["read_only"], lent["keeper"])


def is_packed(memory):
    """Whether the elements stand side by side, the last dimension innermost."""
    if memory.strides is None:
        return True
    expected = memory.type.itemsize
    for extent, stride in zip(reversed(memory.shape), reversed(memory.strides)):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _is_native(type_):
    return type_.byteorder in "=|" or type_.byteorder == ("<" if sys.byteorder == "little" else ">")


def is_usable(port, value):
    """Whether a value is an array of NumPy that is used as it lies."""
    if type(value) is not np.ndarray or value.dtype != port.dtype or value.shape != port.shape:
        return False
    return value.flags.c_contiguous and value.flags.aligned


def place(port, array):
    """Where an array of a port lies, and how many bytes it has."""
    return array.__array_interface__["data"][0], port.bytes


def bound_input(port, value, copy):
    """The memory that a run reads an input from. `copy` is whether a copy is allowed (None: only where it is needed)."""
    memory = memory_of(value)
    if memory is None:
        if copy is False:
            raise Error(f"the value for the input `{port.name}` is no array", code="input", help="give an array")
        memory = memory_of(np.asarray(value, dtype=port.dtype))
    why = refusal(port, memory)
    if why is None and copy is not True:
        return memory
    if copy is False:
        raise Error(f"the array for the input `{port.name}` {why}", code="input",
                    help="give a contiguous array of the input's type, or allow a copy with copy=None")
    _check_shape(port, memory, "input")
    if memory.type.newbyteorder("=") != port.dtype:
        raise _wrong_type(port, memory, "input")
    array = value if isinstance(value, np.ndarray) else np.from_dlpack(value)
    return memory_of(np.array(array, dtype=port.dtype, order="C", copy=True))


def bound_output(port, value):
    """The memory that a run writes an output to."""
    memory = memory_of(value)
    if memory is None:
        raise Error(f"the value for the output `{port.name}` is no array", code="input", help="give an array")
    _check_shape(port, memory, "output")
    if memory.type != port.dtype:
        raise _wrong_type(port, memory, "output")
    why = refusal(port, memory) or ("must not be written" if memory.read_only else None)
    if why is not None:
        raise Error(f"the array for the output `{port.name}` {why}", code="input",
                    help="give an array that is contiguous, aligned and writable")
    return memory


def refusal(port, memory):
    """Why a session cannot use memory as it lies; None if it can."""
    _check_shape(port, memory, "input")
    if not _is_native(memory.type):
        return "has its bytes in another order"
    if memory.type != port.dtype:
        raise _wrong_type(port, memory, "input")
    if not is_packed(memory):
        return f"is not contiguous: its strides are {memory.strides}"
    if memory.address % port.dtype.itemsize:
        return "is not aligned to its elements"
    return None


def _check_shape(port, memory, kind):
    if memory.shape != port.shape:
        raise Error(f"the {kind} `{port.name}` has the shape {list(port.shape)}, and the array {list(memory.shape)}", code="input",
                    help="give that shape, or compile the model for another with shapes=")


def _wrong_type(port, memory, kind):
    return Error(f"the {kind} `{port.name}` has elements of type {port.element}, and the array of type {memory.type}", code="input",
                 help=f"convert it with `.astype({str(port.dtype)!r})`")
