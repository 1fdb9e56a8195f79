"""Compares graphs that NNSmith generates with ONNX Runtime.

Every seed is a graph of 5 to 30 of NNSmith's operators. ONNX Runtime, without optimisations, says what its outputs are;
`warpweave compare` must agree on every device of --device, or refuse the model with a reason (exit code 3). At most
MOST_REFUSED of the graphs may be refused, and at most MOST_UNFIT be unfit. A graph is unfit if all drawn inputs make an
integer overflow, or an operator read what ONNX does not define, such as the maximum of NaN. It is unfit, too, if its outputs
are not determined: ONNX Runtime gives others when it optimises, or when inexact operators err by a few units in the last
place.

Needs what scripts/fetch_nnsmith.sh fetches. With --sample FILE.zip it compares the graphs of that file instead, which needs
Python alone; --pack FILE.zip writes one.

    PYTHONPATH=.onnxruntime:.nnsmith python3 scripts/nnsmith_graphs.py [--seeds 0:1000] [--device host] [--keep DIR]
"""

import os
import pathlib
import sys
import tempfile
import zipfile

import seeded

MOST_REFUSED = 0.05
MOST_UNFIT = 0.25
FEWEST_IN_SAMPLE = 60
LARGEST_IN_SAMPLE = 12_000
SECONDS = 120
WORDS = {"ok": "agree", "refused": "refused", "failed": "failed", "not defined": "not defined", "not determined": "not determined"}
FILES = ("model.onnx", "io.npz", "tolerance.txt")


def compared(folder, device, program):
    """What `warpweave compare` says of a folder's graph: a verdict, and why."""
    tolerance = (folder / "tolerance.txt").read_text()
    return seeded.compared(program, folder, device, ["--rtol", tolerance, "--atol", tolerance], SECONDS)


def keep(folder, target):
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (target / name).write_bytes((folder / name).read_bytes())


def within_bars(counts, cases):
    unfit = counts["not defined"] + counts["not determined"]
    return not counts["failed"] and counts["refused"] <= MOST_REFUSED * cases and unfit <= MOST_UNFIT * cases


def check_generated(options, device, scratch):
    """Generates the seeds' graphs for a device one after another, as NNSmith's state is global, and compares them two at once."""
    import nnsmith_cases

    generator, unfit = nnsmith_cases.Generator(device), {}
    for seed in options.seeds:
        folder = scratch / device / str(seed)
        folder.mkdir(parents=True)
        if reason := generator.write(seed, folder):
            unfit[seed] = reason

    def check(seed):
        if seed in unfit:
            return unfit[seed], ""
        folder = scratch / device / str(seed)
        verdict, said = compared(folder, device, options.warpweave)
        if verdict == "failed" and not nnsmith_cases.is_written_determined(seed, folder):
            return "not determined", ""
        if verdict == "failed" and options.keep:
            keep(folder, options.keep / f"{seed}_{device}")
        return verdict, said

    return within_bars(seeded.counted(options.seeds, check, device, WORDS), len(options.seeds))


def check_sample(options, device, scratch):
    with zipfile.ZipFile(options.sample) as archive:
        archive.extractall(scratch)
    seeds = sorted(int(path.parent.name) for path in scratch.glob("*/model.onnx"))
    counts = seeded.counted(seeds, lambda seed: compared(scratch / str(seed), device, options.warpweave), device, WORDS)
    if len(seeds) < FEWEST_IN_SAMPLE:
        print(f"{options.sample} has {len(seeds)} graphs, and there must be {FEWEST_IN_SAMPLE}")
    return len(seeds) >= FEWEST_IN_SAMPLE and within_bars(counts, len(seeds))


def pack(options, scratch):
    """Writes a sample of the smaller graphs for the first device."""
    import nnsmith_cases

    generator = nnsmith_cases.Generator(options.devices[0])
    with zipfile.ZipFile(options.pack, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for seed in options.seeds:
            folder = scratch / str(seed)
            folder.mkdir()
            if generator.write(seed, folder) or sum((folder / name).stat().st_size for name in FILES) > LARGEST_IN_SAMPLE:
                continue
            for name in FILES:
                # A fixed date, so that the same graphs give the same bytes.
                archive.writestr(zipfile.ZipInfo(f"{seed}/{name}"), (folder / name).read_bytes(), zipfile.ZIP_DEFLATED)
    count = len(zipfile.ZipFile(options.pack).namelist()) // len(FILES)
    print(f"{options.pack}: {count} graphs, {pathlib.Path(options.pack).stat().st_size} bytes")


def more_options(parser):
    parser.add_argument("--sample", help="a file that --pack wrote, whose graphs are compared instead of generated ones")
    parser.add_argument("--pack", help="a file to which the seeds' graphs are written, with what they give; nothing is compared")


def main():
    options = seeded.options(__doc__, "0:1000", more_options)
    if not options.sample and os.environ.get("PYTHONHASHSEED") != "0":
        # NNSmith iterates over sets; with other hashes a seed would be another graph.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        if options.pack:
            return pack(options, scratch)
        check = check_sample if options.sample else check_generated
        return int(not all([check(options, device, scratch) for device in options.devices]))


if __name__ == "__main__":
    sys.exit(main())
