#!/usr/bin/env python3
"""Runs two sessions from eight threads, library and caller instrumented by ThreadSanitizer: no race may be reported. Then plants races
in a copy of the tree, one after the other; each must be reported.

    python3 scripts/thread_sanitizer.py --warpweave PROGRAM

The sanitizer is rustc's, which its stable releases have behind RUSTC_BOOTSTRAP. Rust's standard library is not instrumented;
tests/interfaces/threads.supp says what that takes.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
INTERFACES = ROOT / "tests/interfaces"
TREE = ROOT / "target/sanitized-tree"
BUILD = ROOT / "target/sanitized"
MODEL = ROOT / "tests/models/resnet_bottleneck/torchscript.onnx"
HOST = "x86_64-unknown-linux-gnu"
RUNS = 1000
# File, what stands there, and what makes a race of it: the end of a run, and the end of an rTask that others read from.
PLANTED = [
    ("runtime/src/host/pool.rs", "left.fetch_add(1, Ordering::Release)", "left.fetch_add(1, Ordering::Relaxed)"),
    ("runtime/src/host/launch.rs", "fetch_add(growth, Ordering::Release)", "fetch_add(growth, Ordering::Relaxed)"),
]


def write(name, text):
    """A file of the copy; one that stays as it is keeps its time, so that cargo builds only what differs."""
    path = TREE / name
    if not path.is_file() or path.read_bytes() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def copy_tree():
    listed = subprocess.run(["git", "ls-files", "-z", "*.rs", "*.toml", "*.lock", "*.cuh", "*.hpp"], cwd=ROOT, check=True,
                            capture_output=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            write(name, (ROOT / name).read_bytes())


def build(folder):
    """The program of eight threads with the library, both instrumented."""
    flags = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
    cargo = ["cargo", "build", "--quiet", "--profile", "test", "-p", "warpweave-c", "--lib", "--target", HOST, "--target-dir", BUILD]
    subprocess.run(cargo, cwd=TREE, check=True, env={**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": flags, "CARGO_INCREMENTAL": "0"})
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    runtime = f"{sysroot}/lib/rustlib/{HOST}/lib/librustc-stable_rt.tsan.a"
    library = BUILD / HOST / "debug"
    caller, program = folder / "threads.o", folder / "threads"
    include = ROOT / "runtime/interfaces/c/include"
    subprocess.run(["cc", "-std=c11", "-g", "-O1", "-fsanitize=thread", f"-I{include}", "-c", INTERFACES / "threads.c", "-o", caller],
                   check=True)
    # One runtime for both: rustc's, which knows what gcc's instrumentation calls.
    subprocess.run(["cc", "-no-pie", caller, "-o", program, "-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive",
                    "-Wl,--export-dynamic", library / "libwarpweave.so", f"-Wl,-rpath,{library}", "-lpthread", "-ldl", "-lm", "-lrt"],
                   check=True)
    return program


def reports(program, bundle):
    """The races that are reported, a line each; and whether the program says that all went well."""
    options = f"suppressions={INTERFACES / 'threads.supp'} exitcode=0"
    ran = subprocess.run([program, bundle, str(RUNS)], capture_output=True, text=True, timeout=1200,
                         env={**os.environ, "TSAN_OPTIONS": options})
    return [line for line in ran.stderr.splitlines() if line.startswith("SUMMARY")], ran.returncode == 0, ran.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        bundle = folder / "model.weave"
        subprocess.run([arguments.warpweave, "-q", "compile", MODEL, "--target", "host", "-o", bundle], check=True, stdout=subprocess.DEVNULL)
        copy_tree()
        found, passed, said = reports(build(folder), bundle)
        print(f"{RUNS} runs, threads of their own and a pool: {len(found)} races")
        if found or not passed:
            print(said, file=sys.stderr)
            failures += 1
        for name, there, planted in PLANTED:
            text = (ROOT / name).read_text()
            assert text.count(there) == 1, f"{name} has not one `{there}`"
            write(name, text.replace(there, planted).encode())
            found, _, _ = reports(build(folder), bundle)
            write(name, text.encode())
            print(f"{name} with `{planted}`: {len(found)} races")
            failures += not found
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
