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


@pytest.mark.parametrize("name", ["linear", "wide", "default", "relu", "gather", "nonzero"])
@pytest.mark.parametrize("options", [{}, {"precision": "fp16"}], ids=["fp32", "fp16"])
def test_equal_bytes(tmp_path, name, options):
    old = models()[name]
    new = written(tmp_path, "new", retrained(old, lambda array: array * 0.75 + 1 if array.dtype == "float32" else array))
    ww.compile(written(tmp_path, "old", old), tmp_path / "old.weave", **options)
    ww.compile(new, tmp_path / "fresh.weave", **options)
    ww.command("refit", tmp_path / "old.weave", new, output=tmp_path / "refitted.weave")
    assert (tmp_path / "refitted.weave").read_bytes() == (tmp_path / "fresh.weave").read_bytes()


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


def test_other_inputs_and_training_steps_are_refused(bundles, tmp_path):
    for bundle in ("two", "train"):
        with pytest.raises(ww.Error):
            ww.command("refit", bundles / f"{bundle}.weave", written(tmp_path, "new", models()["wide"]), output=tmp_path / "no.weave")


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path):
    old, made = written(tmp_path, "old", models()["wide"]), retrained(models()["wide"], lambda array: array * 2)
    new, place = written(tmp_path, "new", made), tmp_path / "place.weave"
    ww.compile(old, tmp_path / "old.weave")
    ww.compile(new, tmp_path / "fresh.weave")
    allowed = {(tmp_path / name).read_bytes() for name in ("old.weave", "fresh.weave")}
    kills = 300 if os.environ.get("WARPWEAVE_FULL") else 20
    draw, found = random.Random(5), set()
    for _ in range(kills):
        place.write_bytes((tmp_path / "old.weave").read_bytes())
        command = [sys.executable, "-m", "warpweave", "refit", str(place), str(new), "-o", str(place)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.02, 0.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
        data = place.read_bytes()
        assert data in allowed
        found.add(data)
    assert found


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
