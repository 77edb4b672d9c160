#!/usr/bin/env python3
"""Images per second from Python, in turn in one run: flowtrain's package, PyTorch's DataLoader with torchvision, and
`flowtrain bench` without Python.

    PYTHONPATH=build/release/python python benchmarks/python_loader.py PICTURES [RUNS] [SECONDS]

PICTURES holds train/<class>/<image>; the Python has torch and torchvision.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flowtrain as ft
import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder

BATCH, WORKERS = 64, 2


def rate(loader, seconds):
    """Of whole epochs after the first batch."""
    samples, begin = 0, None
    while begin is None or time.perf_counter() - begin < seconds:
        for images, _ in loader:
            if begin is None:
                begin = time.perf_counter()
            else:
                samples += len(images)
    return samples / (time.perf_counter() - begin)


def bench(folder, seconds):
    program = Path(__file__).resolve().parents[1] / "build/release/bin/flowtrain"
    with tempfile.TemporaryDirectory() as place:
        config, out = Path(place) / "c.toml", Path(place) / "out.json"
        config.write_text(f'[data]\ndataset = "image_folder"\npath = "{folder}"\n[sampler]\nsize = 224\n'
                          f"[loader]\nbatch = {BATCH}\nworkers = {WORKERS}\n")
        subprocess.run([program, "bench", config, "--stage", "pipeline", "--seconds", str(seconds), "--json", out],
                       check=True, capture_output=True)
        return json.loads(out.read_text())["pipeline"]["samples_per_s"]


def main():
    folder, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)
    crop = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    data = ImageFolder(f"{folder}/train", transforms.Compose(crop))

    def ours(dtype):
        return ft.Loader.image_folder(folder, batch_size=BATCH, size=224, workers=WORKERS, dtype=dtype)

    kinds = {
        "flowtrain bench, u8": lambda: bench(folder, seconds),
        "ft.Loader, u8": lambda: rate(ours("uint8"), seconds),
        "ft.Loader, f32": lambda: rate(ours("float32"), seconds),
        "torch DataLoader, f32": lambda: rate(
            torch.utils.data.DataLoader(data, BATCH, True, num_workers=WORKERS, persistent_workers=True), seconds),
    }
    rates = {name: [] for name in kinds}
    for _ in range(runs):
        for name, measure in kinds.items():
            rates[name].append(measure())
    for name, values in rates.items():
        print(f"{name:24} {statistics.median(values):8.0f} images/s  ({min(values):.0f} to {max(values):.0f})")


if __name__ == "__main__":
    main()
