"""One side of run.py: a training step in Python, on one batch that is ready in memory. Prints JSON."""

import argparse
import json
import statistics
import time

import torch
from torch.nn import functional as F

import nets

CLASSES = 6  # the classes of flowtrain's drawn shapes


def classifier(net, channels, side, batch):
    images, labels = torch.randn(batch, channels, side, side), torch.randint(CLASSES, (batch,))
    return net, lambda: F.cross_entropy(net(images), labels)


def lenet():
    return classifier(nets.LeNet(3, CLASSES, 32), 3, 32, 64)


def resnet18():
    return classifier(nets.ResNet18(3, CLASSES), 3, 64, 32)


def squeeze():
    net = nets.CornerNetSqueeze(3, CLASSES, [32, 48], [48, 48, 64, 96], [1, 1, 1, 2])
    images, targets = torch.randn(16, 3, 127, 127), nets.corner_targets(16, CLASSES, 32, 2)
    return net, lambda: nets.corner_loss(net(images), targets)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net", choices=["lenet", "resnet18", "squeeze"])
    parser.add_argument("--steps", type=int, required=True, help="time so many steps, after a fifth as many to warm up")
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    net, loss_of = globals()[options.net]()
    if options.net == "squeeze":
        optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    else:
        optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, fused=True)
    times = []
    for i in range(options.steps + options.steps // 5):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss_of().backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    kept = times[options.steps // 5:]
    print(json.dumps({"step_s": statistics.fmean(kept), "parameters": sum(each.numel() for each in net.parameters()),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
