"""Turns what the native loader has made into the content of a batch: arrays, tensors, tensors on a GPU."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from flowtrain import _core
from flowtrain._checks import import_torch

Contents = Any  # a list of arrays, or the owner of a batch's memory, where `allocate` has made that


class Output:
    """NumPy arrays that share the loader's memory, or are copies of their own."""

    allocate: Callable[[int], Any] | None = None  # allocates memory that is not the loader's own
    ahead = 0  # batches on their way to a device while another is handed out
    where = "memory of the loader, reused once nothing refers to it"

    def __init__(self, copy: bool) -> None:
        self._copies = copy
        if copy:
            self.where = "a copy of its own for each batch"

    def open(self, core: _core.Loader) -> None:
        """Called when the loader exists."""

    def start(self, contents: Contents, ids: numpy.ndarray, rows: int = 0, places: _core.Places | None = None) -> Any:
        """Begins to make a batch: its fields, then its ids; before it is handed out by finish().

        `rows` and `places`, (shape of a row, offset, rows) of each field, matter where `allocate` has made the memory;
        None: those of layout(), and as many rows of each.
        """
        return [array.copy() if self._copies else array for array in [*contents, ids]]

    def finish(self, started: Any) -> list[Any]:
        """Called in the thread that uses the batch."""
        return list(started)


class Tensors(Output):
    """PyTorch's tensors that share the loader's memory, or are copies of their own."""

    def start(self, contents: Contents, ids: numpy.ndarray, rows: int = 0, places: _core.Places | None = None) -> Any:
        import torch

        return [torch.from_numpy(array) for array in super().start(contents, ids, rows, places)]


class PinnedTensors(Tensors):
    """Tensors in page-locked memory of torch's allocator.

    A copy to a GPU by `non_blocking=True` tells that allocator, which gives the memory to nobody else before the copy
    is over, even if the batch is dropped at once. So it is torch that reuses memory here, not the loader.
    """

    where = "page-locked memory of torch's allocator"

    def __init__(self) -> None:
        super().__init__(copy=False)
        self.allocate = allocate_pinned

    def open(self, core: _core.Loader) -> None:
        import torch

        dtypes = {"u8": torch.uint8, "i32": torch.int32, "i64": torch.int64, "f32": torch.float32}
        self._fields = [
            (dtypes[dtype], (shape, offset)) for dtype, shape, offset, _, _ in core.layout()
        ]

    def start(self, contents: Contents, ids: numpy.ndarray, rows: int = 0, places: _core.Places | None = None) -> Any:
        import torch

        fields = []
        for i, (dtype, place) in enumerate(self._fields):
            shape, offset, count = places[i] if places else (*place, rows)
            end = offset + count * math.prod(shape) * dtype.itemsize
            fields.append(contents[offset:end].view(dtype).view(count, *shape))
        return [*fields, torch.from_numpy(ids)]


class GpuTensors(PinnedTensors):
    """Tensors on a GPU, copied on a stream of their own while the batch before is used.

    Device memory is torch's, too: its allocator reuses a block once the streams that used it have passed. A batch that
    is held takes memory of its own, and nothing waits for it.
    """

    ahead = 1

    def __init__(self, device: Any, normalize: bool, memory_format: Any = None) -> None:
        """normalize: pictures come as u8 (batch, height, width, channels), and are finished on the GPU.
        memory_format: of f32 pictures; None: contiguous."""
        super().__init__()
        import torch

        self.device = torch.device(device)
        self._stream = torch.cuda.Stream(self.device)
        self._normalizes = normalize
        self._layout = memory_format or torch.contiguous_format
        self.where = f"{self.device}, copied on a stream of its own from page-locked memory"

    def open(self, core: _core.Loader) -> None:
        super().open(core)
        self._rules = [
            normalizing(mean, stddev, shape[-1], self.device, self._layout)
            if self._normalizes and dtype == "u8" and len(shape) == 3 else self._laid_out
            for dtype, shape, _, mean, stddev in core.layout()
        ]

    def _laid_out(self, tensor: Any) -> Any:
        is_picture = tensor.dim() == 4 and tensor.is_floating_point()
        return tensor.contiguous(memory_format=self._layout) if is_picture else tensor

    def start(self, contents: Contents, ids: numpy.ndarray, rows: int = 0, places: _core.Places | None = None) -> Any:
        import torch

        *fields, own_ids = super().start(contents, ids, rows, places)
        with torch.cuda.stream(self._stream):
            made = [rule(field.to(self.device, non_blocking=True)) for rule, field in zip(self._rules, fields)]
            # A copy of many ids from memory that is not page-locked would wait for the copies before it.
            made.append(own_ids.pin_memory().to(self.device, non_blocking=True))
            return made, self._stream.record_event()

    def finish(self, started: Any) -> list[Any]:
        import torch

        tensors, copied = started
        stream = torch.cuda.current_stream(self.device)
        stream.wait_event(copied)
        for tensor in tensors:
            tensor.record_stream(stream)
        return list(tensors)


def normalizing(
    mean: list[float], stddev: list[float], channels: int, device: Any, memory_format: Any = None
) -> Callable[[Any], Any]:
    """Converts u8 (batch, height, width, channels) to f32 (batch, channels, height, width), (x / 255 - mean) / stddev.

    By the multiplier and the addend of the native one: equal to it up to the rounding of one operation. One pass reads
    the bytes and writes the floats as `memory_format` says; None: contiguous.
    """
    import torch

    means, deviations = (
        numpy.broadcast_to(numpy.asarray(values or [missing], numpy.float32), channels)
        for values, missing in ((mean, 0), (stddev, 1))
    )
    shape = (1, channels, 1, 1)
    scale = torch.from_numpy(1 / (255 * deviations)).to(device).view(shape)
    shift = torch.from_numpy(-means / deviations).to(device).view(shape)
    layout = memory_format or torch.contiguous_format

    def finished(pictures: Any) -> Any:
        planes = pictures.permute(0, 3, 1, 2)
        out = torch.empty(planes.shape, dtype=torch.float32, device=planes.device, memory_format=layout)
        return torch.addcmul(shift, planes, scale, out=out)

    return finished


def allocate_pinned(size: int) -> Any:
    """Returns so many bytes of page-locked memory, as a tensor."""
    import torch

    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def has_gpu() -> bool:
    """Returns whether torch has a GPU."""
    import torch

    return bool(torch.cuda.is_available())


def is_elsewhere(device: Any) -> bool:
    """Returns whether batches leave the host's memory."""
    return device is not None and str(device) != "cpu"


def make_output(
    output: str | None, device: Any, pin_memory: bool | None, normalize: str, copy: bool, memory_format: Any = None
) -> Output:
    """Makes the output for Loader()'s arguments. Raises ValueError, TypeError, or ImportError if torch is needed."""
    if output not in (None, "torch", "numpy"):
        raise ValueError(f"output = {output!r}: expected 'torch' or 'numpy'")
    if normalize not in ("host", "device"):
        raise ValueError(f"normalize = {normalize!r}: expected 'host' or 'device'")
    to_gpu = is_elsewhere(device)
    if normalize == "device" and not to_gpu:
        raise TypeError("normalize = 'device' needs a device: device = 'cuda'")
    if memory_format is not None and not to_gpu:
        raise TypeError("memory_format needs a device, which writes batches in that order: device = 'cuda'")
    if output == "numpy" and (to_gpu or pin_memory):
        raise TypeError("output = 'numpy' takes no device and no page-locked memory: leave out device and pin_memory")
    if output == "numpy":
        return Output(copy)
    torch = torch_if_it_works(must=output == "torch" or to_gpu or bool(pin_memory))
    if torch is None:
        return Output(copy)
    if to_gpu:
        if torch.device(device).type != "cuda":
            raise ValueError(f"device = {device!r}: expected 'cpu', 'cuda' or 'cuda:N'")
        if not has_gpu():
            raise RuntimeError(f"device = {device!r}: torch sees no GPU")
        return GpuTensors(device, normalize == "device", memory_format)
    if pin_memory and not has_gpu():
        warnings.warn("pin_memory: torch sees no GPU, so memory is not page-locked", stacklevel=_callers_level())
    elif pin_memory:
        return PinnedTensors()
    return Tensors(copy)


def torch_if_it_works(must: bool) -> Any:
    """torch; None where it is not installed or, with a warning that says why, cannot be imported. With `must` both are
    an ImportError."""
    try:
        torch = import_torch()
    except ImportError as error:
        if must:
            raise
        warnings.warn(f"batches are NumPy arrays instead of tensors: {error}", stacklevel=_callers_level())
        return None
    if torch is None and must:
        raise ImportError("output = 'torch', device and pin_memory need PyTorch: pip install torch")
    return torch


def _callers_level() -> int:
    """Returns the level of the code that has called the package, for warnings.warn() in the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        level, frame = level + 1, frame.f_back
    return level
