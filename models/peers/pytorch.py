"""PyTorch's times for benchmark models under CUDA graphs at batch 1, in strict FP32 and in FP16.

Prints a line of JSON for each model and precision as soon as its time is known. Ends with 3 where there is no PyTorch for GPUs.

    python3 models/peers/pytorch.py [--seconds S] [--most N] MODEL=PARAMETERS ...
"""

import argparse
import json
import sys
import time

try:
    import torch

    from pytorch_models import MODELS
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16}
# Runs before the ones that count, and how long and how often those are at least.
WARM_UP, WINDOW_SECONDS, LEAST_RUNS = 10, 0.3, 20
# Replays that are put into the stream together.
AT_ONCE = 8


def graph_of(model, inputs):
    """A replay of the model's kernels."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(*inputs)
    return graph


def median_ms(graph):
    for _ in range(WARM_UP):
        graph.replay()
    torch.cuda.synchronize()
    times, start = [], time.monotonic()
    while len(times) < LEAST_RUNS or time.monotonic() - start < WINDOW_SECONDS:
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(AT_ONCE)]
        # The first replay keeps the stream busy: what the host does between the others is no part of their times.
        graph.replay()
        for begin, end in pairs:
            begin.record()
            graph.replay()
            end.record()
        torch.cuda.synchronize()
        times += [begin.elapsed_time(end) for begin, end in pairs]
    return sorted(times)[len(times) // 2]


def measure(name, parameters, precision):
    """The median and how it came about; no median if the model is not the same or does not run."""
    make, inputs = MODELS[name]
    try:
        with torch.device("cuda"):
            model = make().eval()
        own = sum(parameter.numel() for parameter in model.parameters())
        if parameters and own != parameters:
            return None, f"has {own} parameters instead of {parameters}"
        model = model.to("cuda", dtype=PRECISIONS[precision])
        given = [x.to("cuda", dtype=PRECISIONS[precision] if x.is_floating_point() else x.dtype) for x in inputs()]
        return median_ms(graph_of(model, tuple(given))), "graph"
    except Exception as error:  # Whatever PyTorch cannot do is a row without a time.
        return None, f"failed: {str(error)[:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names with the parameters that each must have")
    parser.add_argument("--seconds", type=float, default=90, help="after which no further model is begun")
    parser.add_argument("--most", type=int, default=1000, help="models that are measured at most, the first ones that are known")
    options = parser.parse_args()
    start = time.monotonic()
    if not torch.cuda.is_available():
        print("PyTorch finds no GPU", file=sys.stderr)
        sys.exit(3)
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    known = [word.partition("=") for word in options.models if word.partition("=")[0] in MODELS]
    for name, _, parameters in known[:options.most]:
        for precision in PRECISIONS:
            if time.monotonic() - start > options.seconds:
                return
            with torch.inference_mode():
                median, mode = measure(name, int(parameters or 0), precision)
            row = {"model": name, "peer": f"pytorch {torch.__version__}", "mode": mode, "precision": precision,
                   "median_ms": median}
            print(json.dumps(row), flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
