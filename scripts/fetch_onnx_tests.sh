#!/bin/sh
# Fetches ONNX's own node tests into .onnx/node, and those of old exporters beside it, from the pinned onnx wheel. Needs Python 3 with pip. Does nothing where
# they are already there.
set -eu
cd "$(dirname "$0")/.."
version=1.22.0
sha256=955e02e1f6d385b53d52f9cd7b9cdf5caf417c300bcfe3c64c6d542be763845b
marker=.onnx/node-$version-pytorch.fetched
if [ -e "$marker" ]; then
    exit 0
fi
echo "onnx $version: fetching its node tests"
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.12 \
    --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
    --dest "$download" "onnx==$version"
rm -rf .onnx
mkdir -p .onnx
python3 - "$download" "$sha256" <<'PYTHON'
import hashlib
import pathlib
import sys
import zipfile

wheel = next(pathlib.Path(sys.argv[1]).glob("onnx-*.whl"))
found = hashlib.sha256(wheel.read_bytes()).hexdigest()
if found != sys.argv[2]:
    sys.exit(f"{wheel.name} has SHA-256 {found} instead of {sys.argv[2]}")
prefix = "onnx/backend/test/data/"
folders = tuple(prefix + folder + "/" for folder in ("node", "pytorch-converted", "pytorch-operator"))
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if name.startswith(folders) and not name.endswith("/"):
            target = pathlib.Path(".onnx") / name[len(prefix):]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
PYTHON
touch "$marker"
echo "done: .onnx/node, .onnx/pytorch-converted, .onnx/pytorch-operator"
