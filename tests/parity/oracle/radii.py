"""The table of Gaussian radii."""

import csv

from . import gaussian

FILE = "gaussian_radius.csv"
HEADER = ["height", "width", "min_overlap", "radius_double", "radius_int"]


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == HEADER
    return rows[1:]


def write(path, sizes):
    with open(path, "w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(HEADER)
        for height, width, overlap in sizes:
            radius = gaussian.radius_of(height, width, overlap)
            lines.writerow([height, width, overlap, repr(radius), gaussian.whole_radius(height, width, overlap)])


def worst(rows):
    """The largest difference of a radius, and how many whole radii differ."""
    apart, wrong = 0, 0
    for *size, radius, whole in rows:
        size = [float(text) for text in size]
        apart = max(apart, abs(gaussian.radius_of(*size) - float(radius)))
        wrong += gaussian.whole_radius(*size) != int(whole)
    return apart, wrong
