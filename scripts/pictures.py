"""Draws the pictures of ARCHITECTURE.md and README.md.

    python3 scripts/pictures.py [--warpweave target/release/warpweave]

docs/pipeline.svg: the levels and what makes each from the one before. docs/plan.svg: the predicted timeline of a small LSTM
on twelve units, as `explain --plan` draws it. Needs Python 3 alone.
"""

import argparse
import html
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = "tests/models/lstm/dynamo.onnx"
# Each level, what it holds, and what makes the next one.
LEVELS = [
    ("model.onnx", "operators and weights", "import"),
    ("graph", "typed operators", "passes, lowering"),
    ("program", "tensor expressions", "fusion search (DeepCuts)"),
    ("partition", "groups, templates, tiles", "rTask scheduling (Rammer)"),
    ("plan", "streams, waits, memory", "proof, lowering"),
    ("kernel IR", "thread-level programs", "printing"),
    ("CUDA text", "one program", "NVRTC, gates"),
    ("model.weave", "program, plan, weights", None),
]
# What runs a level without a GPU.
DEVICES = {"program": "reference", "plan": "host", "kernel IR": "emulator", "CUDA text": "text", "model.weave": "cuda:0"}
BOX, GAP, LEFT, TOP = (132, 44), 62, 12, 34
STYLE = (".page{fill:#fff}.ink{fill:#222}.small{fill:#555;font-size:10px}.box{fill:#e8eef7;stroke:#7b8ea8}"
         ".device{fill:#e6f3e3;stroke:#7fa277}.arrow{stroke:#7b8ea8;fill:none}"
         "@media(prefers-color-scheme:dark){.page{fill:#16181c}.ink{fill:#dfe3e8}.small{fill:#a8b0ba}"
         ".box{fill:#22304a;stroke:#5d7499}.device{fill:#21391f;stroke:#5e8a56}.arrow{stroke:#5d7499}}")


def text(x, y, kind, content, anchor="middle"):
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{html.escape(content)}</text>'


def box(x, y, kind, width, height):
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'


def pipeline():
    columns, (width, height) = 4, BOX
    step = width + 96
    parts = []
    for number, (name, about, way) in enumerate(LEVELS):
        row, column = divmod(number, columns)
        x, y = LEFT + column * step, TOP + row * (height + GAP + 34)
        middle = x + width / 2
        parts += [box(x, y, "box", width, height), text(middle, y + 18, "ink", name), text(middle, y + 34, "small", about)]
        if name in DEVICES:
            parts += [box(x + 26, y + height + 8, "device", width - 52, 18), text(middle, y + height + 21, "small", DEVICES[name])]
        if way and column + 1 < columns:
            parts += [f'<path class="arrow" d="M{x + width} {y + 22}h92"/><path class="arrow" d="m{x + step - 10} {y + 17}l6 5l-6 5"/>']
            words = way.split(", ") if ", " in way else way.rsplit(" (", 1)
            parts += [text(x + width + 46, y + 14 - 11 * (len(words) - 1 - at), "small", word.rstrip(")")) for at, word in enumerate(words)]
        elif way:
            down = y + height + GAP + 34
            parts += [f'<path class="arrow" d="M{middle} {y + height}v{GAP + 14}H{LEFT + width / 2}v16"/>',
                      text(middle - 8, y + height + GAP + 8, "small", way, "end"), f'<path class="arrow" d="m{LEFT + width / 2 - 5} {down - 8}l5 6l5 -6"/>']
    total = (LEFT * 2 + 3 * step + width, TOP + 2 * height + GAP + 34 + 44)
    legend = text(LEFT, 16, "small", "Boxes are levels; each prints, and is verified before the next. Below: the device that runs a level.", "start")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]} {total[1]}" font-family="sans-serif" font-size="12" role="img">\n'
            f"<title>From an ONNX model to a bundle</title><style>{STYLE}</style>\n"
            f'<rect class="page" width="100%" height="100%"/>\n{legend}\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warpweave", type=pathlib.Path, default=ROOT / "target" / "release" / "warpweave")
    arguments = parser.parse_args()
    (ROOT / "docs" / "pipeline.svg").write_text(pipeline())
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.warpweave.resolve(), "explain", MODEL, "--plan", "--units", "12", "-o", folder]
        subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
        (ROOT / "docs" / "plan.svg").write_bytes((pathlib.Path(folder) / "timeline.svg").read_bytes())


if __name__ == "__main__":
    main()
