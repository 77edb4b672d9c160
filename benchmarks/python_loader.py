#!/usr/bin/env python3
"""Loaders from Python, in turn in one run: flowtrain's package, PyTorch's DataLoader, torchdata's StatefulDataLoader
and SPDL, by benchmarks/peers/measure.py; and `flowtrain bench` without Python.

    PYTHONPATH=build/release/python python benchmarks/python_loader.py PICTURES [--rounds 3] [--seconds 5]

PICTURES holds train/<class>/<JPEG>. The Python has torch and torchvision, and torchdata and spdl if they are to be
measured; SPDL wants FFmpeg's libraries (Debian: libavfilter8, libavdevice59). Two tables in Markdown: how fast batches
come when nobody computes, with two workers; and, with one, what a training step of one thread costs beside it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = {
    "`ft.Loader`": "flowtrain_python",
    "torch `DataLoader`, torchvision": "torch_vision",
    "torch `DataLoader`, Pillow": "torch_pil",
    "torchdata `StatefulDataLoader`, torchvision": "torchdata_stateful",
    "SPDL": "spdl_threads",
}
BENCH = "`flowtrain bench`"


def measure(peer, pictures, work, seconds, *words):
    """Runs measure.py in a process and returns its measurements, or the reason why there are none as a str."""
    command = [sys.executable, "-B", HERE / "peers/measure.py", peer, pictures, work, "--seconds", str(seconds), *words]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "nothing after 300 s"
    lines = (ran.stdout if ran.returncode == 0 else ran.stderr).strip().splitlines() or ["it says nothing"]
    return json.loads(lines[-1]) if ran.returncode == 0 else lines[-1][:160]


def bench(folder, work, seconds):
    config, out = Path(work) / "c.toml", Path(work) / "out.json"
    config.write_text(f'[data]\ndataset = "image_folder"\npath = "{folder}"\n[sampler]\nsize = 224\n'
                      f'filter = "antialias"\n[loader]\nbatch = 64\nworkers = 2\n')
    subprocess.run([HERE.parent / "build/release/bin/flowtrain", "bench", config, "--stage", "pipeline",
                    "--seconds", str(seconds), "--json", out], check=True, capture_output=True)
    return {"images_per_s": json.loads(out.read_text())["pipeline"]["samples_per_s"]}


def values(runs, *keys):
    found = []
    for run in runs:
        for key in keys:
            run = run[key]
        found.append(run)
    return found


def spread(numbers, form):
    return f"{statistics.median(numbers):{form}} ({min(numbers):{form}} to {max(numbers):{form}})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    pictures = options.pictures.resolve()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        str(Path(each).resolve()) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each)
    rates = {(name, kind): [] for name in (BENCH, *PEERS) for kind in ("u8", "f32")}
    training = {name: [] for name in PEERS}
    missing = {}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(options.rounds):
            rates[BENCH, "u8"].append(bench(pictures, work, options.seconds))
            for name, peer in PEERS.items():
                for runs, words in (
                    (rates[name, "u8"], ("--workers=2",)),
                    (rates[name, "f32"], ("--workers=2", "--float")),
                    (training[name], ("--workers=1", "--float", "--train")),
                ):
                    measured = missing.get(name) or measure(peer, pictures / "train", work, options.seconds, *words)
                    if isinstance(measured, str):
                        missing[name] = measured
                    else:
                        runs.append(measured)

    print("| loader | batch | images/s |\n|---|---|---|")
    for (name, kind), runs in rates.items():
        if runs:
            print(f"| {name} | {kind} | {spread(values(runs, 'images_per_s'), ',.0f')} |")
    print("\nThe step's time, of that on a kept batch; waits for batches.\n\n"
          "| loader, f32 | CPU time | by the clock | kept, ms | wait, ms: mean | p50 | p99 |\n" + "|---" * 7 + "|")
    for name, runs in training.items():
        if runs:
            kept = statistics.median(values(runs, "kept_step_ms"))
            ratios = [spread(values(runs, key), ".3f") for key in ("step_cpu_ratio", "step_ratio")]
            waits = [statistics.median(values(runs, "wait_ms", key)) for key in ("mean", "p50", "p99")]
            cells = [name, *ratios, f"{kept:.1f}", *(f"{wait:.2f}" for wait in waits)]
            print(f"| {' | '.join(cells)} |")
    for name, reason in missing.items():
        print(f"\n{name} was not measured: {reason}")


if __name__ == "__main__":
    main()
