"""Prints, for every benchmark model at full size, what the levels of fusion come to: kernels, bytes through global memory,
and estimated time. Needs Python 3 alone; each model is deleted after its turn.

    python3 scripts/compare_fusion.py --warpweave target/release/warpweave [MODEL ...]
"""

import argparse
import json
import pathlib
import subprocess

FOLDER = pathlib.Path("target/zoo")


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def megabytes(count):
    return f"{count / 1e6:.1f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warpweave", default="target/release/warpweave")
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    names = arguments.models or [line.split()[0] for line in run(arguments.warpweave, "models", "list").splitlines()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    print("| Model | kernels none / register / full | activations MB | change | weights MB | estimate us | search s |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        path = FOLDER / f"{name}.onnx"
        run(arguments.warpweave, "models", "export", name, "-o", path)
        levels = json.loads(run(arguments.warpweave, "explain", path, "--json"))["levels"]
        path.unlink()
        register, full = (level["activation_bytes"] for level in levels[1:])
        cells = [
            name,
            " / ".join(str(level["kernels"]) for level in levels),
            " / ".join(megabytes(level["activation_bytes"]) for level in levels),
            f"{100 * (full / register - 1):+.0f} %",
            megabytes(levels[2]["weight_bytes"]),
            " / ".join(f"{level['estimated_microseconds']:.0f}" for level in levels),
            " / ".join(f"{level['search_seconds']:.1f}" for level in levels),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
