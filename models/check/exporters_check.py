"""Models as exporters and optimisers write them, against ONNX Runtime.

Every model of the folder `exporters` is run in ONNX Runtime. `warpweave compare` compares every device of --device with
the outputs of that run. The device code of `warpweave compile --target host,TARGET` must pass the gates. Prints one
line a model; exits with 1 if anything failed.

    PYTHONPATH=.onnxruntime:models/check python3 models/check/exporters_check.py [MODEL ...]
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

import exporters


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names; all models if left out")
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--device", default="reference,host,emulator")
    parser.add_argument("--target", default="sm_90a", help="what is compiled beside the host; `none` leaves it out")
    parser.add_argument("--keep", help="a folder in which models and archives stay")
    return parser.parse_args()


def expected(case):
    """The outputs of ONNX Runtime, by position, without its own rewrites."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, case.inputs)


def failures(case, folder, options):
    """What does not work, a line each."""
    model, archive = folder / f"{case.model.graph.name}.onnx", folder / f"{case.model.graph.name}.npz"
    onnx.checker.check_model(case.model)
    onnx.save(case.model, model)
    outputs = expected(case)
    arrays = {f"in_{name}": value for name, value in case.inputs.items() if name not in case.constants}
    arrays |= {f"out_{position}": value for position, value in enumerate(outputs)}
    numpy.savez(archive, **arrays)
    fixed = [part for name, value in case.constants.items() for part in ("--constant", f"{name}={value}")]
    free = [value for value in case.model.graph.input if value.name not in case.constants]
    has_open = lambda value: any(not dimension.HasField("dim_value") for dimension in value.type.tensor_type.shape.dim)
    shapes = [part for value in free if has_open(value)
              for part in ("--shape", f"{value.name}={'x'.join(map(str, case.inputs[value.name].shape))}")]
    commands = {device: ["compare", model, "--io", archive, "--device", device, "--rtol", str(case.rtol), "--atol", str(case.atol)]
                for device in options.device.split(",")}
    if options.target != "none":
        commands[options.target] = ["compile", model, "-o", folder / f"{case.model.graph.name}.weave", "--target",
                                    f"host,{options.target}", *shapes]
    for title, command in commands.items():
        done = subprocess.run([options.warpweave, *map(str, command), *fixed], capture_output=True, text=True)
        if done.returncode:
            yield f"{title}: exit {done.returncode}: {(done.stdout + done.stderr).strip()}"


def main():
    options = arguments()
    failed, known = False, exporters.cases()
    if unknown := set(options.models) - set(known):
        sys.exit(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, build in known.items():
            if options.models and name not in options.models:
                continue
            start = time.monotonic()
            found = list(failures(build(), folder, options))
            failed |= bool(found)
            print(f"{name}: {'failed' if found else 'ok'}, {time.monotonic() - start:.1f} s", flush=True)
            for line in found:
                print(f"  {line}", flush=True)
    sys.exit(failed)


main()
