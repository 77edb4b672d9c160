"""A part of a visit: done within its time, whatever happens, and written down."""

import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import time
import typing

PASSED, FAILED, SKIPPED, TIME_OVER, NOT_BEGUN = 0, 1, 77, 124, 75
WORDS = {PASSED: "passed", FAILED: "FAILED", SKIPPED: "skipped", TIME_OVER: "TIME OVER", NOT_BEGUN: "NOT BEGUN"}


class Failed(Exception):
    """What a part found wrong; `measurements` are kept all the same."""

    def __init__(self, why, measurements=None):
        super().__init__(why)
        self.measurements = measurements or {}


class Skipped(Exception):
    """Why a part cannot be done here."""


class TimeOver(Exception):
    """A command did not end in time."""


@dataclasses.dataclass
class Part:
    name: str
    limit_s: float
    what: str
    body: typing.Callable  # of a Visit; returns measurements, a dict
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

    def __init__(self, root, out, limit_s, proofs):
        self.root, self.out, self.proofs = root, pathlib.Path(out).resolve(), proofs
        self.device = os.environ.get("FLOWTRAIN_TEST_DEVICE", "cuda:0")
        self.on_cpu = self.device == "cpu"
        self.ends, self.part_ends = time.monotonic() + limit_s, None
        self.out.mkdir(parents=True, exist_ok=True)
        self.logs, self.runs = self.out / "logs", self.out / "runs"
        self.logs.mkdir(exist_ok=True)
        self.runs.mkdir(exist_ok=True)
        self.part, self.commands = None, 0

    # --- Parts -------------------------------------------------------------------------------------------------------

    def do(self, call, part):
        begin = time.monotonic()
        outer, outer_ends = self.part, self.part_ends or self.ends  # another part's, or the call's
        limit_s = part.limit_s * (10 if self.on_cpu else 1)  # a rehearsal is no race
        self.part, self.part_ends = part, min(begin + limit_s, outer_ends)
        rc, why, measurements = PASSED, "", {}
        try:
            if begin >= outer_ends:
                rc, why = NOT_BEGUN, f"the time of {outer.name if outer else 'the call'} was over"
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
        self.part, self.part_ends = outer, outer_ends if outer else None
        result = {"call": call, "part": part.name, "rc": rc, "seconds": round(time.monotonic() - begin, 1),
                  "why": why, "device": self.device, "measurements": measurements}
        with open(self.out / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{call} {part.name}: {WORDS[rc]} ({result['seconds']} s){': ' + why if why else ''}", flush=True)
        return result

    def table(self, call, results):
        lines = [f"| {call} on {self.device} | result | s | measurements |", "|---|---|---|---|"]
        for result in results:
            measurements = "; ".join(f"{name} {value}" for name, value in result["measurements"].items())
            note = " — ".join(filter(None, [result["why"], measurements])).replace("|", "/").replace("\n", " ")
            lines.append(f"| {result['part']} | {WORDS[result['rc']]} | {result['seconds']} | {note} |")
        text = "\n".join(lines) + "\n"
        with open(self.out / "results.md", "a", encoding="utf-8") as file:
            file.write(text + "\n")
        return text

    def earlier(self, call):
        """The newest result of each part of a call."""
        path = self.out / "results.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return {each["part"]: each for each in map(json.loads, lines) if each["call"] == call}

    # --- Commands ----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def torch(self):
        """Where this machine's Python has torch, and which: {"lib", "version", "git"}. Without loading it."""
        found = importlib.util.find_spec("torch")
        if found is None:
            raise Failed("Python has no torch here")
        folder, told = pathlib.Path(found.origin).parent, {}
        exec((folder / "version.py").read_text(), told)  # what torch itself does with it
        return {"lib": folder / "lib", "version": str(told["__version__"]), "git": told["git_version"]}

    def environment(self, more=None):
        """For our own programs alone: Python and the toolkit's programs keep theirs."""
        libraries = self.torch["lib"]
        paths = [self.root / "deps", libraries, libraries.parents[1] / "nvidia/cu13/lib"]
        # Put before what is there, not in its place: the driver may be found by that alone.
        paths = [str(path) for path in paths] + [os.environ.get("LD_LIBRARY_PATH", "")]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths)), "FLOWTRAIN_TEST_DEVICE": self.device,
                "FLOWTRAIN_TEST_PROGRAM": str(self.root / "bin/flowtrain"),
                "FLOWTRAIN_PARITY_CASES": str(self.root / "parity"), **(more or {})}

    def run(self, words, limit_s=None, own=True, more=None):
        """Runs a command to its end, with what it prints in logs/. At most `limit_s`, and the part's time."""
        words = [str(word) for word in words]
        env = self.environment(more) if own else {**os.environ, **(more or {})}
        return self._finish(words, self.start(words, env), limit_s)

    def start(self, words, env):
        self.commands += 1
        log = self.logs / f"{self.part.name if self.part else 'start'}-{self.commands}"
        with open(f"{log}.out", "wb") as out, open(f"{log}.err", "wb") as err:
            err.write((" ".join(words) + "\n").encode())
            err.flush()
            process = subprocess.Popen(words, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env,
                                       start_new_session=True)
        process.log, process.began = log, time.monotonic()
        return process

    def _finish(self, words, process, limit_s):
        ends = min(filter(None, [self.part_ends, limit_s and time.monotonic() + limit_s]), default=None)
        try:
            process.wait(None if ends is None else max(ends - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            self.kill(process)
            raise TimeOver(f"killed: {' '.join(words[:3])} … ({process.log.name})") from None
        out, err = (pathlib.Path(f"{process.log}.{end}").read_text("utf-8", "replace") for end in ("out", "err"))
        return Done(process.returncode, out, err, time.monotonic() - process.began)

    @staticmethod
    def kill(process):
        """With all that it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def finish(self, process, limit_s=None):
        """Waits for what start() gave."""
        return self._finish(process.args, process, limit_s)

    def must(self, words, **options):
        """run(), which must end with 0."""
        done = self.run(words, **options)
        if done.rc:
            raise Failed(f"{pathlib.Path(str(words[0])).name} ended with {done.rc}: {last_lines(done.err)}")
        return done
