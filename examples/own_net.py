#!/usr/bin/env python3
"""A net of one's own with its loss, for the native program: python examples/own_net.py own_net.pt2

    flowtrain configs/quickstart.toml --set net.package=own_net.pt2
"""
import sys

import flowtrain as ft
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Block(nn.Module):
    """A block of ConvMixer (Trockman and Kolter 2022): a depthwise convolution, then one of 1 x 1."""

    def __init__(self, width, kernel):
        super().__init__()
        self.space = nn.Sequential(
            nn.Conv2d(width, width, kernel, padding="same", groups=width), nn.GELU(), nn.BatchNorm2d(width))
        self.channels = nn.Sequential(nn.Conv2d(width, width, 1), nn.GELU(), nn.BatchNorm2d(width))

    def forward(self, x):
        return self.channels(x + self.space(x))


class ConvMixer(nn.Module):
    def __init__(self, classes, width=64, depth=4, kernel=5, patch=4):
        super().__init__()
        self.patches = nn.Sequential(nn.Conv2d(3, width, patch, stride=patch), nn.GELU(), nn.BatchNorm2d(width))
        self.blocks = nn.Sequential(*(Block(width, kernel) for _ in range(depth)))
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, classes))

    def forward(self, image):
        return self.head(self.blocks(self.patches(image)).mean((2, 3)))


def loss(net, batch):
    """`loss` is optimized; `correct` is shown beside it."""
    logits = net(batch["image"])
    return {"loss": cross_entropy(logits, batch["label"], label_smoothing=0.1),
            "correct": (logits.argmax(1) == batch["label"]).float().mean()}


if __name__ == "__main__":
    torch.manual_seed(0)
    example = {"image": torch.zeros(8, 3, 32, 32), "label": torch.zeros(8, dtype=torch.int64)}
    ft.export(ConvMixer(classes=6), sys.argv[1], example, loss, lambda net, batch: net(batch["image"]))
