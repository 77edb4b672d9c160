"""Rows that Python makes, of a sampler or a data set, and the batches that they become."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from flowtrain import _core
from flowtrain._sampler import SampleSeed, generator_of

# Maps a sample's id to its name in messages.
#: From a sample's id to its name in messages.
Describe = Callable[[int], str]


class SamplerRows:
    """Rows that a function marked by @ft.sampler makes of the records of a native data set."""

    #: Samples, where the native part does not know them.
    records: int | None = None
    #: Threads; None: as many as the configuration has workers.
    threads: int | None = None

    def __init__(self, function: Any) -> None:
        if not getattr(function, "__flowtrain_sampler__", False):
            raise TypeError(f"sampler = {function!r}: expected a sampler's name, or a function after @ft.sampler")
        self._function = function

    @property
    def name(self) -> str:
        return _name_of(self._function)

    def basis(self, basis: Mapping[str, str]) -> dict[str, str]:
        """Returns the values that identify the stream, out of those of the native part."""
        return {**{key: value for key, value in basis.items() if not key.startswith("sampler.")}, "sampler": self.name}

    def describe(self, stream: _core.SampleStream, id: int) -> str:
        return stream.describe(id)

    def classes(self, stream: _core.SampleStream) -> list[str]:
        return stream.classes()

    def fetch(self, stream: _core.SampleStream, id: int, seed: int) -> Any:
        return self._function(stream.record(id), generator_of(seed))

    def collate(self, rows: list[Any], ids: list[int], describe: Describe) -> Any:
        batch = stack(rows, ids, describe)
        is_pair = isinstance(batch, dict) and batch.keys() == {"image", "label"}
        return (batch["image"], batch["label"]) if is_pair else batch

    def each(self, batch: Any, change: Callable[[numpy.ndarray], Any]) -> Any:
        """Returns the batch with each of its arrays changed."""
        return _each_array(batch, change)


class DatasetRows:
    """Rows of a data set in Python that has `__len__` and `__getitem__`."""

    def __init__(self, dataset: Any, threads: int, collate: Callable[[list[Any]], Any] | None = None) -> None:
        """threads: 0 makes batches in the thread that iterates. collate: None stacks the rows as NumPy arrays."""
        if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            raise TypeError(f"{_name_of(type(dataset))} is no data set with __len__ and __getitem__: to be resumed, it "
                            "must have both")
        self.records: int = len(dataset)
        self.threads = threads
        self._dataset = dataset
        self._collate = collate

    @property
    def name(self) -> str:
        return _name_of(type(self._dataset))

    def basis(self, basis: Mapping[str, str]) -> dict[str, str]:
        """Returns the order's values, the data set's kind and its length; no more is known."""
        kept = {key: value for key, value in basis.items() if key.startswith(("order.", "run.seed", "samples"))}
        return {**kept, "dataset": self.name}

    def describe(self, stream: _core.SampleStream, id: int) -> str:
        if not 0 <= id < self.records:
            raise IndexError(f"no sample {id}: there are {self.records}")
        return f"{self.name}[{id}]"

    def classes(self, stream: _core.SampleStream) -> list[str]:
        return list(getattr(self._dataset, "classes", []))

    def fetch(self, stream: _core.SampleStream, id: int, seed: int) -> Any:
        with SampleSeed(seed):
            if self.threads > 0:
                return self._dataset[id]
            with _global_generators(seed):
                return self._dataset[id]

    def collate(self, rows: list[Any], ids: list[int], describe: Describe) -> Any:
        if self._collate is None:
            return stack(rows, ids, describe)
        return self._collate(rows)

    def each(self, batch: Any, change: Callable[[numpy.ndarray], Any]) -> Any:
        """The batch with each array changed that is not of the caller's own `collate`."""
        return _each_array(batch, change) if self._collate is None else batch


Rows = SamplerRows | DatasetRows


def with_ids(batch: Any, ids: Any) -> Any:
    """Adds the ids of its samples to the batch, as a last item, or a field of a dict."""
    if isinstance(batch, Mapping):
        return {**batch, "ids": ids}
    return (*batch, ids) if isinstance(batch, (tuple, list)) else (batch, ids)


def stack(rows: Sequence[Any], ids: Sequence[int], describe: Describe) -> Any:
    """One NumPy array for each field of the rows, with a first axis for the rows. Raises DataError, which names the
    sample and the field, where a row differs from the first one in its fields, shapes or dtypes."""
    first = rows[0]
    if isinstance(first, Mapping):
        keys, fields = [*first], _fields_of(rows, ids, describe)
        return dict(zip(keys, fields))
    if isinstance(first, (tuple, list)):
        return tuple(_fields_of(rows, ids, describe))
    return _stacked("row", rows, ids, describe)


def _fields_of(rows: Sequence[Any], ids: Sequence[int], describe: Describe) -> list[numpy.ndarray]:
    keys = _keys_of(rows[0])
    for row, id in zip(rows, ids):
        if type(row) is not type(rows[0]) or _keys_of(row) != keys:
            raise _core.DataError(
                f"sample {id} ({describe(id)}) is {_form_of(row)}, but sample {ids[0]} ({describe(ids[0])}) is "
                f"{_form_of(rows[0])}: the rows of a batch have the same fields"
            )
    return [_stacked(str(key), [row[key] for row in rows], ids, describe) for key in keys]


def _keys_of(row: Any) -> list[Any]:
    return [*row] if isinstance(row, Mapping) else [*range(len(row))]


def _form_of(row: Any) -> str:
    if isinstance(row, Mapping):
        return f"a {type(row).__name__} of {', '.join(map(str, row))}"
    return f"a {type(row).__name__}" + (f" of {len(row)}" if isinstance(row, (tuple, list)) else "")


def _stacked(field: str, values: Sequence[Any], ids: Sequence[int], describe: Describe) -> numpy.ndarray:
    arrays = [_as_array(field, value, id, describe) for value, id in zip(values, ids)]
    first = arrays[0]
    for array, value, id in zip(arrays, values, ids):
        if array.dtype.kind not in "biufc":
            raise _core.DataError(
                f"field {field} of sample {id} ({describe(id)}) is a {_name_of(type(value))}: expected an array or a "
                "number"
            )
        if array.shape != first.shape or array.dtype != first.dtype:
            raise _core.DataError(
                f"field {field} of sample {id} ({describe(id)}) is {array.dtype} {array.shape}, that of sample "
                f"{ids[0]} ({describe(ids[0])}) is {first.dtype} {first.shape}: rows agree in shape and dtype"
            )
    return numpy.stack(arrays)


def _as_array(field: str, value: Any, id: int, describe: Describe) -> numpy.ndarray:
    try:
        return numpy.asarray(value)
    except (TypeError, RuntimeError) as error:  # raised by a tensor of bfloat16, or one that requires grad
        raise _core.DataError(
            f"field {field} of sample {id} ({describe(id)}) is no array for NumPy: {error}\n"
            '  hint: flowtrain.DataLoader(dataset, python="threads") collates the tensors of a data set as torch does'
        ) from error


def _each_array(batch: Any, change: Callable[[numpy.ndarray], Any]) -> Any:
    """Returns the result of stack() with each array changed."""
    if isinstance(batch, dict):
        return {name: change(array) for name, array in batch.items()}
    return tuple(map(change, batch)) if isinstance(batch, tuple) else change(batch)


@contextmanager
def _global_generators(seed: int) -> Iterator[None]:
    """Seeds what transforms draw from by themselves, and puts it back: no other thread must draw meanwhile."""
    torch = sys.modules.get("torch")
    of_python, of_numpy = random.getstate(), numpy.random.get_state()
    of_torch = torch.random.get_rng_state() if torch else None
    random.seed(seed)
    numpy.random.seed(seed & 0xFFFFFFFF)
    if torch:
        torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(of_python)
        numpy.random.set_state(of_numpy)
        if torch:
            torch.random.set_rng_state(of_torch)


def _name_of(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
