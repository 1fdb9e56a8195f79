"""warpweave compiles ONNX models ahead of time, and runs the bundles.

    import warpweave as ww

    session = ww.open("model.weave")
    y = session(x=array)["y"]
"""

from ._errors import Error
from ._native import __version__, devices

# What is loaded when it is used first: the rest needs NumPy.
_HOMES = {
    "_session": ["Bundle", "Pool", "Session"],
    "_arrays": ["Port"],
    "_commands": ["bench", "command", "compare", "compile", "doctor", "explain", "inspect"],
}

__all__ = ["Error", "__version__", "devices", "open", *sorted(name for names in _HOMES.values() for name in names)]


def open(source, device="host", **options):
    """Opens a session of a bundle: of a path, of `bytes`, or of a `Bundle`. The options are those of `Bundle.session`."""
    from ._session import Session

    return Session(source, device, **options)


def __getattr__(name):
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
