"""Times one peer, in its own environment; `run` calls it. Prints one JSON object as the last line of stdout.

A peer is a module of this folder with
    LIBRARY                 the package whose version is told
    VERSION                 optional: of one that is not installed as a package
    RESIZE                  what its resize does to a picture that becomes smaller
    batches(pictures, workers, floats, work)
                            an iterator without end: arrays of at most 64 pictures, (n, 224, 224, 3) or
                            (n, 3, 224, 224), u8 or (`floats`) normalised f32. `pictures` are paths of JPEGs.
    prepare(pictures, work) optional: writes the pictures into the folder `work` in the library's own format
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import statistics
import time

import processes
from augmentation import BATCH


def ms(seconds):
    """Mean, median and 99th percentile of times."""
    ordered = sorted(seconds)
    return {"mean": statistics.fmean(seconds) * 1000, "p50": statistics.median(seconds) * 1000,
            "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1000}


def measure(batches, seconds, step_s):
    """Consumes batches for `seconds` after the first, each for `step_s` (as a GPU would: this thread sleeps)."""
    me = os.getpid()
    first = next(batches)
    first_batch_s = processes.age_s(me)
    if step_s:
        time.sleep(step_s)
    images, waits, cpu_s, begin = 0, [], processes.cpu_s(me), time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds:
        batch = next(batches)
        waits.append(time.perf_counter() - now)
        images += len(batch)
        if step_s:
            time.sleep(step_s)
    wall_s = time.perf_counter() - begin
    used_s = processes.cpu_s(me) - cpu_s
    return {"images_per_s": images / wall_s, "cpu_s_per_1000": used_s / images * 1000, "first_batch_s": first_batch_s,
            "waited": sum(waits) / wall_s, "wait_ms": ms(waits),
            "batch": f"{str(first.dtype).removeprefix('torch.')} {'x'.join(map(str, first.shape))}"}


def measure_training(batches, seconds):
    """A training step in PyTorch, of one thread: on batches as they come, beside the same step on one that is kept.

    6 steps on the kept one, 12 on others, in turn; before, the loader has time to fill its queue and come to rest.
    Step times are those after the batch is there: by the clock, and of this thread's CPU, which other programs on the
    machine change less.
    """
    import torch

    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 8, stride=8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(512, 1000))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    labels = torch.arange(BATCH)

    def step(batch):
        images = torch.as_tensor(batch)
        images = images if images.shape[1] == 3 else images.permute(0, 3, 1, 2)
        loss = torch.nn.functional.cross_entropy(net(images.float()), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    full = (batch for batch in batches if len(batch) == BATCH)
    kept = torch.as_tensor(next(full)).clone()
    rounds, waits, begin = [], [], time.perf_counter()
    while time.perf_counter() < begin + seconds or len(rounds) < 3:
        time.sleep(1)
        blocks = {"kept": [], "new": []}
        for kind, steps in (("kept", 6), ("new", 12)):
            for _ in range(steps):
                now = time.perf_counter()
                batch = kept if kind == "kept" else next(full)
                if kind == "new" and rounds:
                    waits.append(time.perf_counter() - now)
                now = time.perf_counter(), time.thread_time()
                step(batch)
                blocks[kind].append((time.perf_counter() - now[0], time.thread_time() - now[1]))
        rounds.append({kind: [statistics.median(times) for times in zip(*block)] for kind, block in blocks.items()})
    ratios = [[each["new"][clock] / each["kept"][clock] for each in rounds[1:]] for clock in (0, 1)]
    return {"kept_step_ms": statistics.median(each["kept"][0] for each in rounds[1:]) * 1000, "wait_ms": ms(waits),
            "step_ratio": statistics.median(ratios[0]), "step_cpu_ratio": statistics.median(ratios[1])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    parser.add_argument("pictures", type=pathlib.Path, help="a folder of JPEGs")
    parser.add_argument("work", type=pathlib.Path, help="a folder for files in the peer's own format")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--step-ms", type=float, default=0)
    parser.add_argument("--train", action="store_true", help="use a training step in PyTorch as the consumer")
    parser.add_argument("--float", action="store_true", dest="floats")
    parser.add_argument("--prepare", action="store_true", help="write the peer's own format, and end")
    options = parser.parse_args()
    peer = importlib.import_module(options.peer)
    pictures = sorted(str(path) for path in options.pictures.glob("**/*.jpg"))
    if options.prepare:
        if hasattr(peer, "prepare"):
            peer.prepare(pictures, options.work)
        return
    batches = peer.batches(pictures, options.workers, options.floats, options.work)
    measurements = (measure_training(batches, options.seconds) if options.train
                    else measure(batches, options.seconds, options.step_ms / 1000))
    version = getattr(peer, "VERSION", None) or importlib.metadata.version(peer.LIBRARY)
    measurements |= {"version": f"{peer.LIBRARY} {version}", "resize": peer.RESIZE}
    print(json.dumps(measurements), flush=True)


if __name__ == "__main__":  # worker processes may import this file
    main()
