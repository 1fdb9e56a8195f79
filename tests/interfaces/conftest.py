"""Models, bundles of them, and the libraries under test.

`WARPWEAVE_BUILD` names the folder of the build, `target/debug` unless given. The Python package is taken from there and from its
sources, unless it is installed.
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WARPWEAVE_BUILD", ROOT / "target/debug")).resolve()
PACKAGE = ROOT / "runtime/interfaces/python/python/warpweave"


def built(name):
    """A library of the build: the newest, where tests have built it beside others."""
    found = [path for path in (BUILD / name, BUILD / "deps" / name) if path.exists()]
    assert found, f"{name} is not built in {BUILD}"
    return max(found, key=lambda path: path.stat().st_mtime)


def stage_package():
    """The package with its native module, where it can be imported from."""
    folder = BUILD / "interfaces/python"
    package = folder / "warpweave"
    package.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in PACKAGE.iterdir() if path.is_file()}
    wanted["_native.abi3.so"] = built("lib_native.so")
    for name, path in wanted.items():
        link = package / name
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    return folder


if "WARPWEAVE_INSTALLED" not in os.environ:
    sys.path.insert(0, str(stage_package()))
    # Processes of tests find the same, wherever they run.
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([sys.path[0], *(os.path.abspath(path) for path in known if path)])


def model(nodes, inputs, outputs, initializers=(), name="model"):
    from onnx import TensorProto, checker, helper, numpy_helper

    def port(described):
        name, element, shape = described
        return helper.make_tensor_value_info(name, getattr(TensorProto, element), shape)

    graph = helper.make_graph(
        [helper.make_node(op, read, written, **attributes) for op, read, written, attributes in nodes],
        name, [port(one) for one in inputs], [port(one) for one in outputs],
        [numpy_helper.from_array(array, name) for name, array in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    checker.check_model(made)
    return made


def models():
    import numpy as np

    weights = np.random.default_rng(1).standard_normal((3, 4)).astype("float32")
    return {
        "relu": model([("Relu", ["x"], ["y"], {})], [("x", "FLOAT", [2, 3])], [("y", "FLOAT", [2, 3])]),
        "identity": model([("Identity", ["x"], ["y"], {})], [("x", "FLOAT", [1])], [("y", "FLOAT", [1])]),
        "gather": model([("Gather", ["x", "i"], ["y"], {})], [("x", "FLOAT", [4]), ("i", "INT64", [2])], [("y", "FLOAT", [2])]),
        "nonzero": model([("NonZero", ["x"], ["y"], {})], [("x", "FLOAT", [2, 3])], [("y", "INT64", [2, "n"])]),
        "default": model([("Add", ["x", "b"], ["y"], {})], [("x", "FLOAT", [2]), ("b", "FLOAT", [2])], [("y", "FLOAT", [2])],
                         [("b", np.array([10, 20], "float32"))]),
        "linear": model([("MatMul", ["x", "w"], ["y"], {})], [("x", "FLOAT", [2, 3])], [("y", "FLOAT", [2, 4])],
                        [("w", weights)]),
        "ones": model([("MatMul", ["x", "w"], ["y"], {})], [("x", "FLOAT", [2, 3])], [("y", "FLOAT", [2, 4])],
                      [("w", np.ones((3, 4), "float32"))]),
        "two": model([("Relu", ["x"], ["y"], {}), ("Neg", ["x"], ["z"], {})], [("x", "FLOAT", [64])],
                     [("y", "FLOAT", [64]), ("z", "FLOAT", [64])]),
        "wide": model([("MatMul", ["x", "w"], ["h"], {}), ("Relu", ["h"], ["r"], {}), ("MatMul", ["r", "v"], ["y"], {})],
                      [("x", "FLOAT", [64, 256])], [("y", "FLOAT", [64, 256])],
                      [("w", np.ones((256, 512), "float32") / 256), ("v", np.ones((512, 256), "float32") / 512)]),
    }


@pytest.fixture(scope="session")
def bundles(tmp_path_factory):
    """A folder with the bundle of every model, and of a training step: `train.weave`."""
    import warpweave as ww

    folder = tmp_path_factory.mktemp("bundles")
    made = models()
    for name, one in made.items():
        ww.compile(one, folder / f"{name}.weave")
    ww.compile(made["ones"], folder / "train.weave", loss="mse", optimizer="sgd,lr=0.5")
    damaged = bytearray((folder / "relu.weave").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "damaged.weave").write_bytes(damaged)
    return folder


@pytest.fixture(scope="session")
def compiled_c(tmp_path_factory):
    """Compiles a C or C++ program against a library; gives the path of the program."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_(source, standard, compiler=None, library="libwarpweave.so"):
        library = built(library)
        compiler = compiler or ("c++" if source.suffix == ".cpp" else "cc")
        program = folder / f"{source.stem}-{compiler}-{standard}"
        includes = [f"-I{ROOT}/runtime/interfaces/{name}/include" for name in ("c", "c_commands")]
        command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-g", *includes, str(source), "-o", str(program),
                   str(library), f"-Wl,-rpath,{library.parent}", "-lpthread"]
        subprocess.run(command, check=True)
        return program

    return compile_
