"""Soft non-maximum suppression of boxes (N, 7): x0 y0 x1 y1, score, the corners' scores; with all its quirks."""

import math

import numpy as np

FILE = "nms"
VARIANTS = {"hard": {"method": "hard"}, "linear": {"method": "linear"}, "exp": {"method": "exp"},
            "exp_s07": {"method": "exp", "sigma": 0.7}, "merge8": {"method": "exp", "merge": True, "weight_exp": 8},
            "merge10": {"method": "exp", "merge": True, "weight_exp": 10}}


def overlap(a, b):
    """Intersection over union of two boxes whose ends belong to them."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if width <= 0 or height <= 0:
        return None
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
    return width * height / (sum(areas) - width * height)


def weight_of(method, iou, Nt, sigma):
    """What a box's score is multiplied by, when it overlaps with a better one."""
    if method == "exp":
        return math.exp(-iou * iou / sigma)
    if iou <= Nt:
        return 1
    return 1 - iou if method == "linear" else 0


def soft_nms(boxes, method, Nt=0.5, sigma=0.5, threshold=0.001, merge=False, weight_exp=8):
    """The boxes afterwards, as many as before, and how many of them are kept: the first ones.

    Box and score move when the best box is brought forward, the corners' scores stay where they are. A box whose score
    falls below `threshold` gets the values of the last one, which stays behind the kept ones as it is.
    """
    boxes = np.array(boxes, np.float64)
    count = len(boxes)
    for i in range(len(boxes)):
        if i >= count:
            break
        best = i + int(np.argmax(boxes[i:count, 4]))
        boxes[[i, best], :5] = boxes[[best, i], :5]
        sums = [boxes[i, :2] * boxes[i, 5], boxes[i, 5], boxes[i, 2:4] * boxes[i, 6], boxes[i, 6]]
        j = i + 1
        while j < count:
            iou = overlap(boxes[i], boxes[j])
            if iou is not None:
                weight = weight_of(method, iou, Nt, sigma)
                share = (1 - weight)**weight_exp
                for k, value in enumerate((boxes[j, :2] * boxes[j, 5], boxes[j, 5], boxes[j, 2:4] * boxes[j, 6],
                                           boxes[j, 6])):
                    sums[k] = sums[k] + value * share
                boxes[j, 4] *= weight
                if boxes[j, 4] < threshold:
                    boxes[j, :5] = boxes[count - 1, :5]
                    count -= 1
                    continue  # with the box that has come here
            j += 1
        if merge:
            boxes[i, :2], boxes[i, 2:4] = sums[0] / sums[1], sums[2] / sums[3]
    return boxes.astype(np.float32), count


def expected(stored, metadata):
    out = {}
    for case in stored.cases():
        for variant, options in VARIANTS.items():
            boxes, count = soft_nms(stored[case + ".in"], **options)
            out[f"{case}.{variant}.out"] = boxes
            out[f"{case}.{variant}.kept"] = np.array(count)
    return out


def tolerance(name, stored=None):
    return (0, 0, 0) if name.endswith("kept") else (0, 1e-4, 1)
