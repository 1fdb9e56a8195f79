#!/bin/sh
# Fetches the pinned wheels that a list names into a folder of the repository: fetch_wheels.sh LIST FOLDER. Nothing is installed
# elsewhere. Needs Python 3.11 to 3.14 with pip on x86-64 Linux. Does nothing where they are already there.
set -eu
cd "$(dirname "$0")/.."
list="$1"
folder="$2"
wanted="$(python3 -c 'import sys; print("Python %d.%d" % sys.version_info[:2])') $(sha256sum <"$list")"
marker="$folder/fetched"
if [ -e "$marker" ] && [ "$(cat "$marker")" = "$wanted" ]; then
    exit 0
fi
echo "${folder#.}: fetching it and what it needs"
rm -rf "$folder"
python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --root-user-action=ignore --target "$folder" --requirement "$list" || {
    echo "there may be no wheels for this Python ($wanted): 3.11 to 3.14 on x86-64 Linux have them" >&2
    exit 1
}
echo "$wanted" >"$marker"
echo "done: $folder"
