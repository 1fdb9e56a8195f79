"""Writes docs/tour.md: one contraction of ResNet-50 from its ONNX node to machine code, with the texts of every level.

    python3 scripts/tour.py [--warpweave target/release/warpweave] [--check]

--check compares with the page that is there, and fails where it differs. Needs NVRTC, the disassembler and Python 3 alone.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/tour.md"
TARGET = "sm_90a"
MOST_COLUMNS = 128

TEXT = """# A tour: one contraction, from ONNX to machine code

This page follows one node of ResNet-50 through every level: {node}, the first convolution of a bottleneck block.
All texts are the compiler's own, cut or wrapped to the width of the page, which `scripts/tour.py` writes.

```
warpweave models export resnet50 -o resnet50.onnx
warpweave compile resnet50.onnx --target {target} --backend persistent --emit graph,program,partition,plan,ir,cuda,sass --emit-dir out
```

## 1. The graph: typed operators

`frontend` imports the model, and the passes over graphs rewrite it. The batch normalisation behind the convolution has become part of its
weights, so two nodes are left. Every value has a name, a type and a shape.

{graph}

## 2. The program: tensors as functions of others

`graph::lower` asks each operator for its tensor expression. In brackets are the axes of the result, after `sum` those that are reduced. A
read names the element of each operand. `then` begins the epilogue, which is applied once to the reduced value; `from` names the node.

{program}

## 3. The partition: which statements share a kernel

The fusion search has joined both statements: the ReLU is now part of the epilogue, and its input is never stored. The window of one point
is gone, and the axes of points have become one. So this is a matrix product of {rows} rows, {columns} columns and a sum over {inner}. The
template is `contraction`; the rest of its line is the choice of parameters, and the predicted time on the whole device.

{partition}

`{micro}` is the micro-tile of a thread, rows by columns in registers; {threads} threads cover a tile of `{tile}`. A k-tile is the {k_tile}
steps of the sum that are in shared memory at a time; `k-slices` such teams of threads, where there are some, each take a part of it.
[deepcuts.md](deepcuts.md) tells how these parameters are found.

## 4. The plan: rTasks, waits and memory

A tile is an rTask: there are {tasks} of this rOperator, {operator}. The scheduler gives each to a virtual execution unit, and the memory
plan gives each tensor bytes in the arena or among the weights.

{memory}

Every unit has a stream of instructions. These are the first unit's for its rTask. It loads the first weights, which no wait has to protect.
It waits until the counter of the rOperator before it has all its signals. Then it runs, and signals.

{stream}

The verifier proves of this plan that every wait ends, and that no rTask reads what may not have been written. [rammer.md](rammer.md) tells how
rTasks are placed, and what the waits cost.

## 5. Kernel IR: what a thread does

`codegen::lower` writes the kernel as a program of one thread. Names that begin with `r` are arrays in registers, with `s` in shared memory,
and `p` are operands from a table: so kernels that differ only in extents and offsets are one. This is the loop over k-tiles: fetch the next
one, multiply this one, store what was fetched into the other buffer, meet.

{ir}

The emulator runs this very program, with races and weak memory made visible; `--device emulator`.

## 6. CUDA text

Printing is one line a statement. Every `ww_` function is a primitive of the prelude, which says in PTX what the memory model needs. The
prelude has a second body in C++, with which the same text runs on the processor; `--device text`.

{cuda}

## 7. Machine code

NVRTC makes this of it for {target}. The listing is that of `explain --machine-code --kernel {kernel}`: issues, stall cycles with what most
of them wait for, the address, the instruction. It is computed from the machine code and measured latencies. It has not run on a GPU.

{sass}

The kernel serves {operators} rOperators. For the longest rTask of them the model of the machine code gives {code:.2f} microseconds, and the
search's own model {search:.2f}. `FFMA` are {ffma} % of the instructions that are issued.
"""


def wrapped(lines: list[str]) -> str:
    """A block of lines that are continued where they are too wide."""
    wrap = textwrap.TextWrapper(MOST_COLUMNS, break_long_words=False, break_on_hyphens=False)
    all_lines = []
    for line in lines:
        margin = " " * (len(line) - len(line.lstrip()))
        wrap.initial_indent, wrap.subsequent_indent = margin, margin + "    "
        all_lines += wrap.wrap(line.strip())
    return block(all_lines)


def block(lines: list[str]) -> str:
    """A block of lines that are cut where they are too wide."""
    cut = [line if len(line) <= MOST_COLUMNS else line[: MOST_COLUMNS - 2] + " …" for line in lines]
    return "```\n" + "\n".join(line.rstrip() for line in cut) + "\n```"


def first(lines: list[str], pattern: str, start: int = 0) -> int:
    """The number of the first line from `start` on that the pattern finds."""
    found = (at for at in range(start, len(lines)) if re.search(pattern, lines[at]))
    at = next(found, None)
    if at is None:
        sys.exit(f"no line has {pattern}")
    return at


def page(warpweave: str, folder: pathlib.Path) -> str:
    def run(*arguments: str) -> str:
        done = subprocess.run([warpweave, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def lines(name: str) -> list[str]:
        return (folder / "out" / name).read_text().splitlines()

    run("models", "export", "resnet50", "-o", "resnet50.onnx")
    levels = "graph,program,partition,plan,ir,cuda,sass"
    common = ["resnet50.onnx", "--backend", "persistent"]
    run("compile", *common, "--target", TARGET, "--emit", levels, "--emit-dir", "out", "-o", "resnet50.weave")

    graph = lines("graph.txt")
    convolution = first(graph, r"= Conv .*kernel_shape = ints \[1, 1\]")
    name = re.search(r'Conv "node:([^"]+)"', graph[convolution]).group(1)
    value = graph[convolution].split(" ", 1)[0]
    relu = first(graph, rf"= Relu .*\({value}\)")

    program = lines("program.txt")
    statement = first(program, rf'^e\d+ .*"{re.escape(name)}"')
    tensor = re.search(r"-> (t\d+)", program[statement]).group(1)
    epilogue = first(program, rf"^e\d+ \({tensor}\)")
    number = program[statement].split(" ", 1)[0]

    partition = lines(f"partition.{TARGET}.txt")
    group = first(partition, rf"^  group \d+ of \[{number}\b")
    reads, writes = re.search(r"reads \[(.*)\], writes \[(.*)\]", partition[group + 1]).groups()

    plan = lines(f"plan.{TARGET}.txt")
    tensors = [*reads.split(", "), *writes.split(", ")]
    choice = re.search(r"contraction/(\S+) .*threads (\d+)x(\d+) .*k-tile (\d+) .*tile (\S+),", partition[group])
    micro, across, down, k_tile, tile = choice.groups()
    extents = re.search(r"= \[a0<(\d+), a1<(\d+)\] sum\[a2<(\d+)\]", partition[group + 2]).groups()
    memory = [plan[first(plan, rf"^  {tensor}: ")] for tensor in tensors]
    operator_line = first(plan, rf"^    tile axes \d+, reads \[{re.escape(reads)}\], writes \[{re.escape(writes)}\]") - 1
    operator = re.match(r" *(o\d+):", plan[operator_line]).group(1)
    unit = plan[first(plan, rf"vEU 0: .*run {operator}\.")].split(": ", 1)[1].split("; ")
    begin, end = (first(unit, rf"^{word} {operator}\.") for word in ("prefetch", "run"))
    stream = "; ".join(unit[begin : first(unit, "^signal", end) + 1])

    prices = json.loads(run("explain", *common, "--machine-code", "--json"))
    tasks = len({task for line in plan for task in re.findall(rf"run ({operator}\.\d+)", line)})
    kernel = next(kernel for kernel in prices["kernels"] if operator in kernel["operator_names"])
    listing = run("explain", *common, "--machine-code", "--kernel", kernel["kernel"]).splitlines()

    ir = lines(f"ir.{TARGET}.txt")
    loop = first(ir, r"^  for ", first(ir, rf"^kernel {kernel['kernel']} "))
    cuda = lines(f"{TARGET}.cu")
    cuda_loop = first(cuda, r"^  #pragma unroll 1$", first(cuda, rf"^WW_KERNEL unsigned {kernel['kernel']}\("))
    products = first(cuda, r"ww_fused_multiply_add", cuda_loop)
    ffma = first(listing, r"FFMA")

    ir_loop = ir[loop : first(ir, r"^  }$", loop) + 1]
    return TEXT.format(
        node=f"`{name.rsplit('.norm', 1)[0]}`",
        target=TARGET,
        graph=wrapped([graph[convolution], graph[relu]]),
        program=wrapped([program[statement], program[epilogue]]),
        partition=wrapped(partition[group : group + 3]),
        **dict(zip(("rows", "columns", "inner"), extents)),
        micro=micro,
        threads=int(across) * int(down),
        tile=tile,
        k_tile=k_tile,
        tasks=tasks,
        operators=kernel["operators"],
        operator=f"`{operator}`",
        memory=block(memory),
        stream=wrapped([stream]),
        ir=block(ir_loop),
        cuda=block(cuda[products - 10 : products + 4]),
        kernel=kernel["kernel"],
        sass=block(listing[2:3] + listing[ffma - 6 : ffma + 12]),
        code=kernel["code_microseconds"],
        search=kernel["search_microseconds"],
        ffma=round(100 * next(entry["issues"] for entry in kernel["mix"] if entry["operation"] == "FFMA") / kernel["issues"]),
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--warpweave", default=str(ROOT / "target/release/warpweave"))
    arguments.add_argument("--check", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = page(str(pathlib.Path(given.warpweave).resolve()), pathlib.Path(folder))
    if not given.check:
        PAGE.write_text(text)
    elif not PAGE.is_file() or PAGE.read_text() != text:
        sys.exit("docs/tour.md is not what the compiler writes now; run scripts/tour.py")


if __name__ == "__main__":
    main()
