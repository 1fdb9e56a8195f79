"""The benchmark models: measured beside PyTorch, profiled, tuned."""

from __future__ import annotations

import json
import pathlib

import process
import steps as lab

# Of most worth first; what the program has beside these comes after them.
ORDER = ["resnet50", "bert_base_128", "mobilenet_v2", "lstm_tc", "densenet121", "dlrm", "inception_v3", "vit_b_16", "gpt2",
         "alexnet", "resnext50", "transformer_base", "deepspeech2", "seq2seq", "attention_rnn", "vgg16", "nasnet",
         "bert_large_384", "llama_1b_decode"]
FEW = ["bert_base_128", "lstm_tc"]
PROFILED = 8
BACKENDS = ["persistent", "cuda-graph"]
# Seconds of one measurement, of a soak, and its launches.
LIMIT, SOAK_SECONDS, LAUNCHES = 40, 3, 10_000
REDUCED_SOAK_SECONDS, REDUCED_LAUNCHES = 1, 10


def names(setting):
    if setting.is_reduced:
        return FEW
    listed = [model["name"] for model in setting.listed_models]
    return [name for name in ORDER if name in listed] + [name for name in listed if name not in ORDER]


def pairs(setting):
    """Devices with the back ends that make a difference on them."""
    return [(device, backend) for device in setting.devices for backend in (BACKENDS if device != "host" else [None])]


def measurements(setting):
    for name in names(setting):
        for device, backend in pairs(setting):
            run = lambda setting, limit, name=name, on=(device, backend): measure(setting, limit, name, *on)
            yield lab.Step(".".join(filter(None, ["model", name, device, backend])), "models", LIMIT, run)
        if name == names(setting)[min(3, len(names(setting)) - 1)]:
            yield lab.Step("peers", "models", 90, peers)


def profiles(setting):
    for name in names(setting)[:PROFILED]:
        for device in setting.devices:
            run = lambda setting, limit, name=name, device=device: profile(setting, limit, name, device)
            yield lab.Step(f"profile.{name}.{device}", "profiles", 30, run)


def tunings(setting):
    for name in names(setting)[:2 if setting.is_reduced else None]:
        yield lab.Step(f"tune.{name}", "tuning", 60, lambda setting, limit, name=name: tune(setting, limit, name))


def begin(setting):
    """Begins all bundles, so that they are there when they are needed."""
    for name in names(setting):
        for backend in BACKENDS:
            setting.bundles.zoo(name, backend)


def ready(setting, part, limit, future):
    """A file, and the seconds that a step then has: what waiting for the file takes is not of its own."""
    path = lab.awaited(future, lambda: setting.budget.left(part))
    return path, lab.Countdown(min(limit, setting.budget.left(part)))


def measure(setting, limit, name, device, backend):
    bundle, left = ready(setting, "models", limit, setting.bundles.zoo(name, backend or BACKENDS[0]))
    soak, launches = (REDUCED_SOAK_SECONDS, REDUCED_LAUNCHES) if setting.is_reduced else (SOAK_SECONDS, LAUNCHES)
    times = ["--warmup-ms", "0", "--duration-ms", "0"] if setting.is_reduced else ["--warmup-ms", "100", "--duration-ms", "500"]
    against = "reference" if device == "host" and setting.is_reduced else "host"
    arguments = ["bench", bundle, "--device", device, *times, "--input-sets", "1", "--soak", soak,
                 "--launches", launches, "--against", against]
    told, ended = lab.printed(setting, arguments, left(), may_fail=True)
    time, plan, soak = told["device_time"] or told["latency"], told["plan"] or {}, told["soak"]
    findings = {
        "kind": "measurement", "model": setting.named(name), "device": device, "backend": backend,
        "predicted_seconds": plan.get("predicted_seconds") or plan.get("estimated_seconds"),
        "median_seconds": time["p50"], "is_device_time": told["device_time"] is not None,
        "coefficient_of_variation": time["coefficient_of_variation"],
        "soak": {"launches": soak["launches"], "different": soak["different"], "against": soak["against"]["device"],
                 "excess": soak["against"]["excess"]}}
    if not ended.is_ok:
        raise lab.Failed("launches differ from one another or from another device", ended, findings)
    return findings


def peers(setting, limit):
    """PyTorch under CUDA graphs, model after model until the time is over."""
    lab.need_gpu(setting)
    if setting.is_reduced:
        raise lab.Skip("models are reduced, PyTorch's are not")
    if not process.run(["python3", "-c", "import torch; assert torch.cuda.is_available()"], min(limit, 40)).is_ok:
        raise lab.Skip("python3 has no PyTorch for GPUs")
    script = pathlib.Path(__file__).with_name("peers.py")
    left = lab.Countdown(limit)
    parameters = {model["name"]: model["parameters"] or 0 for model in setting.listed_models}
    words = [f"{name}={parameters.get(name, 0)}" for name in names(setting)]
    ended = process.run(["python3", script, "--seconds", left() - 15, *words], left())
    found = [json.loads(line) for line in ended.out.splitlines() if line.startswith("{")]
    findings = {"kind": "peers", "peers": found}
    if not found:
        raise lab.Failed("PyTorch gave no time", ended, findings)
    return findings


def profile(setting, limit, name, device):
    bundle, left = ready(setting, "profiles", limit, setting.bundles.zoo(name, BACKENDS[0]))
    told, _ = lab.printed(setting, ["profile", bundle, "--device", device], left())
    part = lambda part: {key: part[key] for key in ("name", "tasks", "predicted_microseconds", "recorded")}
    keys = ("clock", "predicted_microseconds", "recorded", "predicted_shares", "recorded_shares")
    return {"kind": "profile", "model": setting.named(name), "device": device, **{key: told[key] for key in keys},
            "templates": [part(found) for found in told["templates"]], "kernels": [part(found) for found in told["kernels"]]}


def tune(setting, limit, name):
    lab.need_gpu(setting)
    model, left = ready(setting, "tuning", limit, setting.bundles.exported(name))
    timings = setting.out / "kept" / "timings.txt"
    timings.parent.mkdir(parents=True, exist_ok=True)
    # A group that has been begun is measured to its end.
    arguments = ["tune", model, "--timings", timings, "--device", setting.gpus[0], "--budget", max(left() - 15, 1)]
    told, ended = lab.printed(setting, arguments, left(), may_fail=True)
    refused = len(told["refused"])
    findings = {"kind": "tuning", "model": name, "recorded": told["recorded"], "left": told["left"], "refused": refused}
    if not ended.is_ok:
        raise lab.Failed(f"{refused} kernels were refused", ended, findings)
    return findings
