"""1,000 batches while other threads keep the CPUs busy, a third of them held: no byte is overwritten."""

import hashlib
import importlib.util
import random
import threading

import pytest
from stream import hashes

import flowtrain as ft

BATCHES = 1000


@pytest.fixture
def busy():
    """Two threads that compute, without the GIL, until the test ends."""
    end = threading.Event()
    block = bytes(1 << 20)

    def compute():
        while not end.is_set():
            hashlib.sha1(block)

    threads = [threading.Thread(target=compute) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield
    end.set()
    for thread in threads:
        thread.join()


def endless(pictures, **changes):
    loader = ft.Loader.image_folder(str(pictures), batch_size=8, size=16, seed=3, ids=True, **changes)
    while True:
        yield from loader


@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_held_batches_keep_their_bytes_under_load(pictures, busy, output):
    if output == "torch" and not importlib.util.find_spec("torch"):
        pytest.skip("this Python has no PyTorch")
    draw = random.Random(1)
    stream = endless(pictures, workers=1, output="numpy")  # each of its batches is looked at as soon as it is there
    expected = [hashes(next(stream)) for _ in range(BATCHES)]
    held = {}
    for number, batch in zip(range(BATCHES), endless(pictures, workers=3, output=output)):
        if draw.random() < 1 / 3:
            held[number] = batch
        if held and draw.random() < 1 / 6:  # half of them go back, so that their memory is filled again
            old = draw.choice(list(held))
            assert hashes(held.pop(old)) == expected[old]
    assert len(held) > BATCHES / 8
    assert all(hashes(batch) == expected[number] for number, batch in held.items())
