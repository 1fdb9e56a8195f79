"""Compares what two builds make of every model, byte for byte.

BASE and HEAD are each a commit, which is built for release below target/replay, or the path of a program. The models
are those of tests/models and the reduced benchmark models; with --full the benchmark models at full size as well. Each
is compiled for the host and sm_90a, with the backend that is chosen and as a persistent program; small ones run on the
host on seeded inputs. These kinds are compared:
- model (the benchmark models as exported);
- graph, partition, plan, ir;
- cuda (the text that NVRTC is given);
- cubin (code, constants and attributes);
- symbols (the names in a cubin);
- outputs (of the host);
- error (of a refused model).

Of CUDA text that differs, the first differing function is shown side by side. Results are kept below
target/replay/results, by commit or by the program's hash.

"busy" is the processors' time of compiling, NVRTC's included; "planning" is the part by the clock that is not NVRTC's.

    python3 scripts/replay.py BASE HEAD [--full] [--allow plan,graph] [--jobs N] [--cases PART ...]
    python3 scripts/replay.py --self-test
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "replay"
KINDS = ["model", "graph", "partition", "plan", "ir", "cuda", "cubin", "symbols", "outputs", "error"]
TARGETS = "host,sm_90a"
BACKENDS = ["auto", "persistent"]
UNROLLED = ["lstm_tc"]
# Of these files of a case nothing is compared.
RECORD = "record.json"
# Sections of ELF files: those that hold names, and the kind without bytes in the file.
SYMBOL_SECTIONS = (b".strtab", b".symtab")
NO_BITS = 8
COLUMN = 78
SHOWN_ROWS = 40


class Failure(Exception):
    """There is nothing to compare."""


def command(*parts, **options):
    done = subprocess.run([str(part) for part in parts], capture_output=True, text=True, cwd=ROOT, **options)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, parts))}: exit code {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout


def digest(data):
    return hashlib.sha256(data).hexdigest()


# Builds.

def build(name):
    """The program of a commit or path, and the key of its results."""
    path = pathlib.Path(name)
    if path.is_file():
        return path.resolve(), f"program-{digest(path.read_bytes())[:16]}"
    commit = command("git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    program = FOLDER / commit / "warpweave"
    if not program.is_file():
        print(f"replay: building {name} ({commit[:12]})", file=sys.stderr)
        build_commit(commit, program)
    return program, commit


def build_commit(commit, program):
    # One tree for all commits, so that only the crates that differ are built.
    tree = FOLDER / "tree"
    if tree.is_dir():
        command("git", "-C", tree, "checkout", "--quiet", "--detach", "--force", commit)
    else:
        command("git", "worktree", "prune")
        command("git", "worktree", "add", "--quiet", "--detach", tree, commit)
    settings = {**os.environ, "CARGO_TARGET_DIR": str(FOLDER / "build")}
    cargo = os.environ.get("CARGO", "cargo")
    done = subprocess.run([cargo, "build", "--release", "--quiet", "--package", "warpweave"], cwd=tree, env=settings)
    if done.returncode:
        raise Failure(f"{commit} does not build")
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(FOLDER / "build" / "release" / "warpweave", program)


# Cases.

class Case:
    """A model, a backend, and the program's arguments that write the model, if it is a benchmark model."""

    def __init__(self, name, backend, path=None, export=None, runs=True):
        self.name, self.backend, self.path, self.export, self.runs = f"{name}-{backend}", backend, path, export, runs


def cases(program, full):
    for path in sorted((ROOT / "tests" / "models").glob("*/*.onnx")):
        content = digest(path.read_bytes())[:8]
        for backend in BACKENDS:
            yield Case(f"{path.parent.name}-{path.stem}-{content}", backend, path=path)
    names = [model["name"] for model in json.loads(command(program, "models", "list", "--json"))["models"]]
    for name in names:
        for form in ["nodes", "unrolled"] if name in UNROLLED else ["nodes"]:
            for backend in BACKENDS:
                yield Case(f"{name}-{form}-reduced", backend, export=[name, "--form", form, "--reduced"])
            if full:
                yield Case(f"{name}-{form}-full", "auto", export=[name, "--form", form], runs=False)


def stages(program):
    """The intermediate results that a build can write and that need no further compilation."""
    described = command(program, "compile", "--help").split("--emit <STAGE>", 1)[1].split("--emit-dir", 1)[0]
    known = re.findall(r"^\s+- (\w+):", described, re.MULTILINE)
    return [stage for stage in known if stage in KINDS and stage != "cuda"]


def replay(program, case, emitted, folder):
    """Fills a folder with all that a program makes of a case."""
    scratch = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
    made = scratch / "made"
    made.mkdir()
    record = {"busy": 0.0, "planning": 0.0}
    try:
        run_case(program, case, emitted, scratch, made, record)
    finally:
        shutil.copytree(made, folder, dirs_exist_ok=True)
        shutil.rmtree(scratch)
    (folder / RECORD).write_text(json.dumps(record))


def run_case(program, case, emitted, scratch, made, record):
    model = case.path
    if case.export:
        model = scratch / "model.onnx"
        command(program, "models", "export", *case.export, "-o", model)
        with open(model, "rb") as file:
            (made / "model.sha256").write_text(hashlib.file_digest(file, "sha256").hexdigest())
    bundle = scratch / "model.weave"
    compile_ = [program, "compile", model, "-o", bundle, "--target", TARGETS, "--backend", case.backend, "--json"]
    compile_ += ["--emit", ",".join(emitted), "--emit-dir", made]
    # Weights stay where they are, if they may: in the folder of the bundle.
    compile_ += ["--weights", "beside"] if case.export and not case.runs else []
    code, out, error, record["busy"] = measured(compile_)
    if code:
        text = error.replace(str(model), "MODEL").replace(str(bundle), "BUNDLE").replace(str(made), "FOLDER")
        (made / "error.txt").write_text(f"exit code {code}\n{text}")
        return
    record["planning"] = sum(target["plan_seconds"] for target in json.loads(out)["targets"])
    with zipfile.ZipFile(bundle) as archive:
        for entry in archive.namelist():
            if entry.startswith(("src/", "cubin/")):
                (made / pathlib.PurePosixPath(entry).name).write_bytes(archive.read(entry))
    if case.runs:
        command(program, "run", bundle, "--device", "host", "--seed", "1", "--output", made / "outputs.npz")


def measured(parts):
    """The exit code, the outputs, and the seconds of the processor, those of the children included."""
    start = subprocess.Popen([str(part) for part in parts], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    with concurrent.futures.ThreadPoolExecutor(2) as readers:
        out, error = (readers.submit(stream.read) for stream in (start.stdout, start.stderr))
        _, status, usage = os.wait4(start.pid, 0)
        start.returncode = os.waitstatus_to_exitcode(status)
        texts = [stream.result().decode(errors="replace") for stream in (out, error)]
    return start.returncode, *texts, usage.ru_utime + usage.ru_stime


def results(name, options, own):
    """The folder of a build's results, filled where it is not."""
    program, key = build(name)
    # What an other version of this script has made is made again.
    folder = FOLDER / "results" / key / own
    chosen = [case for case in cases(program, options.full)
              if not options.cases or any(part in case.name for part in options.cases)]
    missing = [case for case in chosen if not (folder / case.name / RECORD).is_file()]
    emitted = stages(program)
    start = time.monotonic()
    # Models at full size one at a time: each takes gigabytes.
    for together, runs in ((options.jobs, True), (1, False)):
        with concurrent.futures.ThreadPoolExecutor(together) as pool:
            todo = [case for case in missing if case.runs == runs]
            list(pool.map(lambda case: replay(program, case, emitted, folder / case.name), todo))
    records = [json.loads((folder / case.name / RECORD).read_text()) for case in chosen]
    busy, planning = (sum(record[field] for record in records) for field in ("busy", "planning"))
    refused = sum((folder / case.name / "error.txt").is_file() for case in chosen)
    print(f"{name}: {len(chosen)} cases, {refused} of them refused; busy {busy:.1f} s, planning {planning:.1f} s; "
          f"{len(missing)} made now in {time.monotonic() - start:.0f} s, the rest kept", flush=True)
    return folder, {case.name: record["busy"] for case, record in zip(chosen, records)}


# Comparison.

def kind(name):
    """What a file of a case holds."""
    path = pathlib.PurePath(name)
    if path.suffix in (".cu", ".cubin", ".symbols"):
        return {".cu": "cuda", ".cubin": "cubin", ".symbols": "symbols"}[path.suffix]
    return name.split(".", 1)[0]


def files(folder):
    """Per name, the bytes of a case's files; arrays of archives by themselves."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                found.update({f"outputs.{entry}": archive.read(entry) for entry in archive.namelist()})
        elif path.suffix == ".cubin":
            found[path.name], found[f"{path.stem}.symbols"] = code_and_symbols(path.read_bytes())
        elif path.name != RECORD:
            found[path.name] = path.read_bytes()
    return found


def code_and_symbols(cubin):
    """A cubin's sections with their names but for those of symbols, and those; all and nothing of what is no such file."""
    if len(cubin) < 64:
        return cubin, b""
    table, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3a)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + size * at) for at in range(count)]
    content = [b"" if kind == NO_BITS else cubin[start:start + length] for _, kind, _, _, start, length, *_ in headers]
    name = [content[names][header[0]:].split(b"\0", 1)[0] for header in headers]
    parts = {True: b"", False: b""}
    for one, bytes_of in zip(name, content):
        parts[one in SYMBOL_SECTIONS] += one + b"\0" + bytes_of
    return parts[False], parts[True]


def functions(text):
    """Per name, the functions of device text; the rest of the lines under an empty name."""
    found, name = collections.defaultdict(list), ""
    for line in text.splitlines():
        begins = re.match(r"\S.*?\b(\w+)\(.*\{$", line)
        name = begins[1] if begins else name
        found[name].append(line)
        if line == "}":
            name = ""
    return found


def beside(base, head):
    """Rows of two lists of lines, from a little before the first that differs."""
    pairs = list(itertools.zip_longest(base, head, fillvalue=""))
    first = next(at for at, (left, right) in enumerate(pairs) if left != right)
    rows = []
    for left, right in pairs[max(0, first - 3):first - 3 + SHOWN_ROWS]:
        # Of long lines the part that differs.
        same = len(os.path.commonprefix([left, right]))
        cut = same - 10 if left != right and same > COLUMN - 20 else 0
        left, right, mark = left[cut:cut + COLUMN], right[cut:cut + COLUMN], " " if left == right else "|"
        rows.append(f"    {left:<{COLUMN}} {mark} {right}".rstrip())
    return rows


def show(name, base, head):
    """What differs between two texts."""
    base, head = base.decode(errors="replace"), head.decode(errors="replace")
    if kind(name) != "cuda":
        return beside(base.splitlines(), head.splitlines())
    left, right = functions(base), functions(head)
    names = list(dict.fromkeys([*left, *right]))
    differing = [function for function in names if left.get(function) != right.get(function)]
    if not differing:
        return ["    the same functions in an other order"]
    heading = f"    {len(differing)} of {len(names)} functions; the first is {differing[0] or 'none, but what is between them'}"
    return [heading, *beside(left.get(differing[0], []), right.get(differing[0], []))]


def compare(base, head, names, allowed):
    """Per kind, the cases in which it differs, and the text of the first difference of each kind."""
    differing, shown = collections.defaultdict(set), {}
    for name in sorted(names):
        left, right = files(base / name), files(head / name)
        for file in sorted({*left, *right}):
            if left.get(file) == right.get(file):
                continue
            differing[kind(file)].add(name)
            if kind(file) in shown or kind(file) in allowed:
                continue
            if file not in left or file not in right:
                shown[kind(file)] = [f"  {name}: {file} of {'HEAD' if file in right else 'BASE'} alone"]
            elif kind(file) in ("cubin", "symbols", "outputs", "model"):
                places = [at for at, pair in enumerate(zip(left[file], right[file])) if pair[0] != pair[1]]
                first = places[0] if places else min(len(left[file]), len(right[file]))
                shown[kind(file)] = [f"  {name}: {file}: {len(left[file])} and {len(right[file])} bytes, the first that "
                                     f"differs is {first}"]
            else:
                shown[kind(file)] = [f"  {name}: {file}:", *show(file, left[file], right[file])]
    return differing, shown


def verdict(differing, shown, count, allowed):
    """Prints what differs; whether nothing does that is not allowed."""
    wrong = [kind for kind in differing if kind not in allowed]
    for kind in sorted(differing, key=KINDS.index):
        tolerated = " (allowed)" if kind in allowed else ""
        print(f"{kind} differs in {len(differing[kind])} of {count} cases{tolerated}")
        print("\n".join(shown.get(kind, [])), end="\n" if kind in shown else "")
    device = {"cuda", "cubin"}
    if differing and not device & differing.keys():
        print("CUDA text and cubins are equal")
    print(f"replay: {'DIFFERENT' if wrong else 'equal'}: {count} cases")
    return not wrong


# The comparison's own test.

PLANTED = [
    ("sm_90a.cu", b"v0 = 1u;", b"v0 = 2u;", "cuda", "the first is k1"),
    ("sm_90a.cubin", b"\x7fELF\x01", b"\x7fELF\x02", "cubin", "the first that differs is 4"),
    ("plan.sm_90a.txt", b"wait 1", b"wait 2", "plan", "wait 2"),
    ("error.txt", None, b"exit code 3", "error", "of HEAD alone"),
]


def self_test():
    """Plants a difference of each kind and looks for it."""
    kernels = b"WW_KERNEL void k0(int tile) {\n  v0 = tile;\n}\nWW_KERNEL void k1(int tile) {\n  v0 = 1u;\n}\n"
    same = {"sm_90a.cu": kernels, "sm_90a.cubin": b"\x7fELF\x01", "plan.sm_90a.txt": b"wait 1\n"}
    with tempfile.TemporaryDirectory() as scratch:
        base, head = pathlib.Path(scratch) / "base", pathlib.Path(scratch) / "head"
        for folder in (base, head):
            (folder / "case").mkdir(parents=True)
            for name, content in same.items():
                (folder / "case" / name).write_bytes(content)
        assert compare(base, head, ["case"], []) == ({}, {})
        for name, before, after, what, text in PLANTED:
            path = head / "case" / name
            path.write_bytes(same[name].replace(before, after) if before else after)
            differing, shown = compare(base, head, ["case"], [])
            assert differing == {what: {"case"}}, (name, differing)
            assert text in "\n".join(shown[what]), (name, shown)
            assert not verdict(differing, shown, 1, []) and verdict(differing, {}, 1, [what])
            path.unlink() if before is None else path.write_bytes(same[name])
    print("replay: the comparison finds what is planted")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", metavar="BASE HEAD", help="commits or programs")
    parser.add_argument("--cases", nargs="*", default=[], metavar="PART", help="cases that have it in their name; all if left out")
    parser.add_argument("--full", action="store_true", help="the benchmark models at full size as well")
    parser.add_argument("--allow", default=[], type=lambda text: text.split(","), help="kinds that may differ, such as plan,graph")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many models at once")
    parser.add_argument("--self-test", action="store_true", help="whether the comparison finds a planted difference")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    unknown = [kind for kind in options.allow if kind not in KINDS]
    if len(options.builds) != 2 or unknown:
        parser.error(f"no such kind: {', '.join(unknown)}" if unknown else "BASE and HEAD are needed")
    FOLDER.mkdir(parents=True, exist_ok=True)
    own = digest(pathlib.Path(__file__).read_bytes())[:8]
    try:
        (base, before), (head, after) = (results(name, options, own) for name in options.builds)
    except Failure as failure:
        sys.exit(f"replay: {failure}")
    for name in sorted(before.keys() ^ after.keys()):
        print(f"{name}: of {'BASE' if name in before else 'HEAD'} alone")
    names = before.keys() & after.keys()
    if not names:
        sys.exit("replay: no such case")
    ratios = [after[name] / before[name] for name in names]
    total = sum(after.values()) / sum(before.values())
    print(f"busy: {total - 1:+.1%}, {statistics.median(ratios) - 1:+.1%} in the median of the cases")
    same = verdict(*compare(base, head, names, options.allow), len(names), options.allow)
    return 0 if same and before.keys() == after.keys() else 1


if __name__ == "__main__":
    sys.exit(main())
