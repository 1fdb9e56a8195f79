"""Exports and compiles every benchmark model at full size for host and sm_90a, and prints what came out.

Fails if a model cannot be compiled, if one takes longer or the whole takes longer or more memory than the bars below.
"busy" is the processors' time of the compilation for both, which other work on the machine does not lengthen.
With --memory it runs VGG-16 and BERT-large on the host instead and holds their peak against weights and arena. With
--precision it compiles them for sm_80 and sm_90a in that precision, within the same bars for time. Weights may be at most
a share of FP32's, no kernel has local memory, and kernels multiply on tensor cores, and copy asynchronously, where their
names say so, by the instructions of their machine code for sm_90a; in FP32 none multiplies there. Needs Python 3 alone,
Linux, and 12 GB of disk; each model is deleted after its turn.

    python3 scripts/zoo.py --warpweave target/release/warpweave [--memory | --precision fp16] [MODEL ...]
"""

import argparse
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import threading
import time

# Seconds of a compilation for sm_90a, the writing of the bundle left out.
COMPILE_SECONDS = {"nasnet": 20}
COMPILE_SECONDS_OTHERS = 10
TOTAL_SECONDS = 12 * 60
TOTAL_MEGABYTES = 12_000
UNROLLED = ["lstm_tc"]
MEMORY_MODELS = ["vgg16", "bert_large_384"]
# Weights in 16 bits over those in FP32, at most.
WEIGHTS_SHARE = 0.51
# What a kernel's name says, and the instruction that its machine code has then.
CLAIMS = {" mma ": "HMMA", "asynchronous/": "LDGSTS"}
FOLDER = pathlib.Path("target/zoo")


class Failure(Exception):
    """A command failed."""


def descendants(process):
    """A process and all that it has started, by id."""
    found = [process]
    for process in found:
        try:
            for children in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
                found.extend(int(child) for child in children.read_text().split())
        except OSError:
            pass  # It has ended meanwhile.
    return found


def status(process, field):
    """Bytes that a line of a process's status tells; 0 once it has ended."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


class Peak(threading.Thread):
    """The most memory that a process held, its children included."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.bytes = process, 0

    def run(self):
        while self.process.poll() is None:
            together = sum(status(process, "VmRSS") for process in descendants(self.process.pid))
            self.bytes = max(self.bytes, together, status(self.process.pid, "VmHWM"))
            time.sleep(0.01)


def run(command):
    """The JSON that a command prints, its seconds by the clock and by the processor, and its peak in bytes."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = Peak(process)
    peak.start()
    out, errors = process.communicate()
    peak.join()
    if process.returncode:
        raise Failure(f"{' '.join(command)}: exit code {process.returncode}: {errors.strip()[-600:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(out), (time.monotonic() - start, busy), peak.bytes


def export(options, name, form):
    path = FOLDER / "model.onnx"
    written, (seconds, _), _ = run([options.warpweave, "models", "export", name, "-o", str(path), "--form", form])
    return path, written, seconds


HEAD = ["model", "form", "nodes", "groups", "rTasks", "waits", "GFLOP", "weights MB", "arena MB", "export s", "host s",
        "sm_90a s", "write s", "busy s", "peak MB"]


def compile_model(options, name, form):
    """A row of the table, the seconds for sm_90a and the peak in bytes."""
    path, written, exported = export(options, name, form)
    bundle = FOLDER / "model.weave"
    command = [options.warpweave, "compile", str(path), "-o", str(bundle), "--target", "host,sm_90a"]
    made, (_, busy), peak = run(command)
    host, device = ({target["target"]: target for target in made["targets"]}[name] for name in ("host", "sm_90a"))
    load = made["import_seconds"]
    seconds = load + device["plan_seconds"] + device["code_seconds"]
    rest = made["seconds"] - seconds - host["plan_seconds"]
    row = [name, form, written["nodes"], device["groups"], device["tasks"], device["waits"],
           f"{device['operations'] / 1e9:.2f}", f"{device['weights_bytes'] / 1e6:.1f}",
           f"{device['arena_bytes'] / 1e6:.1f}", f"{exported:.1f}", f"{load + host['plan_seconds']:.1f}",
           f"{seconds:.1f}", f"{rest:.1f}", f"{busy:.1f}", f"{peak / 1e6:.0f}"]
    return row, seconds, peak


def print_row(row):
    print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def models(options):
    listed, _, _ = run([options.warpweave, "models", "list"])
    names = [model["name"] for model in listed["models"]]
    unknown = [name for name in options.models if name not in names]
    if unknown:
        sys.exit(f"no such model: {', '.join(unknown)}; there are {', '.join(names)}")
    for name in names:
        if not options.models or name in options.models:
            yield name, "nodes"
            if name in UNROLLED:
                yield name, "unrolled"


def fresh_folder():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)


def compile_all(options):
    """What went wrong."""
    print_row(HEAD)
    print_row(["---"] * 2 + ["---:"] * (len(HEAD) - 2))
    wrong, highest, start = [], 0, time.monotonic()
    for name, form in models(options):
        fresh_folder()
        try:
            row, seconds, peak = compile_model(options, name, form)
        except Failure as failure:
            wrong.append(f"{name} ({form}): {failure}")
            continue
        print_row(row)
        highest = max(highest, peak)
        bar = COMPILE_SECONDS.get(name, COMPILE_SECONDS_OTHERS)
        if seconds > bar:
            wrong.append(f"{name} ({form}): {seconds:.1f} s for sm_90a, the bar is {bar} s")
    took = time.monotonic() - start
    print(f"all together: {took:.0f} s of {TOTAL_SECONDS} s, peak {highest / 1e6:.0f} MB of {TOTAL_MEGABYTES} MB")
    if took > TOTAL_SECONDS or highest > TOTAL_MEGABYTES * 1e6:
        wrong.append("above the bar for time or memory")
    return wrong


PRECISE_HEAD = ["model", "form", "sm_80 s", "sm_90a s", "weights MB", "of FP32's", "kernels", "on tensor cores",
                "named so", "asynchronous"]


def compile_precisely(options, name, form):
    """A row of the table of a precision, and what is wrong with the model."""
    path, _, _ = export(options, name, form)
    bundle = FOLDER / "model.weave"

    def compiled(targets, precision):
        made, _, _ = run([options.warpweave, "compile", str(path), "-o", str(bundle), "--target", targets, "--precision", precision])
        bundle.unlink()
        return made, {target["target"]: target for target in made["targets"]}

    made, targets = compiled("sm_80,sm_90a", options.precision)
    _, whole = compiled("sm_90a", "fp32")
    kernels, single = (run([options.warpweave, "explain", str(path), "--machine-code", "--precision", precision])[0]["kernels"]
                       for precision in (options.precision, "fp32"))
    wrong = [f"{target}: {made['local_bytes']} bytes of local memory" for target, made in targets.items() if made["local_bytes"]]
    seconds = [made["import_seconds"] + target["plan_seconds"] + target["code_seconds"] for target in targets.values()]
    bar = COMPILE_SECONDS.get(name, COMPILE_SECONDS_OTHERS)
    wrong += [f"{took:.1f} s, the bar is {bar} s" for took in seconds if took > bar]
    share = targets["sm_90a"]["weights_bytes"] / max(whole["sm_90a"]["weights_bytes"], 1)
    if options.precision != "fp32" and share > WEIGHTS_SHARE:
        wrong.append(f"weights are {share:.3f} of FP32's, the bar is {WEIGHTS_SHARE}")
    multiplied = [kernel for kernel in kernels if issues(kernel, "HMMA")]
    claims = {claim: [kernel for kernel in kernels if claim in kernel["template"]] for claim in CLAIMS}
    for claim, operation in CLAIMS.items():
        wrong += [f"{kernel['kernel']}, {kernel['template']}: no {operation}"
                  for kernel in claims[claim] if not issues(kernel, operation)]
    wrong += [f"{kernel['kernel']} in FP32: products on tensor cores" for kernel in single if issues(kernel, "HMMA")]
    row = [name, form, *(f"{took:.1f}" for took in seconds), f"{targets['sm_90a']['weights_bytes'] / 1e6:.1f}", f"{share:.3f}",
           len(kernels), len(multiplied), len(claims[" mma "]), len(claims["asynchronous/"])]
    return row, wrong


def issues(kernel, operation):
    """How often a kernel issues instructions of an operation."""
    return sum(part["issues"] for part in kernel["mix"] if part["operation"] == operation)


def compile_all_precisely(options):
    """What went wrong."""
    print_row(PRECISE_HEAD)
    print_row(["---"] * 2 + ["---:"] * (len(PRECISE_HEAD) - 2))
    wrong = []
    for name, form in models(options):
        fresh_folder()
        try:
            row, found = compile_precisely(options, name, form)
        except Failure as failure:
            wrong.append(f"{name} ({form}): {failure}")
            continue
        print_row(row)
        wrong += [f"{name} ({form}): {what}" for what in found]
    return wrong


def run_all(options):
    """What went wrong."""
    wrong = []
    for name in options.models or MEMORY_MODELS:
        fresh_folder()
        path, _, _ = export(options, name, "nodes")
        bundle = FOLDER / "model.weave"
        command = [options.warpweave, "compile", str(path), "-o", str(bundle), "--target", "host"]
        (target,) = run(command)[0]["targets"]
        bar = 2.2 * target["weights_bytes"] + target["arena_bytes"] + 200e6
        for source in (path, bundle):
            _, (seconds, busy), peak = run([options.warpweave, "run", str(source), "--device", "host"])
            verdict = "ok" if peak <= bar else "FAILED"
            print(f"{name} from {source.name}: {seconds:.1f} s ({busy:.1f} s busy), peak {peak / 1e6:.0f} MB of {bar / 1e6:.0f} MB "
                  f"({target['weights_bytes'] / 1e6:.0f} MB of weights, {target['arena_bytes'] / 1e6:.0f} MB of arena): "
                  f"{verdict}", flush=True)
            if peak > bar:
                wrong.append(f"{name} from {source.name}: {peak / 1e6:.0f} MB, the bar is {bar / 1e6:.0f} MB")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names; all that there are if left out")
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--memory", action="store_true", help="run on the host and judge the peak")
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"], help="compile for GPUs in this precision and judge the code")
    options = parser.parse_args()
    try:
        judge = run_all if options.memory else compile_all_precisely if options.precision else compile_all
        wrong = judge(options)
    except Failure as failure:
        wrong = [str(failure)]
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    for text in wrong:
        print(f"zoo: {text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
