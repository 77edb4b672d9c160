"""Whether everything works on this machine's GPU."""

import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import time

from parts import background
from parts.training import REPEATED, apart, jpeg_shards, train, train_all, words_of
from parts.visit import Failed, Skipped, TimeOver, last_lines


def together(visit, *bodies):
    """Bodies of parts, at once; all measurements, or the failures of all."""
    failures = []

    def one(body):
        try:
            visit.measurements |= body(visit)
        except (Failed, TimeOver) as reason:
            visit.measurements |= getattr(reason, "measurements", {})
            failures.append(str(reason))

    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        list(pool.map(one, bodies))
    if failures:
        raise Failed("; ".join(failures))
    return visit.measurements


# --- The machine -----------------------------------------------------------------------------------------------------

def pageable_access():
    """Whether the GPU reads memory that is not page-locked by itself (1), which makes copies from it asynchronous."""
    driver, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(-1)
    driver.cuInit(0)
    driver.cuDeviceGetAttribute(ctypes.byref(value), 88, 0)  # CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
    return value.value


def libraries(visit):
    """The names of libraries that are not found here, and of those in the pack that are found elsewhere."""
    packed = {file.name: str(file) for file in (visit.root / "deps").iterdir()}
    ours = [*(visit.root / "bin").iterdir(), *(visit.root / "lib").glob("*.so")]
    pythons = (visit.root / "python").glob("flowtrain/*.so")
    missing, strayed = set(), set()
    for files, around in ((ours, visit.environment()), (pythons, background.surroundings(visit))):
        for file in files:
            found = re.findall(r"(\S+) => (\S+)", visit.finish(visit.start(["ldd", file], around)).out)
            missing |= {name for name, path in found if path == "not"}
            strayed |= {name for name, path in found if path != packed.get(name, path)}
    return missing, strayed


def machine(visit):
    measurements = {"python": sys.version.split()[0], "torch": visit.torch["version"]}
    built = json.loads((visit.root / "built.json").read_text())
    measurements["revision"] = built["revision"]
    if visit.torch["git"] != built["torch_git"]:
        raise Failed(f"built against torch {built['torch_git']}, here is {visit.torch['git']}", measurements)
    missing, strayed = libraries(visit)
    if strayed:
        raise Failed(f"not taken from the pack: {', '.join(sorted(strayed))}", measurements)
    if missing and not visit.on_cpu:
        raise Failed(f"libraries are missing: {', '.join(sorted(missing))}", measurements)
    if visit.on_cpu:  # the wheel's CUDA libraries need not be here
        measurements["missing"] = len(missing)
    else:
        query = "--query-gpu=name,driver_version,memory.total"
        measurements["gpu"] = visit.must(["nvidia-smi", query, "--format=csv,noheader"], own=False).out.strip()
        measurements["pageable_access"] = pageable_access()
    info = json.loads(visit.must([visit.root / "bin/flowtrain", "info"]).out)
    if not visit.on_cpu and not info["gpus"]:
        raise Failed("flowtrain info names no GPU", measurements)
    return {**measurements, "cuda": info["cuda"], "cudnn": info["cudnn"], "nccl": info["nccl"]}


# --- Test programs ---------------------------------------------------------------------------------------------------

def test_program(visit, name, *words):
    done = visit.run([visit.root / "bin" / name, *words])
    found = re.search(r"test cases: +(\d+) \| +(\d+) passed \| +(\d+) failed", done.out)
    reasons = re.findall(r"^skipped: \[\S+\] (.*)$", done.out, re.M)
    if done.rc == 77:
        return {name: f"skipped: {reasons[0] if reasons else ''}"}
    passed = f"{int(found[2]) - len(reasons)} passed, {len(reasons)} skipped" if found else "no result"
    if done.rc:
        raise Failed(f"{name}: exit code {done.rc}, {found[3] if found else '?'} failed: {last_lines(done.out)}",
                     {name: passed})
    return {name: passed}


def test_programs(visit):
    names = ("test_cuda", "test_cuda_cornernet", "test_gpu", "test_nccl")
    found = together(visit, *(lambda visit, name=name: test_program(visit, name) for name in names))
    if not visit.on_cpu and (none := [name for name, said in found.items() if said.startswith("skipped")]):
        raise Failed(f"skipped on a GPU: {', '.join(none)}", found)
    return found


def parity(visit):
    return test_program(visit, "test_parity", "-tc=parity: *")


# --- Training, from the first step to the last -----------------------------------------------------------------------

GRAPH = ["train.cuda_graph=true"]
HERE = ({"NVIDIA_TF32_OVERRIDE": "0"},)  # as the CPU computes

#: Runs that must end alike where their names begin alike, as {name: (settings, environment)}; "here" and "cpu" are
#: compared with each other.
SMALL = {"off-once": ([],), "off-twice": ([],), "off-graph": (GRAPH,), "off-overlapped": (["val.mode=async"],),
         "off-snapshots": (["snapshot.every=7"],), "tenth": (["optim.lr=0.1", *GRAPH],), "here": ([], *HERE),
         "cpu": ([],)}
LARGE = {**{f"{amp}-{name}": ([f"train.amp={amp}", *settings],) for amp in ("bf16", "fp16")
            for name, settings in {"once": [], "graph": GRAPH}.items()},
         "here": (["optim.lr=0.0009765625"], *HERE), "cpu": (["optim.lr=0.0009765625"],)}


def resumed(visit, config, run, settings, iteration):
    """A copy of a run, taken back to an iteration and trained to its end; `before` is how the run itself had ended."""
    name = f"{run.folder.name}-resumed"
    folder = visit.runs / visit.part.name / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run.folder, folder, symlinks=True)
    done = train(visit, config, name, settings, ("--iter", iteration))
    done.before = run.end()
    return done


def far_apart(ours, theirs):
    """Whether two lists of (iteration, loss) differ by more than the order of sums."""
    return len(ours) != len(theirs) or any(one != other or abs(a - b) > 1e-5 * abs(b)
                                           for (one, a), (other, b) in zip(ours, theirs))


def settings_of(visit, config, name, settings, length):
    common = [f"run.max_iter={length}", f"snapshot.every={length // 2}", f"val.every={length // 2}"]
    if visit.on_cpu:
        common += ["loader.batch=4", "data.val_samples=4"]
    if name in ("here", "cpu"):
        common += ["display.every=1", "run.max_iter=6"]
        common += ["net.dropout=0.0"] if config == "tiny" else []  # each device draws its own
    return [*common, *settings]


def compare(config, runs, losses, on_cpu):
    """What is wrong with a config's runs, and how far its first losses are from the CPU's."""
    wrong = []
    for name, run in runs.items():
        first = runs.get(f"{name.split('-')[0]}-once")
        if first and run.end() != first.end():
            wrong.append(f"{config}: {name} ends unlike {first.folder.name}")
        if name == "off-overlapped" and far_apart(run.validations(), first.validations()):
            wrong.append(f"{config}: validations {run.validations()} beside training, {first.validations()} inline")
        if REPEATED in run.said and not on_cpu:
            wrong.append(f"{config}: {name}: {last_lines(run.said[run.said.index(REPEATED):], 1)}")
    pairs = list(zip(runs["here"].losses(), runs["cpu"].losses()))[:losses]
    difference = max(abs(a - b) / max(abs(b), 1e-3) for a, b in pairs)
    if difference > 1e-3:
        wrong.append(f"{config}: losses differ from the CPU's by {difference:.1e}")
    return wrong, difference


def steps(wanted, length, losses):
    """Runs that must end alike: twice; by graphs; resumed; with other snapshots; validated beside training. The first
    `losses` of those "here" are the CPU's: later ones part by the order of sums alone."""
    def body(visit):
        its = 4 if visit.on_cpu else length
        at_once = 1 if visit.on_cpu else 6
        runs = train_all(visit, {
            f"{config}-{name}": (config, settings_of(visit, config, name, settings, its),
                                 ("--device", "cpu") if name == "cpu" else (), *more)
            for config, variants in wanted.items() for name, (settings, *more) in variants.items()
            if not (visit.on_cpu and name.startswith("fp16"))}, at_once)
        again = {f"{config}-{name}": settings_of(visit, config, name, variants[name][0], its)
                 for config, variants in wanted.items() for name in ("off-once", "tenth") if name in variants}
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            ended = list(pool.map(lambda name: resumed(visit, name.split("-")[0], runs[name], again[name], its // 2),
                                  again))
        # The graph of a tenth reads a rate that f32 rounds, as must the steps before the capture.
        wrong = [f"{run.folder.name} ends unlike itself" for run in ended if run.before != run.end()]
        measurements = {"runs": len(runs) + len(ended)}
        for config in wanted:
            own = {name.removeprefix(f"{config}-"): run for name, run in runs.items() if name.startswith(config)}
            more, difference = compare(config, own, losses, visit.on_cpu)
            wrong += more
            measurements[f"{config} from the CPU"] = f"{difference:.1e}"
        if wrong:
            raise Failed("; ".join(wrong), measurements)
        return measurements
    return body


def capture_waits(visit):
    """A net that no graph can hold: a line says so, and training goes on as without it."""
    waits = [f'run.plugins=["{visit.root / "lib/waits.so"}"]', "net.name=waits", "run.max_iter=40"]
    with_graph = train(visit, "steps", "graph", [*waits, "train.cuda_graph=true"])
    without = train(visit, "steps", "plain", waits)
    if REPEATED not in with_graph.said:
        raise Failed("nothing was said of the graph")
    if with_graph.end() != without.end():
        raise Failed("the run ends unlike the one without a graph")
    return {"said": last_lines(with_graph.said[with_graph.said.index(REPEATED):].splitlines()[0])}


def capture_memory(visit):
    """A step that takes 60 % of the memory can be captured."""
    picture = ["data.size=224", "net.name=resnet18", "data.samples=4096", "train.amp=bf16", "val.every=0",
               "snapshot.every=0", "display.every=1"]
    fitted = train(visit, "steps", "fitted", [*picture, "run.max_iter=1", 'loader.batch="auto"',
                                              "loader.batch_max=4096"])
    batch = int(re.search(r"^batch = (\d+)", (fitted.folder / "config.toml").read_text(), re.M)[1])
    part = train(visit, "steps", "part", [*picture, "run.max_iter=8", f"loader.batch={batch * 6 // 10}",
                                          "train.cuda_graph=true"])
    if REPEATED in part.said:
        raise Failed(f"with {batch * 6 // 10} of {batch} rows: {last_lines(part.said)}")
    return {"largest_batch": batch, "captured": batch * 6 // 10}


# --- The other commands ----------------------------------------------------------------------------------------------

def commands(visit):
    short = ["run.max_iter=4", "snapshot.every=4", "val.every=4"]
    runs = train_all(visit, {"lenet": ("lenet", short), "detector": ("detector", short),
                             "fitted": ("lenet", ["run.max_iter=2", 'loader.batch="auto"', "loader.batch_max=64"])}, 3)
    lenet = runs["lenet"].folder
    wanted = {
        "test": ["test", lenet], "test of a detector": ["test", runs["detector"].folder],
        "replay": ["replay", lenet, "--iter", "3", "--loss", "--out", visit.runs / visit.part.name / "replay"],
        "lr-find": ["lr-find", visit.root / "configs/lenet.toml", "--iterations", "10"],
        "plan": ["plan", visit.root / "configs/lenet.toml"],
    }
    with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:
        ended = pool.map(lambda words: visit.must([visit.root / "bin/flowtrain", *words, "--device", visit.device]),
                         wanted.values())
        done = dict(zip(wanted, ended))
    measurements = json.loads(done["test of a detector"].out.splitlines()[-1])
    if "ap" not in measurements:
        raise Failed("the test of a detector has no AP")
    return {"ap": measurements["ap"], "largest batch": re.search(r"batches of (\d+)", runs["fitted"].said)[1]}


# --- Several processes on one GPU ------------------------------------------------------------------------------------

TWO = ("--distributed", "--world-size", "2")


def several(visit):
    return TWO if visit.on_cpu else (*TWO[:1], "--world-size", "1", "--nproc", "2", "--dist-backend", "gloo")


def first_losses_apart(one, other):
    return max(abs(a / b - 1) for a, b in list(zip(one.losses(), other.losses()))[:2])


# Config, settings, what is compared, and how far that may be apart. In a residual net parameters part within a few
# steps whatever sums round differently; of a GAN each process draws its own noise.
ALIKE = {
    "plain": ("lenet", [], apart, 1e-4),
    "accum": ("lenet", ["train.accum=2"], apart, 1e-4),
    "bf16 on the way": ("lenet", ["dist.compress=bf16"], apart, 2e-2),
    "sync_batch_norm": ("resnet18", ["dist.sync_batch_norm=true", "optim.lr=0.001"], first_losses_apart, 1e-3),
    "gan": ("gan", [], None, None),
}


def two_ranks(visit):
    """Two processes train as one."""
    length = 4 if visit.on_cpu else 30
    wanted = {}
    for name, (config, settings, compare, _) in ALIKE.items():
        common = [f"run.max_iter={length}", "val.every=0", "display.every=1", *settings]
        wanted[f"{name}, two"] = (config, common, several(visit))
        if compare:
            wanted[f"{name}, alone"] = (config, common)
    runs = train_all(visit, wanted, 1 if visit.on_cpu else 4)
    wrong, measurements = [], {}
    for name, (_, _, compare, most) in ALIKE.items():
        if not compare:
            continue  # that it ended well says that both had the same parameters
        difference = compare(runs[f"{name}, alone"], runs[f"{name}, two"])
        measurements[name] = f"{difference:.1e}"
        if not difference <= most:
            wrong.append(f"{name}: {difference:.1e} apart, more than {most:.0e}")
    if wrong:
        raise Failed("; ".join(wrong), measurements)
    return measurements


def process_of_rank(folder, rank):
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(folder).encode() in (entry / "cmdline").read_bytes() \
                    and f"RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                return int(entry.name)
        except OSError:
            continue  # it has ended, or is another user's
    return None


def lost_rank(how):
    """What the other rank says and ends with, when one is lost in the middle of a long run."""
    def body(visit):
        folder = visit.runs / visit.part.name / f"run-{how.name}"
        settings = ["run.max_iter=1000000", "val.every=0", "snapshot.every=0", "display.every=1", "dist.timeout=10"]
        command = [str(word) for word in words_of(visit, "lenet", folder, settings, several(visit))]
        process = visit.start(command, visit.environment())
        try:
            while '"train"' not in read(folder / "metrics.jsonl"):
                if process.poll() is not None or time.monotonic() > visit.part_ends - 15:
                    raise Failed(f"it does not train: {last_lines(read(pathlib.Path(f'{process.log}.err')))}")
                time.sleep(0.1)
            os.kill(process_of_rank(folder, 1), how)
            begin = time.monotonic()
            done = visit.finish(process)
        finally:
            visit.kill(process)
        measurements = {f"{how.name}, code": done.rc, f"{how.name}, after s": round(time.monotonic() - begin, 1)}
        if done.rc != 6 or "rank 1" not in done.err:
            raise Failed(f"{how.name}: exit code {done.rc}: {last_lines(done.err)}", measurements)
        return measurements | {f"{how.name} said": last_lines(re.findall(r"^error: .*", done.err, re.M)[0], 1)}
    return body


def read(path):
    return path.read_text("utf-8", "replace") if path.exists() else ""


def ranks(visit):
    return together(visit, two_ranks, lost_rank(signal.SIGKILL), lost_rank(signal.SIGSTOP))


def captures(visit):
    found = together(visit, capture_waits, commands)
    return found if visit.on_cpu else {**found, **capture_memory(visit)}


# --- Python's loader -------------------------------------------------------------------------------------------------

def python_loader(visit):
    packages = visit.root / "python"
    if not packages.exists():
        raise Skipped("the Python package was not built")
    call = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
            *(packages / "tests" / name for name in ("test_torch_gpu.py", "test_torch_memory.py"))]
    done = visit.finish(visit.start(call, background.surroundings(visit)))
    background.skip_without_modules(visit, done)
    if done.rc:
        raise Failed(f"exit code {done.rc}: {last_lines(done.out)} {last_lines(done.err, 1)}")
    measurements = {"pytest": last_lines(done.out, 1)}
    shards, side = jpeg_shards(visit)
    return measurements | background.told(visit, "with_python.py", "load", shards, "--side", side * 7 // 8, "--batch",
                                          8 if visit.on_cpu else 256)
