#!/usr/bin/env python3
"""Measures the cost of looking at a run: pairs of the same training, with everything that looks at it and with none.

    benchmarks/looking.py PROGRAM [PAIRS] [--before OTHER_PROGRAM]

The net is so small that the line of data is nearly all of a step. Each pair runs both one after the other, in changing
order, and gives two ratios, on to off: of processor time (of all threads) and of wall time. Printed are their medians.
With --before the second of each pair is an earlier program, without the keys of this one.
"""

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

CONFIG = """name = "tiny"
[run]
max_iter = 8000
threads = 1
[data]
dataset = "shapes"
samples = 3000
val_samples = 200
size = 28
[loader]
batch = 64
workers = 1
[net]
name = "mlp"
hidden = [32]
[optim]
lr = 0.01
[val]
every = 2000
[snapshot]
every = 0
final = false
"""
ON = ["display.prometheus=127.0.0.1:0", "display.report=true", "display.tensorboard=true", "val.pictures=16"]
OFF = ["display.report=false", "display.tensorboard=false"]


def run(program, keys, folder):
    """Returns seconds of processor time, of wall time, and samples a second of the median line."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [program, "tiny.toml", "--run-dir", str(folder), "--progress", "off"]
    subprocess.run(command + [word for key in keys for word in ("--set", key)], cwd=folder.parent, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [json.loads(line) for line in open(folder / "metrics.jsonl")]
    rate = statistics.median(line["samples_per_s"] for line in lines if line["kind"] == "train")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, rate


def main():
    words = sys.argv[1:]
    earlier = words.pop(words.index("--before") + 1) if "--before" in words else None
    words = [word for word in words if word != "--before"]
    program, pairs = str(pathlib.Path(words[0]).resolve()), int(words[1]) if len(words) > 1 else 10
    sides = {"off": (earlier, []) if earlier else (program, OFF), "on": (program, ON)}
    seen = {"off": [], "on": []}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tiny.toml").write_text(CONFIG)
        for pair in range(pairs):
            for side in sorted(sides, reverse=pair % 2 == 0):
                seen[side].append(run(*sides[side], folder / f"{side}-{pair}"))
            print(pair, seen["off"][-1], seen["on"][-1], flush=True)
    for at, name in enumerate(("processor time", "wall time", "samples/s")):
        ratios = sorted(on[at] / off[at] for on, off in zip(seen["on"], seen["off"]))
        print(f"{name}: on/off {statistics.median(ratios):.4f} ({ratios[0]:.4f} to {ratios[-1]:.4f}), off "
              f"{statistics.median(off[at] for off in seen['off']):.4g}")


if __name__ == "__main__":
    main()
