#!/usr/bin/env python3
"""The training step of flowtrain against the same step in Python PyTorch, on the CPU.

Both run in turn, so that what else goes on meets both. Python's batch lies ready in memory, as floats; flowtrain's
comes through its line, whose workers share the cores with the step, and is made floats within the step.

    # an interpreter that has torch, the version that flowtrain is built with:
    benchmarks/steps/run.py --python FOLDER/bin/python
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# name: steps a run, config, more settings
NETS = {
    "lenet": (300, "classify.toml", ["data.size=32", "loader.batch=64"]),
    "resnet18": (20, "classify.toml", ["data.size=64", "loader.batch=32", "net.name=resnet18"]),
    "squeeze": (20, "squeeze.toml", []),
}


def output_of(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def python_step(options, net):
    return json.loads(output_of([options.python, "-B", HERE / "step.py", net, "--steps", NETS[net][0], "--threads",
                                 options.threads]))


def own_step(options, net):
    steps, config, settings = NETS[net]
    every = steps // 5
    with tempfile.TemporaryDirectory() as work:
        command = [options.bin, HERE / config, "--run-dir", f"{work}/run", "--max-iter", steps + every]
        for setting in [*settings, *options.set, f"run.threads={options.threads}", f"display.every={every}"]:
            command += ["--set", setting]
        output_of(command)
        lines = [json.loads(line) for line in pathlib.Path(f"{work}/run/metrics.jsonl").read_text().splitlines()]
    times = [line["step_time"] for line in lines if line["kind"] == "train"]
    return statistics.fmean(times[1:])  # the first display's steps are those that Python leaves out


def parameters_of(options, net):
    _, config, settings = NETS[net]
    command = [options.bin, "info", HERE / config]
    for setting in settings:
        command += ["--set", setting]
    return int(output_of(command).split(":")[1].split()[0].replace(",", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="use this Python with torch; default: this one")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/flowtrain")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="set a key of flowtrain")
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"default: {', '.join(NETS)}")
    options = parser.parse_args()
    if unknown := set(options.nets) - set(NETS):
        parser.error(f"no such net: {', '.join(unknown)}; known: {', '.join(NETS)}")
    print("| net | Python, ms | flowtrain, ms | ratio: median (least to most) of the rounds |\n|---|---|---|---|")
    for net in options.nets or NETS:
        pairs, parameters = [], parameters_of(options, net)
        for _ in range(options.rounds):
            python = python_step(options, net)
            if parameters != python["parameters"]:
                sys.exit(f"error: {net}: {parameters} parameters here, {python['parameters']} in Python")
            pairs.append((python["step_s"], own_step(options, net)))
        ratios = sorted(own / other for other, own in pairs)
        medians = [statistics.median(pair[side] for pair in pairs) * 1e3 for side in (0, 1)]
        print(f"| {net} | {medians[0]:.2f} | {medians[1]:.2f} | {statistics.median(ratios):.3f} "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f}) |", flush=True)


if __name__ == "__main__":
    main()
