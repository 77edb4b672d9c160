"""Batches keep their memory while copies to a device read it, even after the batch was dropped. Without a GPU,
stand-ins for torch's allocator and for a stream of copies are used."""

import collections
import contextlib
import ctypes
import hashlib
import warnings
import weakref
from unittest import mock

import flowtrain as ft
import numpy as np
import pytest
import torch
from flowtrain import _output
from test_loader import open_pictures

BEHIND = 8  # batches that a copy takes until it has read its source


class Allocator:
    """As torch's for page-locked memory: a block is given again when its tensor is gone, and no copy reads it."""

    def __init__(self):
        self.made = self.asked = 0
        self.free, self.read = [], collections.Counter()
        self.gone = []

    def allocate(self, size):
        self.asked += 1
        self.free += [block for block in self.gone if not self.read[block.ctypes.data]]
        self.gone[:] = [block for block in self.gone if self.read[block.ctypes.data]]
        if not self.free:
            self.made += 1
            self.free.append(np.empty(size, np.uint8))
        block = self.free.pop()
        lent = np.frombuffer((ctypes.c_uint8 * size).from_address(block.ctypes.data), np.uint8)
        weakref.finalize(lent, self.gone.append, block)
        return torch.from_numpy(lent)


class Copies:
    """Of tensors that are dropped at once: each is read BEHIND batches later."""

    def __init__(self, read):
        self.read, self.waiting, self.wrong = read, collections.deque(), 0

    def start(self, tensor):
        address = tensor.untyped_storage().data_ptr()
        expected = hashlib.sha1(ctypes.string_at(tensor.data_ptr(), tensor.nbytes)).digest()
        self.read[address] += 1
        self.waiting.append((tensor.data_ptr(), tensor.nbytes, address, expected))
        if len(self.waiting) > BEHIND:
            self.finish_one()

    def finish_one(self):
        data, size, address, expected = self.waiting.popleft()
        self.wrong += hashlib.sha1(ctypes.string_at(data, size)).digest() != expected
        self.read[address] -= 1


def batches(loader, count):
    while True:
        for batch in loader:
            if count == 0:
                return
            count -= 1
            yield batch[0]
            del batch


def test_copies_that_outlast_their_batches_read_what_they_should(pictures, monkeypatch):
    allocator = Allocator()
    monkeypatch.setattr(_output, "has_gpu", lambda: True)
    monkeypatch.setattr(_output, "allocate_pinned", allocator.allocate)
    copies = Copies(allocator.read)
    loader = open_pictures(pictures, output="torch", pin_memory=True)
    for images in batches(loader, 1000):
        copies.start(images)
        del images
    assert copies.wrong == 0 and allocator.asked > 1000
    assert BEHIND < allocator.made < 40, "blocks are given again"
    loader.close()
    while copies.waiting:
        copies.finish_one()
    assert copies.wrong == 0


def test_the_stand_in_sees_memory_that_is_reused_too_early(pictures):
    copies = Copies(collections.Counter())
    for images in batches(open_pictures(pictures, output="torch"), 100):
        copies.start(images)
        del images
    assert copies.wrong > 50


def test_pinned_batches_are_the_same_and_outlive_their_loader(pictures, monkeypatch):
    monkeypatch.setattr(_output, "has_gpu", lambda: True)
    monkeypatch.setattr(_output, "allocate_pinned", Allocator().allocate)
    pinned, plain = (list(open_pictures(pictures, output="torch", pin_memory=pin)) for pin in (True, False))
    for ours, expected in zip(pinned, plain, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(ours, expected, strict=True))


def test_an_allocator_that_fails_is_heard_and_costs_nothing(pictures, monkeypatch):
    def full(size):
        raise MemoryError(f"no {size} bytes")

    monkeypatch.setattr(_output, "has_gpu", lambda: True)
    monkeypatch.setattr(_output, "allocate_pinned", full)
    with pytest.raises(MemoryError, match="no [0-9]+ bytes"):
        list(open_pictures(pictures, output="torch", pin_memory=True))


class Stream(_output.Tensors):
    """A device whose copies are started one batch ahead."""

    ahead = 1

    def __init__(self):
        super().__init__(copy=True)
        self.log = []

    def start(self, contents, ids, *places):
        self.log.append(f"start {ids[0]}")
        return super().start(contents, ids, *places)

    def finish(self, started):
        self.log.append(f"finish {int(started[-1][0])}")
        return super().finish(started)


@pytest.fixture
def stream(monkeypatch):
    made = Stream()
    monkeypatch.setattr("flowtrain.loader.make_output", lambda *arguments: made)
    return made


def test_a_batch_that_is_copied_ahead_is_not_handed_out_yet(pictures, stream):
    loader = open_pictures(pictures)
    handed = [(batch, loader.state_dict()) for batch in loader]
    assert [state["samples"] for _, state in handed] == [*range(8, 61, 8), 61]
    starts = [line for line in stream.log if line.startswith("start")]
    assert len(starts) == len(handed) and stream.log.count(f"finish {int(handed[0][0][2][0])}") == 1
    plain = [batch[2].tolist() for batch in ft.Loader(**{**loader._arguments, "output": "torch"})]
    assert [batch[2].tolist() for batch, _ in handed] == plain


def test_an_error_comes_after_the_batches_before_it(pictures, stream, monkeypatch):
    loader = open_pictures(pictures)
    given = [batch[2].tolist() for batch in open_pictures(pictures)]

    class Core:
        """Fails at the fourth batch."""

        count = 0

        def __getattr__(self, name):
            return getattr(stream, name)

        def another(self):
            return self

        def next(self, wait):
            batch = stream.next(wait=True)
            self.count += 1
            if self.count == 4:
                raise ft.DataError("a damaged record")
            return batch

    stream = loader._core.another()
    loader._streams._core = Core()
    seen = []
    with pytest.raises(ft.DataError, match="damaged"):
        for batch in loader:
            seen.append(batch[2].tolist())
    assert seen == given[:3] and loader.state_dict()["samples"] == 24


class GpuOnTheHost(_output.GpuTensors):
    """Its device is the CPU; streams and page-locked memory are stand-ins."""

    def __init__(self, device, normalize, memory_format=None):
        super().__init__("cpu", normalize, memory_format)
        self.normalizes = normalize


@pytest.mark.parametrize("arguments", [
    {}, {"normalize": "host"}, {"memory_format": torch.channels_last}, {"dtype": "uint8"},
    {"normalize": "host", "memory_format": torch.channels_last}])
def test_a_gpu_gets_bytes_unless_floats_are_asked_for_and_writes_them_in_the_order_asked_for(
        pictures, monkeypatch, arguments):
    stream = mock.MagicMock()
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda entered: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, user: None)
    monkeypatch.setattr(_output, "has_gpu", lambda: True)
    monkeypatch.setattr(_output, "allocate_pinned", Allocator().allocate)
    monkeypatch.setattr(_output, "GpuTensors", GpuOnTheHost)
    on_host = {"dtype": arguments.get("dtype", "float32"), "output": "torch"}
    loader = open_pictures(pictures, output="torch", device="cuda", **arguments)
    assert loader._output.normalizes == (not {"normalize", "dtype"} & arguments.keys())
    layout = arguments.get("memory_format", torch.contiguous_format)
    for batch, expected in zip(loader, open_pictures(pictures, **on_host), strict=True):
        assert batch[0].is_contiguous(memory_format=layout) and batch[0].dtype == expected[0].dtype
        assert torch.allclose(batch[0].double(), expected[0].double(), rtol=0, atol=5e-7)
        assert torch.equal(batch[1], expected[1]) and torch.equal(batch[2], expected[2])


def test_arguments_that_do_not_go_together(pictures):
    for arguments, words in (
        ({"normalize": "device"}, "needs a device"),
        ({"memory_format": torch.channels_last}, "needs a device"),
        ({"output": "numpy", "device": "cuda"}, "no device"),
        ({"output": "numpy", "pin_memory": True}, "page-locked"),
        ({"dtype": "uint8", "normalize": "device", "device": "cuda"}, "makes floats"),
    ):
        with pytest.raises(TypeError, match=words):
            open_pictures(pictures, **{"output": "torch", **arguments})
    with pytest.raises(ValueError, match="expected 'cpu', 'cuda'"):
        open_pictures(pictures, output="torch", device="meta")
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="torch sees no GPU"):
            open_pictures(pictures, output="torch", device="cuda")
        with pytest.warns(UserWarning, match="not page-locked"):
            next(iter(open_pictures(pictures, output="torch", pin_memory=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(open_pictures(pictures, output="torch", device="cpu")))


def test_the_devices_rule_gives_what_the_host_gives(pictures):
    floats = next(iter(open_pictures(pictures, output="torch")))[0]
    loader = open_pictures(pictures, output="torch", dtype="uint8")
    _, _, _, mean, stddev = loader._core.layout()[0]
    pixels = next(iter(loader))[0]
    for layout in (torch.contiguous_format, torch.channels_last):
        made = _output.normalizing(mean, stddev, pixels.shape[-1], "cpu", layout)(pixels)
        assert made.is_contiguous(memory_format=layout) and made.shape == floats.shape
        assert torch.allclose(made, floats, rtol=0, atol=5e-7)
