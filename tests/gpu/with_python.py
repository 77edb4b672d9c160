#!/usr/bin/env python3
"""Uses flowtrain's Python package for a visit. Prints JSON.

    with_python.py export FOLDER NET              compiles a net for the device: net.pt2, and its weights as net.pt
    with_python.py train FOLDER NET --run RUN     trains these weights in eager PyTorch, on the batches of a run
    with_python.py load SHARDS                    batches of JPEGs on the device, with pictures finished here or there
"""

import argparse
import itertools
import json
import pathlib
import time
import tomllib

import flowtrain as ft
import torch
from torch.nn import functional as F

import peer


def export(options):
    torch.manual_seed(1)
    net = peer.NETS[options.net](options.side).to(options.device)
    torch.save(net.state_dict(), options.folder / "net.pt")
    batch = {"image": torch.randn(options.batch, 3, options.side, options.side, device=options.device),
             "label": torch.randint(peer.CLASSES, (options.batch,), device=options.device)}
    begin = time.perf_counter()
    ft.export(net, options.folder / "net.pt2", batch, amp=options.amp, dynamic_batch=False)
    return {"export, s": round(time.perf_counter() - begin, 1)}


def train(options):
    optim = tomllib.loads((options.run / "config.toml").read_text())["optim"]
    layout = torch.channels_last if options.device != "cpu" else torch.contiguous_format
    net = peer.NETS[options.net](options.side)
    net.load_state_dict(torch.load(options.folder / "net.pt", map_location="cpu"))
    net.to(options.device, memory_format=layout).train()
    optimizer = torch.optim.SGD(net.parameters(), optim["lr"], momentum=optim["momentum"],
                                weight_decay=optim["weight_decay"])
    losses = []
    loader = ft.Loader.config(options.run, output="torch")
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    for images, labels in itertools.islice(batches, options.steps):
        images = images.to(options.device, memory_format=layout)
        with torch.autocast(torch.device(options.device).type, torch.bfloat16, enabled=options.amp == "bf16"):
            loss = F.cross_entropy(net(images), labels.to(options.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": [loss.item() for loss in losses]}


def load(options):
    found = {}
    on_gpu = options.device != "cpu"
    for normalize in ("host", "device") if on_gpu else ("host",):
        layout = {"memory_format": torch.channels_last} if on_gpu else {}
        with ft.Loader.webdataset(options.folder, size=options.side, batch_size=options.batch,
                                  device=options.device, normalize=normalize, **layout) as loader:
            rows, begin = 0, None
            batches = itertools.chain.from_iterable(itertools.repeat(loader))
            for number, (images, _) in enumerate(batches):
                if number == 3:
                    rows, begin = 0, time.perf_counter()
                rows += len(images)
                if begin and time.perf_counter() - begin > options.seconds:
                    break
            if on_gpu:
                torch.cuda.synchronize()
            found[f"normalized on the {normalize}, images/s"] = round(rows / (time.perf_counter() - begin))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["export", "train", "load"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("net", nargs="?", choices=peer.NETS)
    parser.add_argument("--run", type=pathlib.Path, help="folder of a run")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--amp", choices=["bf16"])
    options = parser.parse_args()
    print(json.dumps({"export": export, "train": train, "load": load}[options.what](options)))


if __name__ == "__main__":
    main()
