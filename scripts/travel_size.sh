#!/bin/sh
# Fails if what is copied to a machine with a GPU, tracked files and the release binary, has more than 48 MiB.
# usage: travel_size.sh WARPWEAVE
set -eu
cd "$(dirname "$0")/.."
most=$((48 * 1024 * 1024))
binary=$(wc -c <"$1")
tracked=$(git ls-files -z | xargs -0 cat | wc -c)
bytes=$((binary + tracked))
echo "tracked files and $1 have $tracked + $binary = $bytes bytes; $most are allowed"
[ "$bytes" -le "$most" ]
