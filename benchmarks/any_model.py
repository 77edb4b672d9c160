#!/usr/bin/env python3
"""Exported nets beside PyTorch: the losses of the same steps, the time of a step, and memory, in turn in one run.

    PYTHONPATH=build/release/python python benchmarks/any_model.py FOLDER [resnet18 vit convnext gpt2 bert
        deeplab] [--steps 50] [--threads 2]

The Python has torch, torchvision, timm and transformers. FOLDER keeps packages and data. All train from the same
weights, by SGD, on the batches that flowtrain's loader makes in Python. One table in Markdown: the loss of the first
and of the last step, or how far it is, relatively, from that of eager PyTorch with another number of threads, which is
the first row; the median time of a step; the peak memory of the process. `flowtrain`, the program (FLOWTRAIN names
another one), is left out where it was not built.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("FLOWTRAIN", ROOT / "build/release/bin/flowtrain"))
PICTURES = '[data]\ndataset = "shapes"\nsamples = 512\nval_samples = 16\n[sampler]\nsize = 64\n'
TOKENS = '[data]\ndataset = "idx"\npath = "{folder}/text"\n[sampler]\nname = "tokens"\n'
MASKS = '[data]\ndataset = "idx"\npath = "{folder}/drawn"\n[sampler]\nname = "masks"\n'
MODELS = {  # the net, its arguments, rows of a batch, and the data
    "resnet18": ("torchvision:resnet18 --classes 6 --size 64", 16, PICTURES),
    "vit": ("torchvision:vit_b_16 --classes 6 --size 64", 8, PICTURES),
    "convnext": ("timm:convnext_atto --classes 6 --size 64", 8, PICTURES),
    "gpt2": ("hf:gpt2 --length 64 --set n_layer=2 --set n_embd=128 --set n_head=4 --set vocab_size=256 --set "
             "resid_pdrop=0.0 --set embd_pdrop=0.0 --set attn_pdrop=0.0", 16, TOKENS),
    "bert": ("hf:bert --length 64 --set num_hidden_layers=2 --set hidden_size=128 --set num_attention_heads=4 --set "
             "intermediate_size=512 --set vocab_size=256 --set hidden_dropout_prob=0.0 --set "
             "attention_probs_dropout_prob=0.0", 16, TOKENS + "mask = true\n"),
    "deeplab": ("torchvision:deeplabv3_mobilenet_v3_large --classes 3 --size 64", 8, MASKS),
}
PLUGINS = {TOKENS: "tokens", TOKENS + "mask = true\n": "tokens", MASKS: "masks"}
CONTENDERS = {
    "other": "PyTorch, {other}", "eager": "PyTorch, {threads}", "compile": "`torch.compile`, {threads}",
    "package": "the package from Python, {threads}", "flowtrain": "flowtrain, {threads}",
}


def write_idx(folder, pictures, labels, height, width):
    """Writes the same samples for training and for validation."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "t10k"):
        sizes = b"".join(size.to_bytes(4, "big") for size in (len(labels), height, width))
        (folder / f"{split}-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03" + sizes + pictures)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01" + sizes[:4] + labels)


def write_text(folder):
    """The documentation's bytes, in rows of 64."""
    text = b"".join(file.read_bytes() for file in sorted((ROOT / "docs").glob("*.md")))
    count = len(text) // 64
    write_idx(folder / "text", text[:count * 64], bytes(count), 1, 64)


def write_drawn(folder):
    """Bright discs (0) and squares (1) on dark ground, 64 x 64."""
    draw, pictures, labels = random.Random(1), bytearray(), bytearray()
    for number in range(256):
        label, radius, bright = number % 2, draw.randint(6, 16), draw.randint(120, 255)
        across, down = draw.randint(radius, 63 - radius), draw.randint(radius, 63 - radius)
        for y in range(64):
            for x in range(64):
                far = max(abs(x - across), abs(y - down)) if label else ((x - across)**2 + (y - down)**2)**0.5
                pictures.append(bright if far <= radius else draw.randint(0, 50))
        labels.append(label)
    write_idx(folder / "drawn", bytes(pictures), bytes(labels), 64, 64)


def other(threads):
    return 2 if threads == 1 else 1


def count(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def prepare(name, folder, steps, threads):
    """The package and the configuration of a model; those that are there stay."""
    net, rows, data = MODELS[name]
    plugin = folder / f"{PLUGINS[data]}.so" if data in PLUGINS else None
    if plugin and not plugin.exists():
        {"tokens": write_text, "masks": write_drawn}[PLUGINS[data]](folder)
        subprocess.run(["g++", "-std=c++20", "-O2", "-fPIC", "-shared", f"-I{ROOT}",
                        ROOT / "examples" / f"{PLUGINS[data]}.cpp", "-o", plugin], check=True)
    package, config = folder / f"{name}.pt2", folder / f"{name}.toml"
    (folder / f"{name}_data.toml").write_text(
        (f'[run]\nplugins = ["{plugin}"]\n' if plugin else "") + data.format(folder=folder)
        + f"[loader]\nbatch = {rows}\nworkers = 1\n")
    if not package.exists():
        subprocess.run([sys.executable, "-m", "flowtrain", "export", *net.split(), "-o", package], check=True)
    config.write_text(
        f'base = ["{name}_data.toml"]\n[run]\nmax_iter = {steps}\nthreads = {threads}\ndevice = "cpu"\n'
        f'[net]\npackage = "{package}"\n'
        '[optim]\nname = "sgd"\nlr = 0.01\nmomentum = 0.9\n[val]\nevery = 0\n[display]\nevery = 1\n')


def batches(name, folder):
    """Yields the batches that the program trains on."""
    import flowtrain as ft

    loader = ft.Loader.config(folder / f"{name}_data.toml")
    while True:
        for batch in loader:
            yield batch if isinstance(batch, dict) else dict(zip(("image", "label"), batch))


def train(kind, name, package, folder, steps, threads):
    """Losses and times (s) of so many steps in this process."""
    import ctypes

    import torch

    from flowtrain._export import cross_entropy
    from flowtrain._export._command import named_model, parser
    from flowtrain._export._torch import read_record
    from flowtrain._safetensors import tensors_from

    torch.set_num_threads(other(threads) if kind == "other" else threads)
    weights = tensors_from(read_record(package, "weights.safetensors"), str(package), "torch")
    if kind == "package":
        ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
        from torch._inductor.package import load_package

        step = load_package(str(package), "train_loss")
        described = json.loads(read_record(package, "extra/flowtrain.json"))
        step.load_constants({key: weights[key] for key in step.get_constant_fqns()}, check_full_update=True,
                            user_managed=True)
        gradients = [(place, weights[output["of"]]) for place, output in enumerate(described["train"][0]["outputs"])
                     if output["kind"] == "gradient"]
        parameters = [parameter for _, parameter in gradients]
    else:
        model = named_model(parser().parse_args([*MODELS[name][0].split(), "-o", "x.pt2"]))
        model.net.load_state_dict(weights, strict=False)
        loss = model.loss or cross_entropy
        net = torch.compile(model.net) if kind == "compile" else model.net
        parameters = list(model.net.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    losses, times = [], []
    for _, batch in zip(range(steps), batches(name, folder)):
        began = time.perf_counter()
        if kind == "package":
            results = step(*(batch[each["field"]] for each in described["inputs"]))
            for place, parameter in gradients:
                parameter.grad = results[place]
            value = results[0]
        else:
            optimizer.zero_grad()
            value = loss(net, batch)
            value.backward()
        optimizer.step()
        losses.append(value.item())
        times.append(time.perf_counter() - began)
    return losses, times


def run_program(name, config, folder):
    run = folder / "runs" / name
    shutil.rmtree(run, ignore_errors=True)
    subprocess.run([PROGRAM, config, "--quiet", "--run-dir", run], check=True, cwd=folder)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["kind"] == "train"]
    return [line["loss"] for line in lines], [line["step_time"] for line in lines]


def measure(kind, name, folder, steps, threads):
    command = [sys.executable, __file__, folder, name, "--steps", str(steps), "--threads", str(threads), "--one", kind]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{kind} of {name}: {ran.stderr.strip().splitlines()[-1]}")
    return json.loads(ran.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=CONTENDERS, help="run only these contenders")
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = options.models or list(MODELS)
    if options.one:
        package, config = folder / f"{names[0]}.pt2", folder / f"{names[0]}.toml"
        if options.one == "flowtrain":
            losses, times = run_program(names[0], config, folder)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        else:
            losses, times = train(options.one, names[0], package, folder, options.steps,
                                  options.threads)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        step_s = statistics.median(times[len(times) // 2:])  # the first ones compile, and warm caches
        print(json.dumps({"losses": losses, "step_s": step_s, "peak_mb": peak / 1024}))
        return
    print(f"| model | by | step 1 | step {options.steps} | ms a step | MB |\n|---|---|---|---|---|---|")
    for name in names:
        prepare(name, folder, options.steps, options.threads)
        expected = None
        for kind, text in CONTENDERS.items():
            if (options.only and kind not in options.only) or (kind == "flowtrain" and not PROGRAM.is_file()):
                continue
            found = measure(kind, name, folder, options.steps, options.threads)
            expected = expected or found["losses"]
            apart = [abs(found["losses"][at] / expected[at] - 1) for at in (0, -1)]
            first = [f"{expected[at]:.6f}" if found["losses"] is expected else f"{distance:.1e}"
                     for at, distance in zip((0, -1), apart)]
            text = text.format(other=count(other(options.threads)), threads=count(options.threads))
            print(f"| {name} | {text} | {first[0]} | {first[1]} | {found['step_s'] * 1000:.1f} | "
                  f"{found['peak_mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
