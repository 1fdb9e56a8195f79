"""Models as simplifiers rewrite them: warpweave must compute of the rewritten model what it computes of the original.

The reduced benchmark models, PyTorch's exports of tests/models and the models of the folder `exporters` go through onnxslim,
onnxsim, onnxoptimizer and onnxscript's optimizer. `warpweave run --device host` gives the outputs of each original, and
`warpweave compare` compares each rewritten model with them on every device of --device. Where a simplifier fails, or ONNX
Runtime finds other outputs in the rewritten model as well, the simplifier is at fault; this is printed, and may happen to
MOST_BROKEN of the rewritten models. Needs what scripts/fetch_onnxruntime.sh and scripts/fetch_simplifiers.sh fetch. Exits
with 1 if anything failed.

    PYTHONPATH=.onnxruntime:.simplifiers:models/check python3 models/check/simplifiers_check.py [--set exporters] [MODEL ...]
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxoptimizer
import onnxruntime
import onnxscript.optimizer
import onnxsim
import onnxslim

import exporters
import onnxruntime_check

SIMPLIFIERS = {
    "onnxslim": onnxslim.slim,
    "onnxsim": lambda model: onnxsim.simplify(model)[0],
    "onnxoptimizer": onnxoptimizer.optimize,
    "onnxscript": onnxscript.optimizer.optimize,
}
# The fewest models and forms of each set, so that lost files fail.
SETS = {"zoo": 23, "exports": 22, "exporters": 11}
MOST_BROKEN = 0.05
SECONDS = 300
TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models"


@dataclasses.dataclass
class Original:
    """A model's file, its inputs, the inputs fixed at compile time, and what passes."""

    name: str
    path: pathlib.Path
    inputs: dict
    constants: dict = dataclasses.field(default_factory=dict)
    rtol: float = 1e-3
    atol: float = 1e-4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names; all models if left out")
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--set", default=",".join(SETS), help=f"some of {','.join(SETS)}")
    parser.add_argument("--device", default="host,reference")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for rewritten models that fail")
    return parser.parse_args()


def session(path):
    """ONNX Runtime without its own rewrites."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    # Without threads of its own, so that forked simplifiers find none half gone.
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def originals(kind, folder, options):
    """The models of a set."""
    if kind == "exporters":
        for name, build in exporters.cases().items():
            case, path = build(), folder / f"{name}.onnx"
            onnx.save(case.model, path)
            yield Original(name, path, case.inputs, case.constants, case.rtol, case.atol)
    elif kind == "exports":
        for path in sorted(TESTS.glob("*/*.onnx")):
            arrays = numpy.load(path.parent / "io.npz")
            inputs = {key[len("in_"):]: arrays[key] for key in arrays if key.startswith("in_")}
            yield Original(f"{path.parent.name}/{path.stem}", path, inputs)
    else:
        listed = subprocess.run([options.warpweave, "models", "list", "--json"], check=True, capture_output=True, text=True)
        for model in json.loads(listed.stdout)["models"]:
            for form in model["forms"]:
                name = model["name"] if len(model["forms"]) == 1 else f"{model['name']}/{form}"
                path = folder / f"{name.replace('/', '_')}.onnx"
                subprocess.run([options.warpweave, "models", "export", model["name"], "-o", str(path), "--form", form, "--reduced"],
                               check=True, capture_output=True)
                yield Original(name, path, onnxruntime_check.inputs(session(path), onnxruntime_check.index_limits(path)))


def rewrite(simplifier, source, target):
    """Rewrites a model in a process of its own: some simplifiers end theirs. What went wrong, if anything."""
    def work():
        # They print progress and warnings.
        with open(os.devnull, "w") as nothing:
            for stream in (1, 2):
                os.dup2(nothing.fileno(), stream)
        try:
            onnx.save(SIMPLIFIERS[simplifier](onnx.load(source)), target)
        except BaseException as error:  # Simplifiers raise anything.
            target.with_suffix(".error").write_text(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
        return f"no result after {SECONDS} s"
    error = target.with_suffix(".error")
    if error.exists():
        return error.read_text()
    return None if target.exists() else f"exit code {child.exitcode}"


def fixed(original):
    return [part for name, value in original.constants.items() for part in ("--constant", f"{name}={value}")]


def command(options, *parts):
    try:
        done = subprocess.run([options.warpweave, *map(str, parts)], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"no result after {SECONDS} s"
    return f"exit code {done.returncode}: {' '.join((done.stdout + done.stderr).split())}" if done.returncode else ""


def broken(original, rewritten):
    """Why the simplifier is at fault, by ONNX Runtime; `None` if it finds the same outputs in both models."""
    wanted = session(original.path).run(None, original.inputs)
    try:
        other = session(rewritten)
        names = {value.name for value in other.get_inputs()}
        found = other.run(None, {name: array for name, array in original.inputs.items() if name in names})
    except Exception as error:  # ONNX Runtime's errors have no common type.
        return f"ONNX Runtime does not run it: {' '.join(str(error).split())[:300]}"
    if len(found) != len(wanted):
        return "it has other outputs"
    same = all(one.shape == two.shape and numpy.allclose(one, two, original.rtol, original.atol, equal_nan=True)
               for one, two in zip(map(numpy.asarray, wanted), map(numpy.asarray, found)))
    return None if same else "ONNX Runtime finds other outputs, too"


def check(original, rewritten, archive, options):
    """The verdict of one rewritten model: `agree`, `broken` or `failed`, and what was said."""
    names = {value.name for value in onnx.load(rewritten, load_external_data=False).graph.input}
    stored = dict(numpy.load(archive))
    kept = {name: array for name, array in stored.items() if name not in original.inputs or name in names}
    own = archive.with_name(f"{rewritten.stem}.npz")
    numpy.savez(own, **kept)
    for device in options.device.split(","):
        said = command(options, "compare", rewritten, "--io", own, "--device", device, "--rtol", original.rtol, "--atol",
                       original.atol, *fixed(original))
        if said:
            if fault := broken(original, rewritten):
                return "broken", fault
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                for file in (rewritten, own):
                    (options.keep / file.name).write_bytes(file.read_bytes())
            return "failed", f"{device}: {said}"
    return "agree", ""


def check_all(original, folder, options):
    """The verdicts of a model's rewritten forms and how many nodes they have, by simplifier."""
    stem, archive = original.name.replace("/", "_"), folder / f"{original.name.replace('/', '_')}_given.npz"
    inputs = folder / f"{stem}_in.npz"
    numpy.savez(inputs, **{name: array for name, array in original.inputs.items() if name not in original.constants})
    said = command(options, "run", original.path, "--input", inputs, "--output", archive, "--device", "host", *fixed(original))
    if said:
        return {"original": ("failed", said)}, {}
    verdicts, counts = {}, {"original": nodes(original.path)}
    for simplifier in SIMPLIFIERS:
        rewritten = folder / f"{stem}_{simplifier}.onnx"
        fault = rewrite(simplifier, original.path, rewritten)
        verdicts[simplifier] = ("broken", fault) if fault else check(original, rewritten, archive, options)
        counts[simplifier] = nodes(rewritten) if rewritten.exists() else 0
        rewritten.unlink(missing_ok=True)
    return verdicts, counts


def nodes(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def main():
    options = arguments()
    counts, lost = collections.Counter(), False
    for kind in options.set.split(","):
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            folder = pathlib.Path(folder)
            models = [original for original in originals(kind, folder, options) if not options.models
                      or original.name in options.models]
            if not options.models and len(models) < SETS[kind]:
                print(f"{kind}: {len(models)} models are there, and there must be {SETS[kind]}")
                lost = True
            checked = pool.map(lambda original: check_all(original, folder, options), models)
            for original, (verdicts, nodes_of) in zip(models, checked):
                counts.update(verdict for verdict, _ in verdicts.values())
                counts["changed"] += sum(count != nodes_of["original"] for count in nodes_of.values())
                print(f"{original.name}, {nodes_of.get('original', 0)} nodes: " + ", ".join(
                    f"{name} {verdict} ({nodes_of.get(name, 0)} nodes)" for name, (verdict, _) in verdicts.items()))
                for name, (verdict, said) in verdicts.items():
                    if said:
                        print(f"  {name}: {said}", flush=True)
    cases = counts["agree"] + counts["broken"] + counts["failed"]
    print(f"{counts['agree']} agree, {counts['broken']} are broken by their simplifier, {counts['failed']} failed; "
          f"{counts['changed']} of {cases} have another number of nodes than their original")
    return int(lost or counts["failed"] > 0 or counts["broken"] > MOST_BROKEN * cases)


if __name__ == "__main__":
    sys.exit(main())
