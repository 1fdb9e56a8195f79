"""Looks at a page in headless Chromium (Debian: apt-get install chromium), at the width of a window."""

import argparse
import html
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HEIGHT = 4000
# Tells the page around the frame what `wrong()` finds.
REPORT = """
<script>
addEventListener('load', async () => {
  const found = await wrong();
  parent.postMessage(JSON.stringify({ wrong: found, width: window.innerWidth }), '*');
});
</script>
"""
# A window is not as narrow as a phone, so the page is shown in a frame.
FRAME = """<!DOCTYPE html><body style="margin:0"><pre id="verdict"></pre>
<script>addEventListener('message', told => {{ document.getElementById('verdict').textContent = told.data; }});</script>
<iframe style="border:0;width:{width}px;height:{height}px" src="page.html"></iframe></body>"""


def program():
    """Chromium's program, or None."""
    names = ["chromium", "chromium-browser", "google-chrome"]
    return next((found for found in map(shutil.which, names) if found), None)


def look(program, page, probe, width, damage=""):
    """What the probe's function `wrong` returns in a page of this width, after the damage."""
    inner = page.replace("</body>", f"<script>{damage}</script><script>{probe}</script>{REPORT}</body>")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "page.html").write_text(inner)
        path = pathlib.Path(folder, "frame.html")
        path.write_text(FRAME.format(width=width, height=HEIGHT))
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={folder}/profile", f"--window-size=1600,{HEIGHT}", "--virtual-time-budget=20000",
                   "--dump-dom", f"file://{path}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    text = done.stdout.partition('<pre id="verdict">')[2].partition("</pre>")[0]
    if not text:
        sys.exit(f"Chromium gave no verdict: {done.stderr.strip()[-400:]}")
    seen = json.loads(html.unescape(text))
    if seen["width"] != width:
        sys.exit(f"the page was {seen['width']} px wide instead of {width} px")
    return seen["wrong"]


def options(description, folder):
    """The command line of a check, and Chromium's program; without one, says that the check was not run and ends."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpweave", default="target/release/warpweave", help="the program")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(folder), help="for what is written")
    given = parser.parse_args()
    found = program()
    if found is None:
        print(f"{parser.prog}: not run, there is no Chromium here")
        sys.exit(0)
    given.folder.mkdir(parents=True, exist_ok=True)
    return given, found


def missed(program, page, probe, width, damages):
    """How many kinds of damage the probe does not find."""
    count = 0
    for kind, damage in damages.items():
        is_found = any(text.startswith(kind) for text in look(program, page, probe, width, damage))
        count += not is_found
        print(f"a page damaged to be `{kind}`: {'found' if is_found else 'NOT FOUND'}")
    return count
