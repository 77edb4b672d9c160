"""Turns the batches that Python has made of rows into arrays or tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from flowtrain._output import Output, PinnedTensors, Tensors, make_output
from flowtrain._rows import Rows


class RowsOutput(Output):
    """Batches of any form in host memory, which nobody reuses."""

    where = "memory of its own for each batch"

    def __init__(self, rows: Rows, arrays: Output, pin: bool) -> None:
        """arrays: makes arrays or tensors of arrays. pin: tensors are copied to page-locked memory."""
        super().__init__(copy=False)
        self._rows, self._arrays, self._pins = rows, arrays, pin

    def start(self, contents: Any, ids: numpy.ndarray) -> Any:
        made = [self._rows.each(contents, self._finished), self._finished(ids)]
        return [_each_tensor(each, lambda tensor: tensor.pin_memory()) for each in made] if self._pins else made

    def _finished(self, array: numpy.ndarray) -> Any:
        return self._arrays.start([], array)[0]


def make_rows_output(
    rows: Rows, output: str | None, device: Any, pin_memory: bool | None, normalize: str, memory_format: Any = None
) -> RowsOutput:
    """Makes the output for Loader()'s arguments. Raises what make_output() raises, and TypeError for a device."""
    if device is not None and str(device) != "cpu" or normalize != "host":
        raise TypeError("rows that Python makes are in host memory: leave out device and normalize, and move batches "
                        "by tensor.to(device, non_blocking=True), with pin_memory=True")
    arrays = make_output(output, None, pin_memory, normalize, copy=False, memory_format=memory_format)
    pins = isinstance(arrays, PinnedTensors)
    return RowsOutput(rows, Tensors(copy=False) if pins else arrays, pins)


def _each_tensor(batch: Any, change: Callable[[Any], Any]) -> Any:
    if hasattr(batch, "pin_memory"):
        return change(batch)
    if isinstance(batch, Mapping):
        return {key: _each_tensor(value, change) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_each_tensor(value, change) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(_each_tensor(value, change) for value in batch)
    return batch
