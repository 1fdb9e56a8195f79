#!/bin/sh
# Fetches ONNX Runtime, onnx and numpy into .onnxruntime/ of the repository, from the pinned wheels that
# scripts/onnxruntime.txt lists. Nothing is installed elsewhere. Needs Python 3.11 to 3.14 with pip on x86-64 Linux. Does
# nothing where they are already there.
set -eu
cd "$(dirname "$0")/.."
list=scripts/onnxruntime.txt
wanted="$(python3 -c 'import sys; print("Python %d.%d" % sys.version_info[:2])') $(sha256sum <"$list")"
marker=.onnxruntime/fetched
if [ -e "$marker" ] && [ "$(cat "$marker")" = "$wanted" ]; then
    exit 0
fi
echo "onnxruntime: fetching it and what it needs"
rm -rf .onnxruntime
python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --root-user-action=ignore --target .onnxruntime --requirement "$list" || {
    echo "there may be no wheels for this Python ($wanted): 3.11 to 3.14 on x86-64 Linux have them" >&2
    exit 1
}
echo "$wanted" >"$marker"
echo "done: .onnxruntime"
