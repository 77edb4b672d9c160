"""The augmentation of all peers, in numbers. Standard library only."""

import math

BATCH = 64
MEAN = (0.485, 0.456, 0.406)  # ImageNet's, of values in 0 … 1
DEVIATION = (0.229, 0.224, 0.225)
SCALE = (0.08, 1)  # share of the area
RATIO = (3 / 4, 4 / 3)  # width / height


def random_cut(width, height, uniform):
    """Returns a random resized crop: left, top, width, height. `uniform(low, high)` draws a number."""
    for _ in range(10):
        area = width * height * uniform(*SCALE)
        ratio = math.exp(uniform(*map(math.log, RATIO)))
        cut_width, cut_height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < cut_width <= width and 0 < cut_height <= height:
            return round(uniform(0, width - cut_width)), round(uniform(0, height - cut_height)), cut_width, cut_height
    return 0, 0, width, height
