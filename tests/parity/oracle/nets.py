"""The blocks of the CornerNet family and the nets built of them. Attribute names are those of the weights' files."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from . import corner_pool
from . import name_numbers as numbers


class DirectedMaximum(torch.autograd.Function):
    """Corner pooling with the oracle's own gradient."""

    @staticmethod
    def forward(context, x, direction):
        y, origin = corner_pool.pool(x.detach().numpy(), direction)
        context.direction, context.origin = direction, torch.from_numpy(origin)
        return torch.from_numpy(y)

    @staticmethod
    def backward(context, g):
        axis, _ = corner_pool.DIRECTIONS[context.direction]
        return torch.zeros_like(g).scatter_add(axis, context.origin, g), None


class Convolution(nn.Module):
    def __init__(self, k, inp, out, stride=1, bn=True):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, k, stride, (k - 1) // 2, bias=not bn)
        if bn:
            self.bn = nn.BatchNorm2d(out)

    def forward(self, x):
        x = self.conv(x)
        return torch.relu(self.bn(x) if hasattr(self, "bn") else x)


class Residual(nn.Module):
    def __init__(self, inp, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inp, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.skip = nn.Sequential()
        if stride != 1 or inp != out:
            self.skip = nn.Sequential(nn.Conv2d(inp, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.skip(x))


class Fire(nn.Module):
    def __init__(self, inp, out, stride=1):
        super().__init__()
        half = out // 2
        self.conv1 = nn.Conv2d(inp, half, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(half)
        self.conv_1x1 = nn.Conv2d(half, half, 1, stride, bias=False)
        self.conv_3x3 = nn.Conv2d(half, half, 3, stride, 1, groups=half, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.adds_input = stride == 1 and inp == out

    def forward(self, x):
        y = self.bn1(self.conv1(x))  # without ReLU
        y = self.bn2(torch.cat([self.conv_1x1(y), self.conv_3x3(y)], 1))
        return torch.relu(y + x if self.adds_input else y)


class CornerPool(nn.Module):
    """tl: top and left; br: bottom and right."""

    def __init__(self, corner, dim):
        super().__init__()
        self.directions = ("top", "left") if corner == "tl" else ("bottom", "right")
        self.p1_conv1 = Convolution(3, dim, 128)
        self.p2_conv1 = Convolution(3, dim, 128)
        self.p_conv1 = nn.Conv2d(128, dim, 3, 1, 1, bias=False)
        self.p_bn1 = nn.BatchNorm2d(dim)
        self.conv1 = nn.Conv2d(dim, dim, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(dim)
        self.conv2 = Convolution(3, dim, dim)

    def forward(self, x):
        branches = zip((self.p1_conv1, self.p2_conv1), self.directions)
        pooled = sum(DirectedMaximum.apply(branch(x), direction) for branch, direction in branches)
        return self.conv2(torch.relu(self.p_bn1(self.p_conv1(pooled)) + self.bn1(self.conv1(x))))


class Nearest(nn.Module):
    def forward(self, x):
        return functional.interpolate(x, scale_factor=2, mode="nearest")


def transposed(dim):
    return nn.ConvTranspose2d(dim, dim, 4, 2, 1)


def merge(dim):
    return nn.Sequential(nn.Conv2d(dim, dim, 1, bias=False), nn.BatchNorm2d(dim))


def head(k, inp, mid, out):
    return nn.Sequential(Convolution(k, inp, mid, bn=False), nn.Conv2d(mid, out, 1))


class Hourglass(nn.Module):
    def __init__(self, family, n, dims, modules):
        super().__init__()
        squeeze = family == "CornerNet_Squeeze"
        block = Fire if squeeze else Residual
        here, below, count = dims[0], dims[1], modules[0]
        self.up1 = nn.Sequential(*(block(here, here) for _ in range(count)))
        self.low1 = nn.Sequential(block(here, below, 2), *(block(below, below) for _ in range(count - 1)))
        if n > 1:
            self.low2 = Hourglass(family, n - 1, dims[1:], modules[1:])
        else:
            self.low2 = nn.Sequential(*(block(below, below) for _ in range(modules[1])))
        self.low3 = nn.Sequential(*(block(below, below) for _ in range(count - 1)), block(below, here))
        self.up2 = transposed(here) if squeeze else Nearest()

    def forward(self, x):
        """The result, and what the hourglasses inside merged, innermost first; the last one is the result."""
        low, merged = self.low1(x), []
        if isinstance(self.low2, Hourglass):
            low, merged = self.low2(low)
        else:
            low = self.low2(low)
        y = self.up1(x) + self.up2(self.low3(low))
        return y, merged + [y]


class Stack(nn.Module):
    """Everything below the heads: `pre`, then hourglasses one after another."""

    def __init__(self, family, stacks, n, dims, modules, pre):
        super().__init__()
        dim = dims[0]
        blocks = [Convolution(7, 3, pre[0], 2)] + [Residual(a, b, 2) for a, b in zip(pre, pre[1:])]
        self.pre = nn.Sequential(*blocks)
        self.hgs = nn.ModuleList(Hourglass(family, n, dims, modules) for _ in range(stacks))
        self.cnvs = nn.ModuleList(Convolution(3, dim, dim) for _ in range(stacks))
        self.inters = nn.ModuleList(Residual(dim, dim) for _ in range(stacks - 1))
        self.inters_ = nn.ModuleList(merge(dim) for _ in range(stacks - 1))
        self.cnvs_ = nn.ModuleList(merge(dim) for _ in range(stacks - 1))

    def forward(self, x):
        """The maps of all stacks, and their hourglasses' merged outputs."""
        inter, maps, merged = self.pre(x), [], []
        for s, hourglass in enumerate(self.hgs):
            y, inside = hourglass(inter)
            maps.append(self.cnvs[s](y))
            merged.append(inside)
            if s + 1 < len(self.hgs):
                inter = self.inters[s](torch.relu(self.inters_[s](inter) + self.cnvs_[s](maps[-1])))
        return maps, merged


PLANS = {
    "CornerNet": dict(stacks=2, n=5, dims=[256, 256, 384, 384, 384, 512], modules=[2, 2, 2, 2, 2, 4], pre=[128, 256]),
    "CornerNet_Squeeze": dict(stacks=2, n=4, dims=[256, 256, 384, 384, 512], modules=[2, 2, 2, 2, 4],
                              pre=[128, 256, 256]),
    "CornerNet_Saccade": dict(stacks=3, n=3, dims=[256, 384, 384, 512], modules=[1, 1, 1, 1], pre=[128, 256]),
}


class Net(nn.Module):
    """A whole net of 80 classes."""

    HEADS = {"heat": 80, "tag": 1, "off": 2}

    def __init__(self, family):
        super().__init__()
        self.family = family
        plan = PLANS[family]
        dim, stacks, k = plan["dims"][0], plan["stacks"], 1 if family == "CornerNet_Squeeze" else 3
        self.hg = Stack(family, **plan)
        for corner in ("tl", "br"):
            self.add_module(corner + "_modules", nn.ModuleList(CornerPool(corner, dim) for _ in range(stacks)))
        for kind, out in self.HEADS.items():
            for corner in ("tl", "br"):
                heads = nn.ModuleList(head(k, dim, dim, out) for _ in range(stacks))
                self.add_module(f"{corner}_{kind}s", heads)
        if family == "CornerNet_Saccade":
            inner_first = plan["dims"][plan["n"] - 1::-1]
            self.att_modules = nn.ModuleList(nn.ModuleList(head(3, width, dim, 1) for width in inner_first)
                                             for _ in range(stacks))

    def forward(self, x):
        """The raw maps of all heads by name and stack."""
        maps, merged = self.hg(x)
        out = {}
        for s, features in enumerate(maps):
            for corner in ("tl", "br"):
                pooled = getattr(self, corner + "_modules")[s](features)
                for kind in self.HEADS:
                    out[f"{corner}_{kind}{s}"] = getattr(self, f"{corner}_{kind}s")[s](pooled)
            for j, attention in enumerate(self.att_modules[s] if hasattr(self, "att_modules") else ()):
                out[f"att{s}_{j}"] = attention(merged[s][j])
        return out


def fill(module, prefix=""):
    """Gives every weight and statistic the values that follow from its name."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            tensor.copy_(torch.from_numpy(value_of(prefix + name, tuple(tensor.shape))))


def value_of(name, shape):
    if name.endswith("num_batches_tracked"):
        return np.array(0)
    if name.endswith("running_var"):
        return (0.8 + 0.8 * numbers.unit(name, shape)).astype(np.float32)
    if len(shape) == 4:
        return numbers.uniform(name, shape, math.sqrt(3 / math.prod(shape[1:])))
    return numbers.uniform(name, shape, 0.25, 1) if name.endswith("weight") else numbers.uniform(name, shape, 0.1)
