#!/bin/sh
# Runs a command, prints how long it took, and fails if that is above the budget.
# usage: timed.sh NAME BUDGET_SECONDS COMMAND...
set -eu
name=$1
budget=$2
shift 2
start=$(date +%s)
"$@"
took=$(($(date +%s) - start))
echo "suite $name: ${took} s of ${budget} s"
if [ "$took" -gt "$budget" ]; then
    echo "suite $name is over its budget" >&2
    exit 1
fi
