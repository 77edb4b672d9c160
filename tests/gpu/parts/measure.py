"""How fast it is on this machine's GPU, beside PyTorch on the same."""

import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import threading

from parts.proof import REPEATED, several
from parts.training import train
from parts.visit import Failed, Part, Skipped, last_lines


def peer(visit, *words):
    if visit.run([sys.executable, "-c", "import torch"], own=False).rc:
        raise Skipped("Python's torch does not load here")
    done = visit.must([sys.executable, "-B", visit.root / "peer.py", *words, "--device", visit.device], own=False)
    return json.loads(done.out.splitlines()[-1])


@contextlib.contextmanager
def busy_share(visit, measurements, name):
    """Puts the share of the time in which the GPU computed into measurements."""
    if visit.on_cpu:
        yield
        return
    sampler = subprocess.Popen(["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms",
                                "200"], stdout=subprocess.PIPE, text=True)
    shares = []
    reader = threading.Thread(
        target=lambda: shares.extend(int(line) for line in sampler.stdout if line.strip().isdigit()))
    reader.start()
    try:
        yield
    finally:
        sampler.terminate()
        sampler.wait()
        reader.join()
        measurements[name] = statistics.median(shares) if shares else None


def own_step(visit, name, net, batch, side, steps, settings=(), words=()):
    """Milliseconds a step: the median of the displays, of which each holds a fifth of the steps."""
    every = max(steps // 5, 1)
    run = train(visit, "speed", name, [f"net.name={net}", f"loader.batch={batch}", f"data.size={side}",
                                       f"run.max_iter={steps + every}", f"display.every={every}",
                                       "loader.cache_mb=2048", *settings], words)
    if any("cuda_graph=true" in each for each in settings) and REPEATED in run.said and not visit.on_cpu:
        raise Failed(f"{name}: {last_lines(run.said[run.said.index(REPEATED):], 1)}")
    return round(1e3 * batch / run.samples_per_s(), 3)


def ceilings(visit):
    return peer(visit, "ceilings")


def steps(net, batch, side, count, amp):
    """A step of ours, with and without deterministic kernels and graphs, and PyTorch's."""
    def body(visit):
        rows, edge, length = (4, min(side, 64), 5) if visit.on_cpu else (batch, side, count)
        measurements = {}
        common = [f"train.amp={amp}"]
        for deterministic in ("true", "false"):
            for graph in ("false", "true"):
                name = f"{'deterministic' if deterministic == 'true' else 'free'}{', graph' if graph == 'true' else ''}"
                with busy_share(visit, measurements, f"{name}, busy %"):
                    measurements[f"{name}, ms"] = own_step(
                        visit, name, net, rows, edge, length,
                        [*common, f"run.deterministic={deterministic}", f"train.cuda_graph={graph}"])
        size = ["--batch", rows, "--side", edge, "--steps", length, "--amp", amp]
        try:
            measurements["PyTorch, ms"] = peer(visit, "step", net, *size)["ms"]
            measurements["PyTorch, deterministic, ms"] = peer(visit, "step", net, *size, "--deterministic")["ms"]
            if not visit.on_cpu:
                measurements["PyTorch, graph, ms"] = peer(visit, "step", net, *size, "--graph")["ms"]
        except Skipped as reason:
            measurements["PyTorch"] = str(reason)
        return measurements
    return body


def waits_of(visit, name, config, settings, words=()):
    """Waits of the main thread, which computes, a step."""
    report = visit.logs / f"waits-{name}.jsonl"
    report.unlink(missing_ok=True)
    steps_made = 200
    train(visit, config, name, [f"run.max_iter={steps_made}", "display.every=20", "val.every=0", "snapshot.every=0",
                                *settings], words,
          {"LD_PRELOAD": str(visit.root / "lib/libcount_waits.so"), "COUNT_WAITS": str(report)})
    lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    calls = sum(line["calls"] for line in lines)
    return round(calls / steps_made, 2)


def host_waits(visit):
    """Each count has the start's few, too; one look at the measurements every 20 steps is 0.05."""
    measurements = {"one process": waits_of(visit, "one", "tiny", []),
               "one process, clipped, fp16": waits_of(visit, "fp16", "tiny", ["train.clip=1", "train.amp=fp16"]),
               "one process, mixed": waits_of(visit, "mixed", "lenet",
                                             ["batch_augment.mixup=0.2", "loader.batch=1024"]),
               "one process, graph": waits_of(visit, "graph", "tiny", ["train.cuda_graph=true"]),
               "two processes, both": waits_of(visit, "two", "tiny", [], several(visit))}
    # What is read of a step is read at once, and where several processes agree on each step it is read in each. Of a
    # step with [batch_augment] the thread may wait until the rows of an earlier one have been sent.
    most = {"one process, mixed": 2, "two processes, both": 3}
    too_many = [name for name, waits in measurements.items() if waits > most.get(name, 1)]
    if too_many:
        raise Failed(f"a step waits too often: {', '.join(too_many)}", measurements)
    return measurements


def data_bound(visit):
    """JPEGs: the line alone, the net alone, both together."""
    count, side, batch, steps_made = (60, 64, 8, 5) if visit.on_cpu else (2000, 256, 128, 100)
    shards = visit.runs / "jpeg"
    shutil.rmtree(shards, ignore_errors=True)
    program = visit.root / "bin/flowtrain"
    visit.must([program, "pack", visit.root / "configs/speed.toml", "--out", shards, "--encode", "jpeg", "--split",
                "both", "--set", f"data.samples={count}", "--set", f"data.size={side}"])
    line = ["data.dataset=webdataset", f"data.path={shards}", "sampler.name=classify", f"sampler.size={side * 7 // 8}",
            "net.name=resnet18", f"loader.batch={batch}", "train.amp=bf16"]
    sets = [word for setting in line for word in ("--set", setting)]
    report = visit.runs / "line.json"
    visit.must([program, "bench", visit.root / "configs/jpeg.toml", *sets, "--stage", "pipeline", "--seconds",
                1 if visit.on_cpu else 8, "--json", report])
    measurements = {"line alone, images/s": round(json.loads(report.read_text())["pipeline"]["samples_per_s"], 1)}
    ms = own_step(visit, "net", "resnet18", batch, side * 7 // 8, steps_made, ["train.amp=bf16"])
    measurements["net alone, images/s"] = round(1e3 * batch / ms, 1)
    every = max(steps_made // 5, 1)
    both = train(visit, "jpeg", "both", [*line, f"run.max_iter={steps_made + every}", f"display.every={every}"])
    measurements["together, images/s"] = round(both.samples_per_s(), 1)
    measurements["share"] = round(both.samples_per_s() / min(measurements["line alone, images/s"],
                                                        measurements["net alone, images/s"]), 3)
    return measurements


def snapshots(visit):
    """What a snapshot and a validation beside training cost."""
    net, batch, length, every = ("lenet", 4, 12, 4) if visit.on_cpu else ("resnet50", 64, 300, 50)
    common = [f"net.name={net}", "data.size=64", f"loader.batch={batch}", f"run.max_iter={length}",
              f"display.every={every}"]
    saved = train(visit, "speed", "saved", [*common, f"snapshot.every={every}", "snapshot.final=true"])
    stalls = [round(1e3 * line["stall_s"], 2) for line in saved.of_kind("snapshot")]
    alone = train(visit, "speed", "alone", common).samples_per_s()
    measured = [*common, f"val.every={every}", f"data.val_samples={8 * batch}", f"val.batch={batch}"]
    beside = train(visit, "speed", "beside", [*measured, "val.mode=async"]).samples_per_s()
    return {"first stall, ms": stalls[0], "later, ms": stalls[1:], "images/s": round(alone, 1),
            "images/s with snapshots": round(saved.samples_per_s(), 1),
            "images/s beside a validation": round(beside, 1)}


def exchange(visit):
    report = visit.runs / "exchange.json"
    visit.must([visit.root / "bin/flowtrain", "bench", visit.root / "configs/resnet18.toml", *several(visit),
                "--device", "cpu" if visit.on_cpu else "cuda", "--seconds", 1 if visit.on_cpu else 5, "--json", report])
    found = json.loads(report.read_text())
    largest = found["all_reduce"][-1]
    return {"all-reduce, MB/s": round(largest["bus_mb_per_s"], 1),
            **{f"{name}, ms": round(1e3 * found["step"][f"{name}_s"], 2) for name in ("alone", "overlapped", "serial")}}


def detector(visit):
    length, batch = (2, 2) if visit.on_cpu else (60, 32)
    every = max(length // 5, 1)
    measurements = {}
    for name, settings in {"f32": [], "bf16": ["train.amp=bf16"], "bf16, graph": ["train.amp=bf16",
                                                                                  "train.cuda_graph=true"]}.items():
        run = train(visit, "detector", name, [*settings, f"run.max_iter={length + every}", f"display.every={every}",
                                              "val.every=0", "snapshot.every=0", f"loader.batch={batch}"])
        measurements[f"{name}, ms"] = round(1e3 * batch / run.samples_per_s(), 2)
    return measurements


PARTS = [
    Part("ceilings", 40, "copies and products, as fast as they go", ceilings),
    Part("resnet50", 150, "ResNet-50, 256 x 224 x 224, bf16, beside PyTorch's",
         steps("resnet50", 256, 224, 40, "bf16")),
    Part("lenet", 60, "LeNet, 128 x 32 x 32: bound by launches", steps("lenet", 128, 32, 500, "off")),
    Part("resnet18", 60, "ResNet-18, 128 x 32 x 32: likewise", steps("resnet18", 128, 32, 200, "off")),
    Part("host_waits", 60, "how often a step waits for the GPU", host_waits, True),
    Part("data_bound", 90, "JPEGs: line, net, both", data_bound),
    Part("snapshots", 90, "stalls, and training beside a validation", snapshots),
    Part("exchange", 50, "two processes on one GPU", exchange),
    Part("detector", 60, "a step of CornerNet-Squeeze", detector),
]
