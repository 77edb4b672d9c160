"""Threads of Python that make batches."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

#: A result, and what gives it; None: a thread ends.
_Call = tuple[Future[Any], Callable[[], Any]] | None


class Threads:
    """Makes calls in the order in which they are submitted.

    The threads of an Executor hold up the interpreter's end until all that was submitted is done. These are daemons,
    which stop_all() ends early.
    """

    def __init__(self, count: int, hurry: Callable[[], None]) -> None:
        """hurry: lets the calls that are left end at once, each by an exception, say."""
        calls: SimpleQueue[_Call] = SimpleQueue()
        self._calls, self._hurry = calls, hurry
        self._threads = [
            threading.Thread(target=_work, args=(calls,), name=f"flowtrain_{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()
        _all.add(self)

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._calls.put((future, call))
        return future

    def end(self) -> None:
        """Hurries the remaining calls, after which the threads end. Does not wait."""
        self._hurry()
        for _ in self._threads:
            self._calls.put(None)

    def join(self, timeout_s: float | None = None) -> None:
        for thread in self._threads:
            thread.join(timeout_s)


_all: weakref.WeakSet[Threads] = weakref.WeakSet()


def stop_all() -> None:
    """Ends all threads, as none may be in a data set when the interpreter exits; one that hangs is abandoned."""
    deadline = time.monotonic() + 10
    threads = list(_all)
    for each in threads:
        each.end()
    for each in threads:
        each.join(max(0.0, deadline - time.monotonic()))


def _work(calls: SimpleQueue[_Call]) -> None:
    while (given := calls.get()) is not None:
        future, call = given
        try:
            future.set_result(call())
        except BaseException as error:  # raised where the result is asked for
            future.set_exception(error)
        del given, future, call  # released now, not only when the next call comes
