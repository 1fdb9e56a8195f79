"""Bundles and their sessions."""

import os

import numpy as np

from . import _native
from ._arrays import Port, bound_input, bound_output, is_usable, place
from ._errors import Error


class Bundle:
    """A bundle that is open. Its sessions on the host have its constants in common."""

    def __init__(self, source):
        """Opens the bundle at a path, or in `bytes`."""
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._native = _native.Bundle.from_bytes(bytes(source))
        else:
            self._native = _native.Bundle.open(os.fspath(source))
        self.inputs = [Port(port) for port in self._native.inputs()]
        self.outputs = [Port(port) for port in self._native.outputs()]
        self.states = [Port(port) for port in self._native.states()]
        self.targets = self._native.targets()

    def session(self, device="host", *, threads=None, pool=None, wait_limit=None):
        """Opens a session on a device: `host`, or `cuda:0` and so on. No device ever stands in for another.

        `threads` are the most of a session on the host; `pool` has threads that several sessions share.
        """
        return Session(self, device, threads=threads, pool=pool, wait_limit=wait_limit)

    def __repr__(self):
        return f"Bundle(inputs={self.inputs}, outputs={self.outputs}, targets={self.targets})"


class Pool:
    """Threads that sessions on the host share. They run one after another."""

    def __init__(self, threads=0):
        self._native = _native.Pool(threads)


class Session:
    """A bundle on a device, to be run again and again. One thread runs it at a time."""

    def __init__(self, bundle, device="host", *, threads=None, pool=None, wait_limit=None):
        self.bundle = bundle if isinstance(bundle, Bundle) else Bundle(bundle)
        self.device = device
        self._native = _native.Session(self.bundle._native, device, threads, pool and pool._native, wait_limit)
        self._inputs = {port.name: number for number, port in enumerate(self.inputs)}
        self._outputs = {port.name: number for number, port in enumerate(self.outputs)}
        # What is bound: memory by the number of the port.
        self._bound_inputs, self._bound_outputs = {}, {}
        self._arrays = [None] * len(self.outputs)
        self._read, self._written = None, None

    @property
    def inputs(self):
        return self.bundle.inputs

    @property
    def outputs(self):
        return self.bundle.outputs

    @property
    def notes(self):
        """What should be known of how it was opened."""
        return self._native.notes()

    def bind(self, inputs=None, outputs=None):
        """Makes these arrays what `run()` reads and writes from now on, without a copy.

        Each is contiguous, aligned, and of the type and shape of its port; no output overlaps with another array. `None` instead of
        an array takes it away. What is refused changes nothing.
        """
        bound_inputs, bound_outputs, arrays = dict(self._bound_inputs), dict(self._bound_outputs), list(self._arrays)
        chosen = [(self._inputs, "input", bound_inputs, inputs), (self._outputs, "output", bound_outputs, outputs)]
        for numbers, kind, bound, given in chosen:
            for name, value in (given or {}).items():
                number = _number(numbers, kind, name)
                if value is None:
                    bound.pop(number, None)
                elif kind == "input":
                    bound[number] = bound_input(self.inputs[number], value, copy=False)
                else:
                    bound[number], arrays[number] = bound_output(self.outputs[number], value), value
        for number, memory in bound_outputs.items():
            self._check_overlap(number, memory, bound_inputs, bound_outputs)
        self._bound_inputs, self._bound_outputs, self._arrays = bound_inputs, bound_outputs, arrays
        self._read = self._written = None

    def run(self):
        """Runs on what is bound, and returns the arrays that are bound to outputs, by name."""
        if self._read is None:
            self._read, self._written = self._places(self._bound_inputs, self._bound_outputs)
        cut = self._native.run(self._read, self._written)
        arrays = {port.name: array for port, array in zip(self.outputs, self._arrays)}
        for number, shape in cut:
            arrays[self.outputs[number].name] = _first(self._arrays[number], shape)
        return arrays

    def __call__(self, *values, copy=None, **named):
        """Runs once on arrays, by position or by name, and returns the outputs by name.

        Arrays are NumPy's, or anything with `__dlpack__`. They are used as they lie where that is possible, and else copied;
        `copy=False` raises instead.
        """
        if len(values) > len(self.inputs):
            raise Error(f"{len(values)} arrays are given, and there are {len(self.inputs)} inputs", code="input",
                        help="give one an input")
        given = {port.name: value for port, value in zip(self.inputs, values)}
        for name, value in named.items():
            _number(self._inputs, "input", name)
            if name in given:
                raise Error(f"the input `{name}` is given twice", code="input", help="give it once")
            given[name] = value
        return self.run_with(given, copy=copy)

    def run_with(self, inputs, copy=None):
        """Runs once on a dictionary of arrays by name, and returns the outputs by name."""
        read, kept = [None] * len(self.inputs), []
        for name, value in inputs.items():
            number = _number(self._inputs, "input", name)
            port = self.inputs[number]
            if copy is not True and is_usable(port, value):
                read[number] = place(port, value)
                continue
            memory = bound_input(port, value, copy)
            kept.append(memory)
            read[number] = memory.address, port.bytes
        for number, port in enumerate(self.inputs):
            read[number] = read[number] or _default(port)
        arrays = [np.empty(port.shape, port.dtype) for port in self.outputs]
        written = [place(port, array) for port, array in zip(self.outputs, arrays)]
        for number, shape in self._native.run(read, written):
            arrays[number] = _first(arrays[number], shape)
        return {port.name: array for port, array in zip(self.outputs, arrays)}

    def step(self, *values, **named):
        """A step of training: runs once, and what it makes of the states is what the next step finds."""
        outputs = self(*values, **named)
        self._native.advance()
        return outputs

    def states(self):
        """The states of a training step as arrays by name: weights, statistics, and what the optimizer keeps."""
        ports = zip(self.bundle.states, self._native.states())
        return {port.name: np.frombuffer(data, port.dtype).reshape(port.shape) for port, data in ports}

    def load_states(self, states):
        """Replaces states by arrays of the same names; the others stay."""
        numbers = {port.name: number for number, port in enumerate(self.bundle.states)}
        data = self._native.states()
        for name, value in states.items():
            number = _number(numbers, "state", name)
            port = self.bundle.states[number]
            array = np.ascontiguousarray(value, port.dtype)
            if array.shape != port.shape:
                raise Error(f"the state `{name}` has the shape {list(port.shape)}, and the array {list(array.shape)}", code="input",
                            help="give that shape")
            data[number] = array.tobytes()
        self._native.set_states(data)

    def reset(self):
        """Makes the session run again after a fault, if the device can."""
        self._native.reset()

    def _places(self, inputs, outputs):
        read, written = [], []
        for number, port in enumerate(self.inputs):
            memory = inputs.get(number)
            read.append(_default(port) if memory is None else (memory.address, port.bytes))
        for number, port in enumerate(self.outputs):
            if number not in outputs:
                self._arrays[number] = np.empty(port.shape, port.dtype)
                written.append(place(port, self._arrays[number]))
            else:
                written.append((outputs[number].address, port.bytes))
        return read, written

    def _check_overlap(self, number, memory, inputs, outputs):
        port = self.outputs[number]
        others = [(self.inputs[other], "input", found) for other, found in inputs.items()]
        others += [(self.outputs[other], "output", found) for other, found in outputs.items() if other != number]
        for other, kind, found in others:
            if memory.address < found.address + other.bytes and found.address < memory.address + port.bytes:
                raise Error(f"the array for the output `{port.name}` overlaps with that for the {kind} `{other.name}`", code="input",
                            help="give an array of its own to each output")


def _number(numbers, kind, name):
    if name not in numbers:
        known = ", ".join(f"`{known}`" for known in numbers)
        raise Error(f"there is no {kind} `{name}`", code="argument", help=f"the {kind}s are {known}",
                    culprits=[{"kind": kind, "name": name, "known": list(numbers)}])
    return numbers[name]


def _default(port):
    """Where the default of an input lies."""
    if port.default is None:
        raise Error(f"nothing is given for the input `{port.name}`", code="input", help="give an array")
    return place(port, port.default)


def _first(array, shape):
    """What counts of an output: its first elements, as a tensor of another shape."""
    count = int(np.prod(shape, dtype=np.int64))
    return array.reshape(-1)[:count].reshape(shape)
