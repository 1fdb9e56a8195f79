"""Every command and call of docs/migrate.md runs."""

import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, models


def rows():
    """What stands in the right-hand column: the code of each row of its tables."""
    found = []
    for line in (ROOT / "docs/migrate.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 2 and "`" in cells[1]:
            found.append(cells[1].split("`")[1])
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import warpweave as ww

    folder = tmp_path_factory.mktemp("migrate")
    linear = models()["linear"]
    (folder / "m.onnx").write_bytes(linear.SerializeToString())
    x = np.full((2, 3), 0.5, "float32")
    np.save(folder / "x.npy", x)
    y = ww.compile(linear, folder / "m.weave").session()(x=x)["y"]
    np.savez(folder / "io.npz", in_x=x, out_y=y)
    return folder


def test_there_are_rows():
    assert len(rows()) >= 20 and sum(not row.startswith("warpweave ") for row in rows()) >= 5


@pytest.mark.parametrize("row", rows())
def test_a_row_runs(folder, row, monkeypatch):
    monkeypatch.chdir(folder)
    if row.startswith("warpweave "):
        for name in ("results.npz", "new.weave"):
            (folder / name).unlink(missing_ok=True)
        command = [sys.executable, "-m", "warpweave", *shlex.split(row)[1:]]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=dict(os.environ))
        assert ran.returncode == 0, ran.stderr
    else:
        import warpweave

        x, y = np.load("x.npy"), np.zeros((2, 4), "float32")
        session = warpweave.open("m.weave")
        exec(row, {"warpweave": warpweave, "session": session, "x": x, "y": y, "t": y})
