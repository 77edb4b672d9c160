"""Samplers in Python: functions that make the rows of a native data set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy

Function = TypeVar("Function", bound=Callable[..., Any])


def sampler(function: Function) -> Function:
    """Marks a function that makes rows in place of the native sampler, in threads of Python:

        @ft.sampler
        def small(record, rng):
            image = record.image()[::2, ::2]
            return {"image": image[:, ::-1] if rng.random() < 0.5 else image, "label": record.label}

        loader = ft.Loader.image_folder("pictures", sampler=small, batch_size=64)

    record: `id` and `label` (-1: none), ints; `description`, a file's path, say; `data`, the stored bytes; `image()`,
        the picture as u8 (height, width, channels), decoded without the GIL, with 3 channels, or as many as stored
        pixels have. Bytes are read when they are asked for. Both raise DataError for a damaged file.
    rng: a numpy.random.Generator, seeded by the loader's seed and the sample's position in the stream alone.

    It returns a row: a dict or a tuple of arrays and numbers, whose shapes and dtypes are the same in all rows of a
    batch; the batch adds a first axis. A dict of `image` and `label` gives batches `(images, labels)`, other dicts give
    dicts, tuples tuples. Several threads call it at once, and share the GIL: python/README.md has the cost.
    """
    marked: Any = getattr(function, "__func__", function)  # a method is marked through its function
    try:
        marked.__flowtrain_sampler__ = True
    except AttributeError:
        raise TypeError(f"flowtrain.sampler({function!r}): expected a function of a record and a generator") from None
    return function


class _OfThread(threading.local):
    seed: int | None = None  # the seed of the sample that the thread makes
    rng: numpy.random.Generator | None = None


_of_thread = _OfThread()


def sample_rng() -> numpy.random.Generator:
    """The random numbers of the sample that this thread makes for a loader, in a data set or transform of Python.

    They are seeded by the loader's seed and the sample's position in the stream alone: other workers, ranks or
    restarts draw the same. The generators of `random`, `numpy.random` and torch are shared by all threads, and draw in
    the order in which these happen to run. Outside of a loader it is a new generator with another seed each time.
    """
    if _of_thread.seed is None:
        return numpy.random.default_rng()
    if _of_thread.rng is None:
        _of_thread.rng = generator_of(_of_thread.seed)
    return _of_thread.rng


def generator_of(seed: int) -> numpy.random.Generator:
    """Returns the generator for a sample's 64-bit seed."""
    return numpy.random.Generator(numpy.random.Philox(key=seed))


class SampleSeed:
    """Sets sample_rng() of this thread to that of a sample; restores the previous one at the end."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __enter__(self) -> None:
        self._before = _of_thread.seed, _of_thread.rng
        _of_thread.seed, _of_thread.rng = self._seed, None

    def __exit__(self, *_: object) -> None:
        _of_thread.seed, _of_thread.rng = self._before
