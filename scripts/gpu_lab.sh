#!/bin/sh
# Tells all that a device can tell about a build, in a bounded time: checks, litmus programs, small models compared, cycles,
# benchmark models measured beside PyTorch, profiles, tuning. Needs a driver, NVRTC and Python 3; no Rust, no network.
# Leaves lab.json, lab.md and lab.zip in --out; a second run with the same --out does what is left.
# usage: gpu_lab.sh [--budget SECONDS] [--out DIR] [--device cuda:0] [--reduced] BINARY
set -eu
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    echo "gpu_lab.sh needs Python 3.8 or newer as python3" >&2
    exit 4
fi
exec python3 "$(dirname "$0")/lab/main.py" "$@"
