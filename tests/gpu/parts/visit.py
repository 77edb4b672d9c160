"""A part of a visit is done within its time, whatever happens, and is written down at once."""

import dataclasses
import functools
import importlib.util
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import typing

PASSED, FAILED, SKIPPED, TIME_OVER, NOT_BEGUN = 0, 1, 77, 124, 75
WORDS = {PASSED: "passed", FAILED: "FAILED", SKIPPED: "skipped", TIME_OVER: "TIME OVER", NOT_BEGUN: "NOT BEGUN"}

ONE_LOG, ALL_LOGS = 256 << 10, 12 << 20  # bytes of one command's output, and of all, that are kept


class Failed(Exception):
    """Says what a part found wrong; `measurements` are kept all the same."""

    def __init__(self, why, measurements=None):
        super().__init__(why)
        self.measurements = measurements or {}


class Skipped(Exception):
    """Says why a part cannot be done here."""


class TimeOver(Exception):
    """A command did not end in time."""


@dataclasses.dataclass
class Part:
    name: str
    limit_s: float
    what: str
    body: typing.Callable  # takes a Visit and returns measurements, a dict
    needs_gpu: bool = False


@dataclasses.dataclass
class Done:
    """A command that has ended."""
    rc: int
    out: str
    err: str
    seconds: float


def last_lines(text, count=3):
    return " / ".join(line.strip() for line in text.strip().splitlines()[-count:])


class Visit:
    """The folder that was carried here, where its results go, and the device."""

    def __init__(self, root, out, call, limit_s):
        self.root, self.out, self.call = root, pathlib.Path(out).resolve(), call
        self.device = os.environ.get("FLOWTRAIN_TEST_DEVICE", "cuda:0")
        self.on_cpu = self.device == "cpu"
        self.ends, self.part_ends = time.monotonic() + limit_s, None
        self.out.mkdir(parents=True, exist_ok=True)
        # Runs leave hundreds of files, and only a few may come back from the machine.
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="visit-"))
        self.logs, self.runs = self.work / "logs", self.work / "runs"
        self.logs.mkdir()
        self.runs.mkdir()
        self.part, self.numbers, self.results = None, itertools.count(1), []
        self.measurements = {}  # that are kept whatever the part ends with
        self.alive = set()  # processes
        self.compiling = self.exporting = None  # see background.py

    def close(self):
        for process in list(self.alive):
            self.kill(process)
        shutil.rmtree(self.work, ignore_errors=True)

    # --- Parts -------------------------------------------------------------------------------------------------------

    def do(self, part):
        begin = time.monotonic()
        limit_s = part.limit_s * (30 if self.on_cpu else 1)  # a rehearsal is no race
        self.part, self.part_ends, self.measurements = part, min(begin + limit_s, self.ends), {}
        rc, why, measurements = PASSED, "", {}
        try:
            if begin >= self.ends:
                rc, why = NOT_BEGUN, "the time of the call was over"
            elif part.needs_gpu and self.on_cpu:
                rc, why = SKIPPED, "needs a GPU"
            else:
                measurements = part.body(self) or {}
        except Skipped as reason:
            rc, why = SKIPPED, str(reason)
        except TimeOver as reason:
            rc, why = TIME_OVER, str(reason)
        except Failed as reason:
            rc, why, measurements = FAILED, str(reason), reason.measurements
        except Exception as error:  # a fault of the part's own must not stop the others
            rc, why = FAILED, f"{type(error).__name__}: {error}"
        measurements = {**self.measurements, **measurements}
        self.part_ends = None
        result = {"call": self.call, "part": part.name, "rc": rc, "seconds": round(time.monotonic() - begin, 1),
                  "why": why, "device": self.device_name, "measurements": measurements}
        self.results.append(result)
        print(f"{self.call} {part.name}: {WORDS[rc]} ({result['seconds']} s){': ' + why if why else ''}", flush=True)
        self.keep()
        return result

    def table(self):
        lines = [f"| {self.call} on {self.device_name} | result | s | measurements |", "|---|---|---|---|"]
        for result in self.results:
            measurements = "; ".join(f"{name} {value}" for name, value in result["measurements"].items())
            note = " — ".join(filter(None, [result["why"], measurements])).replace("|", "/").replace("\n", " ")
            lines.append(f"| {result['part']} | {WORDS[result['rc']]} | {result['seconds']} | {note} |")
        return "\n".join(lines) + "\n"

    def keep(self):
        """Writes all results so far to the folder that comes back: three files, each as a whole."""
        self._put("results.jsonl", "".join(json.dumps(result) + "\n" for result in self.results).encode())
        self._put("results.md", self.table().encode())
        packed, room = self.work / "logs.tar.gz", ALL_LOGS
        with tarfile.open(packed, "w:gz", compresslevel=3) as archive:
            files = [*self.logs.iterdir(), *self.runs.glob("**/metrics.jsonl"), *self.runs.glob("**/train.log")]
            for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True):
                room -= self._pack(archive, file, min(ONE_LOG, room))
        self._put("logs.tar.gz", packed.read_bytes())

    def _pack(self, archive, file, most):
        """Adds the last `most` bytes of a file."""
        size = file.stat().st_size
        entry = tarfile.TarInfo(str(file.relative_to(self.work)))
        entry.size, entry.mtime = max(min(size, most), 0), file.stat().st_mtime
        with open(file, "rb") as content:  # others may still write to it
            content.seek(size - entry.size)
            archive.addfile(entry, content)
        return entry.size

    def _put(self, name, content):
        partial = self.out / f"{name}.new"
        partial.write_bytes(content)
        os.replace(partial, self.out / name)

    # --- The machine -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def device_name(self):
        """The GPU's, as figures of one kind of card say nothing of another."""
        if self.on_cpu:
            return "cpu"
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        try:
            return subprocess.run(query, capture_output=True, text=True, timeout=20).stdout.strip() or self.device
        except (OSError, subprocess.TimeoutExpired):
            return self.device

    @functools.cached_property
    def torch(self):
        """Where this machine's Python has torch, and which: {"lib", "version", "git"}. Without loading it."""
        found = importlib.util.find_spec("torch")
        if found is None:
            raise Failed("Python has no torch here")
        folder, told = pathlib.Path(found.origin).parent, {}
        exec((folder / "version.py").read_text(), told)  # what torch itself does with it
        return {"lib": folder / "lib", "version": str(told["__version__"]), "git": told["git_version"]}

    # --- Commands ----------------------------------------------------------------------------------------------------

    def library_path(self, *folders):
        """The pack's libraries, then those of `folders`. They come before what is there, not in its place: the driver
        may be found by that alone."""
        paths = [*map(str, [self.root / "deps", *folders]), os.environ.get("LD_LIBRARY_PATH")]
        return os.pathsep.join(filter(None, paths))

    def environment(self, more=None):
        """For our own programs alone: the toolkit's programs keep theirs."""
        libraries = self.torch["lib"]
        path = self.library_path(libraries, libraries.parents[1] / "nvidia/cu13/lib")
        return {**os.environ, "LD_LIBRARY_PATH": path, "FLOWTRAIN_TEST_DEVICE": self.device,
                "FLOWTRAIN_TEST_PROGRAM": str(self.root / "bin/flowtrain"),
                "FLOWTRAIN_PARITY_CASES": str(self.root / "parity"), **(more or {})}

    def run(self, words, limit_s=None, own=True, more=None):
        """Runs a command to its end, with what it prints in logs/. At most `limit_s`, and the part's time."""
        env = self.environment(more) if own else {**os.environ, **(more or {})}
        return self.finish(self.start(words, env), limit_s)

    def start(self, words, env):
        words = [str(word) for word in words]
        log = self.logs / f"{self.part.name if self.part else 'background'}-{next(self.numbers)}"
        with open(f"{log}.out", "wb") as out, open(f"{log}.err", "wb") as err:
            err.write((" ".join(words) + "\n").encode())
            err.flush()
            # A group of its own is killed as a whole; in the session of the call, it ends with that at the latest.
            process = subprocess.Popen(words, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env,
                                       process_group=0)
        process.log, process.began = log, time.monotonic()
        self.alive.add(process)
        return process

    def finish(self, process, limit_s=None):
        """Waits for what start() gave."""
        ends = min(filter(None, [self.part_ends, limit_s and time.monotonic() + limit_s]), default=None)
        try:
            process.wait(None if ends is None else max(ends - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            self.kill(process)
            raise TimeOver(f"killed: {' '.join(process.args[:3])} … ({process.log.name})") from None
        self.alive.discard(process)
        out, err = (pathlib.Path(f"{process.log}.{end}").read_text("utf-8", "replace") for end in ("out", "err"))
        return Done(process.returncode, out, err, time.monotonic() - process.began)

    def kill(self, process):
        """With all that it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        self.alive.discard(process)

    def must(self, words, **options):
        """run(), which must end with 0."""
        return self.well_ended(words, self.run(words, **options))

    @staticmethod
    def well_ended(words, done):
        if done.rc:
            raise Failed(f"{pathlib.Path(str(words[0])).name} ended with {done.rc}: {last_lines(done.err)}")
        return done
