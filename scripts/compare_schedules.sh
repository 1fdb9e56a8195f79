#!/bin/sh
# Predicted times of the benchmark models under every way of waiting, as a Markdown table.
# usage: compare_schedules.sh WARPWEAVE [MODEL...]
set -eu
warpweave=$1
shift
models=${*:-alexnet vgg16 resnet50 resnext50 densenet121 inception_v3 mobilenet_v2 nasnet bert_base_128 bert_large_384 gpt2 vit_b_16 transformer_base dlrm lstm_tc deepspeech2 seq2seq attention_rnn}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The heading is that of the first model's table.
first=1
for model in $models; do
    "$warpweave" models export "$model" --form unrolled -o "$folder/model.onnx" >"$folder/log" 2>&1 ||
        "$warpweave" models export "$model" -o "$folder/model.onnx" >"$folder/log"
    "$warpweave" explain "$folder/model.onnx" --plan --compare >"$folder/table"
    grep '^|' "$folder/table" | tail -n "+$first"
    first=3
    rm -f "$folder"/model.onnx*
done
