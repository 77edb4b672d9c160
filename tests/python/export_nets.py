"""Nets for the tests of export."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, relu


WEIGHTS = torch.tensor([1.0, 2, 1, 1, 0.5, 1])


class Corners(nn.Module):
    """Tiny, with whatever a package may get wrong: parameters of few numbers and of none, one without a gradient, one
    that is frozen, tied ones, statistics, a counter of several numbers, a constant buffer, a literal, and a value that
    is changed in place where its equal is not."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.first = nn.Linear(8, 8, bias=False)
        self.second = nn.Linear(8, 8, bias=False)
        self.second.weight = self.first.weight
        self.last = nn.Linear(8, 6)
        self.temperature = nn.Parameter(torch.tensor(1.5))
        self.frozen = nn.Parameter(torch.full((8,), 0.5), requires_grad=False)
        self.idle = nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(3, dtype=torch.int64))
        self.register_buffer("mask", torch.tensor([1.0, 1, 1, 0, 1, 1, 1, 1]), persistent=False)

    def forward(self, image):
        if self.training:
            self.seen += torch.arange(3)
        x = relu(self.norm(self.conv(image))).mean((2, 3)) * self.mask + self.frozen
        x = relu(self.first(x))
        raised, same = x * 0.5, x * 0.5
        raised += 0.25
        x = self.second(raised + same)
        return self.last(x) * self.temperature + torch.tensor([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])


def corners_loss(net, batch):
    """The noise is that of dropout: it depends on the seed, and the loss does not. The weights of classes are a tensor
    that is read in several places."""
    logits = net(batch["image"])
    noise = dropout(torch.ones(64), training=net.training).sum()
    confidence = logits.softmax(1).amax(1).mean().detach()
    return {"loss": cross_entropy(logits, batch["label"], WEIGHTS), "confidence": confidence, "noise": noise}


def corners_batch(rows, seed=0):
    random = torch.Generator().manual_seed(seed)
    return {"image": torch.randn(rows, 3, 12, 12, generator=random),
            "label": torch.randint(0, 6, (rows,), generator=random)}
