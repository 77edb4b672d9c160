"""Small data sets for the pages' blocks, of Python's standard library alone:

    fixtures.py pictures FOLDER CLASS:COUNT…   FOLDER/CLASS/NN.png, coloured squares of 40 x 32
    fixtures.py idx FOLDER ROWS HEIGHT WIDTH   the files of MNIST, grey pictures of ten classes
    fixtures.py coco FOLDER                    four pictures for each of train2017 and val2017, two boxes in each
"""
import json
import random
import struct
import sys
import zlib
from pathlib import Path


def png(width, height, colour, square):
    """A picture of noise with a square (x, y, side) of one colour."""
    draw = random.Random(f"{colour}{square}")
    x, y, side = square
    rows = b""
    for row in range(height):
        rows += b"\0" + b"".join(bytes(colour) if x <= column < x + side and y <= row < y + side else
                                 bytes(draw.randrange(80) for _ in range(3)) for column in range(width))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)),
              (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + name + data +
                                           struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks)


def pictures(folder, *classes):
    for number, entry in enumerate(classes):
        name, count = entry.split(":")
        (Path(folder) / name).mkdir(parents=True, exist_ok=True)
        for i in range(int(count)):
            colour = [(60 + 97 * number) % 256, (200 + 53 * number) % 256, (31 * number) % 256]
            (Path(folder) / name / f"{i:02}.png").write_bytes(png(40, 32, colour, (i % 20, i % 12, 14)))


def idx(folder, rows, height, width):
    Path(folder).mkdir(parents=True, exist_ok=True)
    draw, rows, height, width = random.Random(1), int(rows), int(height), int(width)
    for name in ("train", "t10k"):
        pixels = bytes(draw.randrange(256) for _ in range(rows * height * width))
        head = struct.pack(">IIII", 0x803, rows, height, width)
        (Path(folder) / f"{name}-images-idx3-ubyte").write_bytes(head + pixels)
        labels = bytes(i % 10 for i in range(rows))
        (Path(folder) / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, rows) + labels)


def coco(folder):
    (Path(folder) / "annotations").mkdir(parents=True)
    for split in ("train2017", "val2017"):
        (Path(folder) / split).mkdir()
        images, boxes = [], []
        for i in range(1, 5):
            images.append({"id": i, "file_name": f"{i}.png", "width": 160, "height": 120})
            (Path(folder) / split / f"{i}.png").write_bytes(png(160, 120, (250, 40 * i, 0), (10 * i, 8 * i, 40)))
            for kind in (1, 2):
                boxes.append({"id": 2 * i + kind, "image_id": i, "category_id": kind, "bbox": [10 * i, 8 * i, 40, 40],
                              "area": 1600, "iscrowd": 0})
        kinds = [{"id": 1, "name": "square"}, {"id": 2, "name": "shape"}]
        (Path(folder) / f"annotations/instances_{split}.json").write_text(
            json.dumps({"images": images, "annotations": boxes, "categories": kinds}))


globals()[sys.argv[1]](*sys.argv[2:])
