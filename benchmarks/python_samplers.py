#!/usr/bin/env python3
"""Measures rows made in Python, in turn in one run: samples per second of the native sampler, of one in Python
(@ft.sampler), and of a data set of torchvision in threads (python="threads") and in PyTorch's DataLoader; then of rows
that cost nothing.

    PYTHONPATH=build/release/python python benchmarks/python_samplers.py PICTURES [RUNS] [SECONDS]

PICTURES holds train/<class>/<image>; the Python has torch and torchvision.
"""

import statistics
import sys

import flowtrain as ft
import numpy
import torch
from python_loader import BATCH, WORKERS, rate
from torchvision import transforms
from torchvision.datasets import ImageFolder

SIZE = 224


@ft.sampler
def crop(record, rng):
    """A window of the picture, mirrored or not."""
    image = record.image()
    y, x = (rng.integers(side - SIZE + 1) for side in image.shape[:2])
    part = image[y:y + SIZE, x:x + SIZE]
    return {"image": part[:, ::-1] if rng.random() < 0.5 else part, "label": record.label}


@ft.sampler
def label(record, rng):
    return {"image": numpy.uint8(0), "label": record.label}


class Nothing:
    """(0, 0), as often as one likes."""

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        return 0, 0


def main():
    folder, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)
    steps = [transforms.RandomCrop(SIZE), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    data = ImageFolder(f"{folder}/train", transforms.Compose(steps))

    def ours(sampler="classify", **more):
        return ft.Loader.image_folder(folder, batch_size=BATCH, workers=WORKERS, sampler=sampler, **more)

    def threads(dataset, workers):
        return ft.DataLoader(dataset, BATCH, True, num_workers=workers, python="threads")

    def torchs(dataset, workers):
        return torch.utils.data.DataLoader(dataset, BATCH, True, num_workers=workers, persistent_workers=workers > 0)

    kinds = {
        "native sampler, u8": lambda: ours(size=SIZE, dtype="uint8"),
        "@ft.sampler: decode, crop, flip": lambda: ours(crop),
        "torchvision, python=\"threads\"": lambda: threads(data, WORKERS),
        "torchvision, torch's DataLoader": lambda: torchs(data, WORKERS),
        "@ft.sampler: the label alone": lambda: ours(label),
        "no work, python=\"threads\"": lambda: threads(Nothing(), WORKERS),
        "no work, torch's DataLoader": lambda: torchs(Nothing(), WORKERS),
    }
    rates = {name: [] for name in kinds}
    for _ in range(runs):
        for name, opened in kinds.items():
            rates[name].append(rate(opened(), seconds))
    for name, values in rates.items():
        print(f"{name:34} {statistics.median(values):8,.0f} samples/s  ({min(values):,.0f} to {max(values):,.0f})")


if __name__ == "__main__":
    main()
