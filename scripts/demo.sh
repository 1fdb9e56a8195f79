#!/bin/sh
# Compiles a real model ahead of time, runs the bundle on this machine, and compares with PyTorch's own output. Then plans
# an LSTM of 10 layers and 100 steps as one launch, draws it, proves it, and shows what one missing wait would do.
# usage: demo.sh WARPWEAVE MODEL_FOLDER
set -eu
warpweave=$1
model=$2
out=target/demo
mkdir -p "$out"

echo "== compile $model for host and sm_90a (no GPU needed)"
"$warpweave" compile "$model/torchscript.onnx" -o "$out/model.weave" --target host,sm_90a \
    --emit graph,program,partition,plan,cuda --emit-dir "$out"

echo
echo "== run the bundle on the host, on random input"
"$warpweave" run "$out/model.weave" --device host

echo
echo "== the same bundle against PyTorch's output"
"$warpweave" compare "$out/model.weave" --io "$model/io.npz" --device host
"$warpweave" compare "$out/model.weave" --io "$model/io.npz" --device emulator

lstm=$out/lstm_tc
echo
echo "== an LSTM of 10 layers and 100 steps as one launch on 132 multiprocessors (times predicted, not measured)"
"$warpweave" models export lstm_tc -o "$lstm.onnx"
"$warpweave" explain "$lstm.onnx" --plan -o "$lstm"

echo
echo "== its plan, proved; and the same plan without one of its waits"
"$warpweave" check "$lstm.onnx" --without-wait first

echo
echo "The bundle:              $out/model.weave   ($warpweave inspect $out/model.weave)"
echo "What is fused:           $out/partition.sm_90a.txt"
echo "Who runs what, when:     $out/plan.sm_90a.txt"
echo "The CUDA that was built: $out/sm_90a.cu"
echo "The LSTM in time:        $lstm/timeline.svg, and $lstm/trace.json for Perfetto"
