"""The library from C and C++."""

import re
import shutil
import subprocess

import pytest

from conftest import ROOT, built

FOLDER = ROOT / "tests/interfaces"
INTERFACE = ROOT / "runtime/interfaces/c"
HEADER = (INTERFACE / "include/warpweave.h").read_text()


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("compiler", ["cc", "clang"])
@pytest.mark.parametrize("standard", ["c11", "c17"])
def test_calls_beside_the_cases(bundles, compiled_c, compiler, standard):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    ran = run(compiled_c(FOLDER / "calls.c", standard, compiler), bundles)
    assert ran.returncode == 0, ran.stderr


def test_only_the_interface_is_exported():
    symbols = run("nm", "-D", "--defined-only", built("libwarpweave.so")).stdout.split("\n")
    names = {line.split()[-1] for line in symbols if line.strip()}
    assert names and {name for name in names if not name.startswith("ww_")} == set()
    assert names == set(re.findall(r"\b(ww_\w+)\(", HEADER))


@pytest.mark.parametrize("source,standards", [("run.c", ["c11", "c17"]), ("run.cpp", ["c++17"])])
def test_the_examples(bundles, compiled_c, source, standards):
    for standard in standards:
        ran = run(compiled_c(INTERFACE / "examples" / source, standard), bundles / "relu.weave")
        assert (ran.returncode, ran.stdout.split()) == (0, ["1"] * 6), ran.stderr
        ran = run(compiled_c(INTERFACE / "examples" / source, standard), bundles / "absent.weave")
        assert ran.returncode == 1 and "bundle-file" in ran.stderr


def test_the_example_is_short():
    lines = (INTERFACE / "examples/run.c").read_text().splitlines()
    assert len(lines[lines.index("int main(int argc, char **argv) {"):]) <= 20


def test_valgrind_finds_nothing(bundles, compiled_c):
    if shutil.which("valgrind") is None:
        pytest.skip("there is no valgrind")
    source = FOLDER / "repeat.c"
    command = ["valgrind", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q"]
    ran = run(*command, compiled_c(source, "c11"), bundles / "relu.weave", 50)
    if "unhandled instruction" in ran.stderr or ran.returncode in (-4, 132):
        pytest.skip("valgrind knows no instruction set of this processor")
    assert ran.returncode == 0, ran.stderr
