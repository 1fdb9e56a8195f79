"""Compares single operators in random configurations with ONNX Runtime.

Every seed gives one model of one operator, the operator by its turn. Models have shapes with odd and unit extents, all
attributes, negative axes, ties, duplicates, infinities, places beyond borders, and several element types. Half of the
models have an Add, a Relu or a Cast behind it, so that fusion takes part. ONNX Runtime, without optimisations, says
what the outputs are, and ONNX's reference evaluator where a case says why (`by_reference`). `warpweave compare` must
agree on every device of --device, or refuse the model with a reason (exit code 3).

The generators are in scripts/operator_families/. Needs numpy, onnx and onnxruntime; scripts/fetch_onnxruntime.sh fetches them.

    PYTHONPATH=.onnxruntime python3 scripts/operator_cases.py [--seeds 0:200] [--only TopK] [--device host] [--keep DIR]
"""

import argparse
import collections
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from operator_families import GENERATORS, Chooser, Unfit

# The largest part of the cases that may be refused or that no judge takes.
MOST_LOST = 0.15
# The fewest generators, so that lost files fail.
FEWEST_OPERATORS = 135


def by_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def expected(case, model, inputs):
    with numpy.errstate(all="ignore"):
        if case.by_reference:
            arrays = [numpy.asarray(array) for array in ReferenceEvaluator(model).run(None, inputs)]
        else:
            arrays = by_onnxruntime(model, inputs)
    if case.largest and not all((numpy.abs(array) <= case.largest).all() for array in arrays):
        raise Unfit(f"results are not within {case.largest}")
    return arrays


def followed(chooser, name, array):
    """A node behind an output, with its constants: what a fused kernel has in its epilogue."""
    if array.dtype == numpy.float32 and chooser.chance(0.3):
        return helper.make_node("Relu", [name], ["followed"]), []
    if array.dtype == numpy.float32:
        shape = [extent if chooser.chance(0.5) else 1 for extent in array.shape]
        addend = numpy_helper.from_array(chooser.quarters(shape), "addend")
        return helper.make_node("Add", [name, "addend"], ["followed"]), [addend]
    return helper.make_node("Cast", [name], ["followed"], to=TensorProto.FLOAT), []


def model_of(case, chooser):
    """The model and its inputs."""
    names = ["" if array is None else f"x{at}" for at, array in enumerate(case.inputs)]
    given = [at for at, array in enumerate(case.inputs) if array is not None]
    free, fixed = given[: case.free], given[case.free :]
    inputs = [
        helper.make_tensor_value_info(names[at], helper.np_dtype_to_tensor_dtype(case.inputs[at].dtype), case.inputs[at].shape)
        for at in free
    ]
    constants = [numpy_helper.from_array(case.inputs[at], names[at]) for at in fixed]
    outputs = [name and f"y{at}" for at, name in enumerate(case.outputs)]
    stored = {names[at] if at != "y" else "y0" for at in case.stored}
    own = [[f"{name}_stored" if name in stored else name for name in named] for named in (names, outputs)]
    nodes = [
        *(helper.make_node("Cast", [name], [f"{name}_stored"], to=case.storage) for name in names if name in stored),
        helper.make_node(case.operator, *own, domain=case.domain, **case.attributes),
        *(helper.make_node("Cast", [f"{name}_stored"], [name], to=TensorProto.FLOAT) for name in outputs if name in stored),
    ]
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 3)]

    def model(results):
        values = [onnx.ValueInfoProto(name=name) for name in results]
        graph = helper.make_graph(nodes, case.operator, inputs, values, constants)
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    arrays = {names[at]: case.inputs[at] for at in free}
    results = [name for name in outputs if name]
    plain = model(results)
    if not chooser.chance(0.5):
        return plain, arrays
    behind, more = followed(chooser, results[0], expected(case, plain, arrays)[0])
    nodes.append(behind)
    constants.extend(more)
    return model(["followed", *results[chooser.choice([0, 1, 1]) :]]), arrays


def write(seed, name, device, folder):
    """Writes a seed's case and what it gives; its tolerance."""
    chooser = Chooser(seed, on_host=device in ("host", "reference"))
    case = GENERATORS[name](chooser)
    model, inputs = model_of(case, chooser)
    arrays = {f"in_{key}": array for key, array in inputs.items()}
    arrays.update({f"out_{at}": array for at, array in enumerate(expected(case, model, inputs))})
    onnx.save(model, folder / "model.onnx")
    numpy.savez(folder / "io.npz", **arrays)
    return case.tolerance


def check(seed, name, device, options):
    """The verdict of one seed on one device: `agree`, `refused`, `failed` or `unfit`, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            tolerance = write(seed, name, device, folder)
        except Exception as error:  # What the judges raise has no common type.
            return "unfit", f"{type(error).__name__}: {error}"
        command = [options.warpweave, "compare", str(folder / "model.onnx"), "--io", str(folder / "io.npz")]
        command += ["--device", device, "--atol", str(tolerance)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return "failed", "no result after 60 s"
        said = " ".join((done.stdout + done.stderr).split())
        if done.returncode == 0:
            return "agree", ""
        if done.returncode == 3 and "error" in said:
            return "refused", said
        if options.keep:
            target = options.keep / f"{name}_{seed}_{device}"
            target.mkdir(parents=True, exist_ok=True)
            for file in ("model.onnx", "io.npz"):
                (target / file).write_bytes((folder / file).read_bytes())
        return "failed", f"exit code {done.returncode}: {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--seeds", default="0:200", help="FIRST:END")
    parser.add_argument("--only", help="operators, such as TopK,Resize")
    parser.add_argument("--device", default="host", help="such as host,emulator,text")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for models and arrays that fail")
    parser.add_argument("--verbose", action="store_true", help="show what each operator's cases came to")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once")
    options = parser.parse_args()
    first, end = map(int, options.seeds.split(":"))
    names = options.only.split(",") if options.only else sorted(GENERATORS)
    if len(GENERATORS) < FEWEST_OPERATORS:
        sys.exit(f"{len(GENERATORS)} operators have generators, and there must be {FEWEST_OPERATORS}")
    # A seed is the same case whatever the operators are that others take.
    turns = [(seed, names[seed % len(names)]) for seed in range(first, end)]
    failed = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for device in options.device.split(","):
            verdicts = list(pool.map(lambda turn: check(*turn, device, options), turns))
            counts = collections.Counter(verdict for verdict, _ in verdicts)
            for (seed, name), (verdict, said) in zip(turns, verdicts):
                if verdict == "failed" or (options.verbose and verdict != "agree"):
                    print(f"{verdict}: {name}, seed {seed} on {device}: {said}")
            if options.verbose:
                show(turns, verdicts)
            print(f"{device}: {counts['agree']} agree, {counts['refused']} refused, {counts['failed']} failed, "
                  f"{counts['unfit']} are no case", flush=True)
            failed |= counts["failed"] > 0 or counts["refused"] + counts["unfit"] > MOST_LOST * len(turns)
    return 1 if failed else 0


def show(turns, verdicts):
    """A line an operator."""
    table = collections.defaultdict(collections.Counter)
    for (_, name), (verdict, _) in zip(turns, verdicts):
        table[name][verdict] += 1
    for name, counts in sorted(table.items()):
        print(f"{name}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


if __name__ == "__main__":
    sys.exit(main())
