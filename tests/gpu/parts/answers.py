"""What is asked once proof and measure are known."""

import pathlib
import re
import shutil

from parts.proof import REPEATED
from parts.training import words_of
from parts.visit import WORDS, Failed, Part, Skipped, last_lines

KERNELS = {"mix": ("test_cuda", "-tc=erased and mixed*"), "normalise": ("test_cuda", "-tc=copy and normalise*"),
           "scan": ("test_cuda_cornernet", "-tc=corner pooling*"), "draw": ("test_cuda_cornernet", "-tc=heat maps*")}


def tool(name):
    found = shutil.which(name) or f"/usr/local/cuda/bin/{name}"
    if not pathlib.Path(found).exists():
        raise Skipped(f"{name} is not installed")
    return found


def again(visit):
    """The parts of the proof that have failed, once more."""
    failed = [name for name, result in visit.earlier("proof").items() if result["rc"] not in (0, 77)]
    if not failed:
        raise Skipped("nothing has failed")
    results = {name: visit.do("proof", visit.proofs[name]) for name in failed}
    measurements = {name: WORDS[result["rc"]] for name, result in results.items()}
    if any(result["rc"] not in (0, 77) for result in results.values()):
        raise Failed("some fail still", measurements)
    return measurements


def kernels(visit):
    """What share of the memory's rate each kernel reaches, at its best."""
    measurements = {}
    for name, (program, case) in KERNELS.items():
        done = visit.run([tool("ncu"), "--kernel-name", f"regex:{name}", "--launch-count", "40", "--metrics",
                          "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
                          visit.root / "bin" / program, case])
        shares = [float(share) for share in re.findall(r"pct_of_peak\S* +% +([0-9.]+)", done.out)]
        if done.rc or not shares:
            raise Failed(f"{name}: {last_lines(done.out + done.err)}", measurements)
        measurements[name] = max(shares)
    return measurements


def soak(visit):
    """Everything on, with the sanitizer looking at our kernels."""
    folder = visit.runs / visit.part.name
    shutil.rmtree(folder, ignore_errors=True)
    settings = ["train.amp=bf16", "train.cuda_graph=true", "val.mode=async", "val.every=20", "snapshot.every=15",
                "ema.decay=0.99", "train.clip=1", f"run.max_iter={10 if visit.on_cpu else 300}"]
    words = words_of(visit, "detector", folder / "run", settings, [])
    if not visit.on_cpu:
        words = [tool("compute-sanitizer"), "--tool", "memcheck", "--error-exitcode", "3", "--kernel-regex",
                 "kns=flowtrain", *words]
    done = visit.must(words)
    if REPEATED in done.err and not visit.on_cpu:
        raise Failed("its step was not captured")
    return {"s": round(done.seconds, 1)}


PARTS = [
    Part("again", 300, "what failed in the proof", again),
    Part("kernels", 90, "each kernel's share of the memory's rate", kernels, True),
    Part("soak", 120, "all at once, under memcheck", soak),
]
