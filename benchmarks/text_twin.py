#!/usr/bin/env python3
"""A character GPT beside its twin in PyTorch: the same weights and batches, the losses, and steps a second.

    PYTHONPATH=build/release/python python benchmarks/text_twin.py FOLDER TEXT [--steps 600] [--threads 1]
        [--seeds 5] [--optim]

The net has 4 layers of width 128 with 4 heads, and reads 64 characters; a batch has 12 rows (the sizes of nanoGPT for a
CPU). The twin writes its first weights as a file that flowtrain begins with (net.pretrain), and trains on the batches
of ft.Loader.config(). FOLDER keeps what is made; TEXT is a file. Tables in Markdown: the losses of steps 1 and 100 and
their difference; the mean loss of the last 50 steps, of flowtrain and of the twin from several seeds; steps a second,
in turn in one run, and their ratio. With --optim also AdamW and Muon of flowtrain, each with several learning rates:
the last losses, and the steps in which the best of Muon gets to the last loss of the best of AdamW.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("FLOWTRAIN", ROOT / "build/release/bin/flowtrain"))
LAYERS, WIDTH, HEADS, LENGTH, ROWS, VOCABULARY = 4, 128, 4, 64, 12, 257
ADAMW = 'name = "adamw"\nlr = {lr}\nweight_decay = 0.1\nbetas = [0.9, 0.95]\n'
MUON = 'name = "muon"\nlr = {lr}\nweight_decay = 0.01\nadamw_lr_mult = 0.15\n'
RATES = {ADAMW: (5e-4, 1e-3, 2e-3, 4e-3), MUON: (0.01, 0.02, 0.04)}


class Conv1D(nn.Module):
    def __init__(self, inputs, outputs, deviation):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(0, deviation))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.addmm(self.bias, x.flatten(0, 1), self.weight).view(*x.shape[:2], -1)


class Attention(nn.Module):
    def __init__(self, small):
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(WIDTH, 3 * WIDTH, 0.02), Conv1D(WIDTH, WIDTH, small)

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (part.view(rows, length, HEADS, -1).transpose(1, 2) for part in self.c_attn(x).split(WIDTH, 2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(seen.transpose(1, 2).reshape(rows, length, WIDTH))


class Mlp(nn.Module):
    def __init__(self, small):
        super().__init__()
        self.c_fc, self.c_proj = Conv1D(WIDTH, 4 * WIDTH, 0.02), Conv1D(4 * WIDTH, WIDTH, small)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        small = 0.02 / (2 * LAYERS)**0.5
        self.ln_1, self.attn = nn.LayerNorm(WIDTH), Attention(small)
        self.ln_2, self.mlp = nn.LayerNorm(WIDTH), Mlp(small)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(VOCABULARY, WIDTH), "wpe": nn.Embedding(LENGTH, WIDTH),
            "h": nn.ModuleList(Block() for _ in range(LAYERS)), "ln_f": nn.LayerNorm(WIDTH)})
        for table in ("wte", "wpe"):
            nn.init.normal_(self.transformer[table].weight, 0, 0.02)

    def forward(self, tokens):
        """Maps tokens (B, L) to logits (B, L, VOCABULARY)."""
        t = self.transformer
        x = t["wte"](tokens) + t["wpe"](torch.arange(tokens.shape[1]))
        for block in t["h"]:
            x = block(x)
        return F.linear(t["ln_f"](x), t["wte"].weight)


def config_of(options, name, seed, optim, pretrain=None):
    file = options.folder / f"{name}.toml"
    file.write_text(
        f'[run]\nmax_iter = {options.steps}\nthreads = {options.threads}\ndevice = "cpu"\nseed = {seed}\n'
        f'[data]\ndataset = "text"\npath = "{options.text}"\nwindow = {LENGTH}\n'
        f'[[field]]\nname = "tokens"\nfrom = "text"\nas = "lm"\nmax = {LENGTH}\n'
        f'[loader]\nbatch = {ROWS}\nworkers = 1\n'
        f'[net]\nname = "gpt2"\nlayers = {LAYERS}\nheads = {HEADS}\nwidth = {WIDTH}\ndropout = 0.0\n'
        + (f'pretrain = "{pretrain}"\nstrict = true\n' if pretrain else "")
        + f'[loss]\nname = "cross_entropy"\nignore_index = -100\n[optim]\n{optim}'
        '[val]\nevery = 0\n[snapshot]\nevery = 0\n[display]\nevery = 1\n')
    return file


def make_twin(seed):
    torch.manual_seed(seed)
    return Twin()


def train_twin(options, seed):
    """Returns the losses, and the times of steps in seconds."""
    import flowtrain as ft

    torch.set_num_threads(options.threads)
    twin = make_twin(seed)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    loader = ft.Loader.config(config_of(options, f"twin-{seed}", seed, ADAMW.format(lr=1e-3)))
    losses, times = [], []
    while len(losses) < options.steps:
        for batch in loader:
            began = time.perf_counter()
            optimizer.zero_grad()
            logits = twin(batch["tokens"])
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), batch["label"].reshape(-1), ignore_index=-100)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            times.append(time.perf_counter() - began)
            if len(losses) == options.steps:
                break
    return losses, times


def run_program(options, optim, pretrain):
    """Returns what train_twin() does, of flowtrain with this [optim] and seed 1."""
    run = options.folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    config = config_of(options, "run", 1, optim, pretrain)
    subprocess.run([PROGRAM, config, "--quiet", "--run-dir", run], check=True)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["kind"] == "train"]
    return [line["loss"] for line in lines], [line["step_time"] for line in lines]


def rate(times):
    return 1 / statistics.median(times[len(times) // 4:])


def last(losses):
    return statistics.fmean(losses[-50:])


def steps_to(losses, aim):
    """The first step at which the mean loss of 50 steps is at most `aim`; None: it is never reached."""
    return next((end for end in range(50, len(losses) + 1) if last(losses[:end]) <= aim), None)


def compare_twins(options, weights):
    ours, twins = [], []
    for seed in range(1, options.seeds + 1):
        ours.append(run_program(options, ADAMW.format(lr=1e-3), weights))
        command = [sys.executable, __file__, options.folder, options.text, "--steps", str(options.steps), "--threads",
                   str(options.threads), "--one", str(seed)]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        twins.append(json.loads(ran.stdout.splitlines()[-1]))
    own, first, ends = ours[0][0], twins[0][0], [last(losses) for losses, _ in twins]
    assert all(losses == own for losses, _ in ours)
    print("| | flowtrain | PyTorch twin | |\n|---|---|---|---|")
    for step in (1, 100):
        a, b = own[step - 1], first[step - 1]
        print(f"| loss of step {step} | {a:.7f} | {b:.7f} | apart {abs(a - b):.1e} |")
    print(f"| mean loss of the last 50 of {options.steps} steps | {last(own):.4f} | {ends[0]:.4f} "
          f"| {options.seeds} seeds: {min(ends):.4f} to {max(ends):.4f} |")
    rates = [[rate(times) for _, times in each] for each in (ours, twins)]
    ratios = [a / b for a, b in zip(*rates)]
    print(f"| steps/s | {statistics.median(rates[0]):.2f} | {statistics.median(rates[1]):.2f} "
          f"| ratio {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f} |")


def compare_optimizers(options, weights):
    best = {}
    print("| optimizer | lr | mean loss of the last 50 steps |\n|---|---|---|")
    for optim, rates in RATES.items():
        runs = {lr: run_program(options, optim.format(lr=lr), weights)[0] for lr in rates}
        for lr, losses in runs.items():
            print(f"| {optim.split(chr(34))[1]} | {lr:g} | {last(losses):.4f} |")
        best[optim] = min(runs.values(), key=last)
    aim = last(best[ADAMW])
    steps = steps_to(best[MUON], aim)
    print(f"\nmuon: {steps} of {options.steps} steps to adamw's {aim:.4f}"
          + (f", {steps / options.steps:.3f}" if steps else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--optim", action="store_true", help="compare optimizers, too")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder, options.text = options.folder.resolve(), options.text.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.one is not None:
        print(json.dumps(train_twin(options, options.one)))
        return
    from flowtrain._safetensors import tensors_to_bytes

    weights = options.folder / "first.safetensors"
    weights.write_bytes(tensors_to_bytes(make_twin(1).state_dict(), {}))
    if options.seeds:
        compare_twins(options, weights)
    if options.optim:
        compare_optimizers(options, weights)


if __name__ == "__main__":
    main()
