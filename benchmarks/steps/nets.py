"""The nets of the comparison as one writes them in Python: LeNet, ResNet-18, and CornerNet-Squeeze with its loss.

Layers and widths are those of flowtrain's nets of the same names; run.py compares the numbers of parameters.
"""

import torch
from torch import nn
from torch.nn import functional as F

CORNER_WIDTH = 128
MOST_OBJECTS = 128
LEAST = 1e-4


# --- Classifiers -----------------------------------------------------------------------------------------------------

class LeNet(nn.Module):
    def __init__(self, channels, classes, side):
        super().__init__()
        left = (side // 2 - 4) // 2
        self.body = nn.Sequential(
            nn.Conv2d(channels, 32, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(64 * left * left, 120), nn.ReLU(inplace=True),
            nn.Linear(120, 84), nn.ReLU(inplace=True), nn.Linear(84, classes))

    def forward(self, x):
        return self.body(x)


def conv(inner, outer, kernel, stride=1, bias=False, groups=1):
    return nn.Conv2d(inner, outer, kernel, stride, (kernel - 1) // 2, bias=bias, groups=groups)


class Residual(nn.Module):
    def __init__(self, inner, outer, stride=1):
        super().__init__()
        self.conv1, self.bn1 = conv(inner, outer, 3, stride), nn.BatchNorm2d(outer)
        self.conv2, self.bn2 = conv(outer, outer, 3), nn.BatchNorm2d(outer)
        same = inner == outer and stride == 1
        self.skip = None if same else nn.Sequential(conv(inner, outer, 1, stride), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.skip is None else self.skip(x)
        return F.relu(y, inplace=True)


class ResNet18(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        layers = [conv(channels, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        width = 64
        for outer in (64, 128, 256, 512):
            layers += [Residual(width, outer, 1 if outer == 64 else 2), Residual(outer, outer)]
            width = outer
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))

    def forward(self, x):
        return self.body(x)


# --- CornerNet-Squeeze -----------------------------------------------------------------------------------------------

class Convolution(nn.Module):
    def __init__(self, inner, outer, kernel, stride=1, normalised=True):
        super().__init__()
        self.conv = conv(inner, outer, kernel, stride, bias=not normalised)
        self.bn = nn.BatchNorm2d(outer) if normalised else nn.Identity()

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Fire(nn.Module):
    def __init__(self, inner, outer, stride=1):
        super().__init__()
        half = outer // 2
        self.conv1, self.bn1 = conv(inner, half, 1), nn.BatchNorm2d(half)
        self.conv_1x1, self.conv_3x3 = conv(half, half, 1, stride), conv(half, half, 3, stride, groups=half)
        self.bn2 = nn.BatchNorm2d(outer)
        self.adds = inner == outer and stride == 1

    def forward(self, x):
        squeezed = self.bn1(self.conv1(x))
        y = self.bn2(torch.cat([self.conv_1x1(squeezed), self.conv_3x3(squeezed)], 1))
        if self.adds:
            y += x
        return F.relu(y, inplace=True)


class Hourglass(nn.Module):
    def __init__(self, widths, blocks):
        super().__init__()
        (width, inner), count = widths[:2], blocks[0]
        self.up1 = nn.Sequential(*(Fire(width, width) for _ in range(count)))
        self.low1 = nn.Sequential(Fire(width, inner, 2), *(Fire(inner, inner) for _ in range(count - 1)))
        self.low2 = (Hourglass(widths[1:], blocks[1:]) if len(widths) > 2
                     else nn.Sequential(*(Fire(inner, inner) for _ in range(blocks[1]))))
        self.low3 = nn.Sequential(*(Fire(inner, inner) for _ in range(count - 1)), Fire(inner, width))
        self.up2 = nn.ConvTranspose2d(width, width, 4, 2, 1)

    def forward(self, x):
        return self.up1(x) + self.up2(self.low3(self.low2(self.low1(x))))


def running_max(x, dim, from_end):
    if not from_end:
        return x.cummax(dim).values
    return x.flip(dim).cummax(dim).values.flip(dim)


class CornerPool(nn.Module):
    def __init__(self, width, top_left):
        super().__init__()
        self.top_left = top_left
        self.p1_conv1, self.p2_conv1 = Convolution(width, CORNER_WIDTH, 3), Convolution(width, CORNER_WIDTH, 3)
        self.p_conv1, self.p_bn1 = conv(CORNER_WIDTH, width, 3), nn.BatchNorm2d(width)
        self.conv1, self.bn1 = conv(width, width, 1), nn.BatchNorm2d(width)
        self.conv2 = Convolution(width, width, 3)

    def forward(self, x):
        pooled = running_max(self.p1_conv1(x), 2, self.top_left) + running_max(self.p2_conv1(x), 3, self.top_left)
        return self.conv2(F.relu(self.p_bn1(self.p_conv1(pooled)) + self.bn1(self.conv1(x)), inplace=True))


def head(inner, outer):
    return nn.Sequential(Convolution(inner, inner, 1, normalised=False), conv(inner, outer, 1, bias=True))


class CornerNetSqueeze(nn.Module):
    """One stack. Returns heat, tag and offset maps of the top left corners, then of the bottom right ones."""

    def __init__(self, channels, classes, stem, widths, blocks):
        super().__init__()
        layers = [Convolution(channels, stem[0], 7, 2)]
        layers += [Residual(inner, outer, 2) for inner, outer in zip(stem, stem[1:])]
        self.body = nn.Sequential(*layers, Hourglass(widths, blocks), Convolution(widths[0], widths[0], 3))
        self.pools = nn.ModuleList(CornerPool(widths[0], top_left) for top_left in (True, False))
        self.heads = nn.ModuleList(nn.ModuleList(head(widths[0], outer) for outer in (classes, 1, 2))
                                   for _ in self.pools)

    def forward(self, x):
        features = self.body(x)
        maps = []
        for pool, heads in zip(self.pools, self.heads):
            corner = pool(features)
            maps += [each(corner) for each in heads]
        return maps


def focal(logits, target):
    p = torch.clamp(torch.sigmoid(logits), LEAST, 1 - LEAST)
    positive = target.eq(1)
    at_corners, elsewhere = p[positive], p[~positive]
    near = torch.pow(1 - target[~positive], 4)
    total = (torch.log(at_corners) * torch.pow(1 - at_corners, 2)).sum()
    total = total + (torch.log(1 - elsewhere) * torch.pow(elsewhere, 2) * near).sum()
    return -total / positive.sum().clamp(min=1)


def at_cells(maps, cells):
    return maps.flatten(2).permute(0, 2, 1).gather(1, cells.unsqueeze(2).expand(-1, -1, maps.size(1)))


def tags_loss(top_left, bottom_right, mask):
    count = mask.sum(1, keepdim=True).float()
    mean = (top_left + bottom_right) / 2
    pull = ((top_left - mean) ** 2 + (bottom_right - mean) ** 2) / (count + LEAST)
    objects = count.unsqueeze(2)
    push = F.relu(1 - (mean.unsqueeze(1) - mean.unsqueeze(2)).abs()) - 1 / (objects + LEAST)
    push = push / ((objects - 1) * objects + LEAST)
    return pull[mask].sum(), push[mask.unsqueeze(1) & mask.unsqueeze(2)].sum()


def corner_loss(maps, targets):
    heats, cells, offsets, mask = targets
    total = sum(focal(maps[3 * i], heats[i]) for i in range(2))
    tags = [at_cells(maps[3 * i + 1], cells[i]).squeeze(2) for i in range(2)]
    pull, push = tags_loss(*tags, mask)
    for i in range(2):
        found = at_cells(maps[3 * i + 2], cells[i])
        total = total + F.smooth_l1_loss(found[mask], offsets[i][mask], reduction="sum") / (mask.sum() + LEAST)
    return total + 0.1 * pull + 0.1 * push


def corner_targets(batch, classes, cells, objects):
    """Targets of the right form, with `objects` corners a picture."""
    heats = [torch.rand(batch, classes, cells, cells) ** 8 for _ in range(2)]
    indices = [torch.randint(cells * cells, (batch, MOST_OBJECTS)) for _ in range(2)]
    for heat, where in zip(heats, indices):
        heat.flatten(2)[torch.arange(batch).unsqueeze(1), 0, where[:, :objects]] = 1
    offsets = [torch.rand(batch, MOST_OBJECTS, 2) for _ in range(2)]
    mask = torch.zeros(batch, MOST_OBJECTS, dtype=torch.bool)
    mask[:, :objects] = True
    return heats, indices, offsets, mask
