"""Runs of flowtrain, what they leave behind, and what they read."""

import array
import concurrent.futures
import json
import shutil
import statistics
import struct

from parts.visit import Failed, last_lines

REPEATED = "steps run without a graph"  # the warning where a step cannot be captured


class Run:
    """A run that has ended well."""

    def __init__(self, folder, said, seconds):
        self.folder, self.said, self.seconds = folder, said, seconds
        self.lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]

    def of_kind(self, kind):
        return [line for line in self.lines if line["kind"] == kind]

    def end(self):
        """Parameters and order: two runs that are the same share them."""
        line = self.of_kind("end")[-1]
        return line["params_xxh64"], line["order_xxh64"]

    def losses(self):
        return [line["loss"] for line in self.of_kind("train")]

    def validations(self):
        return [(line["iter"], line["loss"]) for line in self.of_kind("val")]

    def median(self, what):
        """The median of the displays, but for the first, which warms up."""
        return statistics.median(line[what] for line in self.of_kind("train")[1:])

    def samples_per_s(self):
        return self.median("samples_per_s")

    def values(self):
        """All f32 parameters and buffers of the newest snapshot: {name: array}."""
        newest = max(each for each in (self.folder / "snapshots").iterdir() if each.name.startswith("iter-"))
        data = (newest / "model.safetensors").read_bytes()
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:begin])
        header.pop("__metadata__", None)
        return {name: array.array("f", data[begin + at["data_offsets"][0]:begin + at["data_offsets"][1]])
                for name, at in header.items() if at["dtype"] == "F32"}


def words_of(visit, config, folder, settings, words):
    command = [visit.root / "bin/flowtrain", visit.root / "configs" / f"{config}.toml", "--run-dir", folder]
    if "--device" not in words:
        command += ["--device", "cuda" if "--distributed" in words and not visit.on_cpu else visit.device]
    for setting in settings:
        command += ["--set", setting]
    return [*command, *words]


def train(visit, config, name, settings=(), words=(), more=None):
    """A run in runs/<part>/<name>, which must end well; it is a new one unless --iter is among the words."""
    folder = visit.runs / visit.part.name / name
    if "--iter" not in words:
        shutil.rmtree(folder, ignore_errors=True)
    done = visit.run(words_of(visit, config, folder, settings, words), more=more)
    if done.rc:
        raise Failed(f"{name}: exit code {done.rc}: {last_lines(done.err)}")
    return Run(folder, done.err, done.seconds)


def train_all(visit, wanted, at_once):
    """{name: arguments of train() but the name} to {name: Run}, several at a time."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        futures = {name: pool.submit(train, visit, arguments[0], name, *arguments[1:])
                   for name, arguments in wanted.items()}
        return {name: future.result() for name, future in futures.items()}


def apart(one, other):
    """The largest difference between two runs' values, relative to the largest value of each tensor."""
    ours, theirs = one.values(), other.values()
    worst = 0.0
    for name, values in ours.items():
        largest = max(map(abs, values), default=0.0) or 1.0
        worst = max(worst, max((abs(a - b) for a, b in zip(values, theirs[name])), default=0.0) / largest)
    return worst


def jpeg_shards(visit):
    """A folder with shards of JPEGs, made when it is first asked for; and their side."""
    count, side = (60, 32) if visit.on_cpu else (2000, 256)
    shards = visit.work / "jpeg"
    if not shards.exists():
        visit.must([visit.root / "bin/flowtrain", "pack", visit.root / "configs/speed.toml", "--out", shards,
                    "--encode", "jpeg", "--split", "both", "--set", f"data.samples={count}", "--set",
                    f"data.size={side}"])
    return shards, side
