#!/bin/sh
# Fetches the CUDA compiler and linker libraries and the disassemblers that building and testing need, into .cuda/ of the repository.
# Nothing is installed and no GPU is needed. Versions and hashes are pinned; what is already there is not fetched again.
# Needs python3 with pip, on x86-64 Linux. The vendor's licence lies in each package's dist-info folder.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
wheels="$root/runtime/src/toolkit/wheels.txt"
target="$root/.cuda"
work=""
trap 'if [ -n "$work" ]; then rm -rf "$work"; fi' EXIT

if cmp -s "$wheels" "$target/wheels.txt"; then
  echo "already in $target"
  exit
fi
grep -v '^#' "$wheels" | sed 's/ .*/: fetching/'
work=$(mktemp -d)
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --dest "$work" -r "$wheels"
python3 - "$work" "$target" <<'PYTHON'
import pathlib, stat, sys, zipfile

work, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
for wheel in sorted(work.glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
        for name in archive.namelist():
            if "/bin/" in name:
                path = target / name
                path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
PYTHON
cp "$wheels" "$target/wheels.txt"
echo "done: $target"
