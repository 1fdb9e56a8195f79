"""Times models on this machine's processor beside ONNX Runtime, in alternating runs with the same inputs and threads.

Each model is exported, or read where a file is named, and compiled for the host once. Then rounds of `warpweave bench --device host`
and of ONNX Runtime take turns; each round repeats runs in one process after a warm-up. Printed are the ratios of the shortest times
and of the medians, and the peak memory of both processes. Before a round the script waits until the machine is idle, up to --patience
seconds, and marks what was measured beside other work. --write writes the tables of docs/results/host.md. A model may be followed by
`,reduced`, which is its reduced form on one thread, by `,batch=N`, and by `,qdq`, `,qoperator` or `,dynamic`, which is how
scripts/quantise_model.py quantises it. With two threads or more, some models are timed on one thread as well, which shows how they scale.

    PYTHONPATH=.onnxruntime python3 scripts/compare_host.py [MODEL[,reduced][,batch=N][,qdq]|FILE.onnx ...] [--threads 2] [--write docs/results/host.md]
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ["resnet50", "vgg16", "bert_base_128", "gpt2", "vit_b_16", "mobilenet_v2", "densenet121", "inception_v3", "nasnet",
          "lstm_tc", "dlrm", "seq2seq", "deepspeech2", "resnet50,batch=16", "alexnet,reduced", "vgg16,reduced", "resnet50,reduced",
          "densenet121,reduced", "mobilenet_v2,reduced", "nasnet,reduced", "attention_rnn", "resnet50,qdq", "mobilenet_v2,qoperator",
          "bert_base_128,dynamic", "lstm_tc,dynamic"]
QUANTISED = ("qdq", "qoperator", "dynamic")
# Models that are timed on one thread as well.
SCALED = ["resnet50", "bert_base_128"]
# Runnable tasks beyond this many, besides this script, are other work.
IDLE_TASKS = 0.5

PEER = """
import json, resource, sys, time
import numpy, onnxruntime
model, arrays, threads, seconds = sys.argv[1], dict(numpy.load(sys.argv[2])), int(sys.argv[3]), float(sys.argv[4])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
def run():
    start = time.perf_counter()
    session.run(None, arrays)
    return time.perf_counter() - start
warm = time.perf_counter()
while True:
    run()
    if time.perf_counter() - warm > seconds / 4: break
times = []
while sum(times) < seconds or len(times) < 5: times.append(run())
print(json.dumps({"times": times, "kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


# Random arrays for a model's inputs: floating point in -1 … 1, integers 0 and 1. A process of its own, as all that takes memory:
# a process counts the peak of the one that it was started by as its own.
INPUTS = """
import sys
import numpy, onnxruntime
model, path = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
random = numpy.random.default_rng(0)
kinds = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(double)": numpy.float64,
         "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_,
         "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8}
arrays = {}
for port in session.get_inputs():
    shape = [extent if isinstance(extent, int) else 1 for extent in port.shape]
    kind = kinds[port.type]
    floating = numpy.issubdtype(kind, numpy.floating)
    arrays[port.name] = (random.uniform(-1, 1, shape) if floating else random.integers(0, 2, shape)).astype(kind)
numpy.savez(path, **arrays)
"""


def busy():
    """The average number of tasks on the processors over a moment, by the kernel's count of idle time."""
    def idle():
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return fields[3] + fields[4], sum(fields[:8])
    (idle_before, all_before), _ = idle(), time.sleep(0.5)
    idle_after, all_after = idle()
    share = 1 - (idle_after - idle_before) / max(all_after - all_before, 1)
    return share * (os.cpu_count() or 1)


def wait_until_idle(patience):
    """Whether the machine came to rest."""
    deadline = time.monotonic() + patience
    while busy() > IDLE_TASKS:
        if time.monotonic() > deadline:
            return False
    return True


def measured(command):
    """What a command prints as JSON, and its peak memory in kilobytes."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([str(part) for part in command], stdout=out)
        _, state, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(state)
        out.seek(0)
        text = out.read()
    if process.returncode:
        raise RuntimeError(f"{command[0]} {command[1]} ended with {process.returncode}: {text[-400:]}")
    return json.loads(text), usage.ru_maxrss


class Case:
    """A model as it is measured."""

    def __init__(self, text, threads):
        self.name, *options = text.split(",")
        self.is_reduced, self.batch, self.quantised = False, 1, None
        for option in options:
            if option == "reduced":
                self.is_reduced = True
            elif option in QUANTISED:
                self.quantised = option
            elif option.startswith("batch="):
                self.batch = int(option.removeprefix("batch="))
            else:
                raise SystemExit(f"`{text}`: `{option}` is none of `reduced`, `batch=N`, {', '.join(QUANTISED)}")
        self.threads = 1 if self.is_reduced else threads

    def label(self, threads):
        parts = [pathlib.Path(self.name).stem]
        parts += ["reduced"] * self.is_reduced + [self.quantised] * (self.quantised is not None) + [f"batch {self.batch}"] * (self.batch != 1)
        parts += [f"{self.threads} thread"] * (self.threads != threads)
        return ", ".join(parts)


def prepare(arguments, case, scratch):
    """The model, its bundle and its inputs, and the seconds that compiling took."""
    model = pathlib.Path(case.name)
    if model.suffix != ".onnx":
        model = scratch / f"{case.name}.onnx"
        export = [arguments.warpweave, "models", "export", case.name, "-o", model, "--batch", str(case.batch)]
        export += ["--reduced"] * case.is_reduced
        subprocess.run([str(part) for part in export], check=True, capture_output=True)
    if case.quantised:
        source, model = model, scratch / "quantised.onnx"
        quantise = [sys.executable, ROOT / "scripts/quantise_model.py", case.quantised, source, model]
        subprocess.run([str(part) for part in quantise], check=True, capture_output=True)
    bundle, arrays = scratch / "model.weave", scratch / "arrays.npz"
    start = time.monotonic()
    compiling = [arguments.warpweave, "compile", model, "-o", bundle, "--target", "host"]
    subprocess.run([str(part) for part in compiling], check=True, capture_output=True)
    seconds = time.monotonic() - start
    subprocess.run([sys.executable, "-c", INPUTS, str(model), str(arrays)], check=True)
    return model, bundle, arrays, seconds


def rounds(arguments, prepared, threads):
    """Times of both and their peak memory."""
    model, bundle, arrays, _ = prepared
    found = {"idle": True, "own": [], "peer": []}
    milliseconds = str(int(arguments.seconds * 1000))
    bench = [arguments.warpweave, "bench", bundle, "--device", "host", "--threads", threads, "--input", arrays,
             "--duration-ms", milliseconds, "--warmup-limit-ms", milliseconds, "--json"]
    peer = [sys.executable, "-c", PEER, model, arrays, threads, arguments.seconds]
    for _ in range(arguments.rounds):
        found["idle"] &= wait_until_idle(arguments.patience)
        said, found["own_kilobytes"] = measured(bench)
        found["own"].extend(said["samples"]["latency"])
        said, found["peer_kilobytes"] = measured(peer)
        found["peer"].extend(said["times"])
    return found


def compare(arguments, case, scratch):
    """What is found of a case, and its least times on one thread where it is one of those."""
    prepared = prepare(arguments, case, scratch)
    model, bundle, _, seconds = prepared
    found = rounds(arguments, prepared, case.threads)
    found["compile"] = seconds
    found["size"] = bundle.stat().st_size / sum(part.stat().st_size for part in model.parent.glob(model.name + "*"))
    if case.name in SCALED and case.batch == 1 and not case.is_reduced and not case.quantised and case.threads > 1:
        found["single"] = rounds(arguments, prepared, 1)
    return found


def scaling_row(name, found):
    single = found["single"]
    mark = "" if found["idle"] and single["idle"] else " (beside other work)"
    own, peer = (f"{min(single[side]) * 1e3:.2f} | {min(found[side]) * 1e3:.2f} | {min(single[side]) / min(found[side]):.2f}"
                 for side in ("own", "peer"))
    return f"| {name}{mark} | {own} | {peer} |"


def row(name, found):
    own, peer = found["own"], found["peer"]
    minima, medians = min(own) / min(peer), statistics.median(own) / statistics.median(peer)
    times = f"{min(own) * 1e3:.2f} | {min(peer) * 1e3:.2f} | {statistics.median(own) * 1e3:.2f} | {statistics.median(peer) * 1e3:.2f}"
    memory = f"{found['own_kilobytes'] / 1024:.0f} | {found['peer_kilobytes'] / 1024:.0f}"
    mark = "" if found["idle"] else " (beside other work)"
    return f"| {name}{mark} | {times} | {minima:.2f} | {medians:.2f} | {memory} | {found['compile']:.1f} | {found['size']:.2f} |"


HEAD = ["| Model | least ms | ONNX Runtime | median ms | ONNX Runtime | Ratio of least | of medians | MB | ONNX Runtime | Compile, s | "
        "Bundle to model |", "|---|---|---|---|---|---|---|---|---|---|---|"]


def scaling_head(threads):
    own = f"least ms, 1 thread | least ms, {threads} threads | Times faster"
    return [f"| Model | warpweave, {own} | ONNX Runtime, {own} |", "|---|---|---|---|---|---|---|"]


def document(rows, scaling, arguments):
    processor = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), "unknown")
    lines = ["# The host beside ONNX Runtime", "", "<!-- Written by scripts/compare_host.py --write; not by hand. -->", "",
             f"{arguments.threads} threads of each and batch 1 unless it says otherwise, on {os.cpu_count()} processors ({processor}), ONNX "
             f"Runtime {importlib.metadata.version('onnxruntime')}. {arguments.rounds} rounds", "of each in turn, with the same random inputs. Of two figures the first is warpweave's.", ""]
    lines += HEAD + rows
    if scaling:
        lines += ["", "## More threads", "", *scaling_head(arguments.threads), *scaling]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="names of `warpweave models list`, or files")
    parser.add_argument("--warpweave", type=pathlib.Path, default=ROOT / "target/release/warpweave")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of measured runs a round")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for an idle machine")
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    rows, scaling = [], []
    print("\n".join(HEAD), flush=True)
    for case in (Case(text, arguments.threads) for text in arguments.models or MODELS):
        with tempfile.TemporaryDirectory(prefix="warpweave-host-") as scratch:
            found = compare(arguments, case, pathlib.Path(scratch))
        rows.append(row(case.label(arguments.threads), found))
        print(rows[-1], flush=True)
        if "single" in found:
            scaling.append(scaling_row(case.label(arguments.threads), found))
            print(scaling[-1], flush=True)
    if arguments.write:
        arguments.write.write_text(document(rows, scaling, arguments))


if __name__ == "__main__":
    main()
