"""New constants for a bundle."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import warpweave as ww
from conftest import ROOT, built, models

FULL = bool(os.environ.get("WARPWEAVE_FULL"))


def retrained(made, change):
    """The model with its constants changed."""
    from onnx import ModelProto, numpy_helper

    new = ModelProto()
    new.CopyFrom(made)
    for initializer in new.graph.initializer:
        initializer.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(initializer)), initializer.name))
    return new


def written(folder, name, made):
    path = folder / f"{name}.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def check_equal_bytes(folder, old, change, **options):
    new = written(folder, "new", retrained(old, change))
    ww.compile(written(folder, "old", old), folder / "old.weave", **options)
    ww.compile(new, folder / "fresh.weave", **options)
    ww.command("refit", folder / "old.weave", new, output=folder / "refitted.weave")
    fresh = (folder / "fresh.weave").read_bytes()
    assert (folder / "refitted.weave").read_bytes() == fresh
    return fresh != (folder / "old.weave").read_bytes()


PRECISIONS = pytest.mark.parametrize("options", [{}, {"precision": "fp16"}], ids=["fp32", "fp16"])


@pytest.mark.parametrize("name", ["linear", "wide", "default", "relu", "gather", "nonzero"])
@PRECISIONS
def test_equal_bytes(tmp_path, name, options):
    change = check_equal_bytes(tmp_path, models()[name], lambda array: array * 0.75 + 1 if array.dtype == "float32" else array, **options)
    assert change == (name in ("linear", "wide", "default"))


def exported():
    """The files of tests/models: all of them in a full run, else one of each model."""
    files = sorted((ROOT / "tests/models").glob("*/*.onnx"))
    return files if FULL else list({path.parent: path for path in files}.values())


def test_there_are_models():
    assert len({path.parent for path in exported()}) >= 12


@pytest.mark.parametrize("path", exported(), ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("options", [{}, {"precision": "fp16"}] if FULL else [{}], ids=lambda options: options.get("precision", "fp32"))
def test_equal_bytes_of_exported_models(tmp_path, path, options):
    import onnx

    # Small constants are of the structure, such as the scales of a resize.
    def change(array):
        return array * array.dtype.type(0.75) if array.dtype == "float32" and array.size > 8 else array

    assert check_equal_bytes(tmp_path, onnx.load(path), change, **options)


def test_a_difference_names_the_node(tmp_path):
    from conftest import model

    def chain(activation):
        weights = np.ones((3, 4), "float32")
        return model([("MatMul", ["x", "w"], ["h"], {}), (activation, ["h"], ["y"], {})], [("x", "FLOAT", [2, 3])],
                     [("y", "FLOAT", [2, 4])], [("w", weights)])

    ww.compile(chain("Relu"), tmp_path / "old.weave")
    with pytest.raises(ww.Error) as raised:
        ww.command("refit", tmp_path / "old.weave", written(tmp_path, "new", chain("Neg")), output=tmp_path / "new.weave")
    assert raised.value.code == "refit" and raised.value.culprits and "y" in raised.value.message
    assert not (tmp_path / "new.weave").exists()
    ran = subprocess.run([sys.executable, "-m", "warpweave", "refit", str(tmp_path / "old.weave"), str(tmp_path / "new.onnx"), "-o",
                          str(tmp_path / "new.weave")], capture_output=True, text=True)
    assert ran.returncode == 3


def test_what_passes_decide_by_constants_is_structure(tmp_path):
    from conftest import model

    def scaled(by):
        return model([("Mul", ["x", "s"], ["y"], {})], [("x", "FLOAT", [2, 3])], [("y", "FLOAT", [2, 3])], [("s", np.float32(by))])

    ww.compile(scaled(2.0), tmp_path / "old.weave")
    new = written(tmp_path, "new", scaled(3.0))
    try:
        ww.command("refit", tmp_path / "old.weave", new, output=tmp_path / "refitted.weave")
    except ww.Error as error:
        assert error.code == "refit"
    else:
        ww.compile(new, tmp_path / "fresh.weave")
        assert (tmp_path / "refitted.weave").read_bytes() == (tmp_path / "fresh.weave").read_bytes()


@pytest.mark.parametrize("bundle, name", [("two", "wide"), ("wide", "two"), ("gather", "relu"), ("relu", "default"), ("train", "ones")])
def test_other_inputs_and_training_steps_are_refused(bundles, tmp_path, bundle, name):
    with pytest.raises(ww.Error) as raised:
        ww.command("refit", bundles / f"{bundle}.weave", written(tmp_path, "new", models()[name]), output=tmp_path / "no.weave")
    assert raised.value.code == "refit" and not (tmp_path / "no.weave").exists()


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    from conftest import model

    def wide(factor):
        weights = np.random.default_rng(2).standard_normal((512, 4096)).astype("float32") * np.float32(factor)
        return model([("MatMul", ["x", "w"], ["y"], {})], [("x", "FLOAT", [2, 512])], [("y", "FLOAT", [2, 4096])], [("w", weights)])

    new = written(tmp_path, "new", wide(2))
    ww.compile(wide(1), tmp_path / "old.weave")
    ww.compile(new, tmp_path / "fresh.weave")
    old, fresh = ((tmp_path / name).read_bytes() for name in ("old.weave", "fresh.weave"))
    folder = tmp_path / "folder"
    folder.mkdir()
    place = folder / "place.weave"
    command = [sys.executable, "-m", "warpweave", "refit", str(place), str(new), "-o", str(place)]

    def seen():
        there = place.stat()
        return os.listdir(folder), there.st_ino, there.st_size, there.st_mtime_ns

    draw, found, written_to = random.Random(5), set(), 0
    for number in range(300 if FULL else 20):
        for left in folder.iterdir():
            left.unlink()
        place.write_bytes(old)
        before = seen()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # One in five dies at any time, the others when something in the folder changes, or soon after.
        if number % 5 == 0:
            time.sleep(draw.uniform(0, 0.2))
        else:
            while process.poll() is None and seen() == before:
                pass
            time.sleep(draw.uniform(0, 0.01))
        process.send_signal(signal.SIGKILL)
        process.wait()
        data = place.read_bytes()
        assert data in (old, fresh), number
        found.add(data == fresh)
        written_to += len(list(folder.iterdir())) > 1
    # Kills came before, while and after the file was written.
    assert found == {False, True} and written_to > 0
    ww.command("refit", place, new, output=place)
    assert place.read_bytes() == fresh


def test_from_c(compiled_c, tmp_path):
    program = compiled_c(ROOT / "tests/interfaces/command.c", "c11", library="libwarpweave_commands.so")
    new = written(tmp_path, "new", retrained(models()["wide"], lambda array: array * 2))
    ww.compile(models()["wide"], tmp_path / "old.weave")
    ww.compile(new, tmp_path / "fresh.weave")

    def said(model):
        words = [program, "refit", tmp_path / "old.weave", model, "-o", tmp_path / "refitted.weave"]
        ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
        return ran.returncode, ran.stdout

    code, text = said(new)
    assert code == 0 and '"schema": "warpweave.refit/1"' in text, text
    assert (tmp_path / "refitted.weave").read_bytes() == (tmp_path / "fresh.weave").read_bytes()
    code, text = said(written(tmp_path, "other", models()["two"]))
    assert code == 3 and '"code": "refit"' in text, text


def test_the_commands_export_their_interface_only():
    header = (ROOT / "runtime/interfaces/c_commands/include/warpweave_commands.h").read_text()
    symbols = subprocess.run(["nm", "-D", "--defined-only", str(built("libwarpweave_commands.so"))], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert names == set(re.findall(r"\b(ww_command\w*)\(", header)) and len(names) == 3
