"""The library from Rust: its examples, as they are built."""

import re
import subprocess

import numpy as np

from conftest import ROOT, built, models


def run(example, *words):
    command = [str(built(f"examples/{example}")), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_bundle_is_run_without_a_compiler(bundles, tmp_path):
    x = np.array([[-1, 2, -3], [4, -5, 6]], "float32")
    np.savez(tmp_path / "in.npz", x=x)
    ran = run("load", bundles / "relu.weave", tmp_path / "in.npz", tmp_path / "out.npz")
    assert ran.returncode == 0, ran.stderr
    assert np.array_equal(np.load(tmp_path / "out.npz")["y"], np.maximum(x, 0))
    ran = run("load", bundles / "damaged.weave", tmp_path / "in.npz", tmp_path / "none.npz")
    assert ran.returncode == 1 and "error: " in ran.stderr


def test_a_model_is_compiled_and_run(tmp_path):
    (tmp_path / "relu.onnx").write_bytes(models()["relu"].SerializeToString())
    ran = run("run", tmp_path / "relu.onnx")
    assert ran.returncode == 0 and ran.stdout.startswith("y f32[2x3]: ") and ran.stdout.count("1.0") == 6, ran


def test_the_example_is_ten_lines():
    lines = (ROOT / "compiler/examples/run.rs").read_text().splitlines()
    assert len(lines[lines.index("fn main() -> Result<(), Box<dyn Error>> {") + 1:-1]) <= 10


def test_pages_show_the_examples():
    """Every line of Rust in the pages stands in an example."""
    examples = "".join((ROOT / path).read_text() for path in ("compiler/examples/run.rs", "runtime/examples/load.rs"))
    known = {line.strip() for line in examples.splitlines()}
    for page in ("docs/deploy.md", "docs/interfaces.md"):
        [shown] = re.findall(r"^```rust\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
        assert {line.strip() for line in shown.splitlines()} - known == {""} - known, page
