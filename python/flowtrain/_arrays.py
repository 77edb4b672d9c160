"""Pictures and labels that Python holds, in the form in which the native data set looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

#: Images u8 (n, height, width, channels), labels i64 (n,), names of the classes or nothing.
Arrays = tuple[numpy.ndarray, numpy.ndarray, list[str]]


def as_arrays(images: Any, labels: Any, class_names: Sequence[str] | None) -> Arrays:
    """Views of both; what is not laid out row by row, or is no i64, is copied. Raises TypeError and ValueError."""
    pixels = numpy.asarray(images)
    if pixels.dtype != numpy.uint8:
        raise TypeError(f"images are {pixels.dtype}: expected uint8, as pictures are stored")
    if pixels.ndim == 3:
        pixels = pixels[..., numpy.newaxis]
    if pixels.ndim != 4 or not 1 <= pixels.shape[3] <= 4:
        raise ValueError(f"images have the shape {numpy.shape(images)}: expected (n, height, width) or (n, height, "
                         "width, channels); images.transpose(0, 2, 3, 1) puts channels last")
    classes = numpy.asarray(labels)
    if classes.dtype.kind not in "iu":
        raise TypeError(f"labels are {classes.dtype}: expected whole numbers, the indices of classes from 0")
    if classes.shape != pixels.shape[:1]:
        raise ValueError(f"labels have the shape {classes.shape}: expected ({len(pixels)},), one for each picture")
    return (numpy.ascontiguousarray(pixels), numpy.ascontiguousarray(classes, dtype=numpy.int64),
            list(class_names or ()))
