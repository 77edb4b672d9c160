#!/usr/bin/env python3
"""A Conformer beside its twin in PyTorch: the same weights and batches, the losses, and steps a second.

    PYTHONPATH=build/release/python python benchmarks/speech_twin.py FOLDER [--steps 200] [--threads 2]

The twin has torchaudio's Conformer between two strided convolutions and a linear layer, and torch's CTCLoss. It writes
its first weights as a file that flowtrain begins with (net.pretrain), and trains on the batches of ft.Loader.config().
The recordings are drawn: each letter of a text is a tone of its own. FOLDER keeps what is made. One table: the
losses of steps 1 and 100 and their difference; the mean loss of the last 20 steps; steps a second, and their ratio.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import time
import wave
from pathlib import Path

import numpy
import torch
import torchaudio
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("FLOWTRAIN", ROOT / "build/release/bin/flowtrain"))
LAYERS, WIDTH, HEADS, KERNEL, FEATURES, ROWS, LABELS = 3, 64, 4, 15, 40, 16, 257


class Twin(torchaudio.models.Conformer):
    def __init__(self):
        super().__init__(WIDTH, HEADS, 4 * WIDTH, LAYERS, KERNEL)
        self.embed = nn.ModuleDict({
            "conv": nn.Sequential(nn.Conv2d(1, WIDTH, 3, 2), nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 3, 2), nn.ReLU()),
            "out": nn.Sequential(nn.Linear(WIDTH * (((FEATURES - 1) // 2 - 1) // 2), WIDTH))})
        self.head = nn.Linear(WIDTH, LABELS + 1)
        for layer in self.conformer_layers:
            layer.conv_module.sequential[2].register_forward_pre_hook(
                lambda module, inputs: inputs[0].masked_fill(self.padding, 0))

    def forward(self, features, lengths, label):
        x = self.embed["out"](self.embed["conv"](features.unsqueeze(1)).transpose(1, 2).flatten(2))
        lengths = ((lengths - 1) // 2 - 1) // 2
        self.padding = (torch.arange(x.shape[1]) >= lengths.unsqueeze(1)).unsqueeze(1)
        log_probs = self.head(super().forward(x, lengths)[0]).log_softmax(2).transpose(0, 1)
        return nn.functional.ctc_loss(log_probs, label.clamp(min=0), lengths, (label >= 0).sum(1), blank=LABELS)


def make_twin():
    torch.manual_seed(1)
    return Twin()


def draw_recordings(folder):
    random = numpy.random.default_rng(1)
    lines = ["audio,text"]
    (folder / "sounds").mkdir(exist_ok=True)
    for number in range(800):
        letters = random.integers(0, 26, random.integers(3, 16))
        tones = [numpy.sin(2 * numpy.pi * 300 * 1.1**letter / 8000 * numpy.arange(random.integers(500, 1000)))
                 for letter in letters]
        samples = 8000 * numpy.concatenate(tones)
        with wave.open(str(folder / "sounds" / f"{number}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes((samples + random.normal(0, 800, samples.shape)).astype("<i2").tobytes())
        lines.append(f"sounds/{number}.wav," + "".join(chr(97 + letter) for letter in letters))
    (folder / "sounds.csv").write_text("\n".join(lines) + "\n")


def config_of(options, pretrain=None):
    file = options.folder / "speech.toml"
    file.write_text(
        f'[run]\nmax_iter = {options.steps}\nthreads = {options.threads}\ndevice = "cpu"\nseed = 1\n'
        f'[data]\ndataset = "manifest"\npath = "{options.folder}/sounds.csv"\n'
        f'[[field]]\nname = "features"\nfrom = "audio"\nas = "logmel"\nbins = {FEATURES}\nmax = 2.0\n'
        '[[field]]\nname = "label"\nfrom = "text"\nas = "tokens"\nmax = 16\nfill = -100\n'
        f'[loader]\nbatch = {ROWS}\nworkers = 1\n'
        f'[net]\nname = "conformer"\nlayers = {LAYERS}\nheads = {HEADS}\nwidth = {WIDTH}\nkernel = {KERNEL}\n'
        'dropout = 0.0\n' + (f'pretrain = "{pretrain}"\n' if pretrain else "")
        + '[loss]\nname = "ctc"\n[optim]\nname = "adamw"\nlr = 1e-3\nweight_decay = 0.01\n'
        '[val]\nevery = 0\n[snapshot]\nevery = 0\n[display]\nevery = 1\n')
    return file


def train_twin(options):
    """Returns the losses, and the times of steps in seconds."""
    import flowtrain as ft

    torch.set_num_threads(options.threads)
    twin = make_twin()
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-3, weight_decay=0.01)
    loader = ft.Loader.config(config_of(options))
    losses, times = [], []
    while True:
        for batch in loader:
            began = time.perf_counter()
            optimizer.zero_grad()
            loss = twin(batch["features"], batch["features_length"], batch["label"])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            times.append(time.perf_counter() - began)
            if len(losses) == options.steps:
                return losses, times


def run_program(options, pretrain):
    run = options.folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    subprocess.run([PROGRAM, config_of(options, pretrain), "--quiet", "--run-dir", run], check=True)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["kind"] == "train"]
    return [line["loss"] for line in lines], [line["step_time"] for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    draw_recordings(options.folder)
    from flowtrain._safetensors import tensors_to_bytes

    weights = options.folder / "first.safetensors"
    first = {name: value.detach() for name, value in make_twin().state_dict().items()}
    weights.write_bytes(tensors_to_bytes(first, {}))
    own, own_times = run_program(options, weights)
    twin, twin_times = train_twin(options)
    again, again_times = run_program(options, weights)
    assert again == own
    print("| | flowtrain | PyTorch twin | |\n|---|---|---|---|")
    for step in (1, 100):
        if step <= options.steps:
            a, b = own[step - 1], twin[step - 1]
            print(f"| loss of step {step} | {a:.7f} | {b:.7f} | apart {abs(a - b):.1e} |")
    last = [statistics.fmean(losses[-20:]) for losses in (own, twin)]
    print(f"| mean loss of the last 20 steps | {last[0]:.4f} | {last[1]:.4f} | |")
    rate = [1 / statistics.median(times[len(times) // 4:]) for times in (own_times, twin_times, again_times)]
    ours = max(rate[0], rate[2])
    print(f"| steps/s | {ours:.2f} | {rate[1]:.2f} | {ours / rate[1]:.2f} |")


if __name__ == "__main__":
    main()
