"""What the scripts that check a case a seed have in common: their options, their threads, and how they tell verdicts."""

import argparse
import collections
import concurrent.futures
import pathlib
import subprocess


def options(description, seeds, more=lambda parser: None):
    """The command line: the program, a range of seeds, devices, a folder, which is made, for what fails, and what `more` adds
    to the parser."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--seeds", default=seeds, help="FIRST:END")
    parser.add_argument("--device", default="host", help="such as host,emulator,text")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for models and arrays that fail")
    more(parser)
    found = parser.parse_args()
    found.seeds = range(*map(int, found.seeds.split(":")))
    found.devices = found.device.split(",")
    if found.keep:
        found.keep.mkdir(parents=True, exist_ok=True)
    return found


def compared(program, folder, device, more=(), seconds=120):
    """What `warpweave compare` says of a folder's `model.onnx` and `io.npz`: `ok`, `refused` or `failed`, and why. A refusal
    without a reason is a failure."""
    command = [program, "compare", str(folder / "model.onnx"), "--io", str(folder / "io.npz"), "--device", device, *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "failed", f"no result after {seconds} s"
    said = " ".join((done.stdout + done.stderr).split())
    if done.returncode == 0:
        return "ok", ""
    return ("refused", said) if done.returncode == 3 and "error" in said else ("failed", f"exit code {done.returncode}: {said}")


def counted(seeds, check, where, words):
    """How often each verdict came out: `check` gives one, and what was said of it, for a seed. `words` are verdicts as they are
    printed, in their order; failures are printed with their seeds, refusals with their reasons."""
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for seed, (verdict, said) in zip(seeds, pool.map(check, seeds)):
            verdicts.append((verdict, said))
            if verdict == "failed":
                print(f"seed {seed} on {where}: {said}", flush=True)
    refused = collections.Counter(said for verdict, said in verdicts if verdict == "refused")
    for reason, count in refused.most_common(5):
        print(f"{where}: {count} refused: {reason}")
    counts = collections.Counter(verdict for verdict, _ in verdicts)
    print(f"{where}: " + ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items()), flush=True)
    return counts
