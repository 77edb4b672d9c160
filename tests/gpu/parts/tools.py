"""Runs NVIDIA's tools on our kernels. None of them may change the clocks of the GPU."""

import concurrent.futures
import pathlib
import re
import shutil

from parts.training import REPEATED, words_of
from parts.visit import Failed, Skipped, last_lines

KERNELS = {"mix": ("test_cuda", "-tc=erased and mixed*"), "normalise": ("test_cuda", "-tc=copy and normalise*"),
           "scan": ("test_cuda_cornernet", "-tc=corner pooling*"), "draw": ("test_cuda_cornernet", "-tc=heat maps*")}

#: Tool, kernels, and test cases.
CHECKS = {"memcheck": ("memcheck", "kns=flowtrain", "test_cuda"),
          "memcheck, CornerNet": ("memcheck", "kns=flowtrain", "test_cuda_cornernet", "-tc=heat maps*"),
          "racecheck": ("racecheck", "kns=grey_kernel", "test_cuda", "-tc=erased and mixed*")}


def tool(name):
    found = shutil.which(name) or f"/usr/local/cuda/bin/{name}"
    if not pathlib.Path(found).exists():
        raise Skipped(f"{name} is not installed")
    return found


def sanitizer(name, kernels):
    # A test asks for more memory than there is, which is no error of the program.
    return [tool("compute-sanitizer"), "--tool", name, "--error-exitcode", "3", "--kernel-name", kernels,
            "--report-api-errors", "no"]


def sanitizers(visit):
    def check(name):
        kind, kernels, program, *words = CHECKS[name]
        done = visit.run([*sanitizer(kind, kernels), visit.root / "bin" / program, *words])
        return done.rc, last_lines(done.out, 1)

    with concurrent.futures.ThreadPoolExecutor(len(CHECKS)) as pool:
        ended = dict(zip(CHECKS, pool.map(check, CHECKS)))
    measurements = {name: said for name, (_, said) in ended.items()}
    if failed := [f"{name}: exit code {rc}" for name, (rc, _) in ended.items() if rc]:
        raise Failed("; ".join(failed), measurements)
    return measurements


def kernels(visit):
    """What share of the memory's rate each kernel reaches, at its best, at the clocks that the GPU has."""
    measurements = visit.measurements
    for name, (program, case) in KERNELS.items():
        done = visit.run([tool("ncu"), "--clock-control", "none", "--kernel-name", f"regex:{name}", "--launch-count",
                          "6", "--metrics", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
                          visit.root / "bin" / program, case])
        shares = [float(share) for share in re.findall(r"pct_of_peak\S* +% +([0-9.]+)", done.out)]
        if done.rc or not shares:
            raise Failed(f"{name}: {last_lines(done.out + done.err)}", measurements)
        measurements[name] = max(shares)
    return measurements


def soak(visit):
    """Everything on, with the sanitizer looking at our kernels."""
    folder = visit.runs / visit.part.name
    settings = ["train.amp=bf16", "train.cuda_graph=true", "val.mode=async", "val.every=20", "snapshot.every=15",
                "ema.decay=0.99", "train.clip=1", f"run.max_iter={10 if visit.on_cpu else 200}"]
    words = words_of(visit, "detector", folder / "run", settings, [])
    if not visit.on_cpu:
        words = [*sanitizer("memcheck", "kns=flowtrain"), *words]
    done = visit.must(words)
    if REPEATED in done.err and not visit.on_cpu:
        raise Failed("its step was not captured")
    return {"s": round(done.seconds, 1)}
