"""Whether everything works on this machine's GPU."""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import time

from parts.training import apart, train, train_all, words_of
from parts.visit import Failed, Part, Skipped, last_lines

REPEATED = "steps are made as without it"  # the warning where a step cannot be captured


# --- The machine -----------------------------------------------------------------------------------------------------

def pageable_access():
    """Whether the GPU reads memory that is not page-locked by itself (1), which makes copies from it asynchronous."""
    import ctypes
    driver, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(-1)
    driver.cuInit(0)
    driver.cuDeviceGetAttribute(ctypes.byref(value), 88, 0)  # CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
    return value.value


def machine(visit):
    measurements = {"torch": visit.torch["version"]}
    built = json.loads((visit.root / "built.json").read_text())
    measurements["revision"] = built["revision"]
    if visit.torch["git"] != built["torch_git"]:
        raise Failed(f"built against torch {built['torch_git']}, here is {visit.torch['git']}", measurements)
    missing = set()
    for file in [*(visit.root / "bin").iterdir(), *(visit.root / "lib").glob("*.so")]:
        missing |= set(re.findall(r"(\S+) => not found", visit.run(["ldd", file]).out))
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

def test_program(name, *words):
    def body(visit):
        done = visit.run([visit.root / "bin" / name, *words])
        found = re.search(r"test cases: +(\d+) \| +(\d+) passed \| +(\d+) failed", done.out)
        reasons = re.findall(r"^skipped: \[\S+\] (.*)$", done.out, re.M)
        if done.rc == 77:
            raise Skipped(reasons[0] if reasons else "")
        measurements = {"passed": int(found[2]) - len(reasons), "skipped": len(reasons)} if found else {}
        if done.rc:
            raise Failed(f"exit code {done.rc}, {found[3] if found else '?'} failed: {last_lines(done.out)}",
                         measurements)
        return measurements
    return body


def sanitizer(tool, name, *words):
    def body(visit):
        found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not pathlib.Path(found).exists():
            raise Skipped("compute-sanitizer is not installed")
        done = visit.run([found, "--tool", tool, "--error-exitcode", "3", "--kernel-regex", "kns=flowtrain",
                          visit.root / "bin" / name, *words])
        if done.rc:
            raise Failed(f"exit code {done.rc}: {last_lines(done.out)}")
        return {"summary": last_lines(done.out, 1)}
    return body


# --- Training, from the first step to the last -----------------------------------------------------------------------

TENTH = ["optim.lr=0.1", "train.cuda_graph=true"]


def variants(visit, config):
    """Runs that must end alike, as {name: (settings, words, environment)}."""
    plain = ["net.dropout=0.0"] if config == "tiny" else []  # of which each device draws its own
    found = {}
    for amp in ("off",) if visit.on_cpu else ("off", "bf16", "fp16"):
        for name, settings in {"once": [], "twice": [], "graph": ["train.cuda_graph=true"]}.items():
            found[f"{amp}-{name}"] = ([f"train.amp={amp}", *settings],)
    if visit.on_cpu and config not in ("tiny", "lenet"):
        return found  # a rehearsal: others take too long there
    found["tenth"] = (TENTH,)
    found["snapshots"] = ([f"snapshot.every={3 if visit.on_cpu else 7}"],)
    found["no-snapshots"] = (["snapshot.every=0"],)
    found["overlapped"] = (["val.mode=async"],)
    found["here"] = ([*plain, "display.every=1"], (), {"NVIDIA_TF32_OVERRIDE": "0"})
    found["cpu"] = ([*plain, "display.every=1", "run.max_iter=6"], ("--device", "cpu"))
    return found


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


def steps(config):
    """Runs that must end alike: twice; by graphs; resumed; with other snapshots; validated beside training."""
    def body(visit):
        length = 4 if visit.on_cpu else 60
        common = [f"run.max_iter={length}", f"snapshot.every={length // 2}", f"val.every={length // 2}"]
        if visit.on_cpu:
            common += ["loader.batch=4", "data.val_samples=4"]
        wanted = {name: (config, [*common, *settings], *more)
                  for name, (settings, *more) in variants(visit, config).items()}
        runs = train_all(visit, wanted, 1 if visit.on_cpu else 6)
        runs["resumed"] = resumed(visit, config, runs["off-once"], [*common, "train.amp=off"], length // 2)
        wrong = []
        if "tenth" in runs:  # its graph reads a rate that f32 rounds, as must the steps before the capture
            again = resumed(visit, config, runs.pop("tenth"), [*common, *TENTH], length // 2)
            if again.before != again.end():
                wrong.append("a resumed run ends unlike itself, with graphs and a rate of 0.1")
        for name, run in runs.items():
            amp = name.split("-")[0] if name.split("-")[0] in ("bf16", "fp16") else "off"
            if name not in ("here", "cpu") and run.end() != runs[f"{amp}-once"].end():
                wrong.append(f"{name} ends unlike {amp}-once")
            if name == "overlapped" and far_apart(run.validations(), runs["off-once"].validations()):
                inline = runs["off-once"].validations()
                wrong.append(f"validations: {run.validations()} beside training, {inline} inline")
            if name.endswith("graph") and not visit.on_cpu and REPEATED in run.said:
                wrong.append(f"{name}: {last_lines(run.said[run.said.index(REPEATED):], 1)}")
        measurements = {"runs": len(runs), "run_s": round(runs["off-twice"].seconds, 1)}
        if "cpu" in runs:
            pairs = list(zip(runs["here"].losses(), runs["cpu"].losses()))[:5]
            difference = max(abs(a - b) / max(abs(b), 1e-3) for a, b in pairs)
            measurements["from_cpu"] = f"{difference:.1e}"
            if difference > 1e-3:
                wrong.append(f"losses differ from the CPU's by {difference:.1e}")
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
    program, lenet, detector = visit.root / "bin/flowtrain", "lenet", "detector"
    short = ["run.max_iter=4", "snapshot.every=4", "val.every=4"]
    run, boxes = train(visit, lenet, "lenet", short), train(visit, detector, "detector", short)
    done = {}
    for name, words in {
            "test": ["test", run.folder], "test of a detector": ["test", boxes.folder],
            "replay": ["replay", run.folder, "--iter", "3", "--loss", "--out", visit.runs / visit.part.name / "replay"],
            "lr-find": ["lr-find", visit.root / "configs/lenet.toml", "--iterations", "10"],
            "plan": ["plan", visit.root / "configs/lenet.toml"],
    }.items():
        done[name] = visit.must([program, *words, "--device", visit.device])
    measurements = json.loads(done["test of a detector"].out.splitlines()[-1])
    if "ap" not in measurements:
        raise Failed("the test of a detector has no AP")
    fitted = train(visit, lenet, "fitted", ["run.max_iter=2", 'loader.batch="auto"', "loader.batch_max=64"])
    return {"ap": measurements["ap"], "largest batch": re.search(r"batches of (\d+)", fitted.said)[1]}


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
        folder = visit.runs / visit.part.name / "run"
        shutil.rmtree(folder, ignore_errors=True)
        settings = ["run.max_iter=1000000", "val.every=0", "snapshot.every=0", "display.every=1", "dist.timeout=16"]
        command = [str(word) for word in words_of(visit, "lenet", folder, settings, several(visit))]
        process = visit.start(command, visit.environment())
        try:
            while '"train"' not in read(folder / "metrics.jsonl"):
                if process.poll() is not None or time.monotonic() > visit.part_ends - 30:
                    raise Failed(f"it does not train: {last_lines(read(pathlib.Path(f'{process.log}.err')))}")
                time.sleep(0.1)
            os.kill(process_of_rank(folder, 1), how)
            begin = time.monotonic()
            done = visit.finish(process)
        finally:
            visit.kill(process)
        measurements = {"code": done.rc, "after_s": round(time.monotonic() - begin, 1)}
        if done.rc != 6 or "rank 1" not in done.err:
            raise Failed(f"exit code {done.rc}: {last_lines(done.err)}", measurements)
        return {**measurements, "said": last_lines(re.findall(r"^error: .*", done.err, re.M)[0], 1)}
    return body


def read(path):
    return path.read_text("utf-8", "replace") if path.exists() else ""


def python_batches(visit):
    packages = visit.root / "python"
    if not packages.exists():
        raise Skipped("the Python package was not built")
    more = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "PYTHONDONTWRITEBYTECODE": "1"}
    if visit.on_cpu and visit.run([sys.executable, "-c", "import torch"], more=more).rc:
        raise Skipped("this Python cannot import torch, whose CUDA libraries are not here")
    call = [sys.executable, "-c", f"import sys; sys.path.append({str(packages)!r})\n"
            "import flowtrain, pytest; sys.exit(pytest.main(sys.argv[1:]))", "-q", "-rs", "-p", "no:cacheprovider"]
    tests = [packages / "tests" / name for name in ("test_torch_gpu.py", "test_torch_memory.py")]
    done = visit.run([*call, *tests], more=more)
    if missing := re.search(r"No module named '(numpy|nanobind_backend\S*)'", done.err):
        raise Skipped(f"this Python has no {missing[1]}; nanobind_backend is packed for the build's Python alone")
    if done.rc:
        raise Failed(f"exit code {done.rc}: {last_lines(done.out)} {last_lines(done.err, 1)}")
    return {"pytest": last_lines(done.out, 1)}


PARTS = [
    Part("machine", 60, "versions, libraries, what flowtrain says of it", machine),
    Part("test_cuda", 90, "copies and kernels against the CPU's", test_program("test_cuda"), True),
    Part("test_cornernet", 60, "CornerNet's kernels against the CPU's", test_program("test_cuda_cornernet"), True),
    Part("test_gpu", 150, "state copies, graphs, exchanges, steps", test_program("test_gpu")),
    Part("test_nccl", 60, "NCCL in a world of one", test_program("test_nccl"), True),
    Part("parity", 90, "the CornerNet family, step by step, against the reference's values",
         test_program("test_parity", "-tc=parity: *")),
    Part("steps_tiny", 60, "an MLP with dropout: runs that end alike", steps("tiny")),
    Part("steps_lenet", 60, "LeNet", steps("lenet")),
    Part("steps_resnet18", 90, "ResNet-18", steps("resnet18")),
    Part("steps_detector", 90, "a small CornerNet-Squeeze", steps("detector")),
    Part("capture_waits", 40, "a net that no graph can hold", capture_waits),
    Part("python_batches", 90, "Python's loader: batches on the GPU, memory that copies still read", python_batches),
    Part("commands", 60, "test, replay, lr-find, plan, the largest batch", commands),
    Part("capture_memory", 90, "a step of 60 % of the memory as a graph", capture_memory, True),
    Part("two_ranks", 90, "two processes on one GPU, over Gloo, train as one", two_ranks),
    Part("rank_killed", 60, "one of them is killed: exit code 6, and its name", lost_rank(signal.SIGKILL)),
    Part("rank_stopped", 60, "one stands still: likewise", lost_rank(signal.SIGSTOP)),
    Part("memcheck", 90, "compute-sanitizer on our kernels", sanitizer("memcheck", "test_cuda"), True),
    Part("memcheck_corner", 90, "the same of CornerNet's", sanitizer("memcheck", "test_cuda_cornernet",
                                                                     "-tc=heat maps*"), True),
    Part("memcheck_pooling", 90, "and of corner pooling", sanitizer("memcheck", "test_cuda_cornernet",
                                                                    "-tc=corner pooling*"), True),
    Part("racecheck", 60, "shared memory", sanitizer("racecheck", "test_cuda", "-tc=erased and mixed*"), True),
    Part("initcheck", 60, "memory that nobody wrote", sanitizer("initcheck", "test_cuda", "-tc=erased and mixed*"),
         True),
]
