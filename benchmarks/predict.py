#!/usr/bin/env python3
"""Measures the speed of `flowtrain predict`, as a share of that of the loader alone with the same pictures.

    benchmarks/predict.py PROGRAM PICTURES [PAIRS]

PICTURES is a folder as data.dataset = "image_folder" reads it: a sub-folder for each class. A small net, which one
thread computes, is trained for a few iterations. Each pair runs `flowtrain bench --stage pipeline` and
`flowtrain predict` one after the other; printed are the medians of both in pictures/s, and of their ratio. Training
cuts pictures as validation does (crop = "none"), so that both decode the same.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

CONFIG = """name = "predict"
[run]
max_iter = 4
threads = 1
[data]
dataset = "image_folder"
path = "{pictures}"
[sampler]
size = 64
crop = "none"
flip = 0.0
[loader]
batch = 32
[net]
name = "mlp"
hidden = [32]
[val]
every = 4
"""
PASSES = 4  # over all pictures, so that the first batch does not count much


def output_of(program, words, folder):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def main():
    program, pictures = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    rates = {"bench": [], "predict": []}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "predict.toml").write_text(CONFIG.format(pictures=pictures))
        output_of(program, ["predict.toml", "--run-dir", "run", "--quiet"], folder)
        for _ in range(pairs):
            bench = output_of(program, ["bench", "predict.toml", "--stage", "pipeline", "--seconds", "3"], folder)
            rates["bench"].append(float(re.search(r"whole loader\s+\d+\s+([\d.]+)", bench).group(1)))
            words = ["predict", "run", *[pictures] * PASSES, "--csv", "predictions.csv"]
            predict = output_of(program, words, folder)
            rates["predict"].append(float(re.search(r"\(([\d.]+) pictures/s", predict).group(1)))
    for name, values in rates.items():
        print(f"{name:8} {statistics.median(values):8.1f} pictures/s")
    ratio = statistics.median(p / b for p, b in zip(rates["predict"], rates["bench"]))
    print(f"predict to bench: {ratio:.2f}, the median of {pairs} pairs")


if __name__ == "__main__":
    main()
