from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

__version__: str

_Path = str | PathLike[str]

class Error(Exception):
    message: str
    code: str
    help: str
    culprits: list[dict[str, Any]]

class Port:
    name: str
    element: str
    shape: tuple[int, ...]
    bytes: int
    dtype: np.dtype[Any]
    open: tuple[int, ...]
    role: str | None
    default: np.ndarray[Any, Any] | None

class Bundle:
    inputs: list[Port]
    outputs: list[Port]
    states: list[Port]
    targets: list[str]
    report: dict[str, Any]
    def __init__(self, source: _Path | bytes | bytearray | memoryview) -> None: ...
    def session(
        self, device: str = "host", *, threads: int | None = None, pool: Pool | None = None, wait_limit: float | None = None
    ) -> Session: ...

class Pool:
    def __init__(self, threads: int = 0) -> None: ...

class Session:
    bundle: Bundle
    device: str
    def __init__(
        self,
        bundle: Bundle | _Path | bytes,
        device: str = "host",
        *,
        threads: int | None = None,
        pool: Pool | None = None,
        wait_limit: float | None = None,
    ) -> None: ...
    @property
    def inputs(self) -> list[Port]: ...
    @property
    def outputs(self) -> list[Port]: ...
    @property
    def notes(self) -> list[str]: ...
    def bind(self, inputs: Mapping[str, Any] | None = None, outputs: Mapping[str, Any] | None = None) -> None: ...
    def run(self) -> dict[str, np.ndarray[Any, Any]]: ...
    def __call__(self, *values: Any, copy: bool | None = None, **named: Any) -> dict[str, np.ndarray[Any, Any]]: ...
    def run_with(self, inputs: Mapping[str, Any], copy: bool | None = None) -> dict[str, np.ndarray[Any, Any]]: ...
    def step(self, *values: Any, **named: Any) -> dict[str, np.ndarray[Any, Any]]: ...
    def states(self) -> dict[str, np.ndarray[Any, Any]]: ...
    def load_states(self, states: Mapping[str, Any]) -> None: ...
    def reset(self) -> None: ...

def open(
    source: Bundle | _Path | bytes,
    device: str = "host",
    *,
    threads: int | None = None,
    pool: Pool | None = None,
    wait_limit: float | None = None,
) -> Session: ...
def devices() -> list[tuple[str, str]]: ...
def compile(
    model: Any,
    output: _Path | None = None,
    *,
    targets: str | Sequence[str] = ("host",),
    shapes: Mapping[str, Sequence[int]] | None = None,
    optimizer: str | None = None,
    loss: str | None = None,
    progress: Callable[[str], Any] | None = None,
    **options: Any,
) -> Bundle: ...
def compare(model: Any, io: _Path, **options: Any) -> dict[str, Any]: ...
def bench(model: Any, **options: Any) -> dict[str, Any]: ...
def explain(model: Any, **options: Any) -> dict[str, Any]: ...
def inspect(model: Any, **options: Any) -> dict[str, Any]: ...
def doctor(**options: Any) -> dict[str, Any]: ...
def command(name: str, *positional: Any, progress: Callable[[str], Any] | None = None, **options: Any) -> dict[str, Any]: ...
