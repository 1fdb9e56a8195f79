#!/bin/sh
# Runs the lab of the program that is the last argument, else of WARPWEAVE, else of target/release/warpweave.
# usage: gpu_lab.sh [OPTIONS OF warpweave lab run] [BINARY]
set -eu
binary=${WARPWEAVE:-target/release/warpweave}
for last do :; done
if [ $# -gt 0 ] && [ -f "$last" ] && [ -x "$last" ]; then
    binary=$last
    count=$#
    while [ "$count" -gt 1 ]; do
        set -- "$@" "$1"
        shift
        count=$((count - 1))
    done
    shift
    case $binary in
    */*) ;;
    *) binary=./$binary ;;
    esac
fi
exec "$binary" lab run "$@"
