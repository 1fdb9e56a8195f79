#!/bin/sh
# Runs a command, prints how long it took, and fails if that is above the budget. With --two-cores the budget is that of a
# machine with two cores to itself: half of the processor time counts, and the time only above MOST seconds.
# usage: timed.sh [--two-cores MOST] NAME BUDGET_SECONDS COMMAND...
set -eu
most=
if [ "$1" = --two-cores ]; then
    most=$2
    shift 2
fi
name=$1
budget=$2
shift 2
start=$(date +%s)
"$@"
took=$(($(date +%s) - start))
# The second line of `times` is what ended processes have used: user and system, as 1m2.345s.
used=$(mktemp)
times >"$used"
used_seconds=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int(($1 * 60 + $2 + $3 * 60 + $4) / 2) }' "$used")
rm "$used"
if [ -z "$most" ]; then
    echo "suite $name: ${took} s of ${budget} s; ${used_seconds} s of each of two cores"
    counted=$took
else
    echo "suite $name: ${used_seconds} s of each of two cores, of ${budget} s; ${took} s in all, of ${most} s"
    counted=$used_seconds
    [ "$took" -le "$most" ] || counted=$((budget + 1))
fi
if [ "$counted" -gt "$budget" ]; then
    echo "suite $name is over its budget" >&2
    exit 1
fi
