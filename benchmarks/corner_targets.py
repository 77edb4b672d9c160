#!/usr/bin/env python3
"""Samples of CornerNet, made as Python does it: OpenCV and numpy, one process, one thread.

    pip install numpy opencv-python-headless
    python3 benchmarks/corner_targets.py FOLDER [SAMPLES]        FOLDER holds JPEGImages/ and Annotations/ (VOC)

Prints samples per second, to stand beside those of `flowtrain bench` with the sampler `cornernet`
(benchmarks/README.md). The arithmetic is that of H. Law and J. Deng, "CornerNet", ECCV 2018: a part of a drawn scale is
cut out and resized to 511 x 511, mirrored, jittered, lit and normalised; heat maps of 128 x 128 cells for 80 classes,
offsets, places, a mask.
"""
import pathlib
import sys
import time
import xml.etree.ElementTree

import cv2
import numpy as np

SIZE, CELLS, CLASSES, OBJECTS, BORDER, IOU = 511, 128, 80, 128, 128, 0.3
MEAN = np.array([0.40789654, 0.44719302, 0.47026115], np.float32)
STDDEV = np.array([0.28863828, 0.27408164, 0.27809835], np.float32)
EIGENVALUES = np.array([0.2141788, 0.01817699, 0.00341571], np.float32)
EIGENVECTORS = np.array([[-0.58752847, -0.69563484, 0.41340352], [-0.5832747, 0.00994535, -0.81221408],
                         [-0.56089297, 0.71832671, 0.41158938]], np.float32)
SCALES = np.arange(0.6, 1.4, 0.1)


def read_boxes(path, names):
    boxes = []
    for item in xml.etree.ElementTree.parse(path).iter("object"):
        label = names.setdefault(item.find("name").text, len(names))
        corners = [float(item.find("bndbox").find(key).text) for key in ("xmin", "ymin", "xmax", "ymax")]
        boxes.append(corners + [label])
    return np.array(boxes, np.float32).reshape(-1, 5)


def border_of(side):
    part = 1
    while side - BORDER // part <= BORDER // part:
        part *= 2
    return BORDER // part


def cut(picture, boxes, random):
    side = int(SIZE * random.choice(SCALES))
    height, width = picture.shape[:2]
    at_x = random.integers(border_of(width), width - border_of(width))
    at_y = random.integers(border_of(height), height - border_of(height))
    half = side // 2
    x0, x1 = max(at_x - half, 0), min(at_x + half, width)
    y0, y1 = max(at_y - half, 0), min(at_y + half, height)
    part = np.zeros((side, side, 3), picture.dtype)
    left, top = half - (at_x - x0), half - (at_y - y0)
    part[top:top + y1 - y0, left:left + x1 - x0] = picture[y0:y1, x0:x1]
    boxes = boxes.copy()
    boxes[:, 0:4:2] += left - x0
    boxes[:, 1:4:2] += top - y0
    part = cv2.resize(part, (SIZE, SIZE))
    boxes[:, :4] *= SIZE / side
    boxes[:, :4] = np.clip(boxes[:, :4], 0, SIZE - 1)
    return part, boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]


def colour(picture, random):
    image = picture.astype(np.float32) / 255
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    mean = grey.mean()
    for step in random.permutation(3):
        factor = 1 + random.uniform(-0.4, 0.4)
        image *= factor
        if step == 1:
            image += mean * (1 - factor)
        elif step == 2:
            image += (grey * (1 - factor))[:, :, None]
    image += EIGENVECTORS @ (EIGENVALUES * random.normal(0, 0.1, 3).astype(np.float32))
    image -= MEAN
    image /= STDDEV
    return image


def radius_of(height, width):
    total, area = height + width, height * width
    first = (total - np.sqrt(total**2 - 4 * area * (1 - IOU) / (1 + IOU))) / 2
    second = (2 * total - np.sqrt(4 * total**2 - 16 * (1 - IOU) * area)) / 8
    third = (-2 * IOU * total + np.sqrt(4 * IOU**2 * total**2 + 16 * IOU * (1 - IOU) * area)) / (8 * IOU)
    return max(0, int(min(first, second, third)))


def draw(heat, x, y, radius):
    steps = np.arange(-radius, radius + 1)
    sigma = (2 * radius + 1) / 6
    bump = np.exp(-(steps[:, None] ** 2 + steps[None, :] ** 2) / (2 * sigma**2))
    x0, x1, y0, y1 = max(x - radius, 0), min(x + radius + 1, CELLS), max(y - radius, 0), min(y + radius + 1, CELLS)
    window = heat[y0:y1, x0:x1]
    np.maximum(window, bump[y0 - y + radius:y1 - y + radius, x0 - x + radius:x1 - x + radius], out=window)


def fill(index, picture, boxes, batch, random):
    picture, boxes = cut(picture, boxes, random)
    if random.uniform() > 0.5:
        picture = picture[:, ::-1]
        boxes[:, [0, 2]] = SIZE - 1 - boxes[:, [2, 0]]
    batch["image"][index] = colour(np.ascontiguousarray(picture), random).transpose(2, 0, 1)
    ratio = CELLS / SIZE
    for place, (x0, y0, x1, y1, label) in enumerate(boxes[:OBJECTS]):
        radius = radius_of(np.ceil((y1 - y0) * ratio), np.ceil((x1 - x0) * ratio))
        for corner, (x, y) in (("tl", (x0 * ratio, y0 * ratio)), ("br", (x1 * ratio, y1 * ratio))):
            cell = int(x), int(y)
            draw(batch[corner + "_heat"][index, int(label)], *cell, radius)
            batch[corner + "_off"][index, place] = x - cell[0], y - cell[1]
            batch[corner + "_ind"][index, place] = cell[1] * CELLS + cell[0]
        batch["mask"][index, place] = 1


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 196
    names, rows = {}, 49
    cv2.setNumThreads(1)
    files = sorted((folder / "JPEGImages").glob("*.jpg"))
    boxes = [read_boxes(folder / "Annotations" / (file.stem + ".xml"), names) for file in files]
    random = np.random.default_rng(1)
    begin = time.perf_counter()
    done = 0
    while done < count:
        batch = {"image": np.zeros((rows, 3, SIZE, SIZE), np.float32), "mask": np.zeros((rows, OBJECTS), np.uint8)}
        for corner in ("tl", "br"):
            batch[corner + "_heat"] = np.zeros((rows, CLASSES, CELLS, CELLS), np.float32)
            batch[corner + "_off"] = np.zeros((rows, OBJECTS, 2), np.float32)
            batch[corner + "_ind"] = np.zeros((rows, OBJECTS), np.int64)
        for index in range(rows):
            which = int(random.integers(len(files)))
            fill(index, cv2.imread(str(files[which])), boxes[which], batch, random)
        done += rows
    print(f"{done / (time.perf_counter() - begin):.1f} samples/s")


if __name__ == "__main__":
    main()
