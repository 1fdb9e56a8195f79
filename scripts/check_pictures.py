"""Draws the partitions of models and looks at the pictures in headless Chromium at 1280 and 390 pixels.

Fails where texts or boxes overlap, a text leaves its box or is smaller than 10 pixels, the picture is wider than the window, or a
group or one of its nodes is named by no box; each also after the link that draws every copy of repeated blocks. First a picture is
damaged on purpose, and each damage must be found. Without Chromium (Debian: apt-get install chromium) nothing is checked, and
the script says so.

    python3 scripts/check_pictures.py --warpweave target/release/warpweave --folder target/pictures
"""

import json
import pathlib
import re
import subprocess
import sys

import browser

WIDTHS = [1280, 390]
STEP = ["--train", "loss=cross_entropy", "--optimizer", "sgd,lr=0.1"]
# Models and what `explain` is given beside them.
MODELS = {"resnet50": [], "bert_base_128": [], "nasnet": [], "step": STEP}
# The one whose picture is damaged; its blocks are repeated, so that there is a link to damage.
DAMAGED = "bert_base_128"
TRAINED = "tests/training/mlp/model.onnx"

PROBE = """
async function wrong() {
  const found = look('');
  const link = [...document.querySelectorAll('a')].find(seen);
  if (link) {
    const folded = [...document.querySelectorAll('.box')].filter(seen).length;
    link.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
    await new Promise(done => setTimeout(done, 200));
    if ([...document.querySelectorAll('.box')].filter(seen).length <= folded) found.push('closed: the link opens nothing');
    found.push(...look(' opened'));
  }
  return found;
}
function seen(element) { return element.getBoundingClientRect().width > 0; }
function look(state) {
  const found = [];
  const width = document.documentElement.scrollWidth;
  if (width > window.innerWidth) found.push(`wide${state}: ${width} px`);
  const touch = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
  const box = element => ({ element, box: element.getBoundingClientRect() });
  const say = ({ element }) => element.textContent.slice(0, 60);
  const pairs = elements => {
    const sorted = elements.map(box).sort((a, b) => a.box.top - b.box.top);
    sorted.forEach((a, at) => {
      for (let other = at + 1; other < sorted.length && sorted[other].box.top < a.box.bottom; other += 1) {
        if (touch(a.box, sorted[other].box)) found.push(`overlap${state}: "${say(a)}" and "${say(sorted[other])}"`);
      }
    });
  };
  const texts = [...document.querySelectorAll('text')].filter(seen);
  const boxes = [...document.querySelectorAll('.box')].filter(seen);
  if (boxes.length === 0) found.push(`empty${state}`);
  pairs(texts);
  pairs(boxes.map(item => item.querySelector('rect')));
  for (const text of texts) {
    const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
    if (size < 10) found.push(`small${state}: ${size.toFixed(1)} px, "${text.textContent}"`);
  }
  for (const item of boxes) {
    const frame = item.querySelector('rect').getBoundingClientRect();
    for (const text of item.querySelectorAll('text')) {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      const inside = left >= frame.left && right <= frame.right && top >= frame.top - 1 && bottom <= frame.bottom + 1;
      if (!inside) found.push(`outside${state}: "${text.textContent}"`);
    }
  }
  const titles = boxes.map(item => item.querySelector('title').textContent).join('\\n');
  const named = new Map([...titles.matchAll(/^group (\\d+): (.*)$/gm)].map(match => [Number(match[1]), match[2]]));
  EXPECTED.forEach((nodes, group) => {
    const shown = named.get(group);
    if (shown === undefined) found.push(`missing${state}: group ${group}`);
    else nodes.filter(node => !shown.includes(node)).forEach(node => found.push(`missing${state}: ${node} of group ${group}`));
  });
  return found;
}
"""

DAMAGES = {
    "empty": "document.querySelectorAll('.box').forEach(item => item.remove());",
    "overlap": "const text = document.querySelector('.folded .wide text'); text.after(text.cloneNode(true));",
    "outside": "document.querySelector('.folded .wide .box text').setAttribute('x', '5');",
    "small": "document.querySelectorAll('text').forEach(text => { text.style.fontSize = '6px'; });",
    "wide": "document.querySelector('svg').style.width = '3000px';",
    "missing": "document.querySelector('.folded .wide .box title').textContent = '';",
    "closed": "document.querySelectorAll('a').forEach(link => link.setAttribute('href', '#nowhere'));",
}


def drawn(options, name, arguments):
    """The page of a model's picture, and the nodes of each group that `explain` names."""
    model = options.folder / f"{name}.onnx"
    if name == "step":
        model.write_bytes(pathlib.Path(TRAINED).read_bytes())
    else:
        command = [options.warpweave, "models", "export", name, "-o", model]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    folder = options.folder / name
    command = [options.warpweave, "explain", model, "-o", folder, "--json", *arguments]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    model.unlink()
    nodes = [re.findall(r'"([^"]+)"', group["nodes"]) for group in told["groups"]]
    picture = (folder / "partition.svg").read_text()
    return f'<!DOCTYPE html><body style="margin:0">{picture}</body>', f"const EXPECTED = {json.dumps(nodes)};" + PROBE


def main():
    options, program = browser.options(__doc__, "target/pictures")
    failed = 0
    for name, arguments in MODELS.items():
        page, probe = drawn(options, name, arguments)
        if name == DAMAGED:
            failed += browser.missed(program, page, probe, WIDTHS[0], DAMAGES)
        for width in WIDTHS:
            wrong = browser.look(program, page, probe, width)
            failed += len(wrong)
            print(f"{name}, {width} px: {'ok' if not wrong else 'FAILED'}", *wrong[:20], sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
