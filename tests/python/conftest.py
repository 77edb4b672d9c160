"""Fixtures that several tests share: pictures on disk, and the comparison of streams of batches."""

import hashlib
import os
import struct
import zlib

import pytest
from stream import hashes  # noqa: F401

#: Tests of random points try all of them; else a few.
NIGHTLY = os.environ.get("FLOWTRAIN_TEST_TIER") == "nightly"


def png(width, height, seed):
    """A picture of noise, as PNG has it."""
    rows = b"".join(
        b"\0" + hashlib.shake_128(f"{seed}/{y}".encode()).digest(width * 3) for y in range(height)
    )

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """train/ with 61 pictures in three classes, val/ with 7."""
    folder = tmp_path_factory.mktemp("pictures")
    for split, count in (("train", 61), ("val", 7)):
        for number in range(count):
            file = folder / split / ("cat", "dog", "emu")[number % 3] / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(png(40 + number % 5, 36, f"{split}{number}"))
    return folder
