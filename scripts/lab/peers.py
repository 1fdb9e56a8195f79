"""PyTorch's times for benchmark models under CUDA graphs, strict FP32, batch 1: a line of JSON a model, as soon as it is known.

    python3 scripts/lab/peers.py [--seconds S] MODEL=PARAMETERS ...
"""

import argparse
import json
import time

import torch

from peer_models import MODELS

# Runs before the ones that count, and how long and how often those are at least.
WARM_UP, WINDOW_SECONDS, LEAST_RUNS = 10, 0.5, 20
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


def measure(name, parameters):
    """The median and how it came about; no median if the model is not the same or does not run."""
    make, inputs = MODELS[name]
    try:
        model = make().cuda().eval()
        own = sum(parameter.numel() for parameter in model.parameters())
        if parameters and own != parameters:
            return None, f"has {own} parameters instead of {parameters}"
        return median_ms(graph_of(model, tuple(x.cuda() for x in inputs()))), "graph"
    except Exception as error:  # Whatever PyTorch cannot do is a row without a time.
        return None, f"failed: {str(error)[:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="names with the parameters that each must have")
    parser.add_argument("--seconds", type=float, default=90, help="after which no further model is begun")
    options = parser.parse_args()
    start = time.monotonic()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    for word in options.models:
        name, _, parameters = word.partition("=")
        if name not in MODELS:
            continue
        if time.monotonic() - start > options.seconds:
            break
        with torch.inference_mode():
            median, mode = measure(name, int(parameters or 0))
        row = {"model": name, "peer": f"pytorch {torch.__version__}", "mode": mode, "median_ms": median}
        print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
