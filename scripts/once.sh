#!/bin/sh
# Runs a command unless it has passed in this very tree: at this commit, with nothing changed since. So what is interrupted goes
# on where it stopped.
# usage: once.sh NAME COMMAND...
set -eu
name=$1
shift
commit=$(git rev-parse HEAD)
passed=${CARGO_TARGET_DIR:-target}/passed/$commit/$name
if [ -n "$(git status --porcelain)" ]; then
    exec "$@"
fi
if [ -e "$passed" ]; then
    echo "$name has passed at $commit: $(cat "$passed")"
    exit 0
fi
start=$(date +%s)
"$@"
mkdir -p "$(dirname "$passed")"
echo "$(($(date +%s) - start)) s" >"$passed"
