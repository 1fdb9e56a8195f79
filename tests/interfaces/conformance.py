"""Runs the cases of cases.txt, which describes them, through the Python package: conformance.py CASES FOLDER. The folder has the bundles."""

import os
import pathlib
import sys
import threading
import warnings

import numpy as np

import warpweave as ww

ELEMENTS = {"bool": "?", "u8": "u1", "i8": "i1", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}


class Different(Exception):
    """A step that does other than it says."""


def demand(holds, what):
    if not holds:
        raise Different(what)


class Given:
    """A tensor as a step gives it: `f32[2x3] OPTIONS VALUES`."""

    def __init__(self, words, memories):
        element, _, extents = words[0].rstrip("]").partition("[")
        options = dict(word.split("=") for word in words[1:] if "=" in word)
        self.element, self.dtype = element, np.dtype(ELEMENTS[element])
        self.shape = tuple(int(extent) for extent in extents.split("x") if extent)
        self.values = [word for word in words[1:] if "=" not in word]
        self.open = options.get("open")
        self.memories, self.place = memories, options.get("at")
        self.strides = [int(stride) for stride in options["strides"].split(",")] if "strides" in options else None
        self.order = ">" if options.get("order") == "big" else "="

    def elements(self):
        return np.array([float(value) if self.dtype.kind == "f" else int(value) for value in self.values], self.dtype)

    def array(self):
        """The array with these elements, in the memory that the step names."""
        dtype = self.dtype.newbyteorder(self.order)
        if int(np.prod([float(extent) for extent in self.shape])) > 1 << 20:
            return np.broadcast_to(np.zeros((), dtype), self.shape)
        name, _, offset = (self.place or "+0").partition("+")
        strides = self.strides and [stride * dtype.itemsize for stride in self.strides]
        if name:
            array = np.ndarray(self.shape, dtype, self.memories[name], int(offset), strides)
        else:
            array = np.ndarray(self.shape, dtype, bytearray(4096 + dtype.itemsize * int(np.prod(self.shape))), 0, strides)
        array.flat[: len(self.values)] = self.elements()
        return array

    def holds(self, array, shape=None):
        demand(array.dtype == self.dtype and array.shape == self.shape, f"it is {array.dtype} of shape {array.shape}")
        found = array.reshape(-1)[: len(self.values)]
        demand(np.array_equal(found, self.elements()), f"its elements are {found.tolist()}")


class Case:
    """The handles of a case, and a method for each verb."""

    def __init__(self, folder):
        self.folder = folder
        self.named, self.memories, self.bound, self.outputs = {}, {}, {}, {}

    def given(self, words):
        return Given(words, self.memories)

    def version_text(self):
        demand(ww.__version__[:1].isdigit(), f"the version is {ww.__version__}")

    def device_count(self, count):
        demand(len(ww.devices()) >= int(count), f"the devices are {ww.devices()}")

    def device_at(self, number, name):
        found, description = ww.devices()[int(number)]
        demand(found == name and description, f"it is {found}")

    def bundle_open(self, name, file):
        self.named[name] = ww.Bundle(self.folder / f"{file}.weave")

    def bundle_open_memory(self, name, file, bytes=None):
        data = (self.folder / f"{file}.weave").read_bytes()
        self.named[name] = ww.Bundle(data if bytes is None else bytearray(data[: int(bytes)]))

    def bundle_close(self, name):
        del self.named[name]

    def bundle_input_count(self, name, count):
        demand(len(self.named[name].inputs) == int(count), "it has another number")

    def bundle_output_count(self, name, count):
        demand(len(self.named[name].outputs) == int(count), "it has another number")

    def bundle_state_count(self, name, count):
        demand(len(self.named[name].states) == int(count), "it has another number")

    def described(self, port, name, words):
        given = self.given(words)
        demand(type(port) is ww.Port and port.name == name, f"it is {port}")
        demand(port.element == given.element and port.dtype == given.dtype and port.shape == given.shape, f"it is {port}")
        demand(port.open == (() if given.open is None else (int(given.open),)), f"open are {port.open}")
        demand((port.default is not None) == (given.values == ["default"]), f"its default is {port.default}")

    def bundle_input(self, name, number, port, *words):
        self.described(self.named[name].inputs[int(number)], port, words)

    def bundle_output(self, name, number, port, *words):
        self.described(self.named[name].outputs[int(number)], port, words)

    def bundle_state(self, name, number, port, *words):
        self.described(self.named[name].states[int(number)], port, words)

    def pool_open(self, name, threads):
        self.named[name] = ww.Pool(int(threads))

    def pool_close(self, name):
        del self.named[name]

    def session_open(self, name, bundle, device="host", threads=None, wait=None, pool=None):
        options = {"threads": threads and int(threads), "wait_limit": wait and int(wait) / 1000, "pool": pool and self.named[pool]}
        session = ww.open(self.named[bundle], device, **options)
        demand(type(session) is ww.Session and session.device == device, f"it is a session of {session.device}")
        self.named[name], self.bound[name] = session, {}

    def session_notes(self, name, count):
        demand(len(self.named[name].notes) >= int(count), f"the notes are {self.named[name].notes}")

    def session_close(self, name):
        del self.named[name]

    def session_bind_input(self, name, port, *words):
        array = None if words == ("none",) else self.given(words).array()
        self.named[name].bind({port: array})
        self.bound[name][port] = array
        if array is None:
            del self.bound[name][port]

    def session_bind_output(self, name, port, *words):
        self.named[name].bind(outputs={port: None if words == ("none",) else self.given(words).array()})

    session_bind_input_tensor, session_bind_output_tensor = session_bind_input, session_bind_output

    def session_run(self, name):
        session, bound = self.named[name], self.bound[name]
        self.outputs[name] = session.run()
        # Every way to run gives the same.
        for outputs in (session(**bound), session(**bound, copy=False), session.run_with(bound, copy=True)):
            for port, array in self.outputs[name].items():
                demand(np.array_equal(outputs[port], array), f"`{port}` is {outputs[port].tolist()} where it is called")

    def session_step(self, name):
        self.outputs[name] = self.named[name].step(**self.bound[name])

    def session_output(self, name, port, *words):
        self.given(words).holds(self.outputs[name][port])

    def session_reset(self, name):
        self.named[name].reset()

    def state(self, name, number):
        states = self.named[name].bundle.states
        return states[int(number)].name if int(number) < len(states) else f"state {number}"

    def session_read_state(self, name, number, *words):
        self.given(words).holds(self.named[name].states()[self.state(name, number)])

    def session_write_state(self, name, number, *words):
        self.named[name].load_states({self.state(name, number): self.given(words).array()})

    def memory(self, name, bytes):
        memory = np.zeros(int(bytes) + 64, "u1")
        self.memories[name] = memory[-memory.__array_interface__["data"][0] % 64 :][: int(bytes)]

    def memory_write(self, place, *words):
        self.given([*words, f"at={place}"]).array()

    def memory_holds(self, place, *words):
        given = self.given([words[0], f"at={place}"])
        self.given(words).holds(given.array())

    def perform(self, words):
        verb, *rest = words
        takes_options = verb in ("bundle_open_memory", "session_open")
        options = dict(word.split("=") for word in rest if "=" in word) if takes_options else {}
        return getattr(self, verb)(*(word for word in rest if not options or "=" not in word), **options)

    def outcome(self, words):
        """The error with which a step fails; None where it does not."""
        try:
            self.perform(words)
        except ww.Error as error:
            return error

    def step(self, words, expected):
        if words[0] == "in_child":
            return self.in_child(words[1:], expected)
        if words[0] == "in_two_threads":
            return self.in_two_threads(words[1:], expected)
        if words[0] == "repeat":
            outcomes = (self.outcome(words[2:]) for _ in range(int(words[1])))
            return check(next((error for error in outcomes if error is not None), None), expected)
        return check(self.outcome(words), expected)

    def in_child(self, words, expected):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                self.step(words, expected)
                os._exit(0)
            except BaseException:
                os._exit(1)
        demand(os.waitpid(child, 0)[1] == 0, "it does otherwise in the child")

    def in_two_threads(self, words, expected):
        ends, others = threading.Event(), []

        def work():
            while not ends.is_set():
                try:
                    error = self.outcome(words)
                    if error is not None:
                        check(error, expected)
                except Exception as error:
                    return others.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            self.step(["repeat", "100000", *words], expected)
        finally:
            ends.set()
            thread.join()
        demand(not others, f"in a thread: {others}")


def check(error, expected):
    """Raises unless the error is the expected one, with a sentence and a remedy."""
    if error is None or expected is None:
        demand(error is None, f"it fails with {error}")
        return demand(expected is None, "it does not fail")
    _, code, *part = expected.split(" ", 2)
    demand(error.code == code, f"it fails with {error}")
    demand(error.message and error.help, f"it lacks a sentence or a remedy: {error}")
    demand(not part or part[0] in error.message, f"it says: {error}")


def meant(line):
    """What a line holds for Python: behind `python:`, or nothing where it is left to others."""
    who, _, rest = line.partition(": ")
    if not rest or not set(who.split(",")) <= {"c", "python", "rust"}:
        return line
    return rest if "python" in who.split(",") else ""


def run(number, lines, folder, driver):
    """Whether a case holds; None where it is none for this driver."""
    found = [(number + at, meant(line)) for at, line in enumerate(lines)]
    found = [(at, line) for at, line in found if line and not line.startswith("#")]
    if not found or lines and not meant(lines[0]) or not found[0][1].startswith("case "):
        return None
    name = found[0][1][len("case "):].partition(":")[0]
    wanted = [line[len("driver "):] for _, line in found if line.startswith("driver ")]
    if "".join(wanted) != driver:
        return None
    case = Case(folder)
    for at, line in found[1:]:
        step, _, expected = line.partition(" ! ")
        if line.startswith("driver "):
            continue
        try:
            case.step(step.split(), expected or None)
        except Exception as error:
            print(f"FAILED {name} line {at}: {error if isinstance(error, Different) else repr(error)}", flush=True)
            return False
    print(f"ok {name}", flush=True)
    return True


def main():
    cases, folder = (pathlib.Path(word) for word in sys.argv[1:])
    driver, number, outcomes = os.environ.get("WARPWEAVE_DRIVER", ""), 1, []
    for paragraph in cases.read_text().split("\n\n"):
        lines = paragraph.split("\n")
        outcomes.append(run(number, lines, folder, driver))
        number += len(lines) + 1
    ran = [held for held in outcomes if held is not None]
    return 0 if all(ran) and ran else 1


if __name__ == "__main__":
    sys.exit(main())
