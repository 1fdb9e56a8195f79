"""Checks exported benchmark models against ONNX's own checker and ONNX Runtime.

For every model:
- `warpweave models export` and `onnx.checker`;
- a run in ONNX Runtime on seeded inputs, whose outputs must be finite and not constant;
- `warpweave compare` on every device of --device against those outputs;
- with --target `warpweave compile`.

Needs Python with numpy, onnx and onnxruntime; scripts/fetch_onnxruntime.sh fetches them. Prints one line a model and
form; exits with 1 if anything failed.

    PYTHONPATH=.onnxruntime python3 models/check/onnxruntime_check.py [--full] [MODEL ...]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

# The fewest models, so that lost ones fail.
FEWEST_MODELS = 19
ELEMENTS = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names; all models if left out")
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--full", action="store_true", help="at full size instead of reduced")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--precision", choices=["fp32", "fp16"], default="fp32")
    parser.add_argument("--form", choices=["nodes", "unrolled", "both"], default="both", help="of recurrent models")
    parser.add_argument("--device", default="host", help="what `warpweave compare` runs on, such as reference,host; `none` "
                                                         "leaves it out")
    parser.add_argument("--target", help="what `warpweave compile` compiles for, such as sm_90a; nothing if left out")
    parser.add_argument("--time-limit", type=float, default=600, help="seconds for one comparison")
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-5,
                        help="the absolute error that passes beside the relative one; at least a tenth of the relative "
                             "one times the deviation of the outputs passes, since sums cancel to small numbers")
    return parser.parse_args()


def index_limits(path):
    """The smallest number of rows that each integer input picks from, through nodes that only move elements."""
    model = onnx.load(path, load_external_data=False)
    rows = {tensor.name: tensor.dims[0] for tensor in model.graph.initializer if tensor.dims}
    sources = {value.name: {value.name} for value in model.graph.input}
    limits = {}
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in rows:
            for source in sources.get(node.input[1], ()):
                limits[source] = min(limits.get(source, 1 << 62), rows[node.input[0]])
        elif node.op_type in ("Split", "Squeeze", "Unsqueeze", "Transpose", "Reshape", "Slice", "Identity"):
            for output in node.output:
                sources[output] = sources.get(node.input[0], set())
    return limits


def inputs(session, limits):
    """Seeded inputs: normally distributed numbers, indices below their limit."""
    random = numpy.random.default_rng(2024)
    arrays = {}
    for value in session.get_inputs():
        element = ELEMENTS[value.type]
        if element is numpy.int64:
            arrays[value.name] = random.integers(0, limits.get(value.name, 2), value.shape).astype(element)
        else:
            arrays[value.name] = random.standard_normal(value.shape).astype(element)
    return arrays


def measured(command, limit):
    """The finished process, its seconds, and its peak memory in MB."""
    start = time.monotonic()
    wrapped = [sys.executable, "-c", MEASURE, *command]
    try:
        done = subprocess.run(wrapped, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, limit, 0.0
    peak = float(done.stderr.rsplit("peak_kb=", 1)[-1]) / 1024
    return done, time.monotonic() - start, peak


MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print("peak_kb=%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def check(name, form, options, folder):
    row = {"model": name, "form": form}
    path = folder / f"{name}.onnx"
    command = [options.warpweave, "models", "export", name, "-o", str(path), "--json", "--form", form]
    command += ["--batch", str(options.batch), "--precision", options.precision]
    command += [] if options.full else ["--reduced"]
    done, row["export_s"], row["export_mb"] = measured(command, options.time_limit)
    if done is None or done.returncode:
        raise RuntimeError(f"export failed: {done.stderr if done else 'out of time'}")
    written = json.loads(done.stdout)
    row.update({key: written[key] for key in ("parameters", "nodes", "bytes")})
    onnx.checker.check_model(str(path), full_check=written["bytes"] < 1 << 30)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    given = inputs(session, index_limits(str(path)))
    start = time.monotonic()
    found = session.run(None, given)
    row["ort_s"] = time.monotonic() - start
    del session
    deviations = [float(output.astype(numpy.float64).std()) for output in found]
    row["deviation"] = deviations[0]
    if not all(numpy.isfinite(output).all() for output in found):
        raise RuntimeError("an output is not finite")
    several = [deviation for deviation, output in zip(deviations, found) if output.size > 1]
    if any(deviation < 1e-4 or deviation > 1e4 for deviation in several):
        raise RuntimeError(f"an output is degenerate: deviations {deviations[:4]}")
    if options.target:
        command = [options.warpweave, "compile", str(path), "-o", str(folder / "x.weave"), "--target", options.target]
        done, row["compile_s"], _ = measured(command, options.time_limit)
        if done is None or done.returncode:
            raise RuntimeError(f"{options.target}: {done.stderr[-400:] if done else 'out of time'}")
    if options.device == "none":
        return row
    arrays = {f"in_{key}": array for key, array in given.items()}
    arrays.update({f"out_{at}": output for at, output in enumerate(found)})
    numpy.savez(folder / "io.npz", **arrays)
    del found, given, arrays
    atol = max(options.atol, 0.1 * options.rtol * min(several, default=0.0))
    row.update(compare_s=0.0, compare_mb=0.0, worst=0.0)
    for device in options.device.split(","):
        compare(device, path, atol, options, folder, row)
    return row


def compare(device, path, atol, options, folder, row):
    """`warpweave compare` on one device; its time, peak and worst error are added to the row."""
    command = [options.warpweave, "compare", str(path), "--io", str(folder / "io.npz"), "--device", device, "--json"]
    command += ["--rtol", str(options.rtol), "--atol", str(atol)]
    done, seconds, peak = measured(command, options.time_limit)
    if done is None:
        raise RuntimeError(f"{device}: no result after {options.time_limit:.0f} s")
    try:
        verdict = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise RuntimeError(f"{device}: exit code {done.returncode}: {done.stderr[-400:]}") from None
    if not verdict.get("passed"):
        bad = [output for output in verdict.get("outputs", []) if not output["passed"]]
        raise RuntimeError(f"{device} differs: {json.dumps(bad[:1]) if bad else verdict}")
    row["compare_s"] += seconds
    row["compare_mb"] = max(row["compare_mb"], peak)
    row["worst"] = max(row["worst"], *(output.get("worst", {}).get("absolute", 0.0) for output in verdict["outputs"]))


def line(row):
    def number(key, text):
        return text.format(row[key]) if key in row else "-"

    return " | ".join([
        row["model"], row["form"], number("parameters", "{:,}"), number("nodes", "{}"),
        number("bytes", "{:,}"), number("export_s", "{:.1f} s"), number("export_mb", "{:.0f} MB"),
        number("ort_s", "{:.2f} s"), number("deviation", "{:.3g}"), number("compile_s", "{:.1f} s"),
        number("compare_s", "{:.1f} s"), number("compare_mb", "{:.0f} MB"), number("worst", "{:.1e}"), row.get("error", "ok"),
    ])


HEAD = "model | form | parameters | nodes | bytes | export | peak | onnxruntime | deviation | compile | compare | peak | worst | "


def main():
    options = arguments()
    listed = json.loads(subprocess.run([options.warpweave, "models", "list", "--json"], check=True,
                                       capture_output=True, text=True).stdout)["models"]
    unknown = set(options.models) - {model["name"] for model in listed}
    if unknown:
        sys.exit(f"no such model: {', '.join(sorted(unknown))}")
    if len(listed) < FEWEST_MODELS:
        sys.exit(f"{len(listed)} models are there, and there must be {FEWEST_MODELS}")
    checked, failed = 0, 0
    print(HEAD, flush=True)
    for model in listed:
        if options.models and model["name"] not in options.models:
            continue
        for form in model["forms"]:
            if options.form not in ("both", form) and len(model["forms"]) > 1:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    row = check(model["name"], form, options, pathlib.Path(folder))
                except Exception as error:  # Every model is reported, whatever goes wrong with one.
                    row = {"model": model["name"], "form": form, "error": f"{type(error).__name__}: {error}"}
                    failed += 1
            print(line(row), flush=True)
            checked += 1
    print(f"{checked - failed} of {checked} models and forms passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
