"""Does for rows made in Python what `_core.Loader` does natively: batches in order, epochs, positions, errors.

The native part says which samples a batch has and what seeds them. Threads of Python make whole batches, each its own,
a few ahead; they are handed out in the order of the stream, whichever is ready first.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy

from flowtrain import _core
from flowtrain._checks import check_process
from flowtrain._rows import Rows
from flowtrain._threads import Threads

#: The content that was made of a batch's rows, and their ids, i64 (batch,).
Made = tuple[Any, numpy.ndarray]


class PythonCore:
    """The interface of `_core.Loader`; but next() gives what the rows were collated to in place of arrays."""

    def __init__(self, stream: _core.SampleStream, rows: Rows) -> None:
        self._stream = stream
        self._rows = rows
        self._sizes = stream.sizes()
        if rows.threads is not None:
            self._sizes["workers"] = rows.threads
        self._cursor = stream.cursor()
        self._window: _Window | None = None
        self._used = threading.Lock()
        self._made_in = os.getpid()

    def another(self) -> PythonCore:
        """Opens a second stream of the same samples."""
        return PythonCore(self._stream, self._rows)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        check_process(self._made_in)
        if not self._used.acquire(blocking=False):
            raise RuntimeError("another thread uses this loader")
        try:
            yield
        finally:
            self._used.release()

    def begin_epoch(self) -> None:
        with self._alone():
            # Prepared batches of the next epoch are used if the previous epoch was taken completely.
            if not self._cursor.begin_epoch():
                self._end_window()
            if self._window is None:
                self._window = _Window(self._stream, self._rows, self._cursor.copy(), self._sizes)

    def next(self, wait: bool = True) -> Made | Literal[False] | None:
        """The next batch of the epoch; None at its end; False where there is none yet, and it is not to wait. An error
        of a sample is raised in the place of its batch, and ends the epoch."""
        with self._alone():
            if self._window is None or self._cursor.left == 0:
                return None
            try:
                made = self._window.take(wait)
            except KeyboardInterrupt:
                raise  # the batch comes again
            except BaseException:
                self._end_window()
                raise
            if made is None:
                return False
            self._cursor.advance()
            return made

    def position(self) -> dict[str, int]:
        return self._cursor.position()

    def seek(self, epoch: int, samples: int) -> None:
        self._cursor.seek(epoch, samples)
        self.close()

    def basis(self) -> dict[str, str]:
        return self._rows.basis(self._stream.basis())

    def fields(self) -> list[str]:
        """Returns no fields: the rows themselves name them."""
        return []

    def sizes(self) -> dict[str, int]:
        return {**self._sizes, "readers": 0}

    def busy_seconds(self) -> dict[str, float]:
        return {"read": 0.0, "sample": self._window.busy_seconds() if self._window else 0.0}

    def classes(self) -> list[str]:
        return self._rows.classes(self._stream)

    def describe(self, id: int) -> str:
        return self._rows.describe(self._stream, id)

    def close(self) -> None:
        """Waits for the samples that are being made."""
        with self._alone():
            self._end_window()
            self._cursor.end()

    def _end_window(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.stop()


class _Window:
    """Batches that are being made, and those that are ready, from a place of the stream on."""

    def __init__(
        self, stream: _core.SampleStream, rows: Rows, ahead: _core.EpochCursor, sizes: dict[str, int]
    ) -> None:
        """ahead: the place of the next batch to make; it moves on."""
        self._ahead, self._sizes = ahead, sizes
        self._maker = _Maker(stream, rows)
        self._running: deque[Future[Made]] = deque()
        self._threads: Threads | None = None
        if sizes["workers"] > 0:
            self._threads = Threads(sizes["workers"], self._maker.stop)
            weakref.finalize(self, _end, self._threads, os.getpid())  # when nobody holds the loader any more

    def take(self, wait: bool) -> Made | None:
        """The next batch, when it is ready; None if it is not, and `wait` is false. Where this raises, the batch is
        still the next one."""
        if self._threads is None:
            made = self._maker(*self._place())
            self._move_on()
            return made
        while len(self._running) <= self._sizes["prefetch"]:
            self._running.append(self._threads.submit(partial(self._maker, *self._place())))
            self._move_on()
        if not wait and not self._running[0].done():
            return None
        made = self._running[0].result()
        self._running.popleft()
        return made

    def _place(self) -> tuple[int, int]:
        position = self._ahead.position()
        return position["epoch"], position["samples"]

    def _move_on(self) -> None:
        self._ahead.advance()
        if self._ahead.left == 0:
            self._ahead.begin_epoch()

    def busy_seconds(self) -> float:
        return self._maker.busy_s

    def stop(self) -> None:
        if self._threads is not None:
            self._threads.end()
            self._threads.join()


def _end(threads: Threads, made_in: int) -> None:
    if os.getpid() == made_in:
        threads.end()


class _Maker:
    """Makes the batch of a place, in any thread."""

    def __init__(self, stream: _core.SampleStream, rows: Rows) -> None:
        self._stream, self._rows = stream, rows
        self._adding = threading.Lock()
        self._stopped = False
        self.busy_s = 0.0  # seconds that all threads have worked, or waited for the GIL

    def stop(self) -> None:
        """Ends batches at their next sample."""
        self._stopped = True

    def __call__(self, epoch: int, samples: int) -> Made:
        begin = time.perf_counter()
        ids, seeds = self._stream.rows(epoch, samples)
        numbers = ids.tolist()
        rows = [self._row(epoch, id, seed) for id, seed in zip(numbers, seeds.tolist())]
        try:
            batch = self._rows.collate(rows, numbers, self._describe)
        except _core.DataError:
            raise
        except Exception as error:
            raise _core.DataError(f"the batch of samples {', '.join(map(str, numbers[:3]))}, … of epoch {epoch} cannot "
                                  f"be collated: {type(error).__name__}: {error}") from error
        with self._adding:
            self.busy_s += time.perf_counter() - begin
        return batch, ids

    def _row(self, epoch: int, id: int, seed: int) -> Any:
        if self._stopped:
            raise RuntimeError("this loader was closed, or the interpreter exits")
        try:
            return self._rows.fetch(self._stream, id, seed)
        except Exception as error:
            raise _core.DataError(
                f"sample {id} ({self._describe(id)}) of epoch {epoch}: {type(error).__name__}: {error}"
            ) from error

    def _describe(self, id: int) -> str:
        return self._rows.describe(self._stream, id)


def open_core(
    file: str, overrides: list[tuple[str, str]], training: bool, drop_last: bool, rank: int, world: int, rows: Rows
) -> Any:
    """A PythonCore of the data that `rows` are made of. Raises ConfigError or DataError, as `_core.Loader` does."""
    if rows.records is not None:
        overrides = [("data.dataset", '"shapes"'), *overrides]  # each configuration names one; it is not opened
    stream = _core.SampleStream(file, overrides, training, drop_last, rank, world, rows.records)
    return PythonCore(stream, rows)
