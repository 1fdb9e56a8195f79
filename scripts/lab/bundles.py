"""Bundles, compiled side by side in the background while steps run."""

from __future__ import annotations

import concurrent.futures
import os

import process

# Seconds that exporting and compiling one model may take.
LIMIT = 120


class NoBundle(Exception):
    """A bundle could not be made; `ended` is the command that failed, None for want of time."""

    def __init__(self, reason, ended=None):
        super().__init__(reason)
        self.ended = ended


class Bundles:
    """Makes each bundle once; the first ones asked for are made first."""

    def __init__(self, setting):
        self.setting = setting
        workers = max(2, (os.cpu_count() or 2) // 2)
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=workers)
        self.models, self.bundles = {}, {}

    def file(self, name, path, backend):
        """Begins a bundle of a model's file."""
        return self._begin(name, backend, lambda: path, "inside")

    def zoo(self, name, backend):
        """Begins a bundle of a benchmark model; its weights stay in the exported file."""
        return self._begin(name, backend, lambda: self.exported(name).result(), "beside")

    def exported(self, name):
        """A benchmark model's file, as a future."""
        if name not in self.models:
            self.models[name] = self.pool.submit(self._export, name)
        return self.models[name]

    def _begin(self, name, backend, source, weights):
        key = (name, backend)
        if key not in self.bundles:
            if weights == "beside":
                # Exporting comes before, in the order of the pool.
                self.exported(name)
            self.bundles[key] = self.pool.submit(self._compile, name, backend, source, weights)
        return self.bundles[key]

    def _export(self, name):
        folder = self.setting.work / "zoo" / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        reduced = ["--reduced"] if self.setting.is_reduced else []
        self._run(["models", "export", name, "-o", path, *reduced], path)
        return path

    def _compile(self, name, backend, source, weights):
        path = source()
        folder = path.parent if weights == "beside" else self.setting.work / "files"
        folder.mkdir(parents=True, exist_ok=True)
        bundle = folder / f"{name.replace('/', '-')}.{backend}.weave"
        target = f"host,{self.setting.target()}"
        self._run(["compile", path, "-o", bundle, "--target", target, "--backend", backend, "--weights", weights], bundle)
        return bundle

    def _run(self, arguments, made):
        """Runs the program unless it has made the file already, whole."""
        marker = made.with_name(f"{made.name}.whole")
        if marker.exists():
            return
        limit = min(LIMIT, self.setting.budget.left("tuning"))
        if limit <= 0:
            raise NoBundle("budget")
        ended = self.setting.run(arguments, limit)
        if not ended.is_ok:
            reason = "stopped at its limit" if ended.exit_code is None else f"ended with {ended.exit_code}"
            raise NoBundle(f"{arguments[0]} {reason}", ended)
        marker.touch()

    def close(self):
        """Gives up what is not made yet."""
        for future in [*self.models.values(), *self.bundles.values()]:
            future.cancel()
        process.stop_all()
        self.pool.shutdown(wait=True)
        process.allow()
