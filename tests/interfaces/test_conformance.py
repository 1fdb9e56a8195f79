"""One list of cases, `cases.txt`, through C, Python and Rust."""

import os
import re
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import warpweave as ww
from conftest import ROOT, built, model

FOLDER = ROOT / "tests/interfaces"
CASES = FOLDER / "cases.txt"
HEADER = (ROOT / "runtime/interfaces/c/include/warpweave.h").read_text()
DRIVERS = {"c": FOLDER / "conformance.c", "python": FOLDER / "conformance.py", "rust": ROOT / "runtime/examples/conformance.rs"}
MODIFIERS = {"in_child", "in_two_threads", "repeat"}

# The address space of a driver: `huge.weave` takes four times as much.
MOST_BYTES = 12 << 30

# What no case brings about, and why.
UNREACHABLE = {
    "bundle-apart": "compiling alone says so",
    "bundle-plan": "a bundle that is sealed and unsound, as the tests `cli` forge them",
    "bundle-program": "as above",
    "device": "builds without the feature `compile` say so",
    "emulator-order": "an error of warpweave",
    "emulator-violation": "an error of warpweave",
    "host": "an error of warpweave, or a process without threads",
    "internal": "an error of warpweave",
    "machine-code": "a device of developers: the trials `machine_code`",
    "text": "a device of developers: the trials `lowering`",
}
UNREACHABLE_STATUSES = {"WW_OK": "no error", "WW_CHECK": "an error of warpweave"}

# What a caller does wrong, and the case of it.
BAD_INPUT = {
    "null handles": "null_handles",
    "destroyed handles": "destroyed_handles",
    "wrong types": "wrong_type",
    "wrong shapes": "wrong_shape",
    "overlapping buffers": "overlapping_memory",
    "arrays that are not contiguous": "strided_array",
    "wrong alignment": "unaligned_array",
    "big-endian arrays": "big_endian_array",
    "a shape beyond all bounds": "shape_beyond_bounds",
    "a bundle of a newer format": "newer_bundle",
    "a damaged bundle from memory": "damaged_bundle_in_memory",
    "a truncated bundle": "truncated_bundle",
    "two threads on one handle": "two_threads",
    "a fork after opening": "fork",
    "an index out of range": "index_out_of_range",
    "a session after a fault, until it is reset": "fault",
    "a state of another shape": "wrong_state",
    "an unknown device": "unknown_device",
}


def lines():
    """Every line of the list with the interfaces that it is for."""
    of_case = set(DRIVERS)
    for line in CASES.read_text().splitlines():
        who, _, rest = line.partition(": ")
        limited = rest and set(who.split(",")) <= set(DRIVERS)
        line, who = (rest, set(who.split(","))) if limited else (line, set(DRIVERS))
        of_case = who if line.startswith("case ") else of_case
        if line and not line.startswith("#"):
            yield line, who & of_case


def cases():
    """The interfaces of each case, and its device, by its name."""
    found = {}
    for line, who in lines():
        if match := re.match(r"case (\w+): [A-Z].+\.$", line):
            assert match[1] not in found, match[1]
            found[match[1]] = who, ""
        elif line.startswith("driver "):
            name = list(found)[-1]
            found[name] = found[name][0], line.split()[1]
    return found


def steps():
    """Every step: its verb, the sort and the name of the error with which it fails, and its interfaces."""
    for line, who in lines():
        if line.startswith(("case ", "driver ")):
            continue
        words, _, expected = line.partition(" ! ")
        verb = next(word for word in words.split() if word not in MODIFIERS and not word.isdigit())
        yield verb, tuple(expected.split()[:2]), who


def copied(source, target, change=lambda name, data: data, more=()):
    """A bundle with other entries: `change` gives an entry's bytes, or None where it is left out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
        for name, data in more:
            new.writestr(name, data)
        new.comment = old.comment


@pytest.fixture(scope="session")
def folder(bundles):
    """The bundles of conftest.py, and those that are unfit."""
    import onnx

    made = bundles / "relu.weave"
    newer = lambda name, data: re.sub(rb'"format_version":\s*\d+', b'"format_version": 9999', data) if name == "manifest.json" else data
    copied(made, bundles / "newer.weave", newer)
    copied(made, bundles / "foreign.weave", more=[("notes.txt", b"none of a bundle")])
    copied(made, bundles / "incomplete.weave", lambda name, data: None if name == "weights.safetensors" else data)
    copied(made, bundles / "headless.weave", lambda name, data: None if name == "manifest.json" else data)
    (bundles / "truncated.weave").write_bytes(made.read_bytes()[:-100])
    weights = np.ones((64, 64), "float32")
    ports = [("x", "FLOAT", [2, 64])], [("y", "FLOAT", [2, 64])]
    onnx.save(model([("MatMul", ["x", "w"], ["y"], {})], *ports, [("w", weights)]), str(bundles / "apart.onnx"), save_as_external_data=True,
              location="apart.bin", size_threshold=0)
    ww.compile(bundles / "apart.onnx", bundles / "apart.weave", weights="beside")
    (bundles / "apart.bin").unlink()
    huge = [MOST_BYTES >> 20, 1 << 20]
    ww.compile(model([("Expand", ["x", "shape"], ["y"], {})], [("x", "FLOAT", [1])], [("y", "FLOAT", huge)],
                     [("shape", np.array(huge, "int64"))]), bundles / "huge.weave")
    return bundles


@pytest.fixture(scope="session")
def gpu_folder(folder):
    """The same with bundles for GPUs."""
    chain = [("MatMul", ["x", "w"], ["h"], {}), ("Relu", ["h"], ["r"], {}), ("MatMul", ["r", "w"], ["y"], {})]
    # Of several units, which wait for each other.
    ports = [("x", "FLOAT", [16, 256])], [("y", "FLOAT", [16, 256])]
    broad = [("x", "FLOAT", [1 << 18])], [("y", "FLOAT", [1 << 18])]
    try:
        ww.compile(model(chain, *ports, [("w", np.ones((256, 256), "float32"))]), folder / "gpu.weave", targets=["host", "sm_90a"],
                   backend="persistent")
        ww.compile(model([("Relu", ["x"], ["y"], {})], *broad), folder / "broad.weave", targets=["sm_90a"])
    except ww.Error as error:
        if error.code != "device-compiler":
            raise
        pytest.skip("there is no NVRTC")
    return folder


def run(interface, folder, compiled_c, device="", cases=CASES):
    """What a driver prints, and how it ends."""
    if interface == "c":
        command = [compiled_c(DRIVERS["c"], "c11")]
    elif interface == "python":
        command = [sys.executable, DRIVERS["python"]]
    else:
        command = [built("examples/conformance")]
    surroundings = {name: value for name, value in os.environ.items() if name != "WARPWEAVE_DRIVER"}
    surroundings |= {"WARPWEAVE_DRIVER": device} if device else {}
    ran = subprocess.run([*map(str, command), str(cases), str(folder)], capture_output=True, text=True, timeout=120, env=surroundings,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)))
    return ran.stdout.splitlines(), ran


@pytest.mark.parametrize("device", sorted({device for _, device in cases().values()}))
@pytest.mark.parametrize("interface", DRIVERS)
def test_every_case(request, compiled_c, interface, device):
    told, ran = run(interface, request.getfixturevalue("gpu_folder" if device else "folder"), compiled_c, device)
    assert [line for line in told if not line.startswith("ok ")] == [] and ran.returncode == 0, ran
    wanted = {name for name, (who, on) in cases().items() if interface in who and on == device}
    assert {line.split()[1] for line in told} == wanted


@pytest.mark.parametrize("interface", DRIVERS)
def test_a_wrong_list_fails(folder, compiled_c, tmp_path, interface):
    text = CASES.read_text()
    changes = [("session_output s y f32[2x3] 7 2 0 4 0 6", "session_output s y f32[2x3] 7 2 0 4 0 8"),
               ("session_bind_input s x f32[5] ! usage input", "session_bind_input s x f32[5] ! usage argument"),
               ("session_output s y f32[2] 6 7", "session_output s y f32[2] 6 7 ! usage input"),
               ("holds -5\n", "holds 5\n")]
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    changed = tmp_path / "cases.txt"
    changed.write_text(text)
    told, ran = run(interface, folder, compiled_c, cases=changed)
    failures = [line for line in told if line.startswith("FAILED ")]
    numbers = {1 + text.splitlines().index(line) for _, after in changes for line in text.splitlines() if after.strip() in line}
    assert ran.returncode == 1 and {int(re.search(r" line (\d+): ", line)[1]) for line in failures} == numbers, ran
    assert {line.split()[1] for line in failures} == {"run", "wrong_bytes", "default", "index_out_of_range"}


def test_every_function_is_in_a_case():
    source, verbs = DRIVERS["c"].read_text(), {verb for verb, _, who in steps() if "c" in who}
    functions = set(re.findall(r"\bww_(\w+)\(", HEADER))
    # What the driver calls around every step.
    around = {"error_code", "error_name", "error_message", "error_help", "error_free", "log_to"}
    assert len(functions) > 30 and functions - around - verbs == set()
    assert {name for name in functions if not re.search(rf"\bww_{name}\b", source)} == set()
    known = set(re.findall(r"VERB\((\w+), \d\)", source))
    assert known == verbs


def test_every_error_is_in_a_case():
    folder, names = ROOT / "runtime", set()
    for path in ("src/session/error.rs", "src/bundle/error.rs"):
        body = (folder / path).read_text().split("fn code(&self)")[1].split("\n    }\n")[0]
        names |= set(re.findall(r'=> "([a-z-]+)"', body))
    names |= set(re.findall(r'name: "([a-z-]+)"', (folder / "interfaces/c/src/error.rs").read_text()))
    for path in ("src/error.rs", "python/warpweave/_session.py", "python/warpweave/_arrays.py"):
        text = (folder / "interfaces/python" / path).read_text()
        names |= set(re.findall(r'(?:exception\(|code=)"([a-z-]+)"', text))
    expected = {failure[1] for _, failure, _ in steps() if failure}
    assert {"busy", "handle", "input", "argument", "bundle-damaged"} <= names
    assert names - expected == set(UNREACHABLE) and expected <= names
    # Python and Rust have no handles that were closed, and Rust none that two threads use.
    for interface, lacks in {"c": set(), "python": {"handle"}, "rust": {"handle", "busy"}}.items():
        assert {failure[1] for _, failure, who in steps() if failure and interface in who} == expected - lacks, interface
    statuses = set(re.findall(r"\b(WW_[A-Z_]+) = \d", HEADER.split("} ww_status;")[0]))
    sorts = {"WW_" + failure[0].upper().replace("-", "_") for _, failure, _ in steps() if failure}
    assert statuses - sorts == set(UNREACHABLE_STATUSES)


def test_bad_input_is_in_a_case():
    found = cases()
    assert {what for what, name in BAD_INPUT.items() if name not in found} == set()
    failing, name = set(), None
    for line, _ in lines():
        name = match[1] if (match := re.match(r"case (\w+):", line)) else name
        failing |= {name} if " ! " in line else set()
    assert set(BAD_INPUT.values()) <= failing


def test_every_name_of_the_package_is_in_a_case():
    source = DRIVERS["python"].read_text()
    # What concerns no session: commands, which test_python.py tests.
    elsewhere = {"bench", "command", "compare", "compile", "doctor", "explain", "inspect"}
    assert {name for name in set(ww.__all__) - elsewhere if f"ww.{name}" not in source} == set()
    methods = {name for kind in (ww.Bundle, ww.Session) for name in vars(kind) if not name.startswith("_")}
    # Bundles open sessions with what `ww.open` opens them.
    assert {name for name in methods if not re.search(rf"\.{name}\b", source)} == {"session"}


def test_every_method_of_the_crate_is_in_a_case():
    source, folder = DRIVERS["rust"].read_text(), ROOT / "runtime/src/session"
    methods = set()
    for path in ("deployment.rs", "model.rs"):
        methods |= set(re.findall(r"^    pub fn (\w+)", (folder / path).read_text(), re.MULTILINE))
    # `open` of a deployment makes sessions of models.
    assert {"open", "open_on_pool", "run_on", "reset", "fault"} <= methods
    assert {name for name in methods - {"new"} if not re.search(rf"\.{name}\(", source)} == set()
    assert {name for name in ("Bundle::open", "Bundle::from_bytes", "states", "set_states", "advance") if f"{name}(" not in source} == set()
