#!/bin/sh
# Compares every model in tests/models with PyTorch's output on every device that needs no GPU; prints one line each. With a
# precision the models are stored in 16 bits, and outputs are judged by their largest error over the largest value and by their
# correlation. Fails beyond these bars, and if fewer models were compared than there must be.
# usage: compare_models.sh WARPWEAVE [--precision fp16|bf16] [DEVICE...]
set -u
fewest=22
warpweave=$1
shift
precision=fp32
if [ "${1-}" = --precision ]; then
    precision=${2-}
    shift $(($# < 2 ? $# : 2))
fi
case $precision in
    fp32) bars= ;;
    fp16) bars="--precision fp16 --scaled-error 4e-3 --min-correlation 0.9999" ;;
    bf16) bars="--precision bf16 --scaled-error 3e-2 --min-correlation 0.999" ;;
    *) echo "the precision is fp16 or bf16, and not \"$precision\"" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- reference host emulator text
passed=0
failed=0
for model in tests/models/*/*.onnx; do
    for device in "$@"; do
        # The bars are words of their own.
        # shellcheck disable=SC2086
        if line=$("$warpweave" compare "$model" --io "$(dirname "$model")/io.npz" --device "$device" \
            --veus 4 --interleavings 5 $bars 2>&1); then
            passed=$((passed + 1))
            echo "ok      $model $device $precision$(echo "$line" | sed -n 's/.*\(, error .*\)/\1/p')"
        else
            failed=$((failed + 1))
            echo "FAILED  $model $device $precision"
            echo "$line" | tail -n 5
        fi
    done
done
echo "$passed passed, $failed failed in $precision on $*"
if [ $((passed + failed)) -lt $((fewest * $#)) ]; then
    echo "there must be $fewest models on each of $# devices" >&2
    exit 1
fi
[ "$failed" -eq 0 ]
