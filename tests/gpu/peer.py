#!/usr/bin/env python3
"""Measures PyTorch on this machine, for a visit to compare with. Prints JSON.

    peer.py step NET --batch B --side S    a training step on one batch that lies ready on the device
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

import nets  # benchmarks/steps/nets.py

CLASSES = 6  # flowtrain's drawn shapes have as many


class Bottleneck(nn.Module):
    def __init__(self, inner, width, stride):
        super().__init__()
        outer = 4 * width
        self.body = nn.Sequential(nets.conv(inner, width, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                                  nets.conv(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                                  nets.conv(width, outer, 1), nn.BatchNorm2d(outer))
        same = inner == outer and stride == 1
        self.skip = nn.Identity() if same else nn.Sequential(nets.conv(inner, outer, 1, stride), nn.BatchNorm2d(outer))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


def resnet50():
    layers = [nets.conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(count):
            layers.append(Bottleneck(inner, width, 2 if i == 0 and width > 64 else 1))
            inner = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, CLASSES))


NETS = {"lenet": lambda side: nets.LeNet(3, CLASSES, side), "resnet18": lambda side: nets.ResNet18(3, CLASSES),
        "resnet50": lambda side: resnet50()}


def settle(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def step(options, device):
    torch.backends.cudnn.deterministic = options.deterministic
    torch.backends.cudnn.benchmark = not options.deterministic
    layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
    net = NETS[options.net](options.side).to(device, memory_format=layout)
    optimizer = torch.optim.SGD(net.parameters(), 0.0625, momentum=0.9, fused=True)
    images = torch.randn(options.batch, 3, options.side, options.side, device=device).to(memory_format=layout)
    labels = torch.randint(CLASSES, (options.batch,), device=device)

    def loss_of(images, labels):
        with torch.autocast(device.type, torch.bfloat16, enabled=options.amp == "bf16"):
            return F.cross_entropy(net(images), labels)

    forward = torch.compile(loss_of) if options.compile else loss_of

    def once():
        optimizer.zero_grad(set_to_none=True)
        forward(images, labels).backward()
        optimizer.step()

    if options.graph:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                once()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            once()
        once = graph.replay
    for _ in range(max(options.steps // 5, 3)):
        once()
    times = []
    for _ in range(5):
        settle(device)
        begin = time.perf_counter()
        for _ in range(max(options.steps // 5, 1)):
            once()
        settle(device)
        times.append((time.perf_counter() - begin) / max(options.steps // 5, 1))
    seconds = statistics.median(times)
    return {"ms": round(1e3 * seconds, 3), "images_per_s": round(options.batch / seconds, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["step"])
    parser.add_argument("net", nargs="?", choices=NETS, default="lenet")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100, help="time so many steps")
    parser.add_argument("--amp", choices=["off", "bf16"], default="off")
    parser.add_argument("--graph", action="store_true", help="the step is captured, and repeated")
    parser.add_argument("--compile", action="store_true", help="torch.compile of net and loss")
    parser.add_argument("--deterministic", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    print(json.dumps(step(options, device)))


if __name__ == "__main__":
    main()
