"""Iterators over the epochs of a loader. Each has a stream of batches of its own, with its own threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flowtrain._batches import BatchT
from flowtrain._checks import check_process

if TYPE_CHECKING:
    from flowtrain.loader import Loader


class Start:
    """The place at which an epoch begins. The first iterator that is asked for a batch takes it."""

    def __init__(self, epoch: int, samples: int = 0) -> None:
        self.epoch, self.samples = epoch, samples
        self.taken = False
        self.stream: Any = None  # has begun to prepare the epoch


class Position:
    """The position of an iterator."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.stream: Any = None  # null before the first batch and after the last one
        self.place: Mapping[str, int] = {"epoch": start.epoch, "samples": start.samples}
        self.after: Start | None = None  # the start that follows the one taken


class Epoch(Iterator[BatchT]):
    """The batches of one epoch, or of the rest of it. Iterators of one loader do not disturb each other."""

    def __init__(self, loader: Loader[BatchT], start: Start) -> None:
        self._loader, self._position = loader, Position(start)
        self._batches = loader._batches_of(self._position)

    def __next__(self) -> BatchT:
        return next(self._batches)

    def state_dict(self) -> dict[str, Any]:
        """Returns the iterator's position, from which Loader.load_state_dict() continues."""
        return self._loader._state_at(self._position.place)


class Streams:
    """The streams of one loader: those that run, one that waits for the next epoch, and where that begins."""

    def __init__(self, core: Any, made_in: int) -> None:
        """core: opens streams by another(); it is never iterated itself."""
        self._core, self._made_in = core, made_in
        self._changing = threading.Lock()
        self._next = Start(0)
        self._running: set[Position] = set()
        self._idle: list[tuple[Any, int | None]] = []  # one at most, with the epoch that its begin_epoch() begins

    def all(self) -> list[Any]:
        """Returns the streams that have threads now."""
        streams = [self._next.stream, *(stream for stream, _ in self._idle)]
        streams += [position.stream for position in [*self._running]]
        return [stream for stream in streams if stream is not None]

    def prepare(self) -> Start:
        """Lets the threads begin with the next epoch."""
        check_process(self._made_in)
        with self._changing:
            return self._open(self._next)

    def take(self, position: Position) -> Any:
        """Returns the stream of the epoch of `position`; that of the next epoch, if another iterator has it."""
        check_process(self._made_in)
        with self._changing:
            start = self._open(self._next if position.start.taken else position.start)
            stream, start.stream, start.taken = start.stream, None, True
            position.start, position.stream, position.place = start, stream, stream.position()
            self._running.add(position)
            if self._next is start:
                position.after = self._next = Start(position.place["epoch"] + 1)
            return stream

    def give_back(self, position: Position) -> None:
        """Returns an epoch of which no batch was handed out: the next iterator begins it again."""
        with self._changing:
            if position.after is not None and self._next is position.after:
                position.start.taken = False
                self._next = position.start

    def release(self, position: Position) -> None:
        """The iterator has ended. Runs in any thread, when an iterator is collected, too, so it takes no lock."""
        self._running.discard(position)
        stream, position.stream = position.stream, None
        if stream is not None:
            self._keep(stream, position.place["epoch"] + 1)

    def begin_at(self, epoch: int) -> None:
        """Sets where the next iterator begins; running ones continue."""
        with self._changing:
            if self._next.epoch == epoch:
                return
            skipped, self._next = self._next, Start(epoch)
            stream, skipped.stream = skipped.stream, None
            if stream is not None:
                self._keep(stream, skipped.epoch + 1)

    def seek(self, epoch: int, samples: int) -> Mapping[str, int]:
        """Sets where the next iterator begins, and ends running ones. Raises ConfigError for an invalid place."""
        check_process(self._made_in)
        with self._changing:
            stream, _ = self._idle.pop() if self._idle else (self._core.another(), None)
            self._idle.append((stream, None))
            stream.seek(epoch, samples)
            place: Mapping[str, int] = stream.position()
        self.close()
        self._next.taken = True  # iterators that were asked for nothing yet begin at the new place, too
        at_end = samples > 0 and place["batches_left"] == 0
        self._next = Start(epoch + 1) if at_end else Start(epoch, samples)
        return place

    def close(self) -> None:
        """Ends all threads and running iterators."""
        check_process(self._made_in)
        with self._changing:
            for position in [*self._running]:
                if position.stream is not None:
                    position.stream.close()
                self.release(position)
            if self._next.stream is not None:
                self._next.stream.close()
                self._next.stream = None
            for stream, _ in self._idle:
                stream.close()
            self._idle = [(stream, None) for stream, _ in self._idle]

    def _open(self, start: Start) -> Start:
        if start.stream is None:
            stream, follows = self._idle.pop() if self._idle else (self._core.another(), 0)
            if start.samples > 0 or start.epoch != follows:
                stream.seek(start.epoch, start.samples)
            stream.begin_epoch()
            start.stream = stream
        return start

    def _keep(self, stream: Any, follows: int) -> None:
        if not self._idle:
            self._idle.append((stream, follows))
