"""Measures the speed on this machine's GPU, beside that of PyTorch."""

import concurrent.futures
import contextlib
import json
import os
import statistics
import subprocess
import threading

from parts import background
from parts.proof import several
from parts.training import REPEATED, jpeg_shards, train
from parts.visit import Failed, Skipped, TimeOver, last_lines


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


def own_step(visit, name, settings, steps, rows, config="speed"):
    """Milliseconds a step: the median of the displays, of which each holds a fifth of the steps. And the run."""
    every = max(steps // 5, 1)
    run = train(visit, config, name, [f"loader.batch={rows}", f"run.max_iter={steps + every}",
                                      f"display.every={every}", "loader.cache_mb=2048", *settings])
    if "train.cuda_graph=true" in settings and REPEATED in run.said and not visit.on_cpu:
        raise Failed(f"{name}: {last_lines(run.said[run.said.index(REPEATED):], 1)}")
    return round(1e3 * rows / run.samples_per_s(), 3), run


def resnet50(visit):
    """A step of ours, as it is and by a graph; PyTorch's eager, by a graph, and compiled."""
    net, rows, side, amp = background.net_of(visit)
    steps = 5 if visit.on_cpu else 40
    measurements, failures = visit.measurements, []
    try:  # its work on the GPU would be measured, too
        visit.finish(visit.compiling, 25 * (30 if visit.on_cpu else 1))
    except TimeOver as reason:
        failures.append(f"torch.compile: {reason}")
    measurements["export beside it"] = visit.exporting is not None and visit.exporting.poll() is None

    def measure(name, work):
        try:
            with busy_share(visit, measurements, f"{name}, busy %"):
                measurements[f"{name}, ms"] = work()
        except Skipped as reason:
            measurements[name] = str(reason)
        except Failed as reason:
            failures.append(f"{name}: {reason}")

    own = [f"net.name={net}", f"data.size={side}", f"train.amp={amp}", "run.deterministic=false"]
    peer = ["peer.py", "step", *background.sizes(visit), "--steps", steps]
    measure("free", lambda: own_step(visit, "free", own, steps, rows)[0])
    measure("graph", lambda: own_step(visit, "graph", [*own, "train.cuda_graph=true"], steps, rows)[0])
    measure("PyTorch eager", lambda: background.told(visit, *peer)["ms"])
    if not visit.on_cpu:
        measure("PyTorch graph", lambda: background.told(visit, *peer, "--graph")["ms"])
    measure("PyTorch compiled", lambda: background.told(visit, *peer, "--compile")["ms"])
    ours = min((measurements[name] for name in ("free, ms", "graph, ms") if name in measurements), default=None)
    for name in ("eager", "compiled"):
        if ours and (theirs := measurements.get(f"PyTorch {name}, ms")):
            measurements[f"of {name}"] = round(ours / theirs, 3)
    if failures:
        raise Failed("; ".join(failures), measurements)
    return measurements


def jpeg(visit):
    """JPEGs, cut to 7/8 of their side: the loader of 16 workers alone, the net alone, both together."""
    batch, steps, side = (4, 5, 28) if visit.on_cpu else (128, 100, 224)
    shards, _ = jpeg_shards(visit)
    loader = ["data.dataset=webdataset", f"data.path={shards}", "sampler.name=classify", f"sampler.size={side}",
              f"loader.workers={os.cpu_count()}"]
    net = ["net.name=resnet18", "train.amp=bf16"]
    report = visit.runs / "loader.json"
    sets = [word for setting in [*loader, *net, f"loader.batch={batch}"] for word in ("--set", setting)]
    visit.must([visit.root / "bin/flowtrain", "bench", visit.root / "configs/jpeg.toml", *sets, "--stage", "pipeline",
                "--seconds", 1 if visit.on_cpu else 8, "--json", report])
    measurements = visit.measurements
    measurements["loader alone, images/s"] = round(json.loads(report.read_text())["pipeline"]["samples_per_s"], 1)
    ms, _ = own_step(visit, "net", [*net, f"data.size={side}"], steps, batch)
    measurements["net alone, images/s"] = round(1e3 * batch / ms, 1)
    with busy_share(visit, measurements, "together, busy %"):
        ms, both = own_step(visit, "both", [*loader, *net], steps, batch, "jpeg")
    measurements["together, images/s"] = round(1e3 * batch / ms, 1)
    measurements["waited for data"] = round(both.median("data_wait"), 4)
    measurements["share"] = round(measurements["together, images/s"] / min(measurements["loader alone, images/s"],
                                                                          measurements["net alone, images/s"]), 3)
    return measurements


def package(visit):
    """A net with its backward pass, compiled for this GPU: as eager PyTorch, and as itself by a graph."""
    _, rows, side, amp = background.net_of(visit)
    words = visit.exporting.args[3:]  # after nice
    measurements = visit.measurements
    measurements |= background.json_of(visit, words, visit.finish(visit.exporting))
    steps = 5 if visit.on_cpu else 20
    own = ["net.name=package", f"net.package={visit.package / 'net.pt2'}", f"data.size={side}", f"train.amp={amp}",
           "optim.lr=0.0009765625", "display.every=1"]
    runs = {}
    for name, settings in {"free": [], "graph": ["train.cuda_graph=true"]}.items():
        measurements[f"{name}, ms"], runs[name] = own_step(visit, name, [*own, *settings], steps, rows)
    eager = background.told(visit, "with_python.py", "train", visit.package, *background.sizes(visit), "--run",
                            runs["free"].folder, "--steps", steps)
    far = max(abs(ours - theirs) / abs(theirs) for ours, theirs in zip(runs["free"].losses(), eager["losses"]))
    measurements["from eager"] = f"{far:.1e}"
    wrong = []
    if not far <= 1e-2:
        wrong.append(f"losses {runs['free'].losses()[:5]}, of the eager net {eager['losses'][:5]}")
    if runs["graph"].end() != runs["free"].end():
        wrong.append("the run by a graph ends unlike the other")
    if wrong:
        raise Failed("; ".join(wrong), measurements)
    return measurements


def beside(visit):
    """What a snapshot and a validation beside training cost; the second validation finds the plans of the first."""
    net, rows, length, every = ("lenet", 4, 12, 4) if visit.on_cpu else ("resnet50", 64, 120, 30)
    batches = 8
    run = train(visit, "speed", "run", [
        f"net.name={net}", "data.size=64", f"loader.batch={rows}", f"run.max_iter={length}", "display.every=2",
        f"snapshot.every={every}", "snapshot.final=true", "val.mode=async", f"val.every={every}",
        f"data.val_samples={batches * rows}", f"val.batch={rows}"])
    stalls = [round(1e3 * line["stall_s"], 2) for line in run.of_kind("snapshot")]
    told = visit.must([visit.root / "bin/flowtrain", "postmortem", run.folder, "--seconds", 1000, "--json"])
    forwards = [1e3 * each["took_s"] for thread in json.loads(told.out)["ranks"][0]["threads"]
                if thread["name"] == "ft-validation" for each in thread["past"] if each["place"] == "forward"]
    validations = [round(sum(forwards[at:at + batches]), 1) for at in range(0, len(forwards), batches)]
    return {"first stall, ms": stalls[0], "later, ms": stalls[1:], "validations, ms": validations}


def waits_of(visit, name, config, settings, words=()):
    """How often the main thread, which computes, waits in a step."""
    report = visit.logs / f"waits-{name}.jsonl"
    report.unlink(missing_ok=True)
    steps_made = 4 if visit.on_cpu else 200
    run = train(visit, config, name, [f"run.max_iter={steps_made}", "display.every=20", "val.every=0",
                                      "snapshot.every=0", *settings], words,
                {"LD_PRELOAD": str(visit.root / "lib/libcount_waits.so"), "COUNT_WAITS": str(report)})
    if "LD_PRELOAD" in run.said:  # by the loader: the program goes on, and nothing counts
        raise Failed(f"{name}: {run.said.splitlines()[0]}")
    lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    calls = sum(line["calls"] for line in lines)
    return round(calls / steps_made, 2)


def host_waits(visit):
    """Each count has the start's few, too; one look at the measurements every 20 steps is 0.05."""
    rows = 16 if visit.on_cpu else 1024
    wanted = {"one process": ("one", "tiny", []),
              "one process, clipped, fp16": ("fp16", "tiny", ["train.clip=1", "train.amp=fp16"]),
              "one process, mixed": ("mixed", "lenet", ["batch_augment.mixup=0.2", f"loader.batch={rows}"]),
              "one process, graph": ("graph", "tiny", ["train.cuda_graph=true"]),
              "two processes, both": ("two", "tiny", [], several(visit))}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda arguments: waits_of(visit, *arguments), wanted.values())
        measurements = dict(zip(wanted, counts))
    # What is read of a step is read at once, and where several processes agree on each step it is read in each. Of a
    # step with [batch_augment] the thread may wait until the rows of an earlier one have been sent.
    most = {"one process, mixed": 2, "two processes, both": 3}
    too_many = [name for name, waits in measurements.items() if waits > most.get(name, 1)]
    if too_many:
        raise Failed(f"a step waits too often: {', '.join(too_many)}", measurements)
    return measurements
