"""What compiling other people's models takes: twelve models by recipes, as exporters write them, for sm_90a.

The recipes stand in scripts/compile_recipes: graphs at full size with seeded weights, with constants as nodes, computed
shapes, and functions in their parts. Each is compiled with the defaults of `warpweave compile --target sm_90a`. "busy" is
the processors' time of the command and of NVRTC, which other work on the machine lengthens little; the share of each stage
is read as the command says that the stage begins. --check fails where a model takes longer than the bars below, by the
clock or, with --busy, by the processors' time, or where its plan is predicted to be slower than with --baseline by more
than the bar. --write writes the table of docs/results/compile_times.md.

    PYTHONPATH=.onnxruntime python3 scripts/compile_times.py [--warpweave BINARY] [--baseline BINARY] [--check [--busy]]
        [--write docs/results/compile_times.md] [--only NAME,NAME]
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from compile_recipes import RECIPES

# Most nodes of a model, and the seconds that it may take.
BARS = [(1000, 12), (4000, 20)]
# What a plan may be predicted to take of what the baseline's plan is, each and all together.
WORST_RATIO = 1.02
STAGES = {"partition": "partition", "schedule": "schedule", "kernels": "lowering", "NVRTC": "NVRTC", "write": "writing"}
TICKS = os.sysconf("SC_CLK_TCK")


def busy(process):
    """Seconds of the processors that a process has taken so far, and its children that have ended."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS


def compiled(warpweave, path, folder):
    """What a compilation prints, and the seconds that it and its stages took."""
    command = [str(warpweave), "compile", str(path), "--target", "sm_90a", "-o", str(folder / "x.weave"), "--json", "-v"]
    start = time.monotonic()
    with open(folder / "out.json", "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)
    marks, said = [("import", 0.0)], ""
    for line in process.stderr:
        stage = re.match(r"\s*[\d.]+ s  (\w+)", line)
        if stage and stage[1] in STAGES:
            marks.append((STAGES[stage[1]], busy(process.pid)))
        said += line
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{path.name}: {said[-500:]}")
    total = usage.ru_utime + usage.ru_stime
    ends = [begin for _, begin in marks[1:]] + [total]
    stages = {name: end - begin for (name, begin), end in zip(marks, ends)}
    made = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return {"wall": time.monotonic() - start, "busy": total, "stages": stages, "made": made,
            "predicted": predicted(made["targets"][0]["backend_reason"]), "megabytes": usage.ru_maxrss / 1024}


def predicted(reason):
    """Microseconds of the plan that is chosen: the least that is named. None where none is."""
    return min((float(number) for number in re.findall(r"([\d.]+) us", reason.split(";")[0])), default=None)


def measure(options, folder):
    results = {}
    for name, recipe in RECIPES.items():
        if options.only and name not in options.only.split(","):
            continue
        path = folder / f"{name}.onnx"
        graph = recipe()
        graph.save(name, path)
        found = {"nodes": len(graph.nodes), **compiled(options.warpweave, path, folder)}
        if options.baseline:
            found["baseline"] = compiled(options.baseline, path, folder)
        path.unlink()
        results[name] = found
        print(row(name, found, options), flush=True)
    return results


def ratio(found):
    """The predicted time over the baseline's."""
    return found["predicted"] / found["baseline"]["predicted"]


def row(name, found, options):
    stages, made = found["stages"], found["made"]["targets"][0]
    share = stages.get("partition", 0) / found["busy"]
    cells = [name, f"{found['nodes']:,}", f"{found['made']['statements']:,}", f"{made['groups']:,}",
             *([] if options.busy else [f"{found['wall']:.1f}"]), f"{found['busy']:.1f}", *(f"{stages.get(stage, 0):.1f}" for stage in STAGES.values()), f"{share:.0%}",
             f"{found['predicted']:.1f}"]
    if "baseline" in found:
        cells += [f"{found['baseline']['busy']:.1f}", f"{found['baseline']['predicted']:.1f}", f"{ratio(found):.3f}"]
    return "| " + " | ".join(cells) + " |"


def faults(results, options):
    for name, found in results.items():
        seconds = found["busy" if options.busy else "wall"]
        bar = next((bar for nodes, bar in BARS if found["nodes"] <= nodes), None)
        if bar and seconds > bar:
            yield f"{name}: {seconds:.1f} s, the bar is {bar} s"
        if "baseline" in found and ratio(found) > WORST_RATIO:
            yield f"{name}: predicted to take {ratio(found):.3f} times what it took, the bar is {WORST_RATIO}"


def head(results, options):
    names = ["Model", "Nodes", "Statements", "Groups", *([] if options.busy else ["Wall s"]), "Busy s", *(f"{stage} s" for stage in STAGES.values()),
             "partition's share", "Predicted µs"]
    if any("baseline" in found for found in results.values()):
        names += ["Busy s before", "Predicted µs before", "Ratio"]
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def document(results, options):
    bars = ", ".join(f"{seconds} s for at most {nodes:,} nodes" for nodes, seconds in BARS)
    lines = [
        "# Compile times", "",
        "<!-- Written by scripts/compile_times.py --write; not by hand. -->", "",
        "Seconds that `compile --target sm_90a` takes for models as exporters write them, on two cores. *Busy* is the processors'",
        "time of the command and of NVRTC, and the stages' times are parts of it. The predicted time is that of the plan, launch",
        f"included. The bars, by {'the processors’ time' if options.busy else 'the clock'}: {bars}.", "",
        head(results, options), *(row(name, found, options) for name, found in results.items()), "",
        *(f"- **{name}**: {' '.join(RECIPES[name].__doc__.split())}" for name in results),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpweave", type=pathlib.Path, default=pathlib.Path("target/release/warpweave"))
    parser.add_argument("--baseline", type=pathlib.Path, help="another binary, whose plans this one's are held against")
    parser.add_argument("--only", help="names of models")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--busy", action="store_true", help="hold the processors' time against the bars and leave out the clock's")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warpweave-compile-times-") as folder:
        results = measure(options, pathlib.Path(folder))
    if options.write:
        options.write.write_text(document(results, options), encoding="utf-8")
    found = list(faults(results, options)) if options.check else []
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
