"""Compiles for a visit on cores that are idle, from its first second on."""

import json
import os
import pathlib
import re
import sys

from parts.visit import Failed, Skipped

#: The net of ResNet-50's parts: name, rows, side, type; a rehearsal on the CPU takes a small one.
NET, REHEARSED = ("resnet50", 256, 224, "bf16"), ("lenet", 4, 32, "bf16")


def net_of(visit):
    return REHEARSED if visit.on_cpu else NET


def python(visit, script, *words):
    """The words of a command of this Python."""
    return [sys.executable, "-B", visit.root / script, *words, "--device", visit.device]


def surroundings(visit):
    """For Python with our package: its folder comes last, as it has tools that the machine may have itself."""
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(visit.root / "python")]))
    return {**os.environ, "LD_LIBRARY_PATH": visit.library_path(), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(visit.work / "inductor")}


def sizes(visit):
    net, rows, side, amp = net_of(visit)
    return [net, "--batch", rows, "--side", side, "--amp", amp]


def start(visit, words):
    """On cores that nobody else wants: what is measured meanwhile comes first. A rehearsal may have none to spare."""
    return visit.start(["nice", "-n", 0 if visit.on_cpu else 19, *words], surroundings(visit))


def start_compiling(visit):
    """torch.compile of the step that is measured later, which finds it in the compiler's cache then."""
    visit.compiling = start(visit, python(visit, "peer.py", "step", *sizes(visit), "--steps", 5, "--compile"))


def start_export(visit):
    """flowtrain.export of the same net, as a package for the device, and the weights that it begins with."""
    visit.package = visit.work / "package"
    visit.package.mkdir()
    visit.exporting = start(visit, python(visit, "with_python.py", "export", visit.package, *sizes(visit)))


def skip_without_modules(visit, done):
    """A machine without a GPU need not have all that Python's torch imports."""
    lines = re.findall(r"^(?:E +)?((?:ModuleNotFoundError|ImportError|OSError): .*)", done.out + done.err, re.M)
    if visit.on_cpu and done.rc and lines:
        raise Skipped(lines[-1])


def json_of(visit, words, done):
    skip_without_modules(visit, done)
    if done.rc:
        script = pathlib.Path(words[2]).name
        raise Failed(f"{script} {words[3]} ended with {done.rc}: {done.err.strip().splitlines()[-1][:300]}")
    return json.loads(done.out.splitlines()[-1])


def told(visit, script, *words):
    """The JSON that a script prints last."""
    command = python(visit, script, *words)
    return json_of(visit, command, visit.finish(visit.start(command, surroundings(visit))))
