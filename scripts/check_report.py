"""Measures a model, writes the page of the results, and looks at it in headless Chromium at 1280 and 390 pixels.

Fails where a chart is empty, texts of a drawing touch or leave it, text is too small to read, boxes of the page overlap, or
the page scrolls sideways. First it damages the page on purpose and expects each damage to be found. Screenshots are left in
--folder. Without Chromium (Debian: apt-get install chromium) nothing is checked, and the script says so.

    python3 scripts/check_report.py --warpweave target/release/warpweave --folder target/report
"""

import json
import pathlib
import subprocess
import sys

import browser

WIDTHS = [1280, 390]

# Runs inside the page and finds what is wrong with it.
PROBE = """
function wrong() {
  const found = [];
  const page = document.documentElement;
  if (page.scrollWidth > window.innerWidth) found.push(`scroll: ${page.scrollWidth} px wide`);
  const touch = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
  const pairs = (boxes, say) => boxes.forEach((a, at) => boxes.slice(at + 1).forEach(
      b => { if (touch(a.box, b.box)) found.push(say(a, b)); }));
  const box = element => ({ element, box: element.getBoundingClientRect() });
  const drawings = [...document.querySelectorAll('figure > svg')];
  if (drawings.length === 0) found.push('empty: no chart at all');
  for (const drawing of drawings) {
    const title = drawing.getAttribute('aria-label');
    const frame = drawing.getBoundingClientRect();
    const marks = [...drawing.querySelectorAll('.point')].map(box);
    if (!marks.some(mark => mark.box.width > 0 && mark.box.height > 0)) found.push(`empty: ${title}`);
    const texts = [...drawing.querySelectorAll('text')].map(box);
    const inside = ({ box }) => box.left >= frame.left - 1 && box.right <= frame.right + 1
        && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
    for (const text of [...texts, ...marks]) {
      if (!inside(text)) found.push(`outside: ${text.element.textContent} of ${title}`);
    }
    const size = 11 * frame.width / drawing.viewBox.baseVal.width;
    if (size < 8) found.push(`small: ${size.toFixed(1)} px in ${title}`);
    pairs(texts, (a, b) => `overlap: "${a.element.textContent}" and "${b.element.textContent}" of ${title}`);
  }
  pairs([...document.querySelectorAll('h1, h2, figure, main > p, main > .scroll')].map(box),
      (a, b) => `overlap: ${a.element.tagName} and ${b.element.tagName}`);
  return found;
}
"""

DAMAGES = {
    "empty": "document.querySelectorAll('.point').forEach(mark => mark.remove());",
    "overlap": "const text = document.querySelector('svg text'); text.after(text.cloneNode(true));",
    "outside": "document.querySelector('svg text').setAttribute('x', '-500');",
    "small": "document.querySelectorAll('svg').forEach(drawing => { drawing.style.width = '60px'; });",
    "scroll": "document.querySelector('main').style.minWidth = '3000px';",
}


def report(options):
    """The page of a sweep, one measurement beside peers, and another model."""
    tool, folder = options.warpweave, options.folder
    model = folder / "dlrm.onnx"
    quick = ["--warmup-ms", "20", "--duration-ms", "200", "--json"]
    subprocess.run([tool, "models", "export", "dlrm", "-o", model], check=True, stdout=subprocess.DEVNULL)
    peers = folder / "peers.jsonl"
    # The page is looked at, not what its times mean.
    peers.write_text(pathlib.Path("models/peers/h200.jsonl").read_text().replace('"NVIDIA H200"', '"cpu"'))
    runs = [
        [model, "--name", "dlrm", "--baseline", peers],
        ["tests/models/resnet_bottleneck/torchscript.onnx"],
        ["tests/models/bert/torchscript.onnx", "--cold-l2"],
    ]
    files = []
    for at, run in enumerate(runs):
        done = subprocess.run([tool, "bench", *run, *quick], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        files.append(folder / f"results{at}.json")
        files[-1].write_bytes(done.stdout)
    model.unlink()
    page = folder / "report.html"
    command = [tool, "report", *files, "-o", page, "--json"]
    written = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"{page}: {written['charts']} charts of {written['results']} results")
    return page


def main():
    options, program = browser.options(__doc__, "target/report")
    path = report(options)
    page = path.read_text()
    failed = browser.missed(program, page, PROBE, WIDTHS[0], DAMAGES)
    for width in WIDTHS:
        wrong = browser.look(program, page, PROBE, width)
        failed += len(wrong)
        print(f"{width} px: {'ok' if not wrong else 'FAILED'}", *wrong, sep="\n  ")
    subprocess.run(["sh", "scripts/screenshot_report.sh", path, options.folder], check=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
