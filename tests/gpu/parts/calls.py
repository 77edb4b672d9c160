"""The parts of both calls, in their order, with the seconds that each may take on a GPU."""

from parts import background, measure, proof, tools
from parts.visit import Part

FIRST = [
    Part("machine", 15, "versions, libraries, what flowtrain says of them", proof.machine),
    Part("steps_small", 25, "an MLP with dropout and LeNet: runs that end alike, losses of the CPU",
         proof.steps({"tiny": proof.SMALL, "lenet": proof.SMALL}, 20, 5)),
    Part("tests", 40, "kernels, copies, graphs, exchanges and NCCL against the CPU", proof.test_programs),
    Part("resnet50", 60, "ResNet-50, 256 x 224 x 224, bf16: ours, and PyTorch eager, by a graph, compiled",
         measure.resnet50),
    Part("jpeg", 60, "JPEGs: the loader, the net, and both", measure.jpeg),
    Part("package", 45, "ResNet-50 as a package: losses of the eager net, a graph, milliseconds", measure.package),
    Part("python_loader", 30, "batches of Python's loader on the GPU, and how many", proof.python_loader),
    Part("steps_large", 40, "ResNet-18 and CornerNet-Squeeze: runs that end alike, losses of the CPU",
         proof.steps({"resnet18": proof.LARGE, "detector": proof.LARGE}, 20, 2)),
    Part("host_waits", 30, "how often a step waits for the GPU", measure.host_waits),
    Part("sanitizers", 90, "compute-sanitizer on our kernels", tools.sanitizers, True),
    Part("captures", 40, "a net that no graph can hold, a step of 60 % of the memory, the other commands",
         proof.captures),
    Part("ranks", 40, "two processes on one GPU train as one; one is killed, one stands still", proof.ranks),
    Part("beside", 15, "what snapshots and validations cost that are made beside training", measure.beside),
]

SECOND = [
    Part("kernels", 60, "each kernel's share of the memory's rate", tools.kernels, True),
    Part("soak", 60, "everything on at once, under memcheck", tools.soak),
    Part("parity", 30, "the CornerNet family, step by step, against the reference's values", proof.parity),
]

CALLS = {"first": FIRST, "second": SECOND}


def chosen(call, only):
    """The parts of a call. Raises ValueError for names that no part has."""
    known = {part.name: part for part in [*FIRST, *SECOND]}
    if unknown := [name for name in only if name not in known]:
        raise ValueError(f"no such part: {', '.join(unknown)}; there are: {', '.join(known)}")
    if call == "first":
        return [part for part in FIRST if not only or part.name in only]
    return [known[name] for name in only if known[name] not in SECOND] + SECOND


def begin(visit, parts):
    """Starts what takes minutes of a CPU, and is needed later."""
    names = {part.name for part in parts}
    if "resnet50" in names:
        background.start_compiling(visit)
    if "package" in names:
        background.start_export(visit)
