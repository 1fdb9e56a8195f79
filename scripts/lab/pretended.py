"""Programs that stand in for what a machine with a GPU has, so that the steps which need one are run without one.

The emulator stands in for the GPU; what no other device does is answered with made-up figures.
"""

from __future__ import annotations

import json
import os
import sys

CALIBRATED = {"readings": [{"constant": "step_microseconds", "before": 2.0, "now": 3.0, "microseconds": [5.0, 8.0]},
                           {"constant": "load_latency_cycles", "before": 287.0, "now": None, "microseconds": [5.0, 5.0]}]}
TUNED = {"recorded": 12, "left": 3, "refused": [{"params": "row", "reason": "made up"}]}
PEER = {"model": "dlrm", "peer": "pretended 0", "mode": "graph", "median_ms": 0.5}

# Per program's name, the shell that is run instead.
SCRIPTS = {
    "warpweave": """
case "$*" in
    "doctor --calibrate"*) echo '{calibrated}'; exit 1;;
    tune*) echo '{tuned}'; exit 1;;
    *"--device cuda:0"*) ;;
esac
for word do
    shift
    if [ "$word" = cuda:0 ]; then word=emulator; fi
    set -- "$@" "$word"
done
exec '{warpweave}' "$@"
""",
    "compute-sanitizer": """
while [ "${{1#--}}" != "$1" ]; do shift 2; done
exec "$@"
""",
    "python3": """
case "$*" in
    *"import torch"*) exit 0;;
    *peers.py*) echo '{peer}'; exit 0;;
esac
exec '{python}' "$@"
""",
}


def write(folder, warpweave):
    """Writes the programs to a folder."""
    folder.mkdir()
    words = {"calibrated": json.dumps(CALIBRATED), "tuned": json.dumps(TUNED), "peer": json.dumps(PEER),
             "warpweave": warpweave, "python": sys.executable}
    for name, script in SCRIPTS.items():
        path = folder / name
        path.write_text("#!/bin/sh" + script.format(**words))
        os.chmod(path, 0o755)
    return folder / "warpweave"
