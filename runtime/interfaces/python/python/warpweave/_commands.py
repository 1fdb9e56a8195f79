"""The commands of the program `warpweave`, in this process."""

import json
import os
import sys
import tempfile

from . import _native
from ._errors import Error
from ._session import Bundle

# What compiles for GPUs runs in processes of its own, which this interpreter starts.
_native.run_by([sys.executable, "-m", "warpweave"])


def command(name, *positional, progress=None, **options):
    """Runs a command and returns what `--json` prints, as a dictionary.

    `command("bench", "m.weave", device="host", warmup_ms=50)` is `warpweave bench m.weave --device host --warmup-ms 50`. True
    stands for an option without a value, a list for one that is given several times, and None for one that is left out.
    `progress` is called with the name of each stage.
    """
    words = [name, *(os.fspath(word) for word in positional)]
    for option, value in options.items():
        flag = "--" + option.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(flag)
            elif one is not None and one is not False:
                words += [flag, os.fspath(one) if isinstance(one, os.PathLike) else str(one)]
    code, result, notes = _native.run(words, progress)
    found = json.loads(result) if result else {}
    if "error" in found:
        raise _raised(found["error"])
    found["passed"], found["notes"] = code == 0, notes
    return found


def _raised(error):
    """The exception of an error as the command prints it."""
    message, help_ = error["message"], error.get("help")
    if not help_:
        # What to do stands behind the message.
        message, _, help_ = message.rpartition("; ")
        message, help_ = (message, help_) if message else (help_, "")
    if error["code"] == "device-compiler" and not help_:
        help_ = "install what compiles for GPUs: pip install warpweave[cuda]"
    return Error(message, code=error["code"], help=help_, culprits=error.get("culprits", ()))


class _File:
    """A model as a file: its own, or a temporary one of a `ModelProto`."""

    def __init__(self, model):
        self.model, self.folder = model, None

    def __enter__(self):
        if isinstance(self.model, Bundle):
            raise Error("the bundle is open already", code="usage", help="give the path of the model or bundle")
        if not hasattr(self.model, "SerializeToString"):
            return os.fspath(self.model)
        self.folder = tempfile.TemporaryDirectory(prefix="warpweave-")
        path = os.path.join(self.folder.name, "model.onnx")
        with open(path, "wb") as file:
            file.write(self.model.SerializeToString())
        return path

    def __exit__(self, *_):
        if self.folder is not None:
            self.folder.cleanup()


def compile(model, output=None, *, targets=("host",), shapes=None, optimizer=None, loss=None, progress=None, **options):
    """Compiles an ONNX model, a path or a `ModelProto`, and opens the bundle.

    `targets` are `host`, and GPUs such as `sm_90a`, for which NVRTC is needed: `pip install warpweave[cuda]`. `shapes` has the
    shapes of inputs by name. `optimizer` and `loss` make it a training step. Other options are those of the command. Without `output`
    the bundle is opened and its file removed.
    """
    shapes = [f"{name}={'x'.join(str(extent) for extent in shape)}" for name, shape in (shapes or {}).items()]
    targets = [targets] if isinstance(targets, str) else list(targets)
    with _File(model) as path, tempfile.TemporaryDirectory(prefix="warpweave-") as folder:
        target = os.fspath(output) if output is not None else os.path.join(folder, "model.weave")
        report = command("compile", path, target=",".join(targets), output=target, shape=shapes or None, optimizer=optimizer,
                         train=loss and f"loss={loss}", progress=progress, **options)
        bundle = Bundle(target)
        bundle.report = report
        return bundle


def compare(model, io, **options):
    """Compares what a model or bundle gives with stored inputs and outputs, as the command does."""
    return _of_model("compare", model, io=io, **options)


def bench(model, **options):
    """Measures latency and throughput, as the command does."""
    return _of_model("bench", model, **options)


def explain(model, **options):
    """Why a model is compiled as it is: plans, prices and kernels, as the command prints them."""
    return _of_model("explain", model, **options)


def inspect(model, **options):
    """What a model or bundle holds, as the command prints it."""
    return _of_model("inspect", model, **options)


def doctor(**options):
    """What this machine offers, as the command prints it."""
    return command("doctor", **options)


def _of_model(name, model, **options):
    with _File(model) as path:
        return command(name, path, **options)
