"""Training by the native program, seen from Python: it runs as a child, and its metrics come as they are written."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from flowtrain import _core, _program
from flowtrain._toml import key_to_toml
from flowtrain.run import Run, metrics_line

_POLL_S = 0.02
_LINES_KEPT = 200  # the program's last lines, which errors show


def train(
    config: str | os.PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    *,
    run_dir: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    flags: Sequence[str] = (),
    program: str | os.PathLike[str] | None = None,
) -> Training:
    """Starts `flowtrain CONFIG` as a child, and yields its metrics: a dict for each line of metrics.jsonl.

        with ft.train("configs/quickstart.toml", {"run.max_iter": 200}) as training:
            for line in training:
                if line["kind"] == "val":
                    print(line["iter"], line["loss"], line["accuracy"])
        weights = training.run.state_dict()

    config: a TOML file, or the folder of a run, which goes on.
    overrides: values of keys, {"optim.lr": 0.1}, which replace those of the file.
    run_dir: the run's folder, instead of a new one under run.dir.
    resume: "auto": goes on in the newest run of this name; or a run's or snapshot's folder. The metrics of the
        iterations before come first.
    flags: others of the command line, such as ["--accept-changes"].
    program: the native program. None: the file that the environment variable FLOWTRAIN names, that of this package or
        of the build in which it lies, or `flowtrain` on PATH. The package's own takes LibTorch from the package torch.

    Ctrl-C, close() and the end of a `with` block end the training: the program writes a snapshot, with which
    resume="auto" goes on, and close() waits for that. A Python that is killed leaves the training running.
    Raises FileNotFoundError where there is no program, ValueError for the flag --quiet; while it yields, ConfigError,
    DataError or RuntimeError with the program's own message where that fails.
    """
    if "--quiet" in flags:
        raise ValueError("flags: --quiet hides the lines by which train() finds the run's folder; leave it out")
    command = [_find_program(program), "train", os.fspath(config)]
    for key, value in (overrides or {}).items():
        command += ["--set", f"{key}={key_to_toml(key, value)}"]
    if run_dir is not None:
        command += ["--run-dir", os.fspath(run_dir)]
    if resume is not None:
        command += ["--resume", os.fspath(resume)]
    return Training([*command, *flags])


class _Output:
    """The program's output, and what it reports. Read by a thread, which must not hold the Training."""

    def __init__(self, stream: IO[str]) -> None:
        self.lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self.folder: Path | None = None  # the folder of the run
        self.begun = False  # metrics.jsonl holds this training's lines: a resumed one has taken others back
        self._here = Path.cwd()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Waits until all output is read."""
        self._thread.join()

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self.lines.append(line)
                if line.startswith("run folder "):
                    self.folder = self._here / line.rstrip("\n").removeprefix("run folder ")
                elif line.startswith("device: "):
                    self.begun = True


class Training(Iterator[dict[str, Any]]):
    """A training that train() has started. An iterator of its metrics; closed, it has ended."""

    def __init__(self, command: Sequence[str]) -> None:
        self._closed = False
        self._file: IO[bytes] | None = None
        self._waiting: deque[dict[str, Any]] = deque()
        # A session of its own: a terminal's Ctrl-C reaches Python alone, which then asks once for the end.
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True, errors="replace",
                                         env=_program.environment() if command[0] == _program.PROGRAM else None,
                                         start_new_session=True)
        assert self._process.stdout is not None
        self._output = _Output(self._process.stdout)

    @property
    def run(self) -> Run:
        """The folder of this training; waits until it is made."""
        while self._output.folder is None and self._process.poll() is None:
            time.sleep(_POLL_S)
        if self._output.folder is None:
            self._output.wait()
        if self._output.folder is None:
            self._check()
            raise RuntimeError("the training ended before it made a run's folder")
        return Run(self._output.folder)

    def __next__(self) -> dict[str, Any]:
        try:
            while not self._waiting:
                ended = self._process.poll() is not None
                if ended:
                    self._output.wait()
                self._read()
                if ended and not self._waiting:
                    self._check()
                    raise StopIteration
                if not self._waiting:
                    time.sleep(_POLL_S)
        except KeyboardInterrupt:
            self.close()
            raise
        return self._waiting.popleft()

    def close(self) -> None:
        """Ends the training, if it runs, and waits for its last snapshot. Its metrics can still be read."""
        if self._process.poll() is None:
            self._closed = True
            self._process.terminate()
        self._process.wait()
        self._output.wait()

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_output"):
            self.close()
            if self._file is not None:
                self._file.close()

    def _read(self) -> None:
        """Reads the complete lines."""
        if self._file is None:
            if self._output.folder is None or not self._output.begun:
                return
            try:
                self._file = open(self._output.folder / "metrics.jsonl", "rb")
            except FileNotFoundError:
                return
        while True:
            start = self._file.tell()
            text = self._file.readline()
            if not text.endswith(b"\n"):
                self._file.seek(start)
                return
            line = metrics_line(text)
            if line:
                self._waiting.append(line)

    def _check(self) -> None:
        """Raises the error that ended the program early."""
        code = self._process.returncode
        if code == 0 or self._closed:
            return
        said = list(self._output.lines)
        errors = [place for place, line in enumerate(said) if line.startswith("error: ")]
        text = "".join(said[errors[-1]:] if errors else said[-10:]).strip().removeprefix("error: ")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        kind = {2: _core.ConfigError, 3: _core.DataError}.get(code, RuntimeError)
        raise kind(text if errors else f"flowtrain ended by {how}: {text}")


def _find_program(given: str | os.PathLike[str] | None) -> str:
    named = given if given is not None else os.environ.get("FLOWTRAIN")
    built = (_program.PROGRAM, os.fspath(Path(__file__).parents[2] / "bin" / "flowtrain"))
    found = (shutil.which(os.fspath(named)) if named else
             next(filter(os.path.isfile, built), None) or shutil.which("flowtrain"))
    if found is None:
        raise FileNotFoundError(
            f"{os.fspath(named)} is no program that can be run" if named else
            "the native program is not there, as this package was installed where no LibTorch was found: install the "
            "wheel, or put `flowtrain` on PATH, name it by the environment variable FLOWTRAIN, or give "
            "program=…; docs/install.md says how it is built")
    return found
