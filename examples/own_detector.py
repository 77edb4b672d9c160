#!/usr/bin/env python3
"""A detector of one's own for the native program: python examples/own_detector.py detector.pt2

    flowtrain configs/detector_shapes.toml
    flowtrain test configs/detector_shapes.toml --pictures 8
"""
import sys

import flowtrain as ft
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, relu, softplus

SIZE, STRIDE, OBJECTS, CLASSES, MOST = 64, 4, 8, 6, 50


def conv(inputs, outputs, stride=1, dilation=1):
    layer = nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU())


class Fcos(nn.Module):
    """After FCOS (Tian et al. 2019), with one level: each cell of the picture scores the classes of the object that it
    is in, and measures how far it is to the object's four sides."""

    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Sequential(conv(3, width // 2, 2), conv(width // 2, width, 2))
        self.blocks = nn.ModuleList(conv(width, width, dilation=dilation) for dilation in (1, 2, 3, 1, 2, 3))
        self.classes, self.sides = nn.Conv2d(width, CLASSES, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        nn.init.constant_(self.classes.bias, -4.6)  # a score of 0.01, as most cells are in no object
        steps = (torch.arange(SIZE // STRIDE) + 0.5) * STRIDE
        self.register_buffer("cells", torch.stack(torch.meshgrid(steps, steps, indexing="xy"), -1).reshape(-1, 2))

    def forward(self, image):
        """The N cells' logits of classes (B, N, CLASSES), and their boxes (B, N, 4)."""
        hidden = self.stem(image)
        for block in self.blocks:
            hidden = hidden + block(hidden)
        logits, sides = (head(hidden).flatten(2).transpose(1, 2) for head in (self.classes, self.sides))
        return logits, self.boxes(softplus(sides) * 2 * STRIDE)

    def boxes(self, sides):
        return torch.cat([self.cells - sides[..., :2], self.cells + sides[..., 2:]], -1)


def overlap(a, b):
    """Intersection over union of boxes, and GIoU (Rezatofighi et al. 2019)."""
    inner = relu(torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).prod(-1)
    outer = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - inner
    iou = inner / (union + 1e-6)
    return iou, iou - (outer - union) / (outer + 1e-6)


def loss(net, batch):
    """batch: image; boxes (B, OBJECTS, 4) in its pixels, and their labels; count (B), how many of them there are."""
    logits, found = net(batch["image"])
    boxes, cells = batch["boxes"][:, None], net.cells[None, :, None]
    sides = torch.cat([cells - boxes[..., :2], boxes[..., 2:] - cells], -1)  # (B, N, OBJECTS, 4), as the next three
    near = (cells - (boxes[..., :2] + boxes[..., 2:]) / 2).abs().amax(-1) < 1.5 * STRIDE
    there = torch.arange(OBJECTS, device=cells.device) < batch["count"][:, None, None]
    area = (boxes[..., 2:] - boxes[..., :2]).prod(-1).masked_fill(~(near & there & (sides.amin(-1) > 0)), 1e9)
    least, chosen = area.min(2)  # a cell near the middles of several objects looks for the smallest one
    inside = (least < 1e9).float()

    sides = sides.gather(2, chosen[..., None, None].expand(-1, -1, 1, 4)).squeeze(2)
    iou, giou = overlap(found, net.boxes(sides))
    is_class = batch["labels"].gather(1, chosen)[..., None] == torch.arange(CLASSES, device=cells.device)
    wanted = is_class * (inside * iou.detach())[..., None]  # the better the box, the higher its score (Li et al. 2020)
    cross_entropy = binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    score = ((logits.sigmoid() - wanted).square() * cross_entropy).sum() / inside.sum().clamp(min=1)
    shape = ((1 - giou) * inside).sum() / inside.sum().clamp(min=1)
    return {"loss": score + shape, "score": score, "shape": shape}


def outputs(net, batch):
    """The best MOST boxes of each picture, as flowtrain reads them. It drops those that overlap a better one."""
    logits, found = net(batch["image"])
    scores, best = logits.sigmoid().flatten(1).topk(MOST)
    boxes = found.gather(1, (best // CLASSES)[..., None].expand(-1, -1, 4))
    return {"boxes": boxes, "scores": scores, "labels": best % CLASSES}


if __name__ == "__main__":
    torch.manual_seed(0)
    example = {"image": torch.rand(4, 3, SIZE, SIZE), "boxes": torch.rand(4, OBJECTS, 4).cumsum(2) * 16,
               "labels": torch.zeros(4, OBJECTS, dtype=torch.int64), "count": torch.full((4,), 2)}
    ft.export(Fcos(), sys.argv[1], example, loss, outputs)
