"""The Python package."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import warpweave as ww
from conftest import ROOT, models


def refused(call, code="input"):
    with pytest.raises(ww.Error) as raised:
        call()
    error = raised.value
    assert error.code == code and error.message and error.help, error
    return error


class Lent:
    """An array that is lent by DLPack only, as it was before version 1 where `old`."""

    def __init__(self, array, old=False):
        self.array, self.old = array, old

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("no options are known")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_three_lines(bundles):
    session = ww.open(bundles / "relu.weave")
    y = session(x=np.array([[-1, 2, -3], [4, -5, 6]], "float32"))["y"]
    assert y.tolist() == [[0, 2, 0], [4, 0, 6]]


def test_what_a_bundle_says(bundles):
    assert ww.Bundle(bundles / "nonzero.weave").targets == ["host"]
    assert ww.Bundle(bundles / "default.weave").inputs[1].default.tolist() == [10, 20]


def test_arrays_of_others(bundles):
    session = ww.open(bundles / "relu.weave")
    array = np.arange(-3, 3, dtype="float32").reshape(2, 3)
    wanted = np.maximum(array, 0).tolist()
    read_only = array.copy()
    read_only.flags.writeable = False
    for lent in (Lent(array), Lent(array, old=True), Lent(read_only), read_only, array.tolist()):
        assert session(x=lent)["y"].tolist() == wanted
    assert session(x=Lent(array), copy=False)["y"].tolist() == wanted
    exported = np.from_dlpack(session(x=array)["y"])
    assert exported.tolist() == wanted


def test_copies_are_made_where_they_are_allowed(bundles):
    session = ww.open(bundles / "relu.weave")
    array = np.arange(-3, 3, dtype="float32").reshape(2, 3)
    wanted = np.maximum(array, 0).tolist()
    apart = np.zeros((2, 6), "float32")[:, ::2]
    apart[...] = array
    big = array.astype(">f4")
    odd = np.frombuffer(bytearray(b"x" + array.tobytes()), "float32", offset=1).reshape(2, 3)
    for given in (apart, big, odd, np.asfortranarray(array)):
        assert session(x=given)["y"].tolist() == wanted
        refused(lambda: session(x=given, copy=False))
        refused(lambda: session.bind({"x": given}))


def test_bound_arrays(bundles):
    session = ww.open(bundles / "two.weave")
    x, y, z = (np.zeros(64, "float32") for _ in range(3))
    session.bind({"x": x}, {"y": y})
    x[:] = 3
    found = session.run()
    assert found["y"] is y and y[5] == 3 and found["z"][5] == -3
    x[:] = 4
    session.bind(outputs={"z": z})
    session.run()
    assert y[0] == 4 and z[0] == -4
    read_only = np.zeros(64, "float32")
    read_only.flags.writeable = False
    refused(lambda: session.bind(outputs={"y": read_only}))


def test_bad_calls(bundles):
    session = ww.open(bundles / "relu.weave")
    x = np.zeros((2, 3), "float32")
    refused(lambda: session())
    refused(lambda: session(x, x))
    refused(lambda: session(x, x=x))
    refused(lambda: session(z=x), "argument")
    refused(lambda: session.load_states({"v": x}), "argument")
    refused(lambda: session.run_with({"x": 1}, copy=False))
    for limit in (-1, float("nan"), float("inf")):
        refused(lambda: ww.open(bundles / "relu.weave", wait_limit=limit), "argument")
    threads = [ww.open(bundles / "wide.weave", threads=threads).notes for threads in (0, None)]
    assert threads[0] == threads[1]


def test_training(bundles):
    session = ww.open(bundles / "train.weave")
    before = session.states()
    assert [port.role for port in session.bundle.states][0] == "weight"
    inputs = {port.name: np.full(port.shape, 0.1, port.dtype) for port in session.inputs if port.default is None}
    losses = [float(session.step(**inputs)["loss"]) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    assert not np.array_equal(session.states()["w"], before["w"])
    session.load_states({"w": before["w"]})
    assert np.array_equal(session.states()["w"], before["w"])
    assert float(session.step(**inputs)["loss"]) == losses[0]


def test_compiling(tmp_path):
    stages = []
    bundle = ww.compile(models()["wide"], tmp_path / "wide.weave", targets=["host"], progress=stages.append)
    assert (tmp_path / "wide.weave").exists() and bundle.report["passed"] and stages
    y = bundle.session()(np.ones((64, 256), "float32"))["y"]
    assert np.allclose(y, 1)
    ww.compile(models()["relu"]).session()
    error = refused(lambda: ww.compile(tmp_path / "absent.onnx"), "file")
    assert "absent.onnx" in error.message and error.culprits
    refused(lambda: ww.compile(models()["relu"], no_such_option=True), "usage")


def test_what_a_callback_raises_ends_the_compilation(tmp_path):
    def stop(stage):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ww.compile(models()["wide"], tmp_path / "wide.weave", progress=stop)


def test_commands_are_dictionaries(bundles, tmp_path):
    explained = ww.explain(models()["wide"])
    assert explained["schema"] == "warpweave.explain/1" and explained["passed"]
    measured = ww.bench(bundles / "relu.weave", device="host", duration_ms=50, warmup_ms=10)
    assert measured["passed"] and ww.command("inspect", bundles / "relu.weave", json=True)["passed"]
    assert ww.inspect(bundles / "relu.weave")["passed"]
    np.savez(tmp_path / "io.npz", in_x=-np.ones((2, 3), "float32"), out_y=np.zeros((2, 3), "float32"))
    assert ww.compare(models()["relu"], tmp_path / "io.npz")["passed"]


def test_gpu_targets_name_the_remedy(tmp_path):
    code = "import warpweave as ww, sys\ntry: ww.compile(sys.argv[1], targets=['sm_90a'])\nexcept ww.Error as error: print(error.code, error.help)"
    path = tmp_path / "relu.onnx"
    path.write_bytes(models()["relu"].SerializeToString())
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA", "WARPWEAVE_CUDA", "LD_LIBRARY"))}
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=tmp_path,
                         env={**bare, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    assert ran.returncode == 0, ran.stderr
    # Where NVRTC is found all the same, there is nothing to say.
    assert ran.stdout == "" or ran.stdout.startswith("device-compiler ") and "pip install warpweave[cuda]" in ran.stdout


def test_threads_share_a_pool(bundles):
    pool, bundle = ww.Pool(2), ww.Bundle(bundles / "wide.weave")
    alone = bundle.session(threads=1)
    x = np.random.default_rng(2).standard_normal((64, 256)).astype("float32")
    wanted = alone(x)["y"]
    sessions = [bundle.session(pool=pool) for _ in range(4)]
    found, busy = [], []

    def work(session):
        for _ in range(20):
            try:
                found.append(np.array_equal(session(x)["y"], wanted))
            except ww.Error as error:
                busy.append(error.code)

    running = [threading.Thread(target=work, args=(session,)) for session in sessions * 2]
    [thread.start() for thread in running]
    [thread.join() for thread in running]
    assert all(found) and len(found) + len(busy) == 160 and set(busy) <= {"busy"}


def test_the_lock_is_released(bundles):
    session = ww.Bundle(bundles / "wide.weave").session(threads=1)
    session.bind({"x": np.ones((64, 256), "float32")})
    counted, ends = [0], threading.Event()

    def count():
        while not ends.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    usual = sys.getswitchinterval()
    # The interpreter takes the lock from no thread: the other thread goes on only where it is given up.
    sys.setswitchinterval(100)
    try:
        before = counted[0]
        for _ in range(50):
            session.run()
        after = counted[0]
    finally:
        sys.setswitchinterval(usual)
        ends.set()
        thread.join()
    assert after > before


def test_importing_is_quick():
    code = "import time; begin = time.perf_counter(); import warpweave; print(time.perf_counter() - begin)"
    seconds = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(seconds) <= 0.1


def test_the_program(bundles):
    ran = subprocess.run([sys.executable, "-m", "warpweave", "inspect", str(bundles / "relu.weave")], capture_output=True, text=True)
    assert ran.returncode == 0 and "f32[2x3]" in ran.stdout, ran
    ran = subprocess.run([sys.executable, "-m", "warpweave", "inspect"], capture_output=True, text=True)
    assert ran.returncode == 2


def test_the_names_that_stubs_promise():
    import ast

    stubs = ast.parse((ROOT / "runtime/interfaces/python/python/warpweave/__init__.pyi").read_text())
    named = {node.name for node in stubs.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {node.target.id for node in stubs.body if isinstance(node, ast.AnnAssign)}
    assert named - {"__version__"} == set(ww.__all__) - {"__version__"}
