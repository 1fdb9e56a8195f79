#!/bin/sh
# Compares every model in tests/models with PyTorch's output on every device that needs no GPU; prints one line each.
# usage: compare_models.sh WARPWEAVE [DEVICE...]
set -u
warpweave=$1
shift
[ $# -gt 0 ] || set -- reference host emulator text
passed=0
failed=0
for model in tests/models/*/*.onnx; do
    for device in "$@"; do
        if line=$("$warpweave" compare "$model" --io "$(dirname "$model")/io.npz" --device "$device" \
            --veus 4 --interleavings 5 2>&1); then
            passed=$((passed + 1))
            echo "ok      $model $device"
        else
            failed=$((failed + 1))
            echo "FAILED  $model $device"
            echo "$line" | tail -n 5
        fi
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
