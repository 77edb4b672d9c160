"""The Gaussians of the heat maps and their radii."""

import math

import numpy as np

FILE = "gaussian"


def kernel(radius):
    """A Gaussian of standard deviation (2 radius + 1) / 6 on a square; what is below eps of its peak is 0."""
    sigma = (2 * radius + 1) / 6
    side = range(-radius, radius + 1)
    values = np.array([[math.exp(-(x * x + y * y) / (2 * sigma * sigma)) for x in side] for y in side])
    values[values < np.finfo(np.float64).eps * values.max()] = 0
    return values


def draw(heat, x, y, radius):
    """Raises heat (H, W) to a Gaussian around cell (x, y); what is outside of the map is left out."""
    values = kernel(radius)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            to_y, to_x = y + i - radius, x + j - radius
            if 0 <= to_y < heat.shape[0] and 0 <= to_x < heat.shape[1]:
                heat[to_y, to_x] = max(heat[to_y, to_x], np.float32(value))


def radius_of(height, width, overlap):
    """How far both corners of a box may move so that it still overlaps with itself by `overlap` (IoU).

    The least of three: one corner moves in and the other one out, both move in, both move out.
    """
    around, area = height + width, height * width
    one_in_one_out = (around - math.sqrt(around**2 - 4 * area * (1 - overlap) / (1 + overlap))) / 2
    both_in = (2 * around - math.sqrt(4 * around**2 - 16 * (1 - overlap) * area)) / 8
    both_out = (-2 * overlap * around
                + math.sqrt(4 * overlap**2 * around**2 + 16 * overlap * (1 - overlap) * area)) / (8 * overlap)
    return min(one_in_one_out, both_in, both_out)


def whole_radius(height, width, overlap):
    return max(0, int(radius_of(height, width, overlap)))


def expected(stored, metadata):
    out = {}
    for name in stored:
        if name.startswith("kernel.r"):
            out[name] = kernel(int(name[len("kernel.r"):]))
        if name.endswith(".heat"):
            heat = np.zeros(dict.__getitem__(stored, name).shape, np.float32)  # only its size is looked at
            for x, y, radius in stored[name.replace(".heat", ".calls")]:
                draw(heat, x, y, radius)
            out[name] = heat
    return out


def tolerance(name, stored=None):
    return (1e-9, 0, 0) if name.startswith("kernel") else (1e-6, 0, 0)
