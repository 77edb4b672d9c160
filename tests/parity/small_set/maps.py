"""Corner pooling, and the Gaussians of heat maps."""

import itertools

import numpy as np

from oracle import name_numbers as numbers

from . import PREFIX

# height, width, overlap
RADII = [(h, w, o) for (h, w), o in itertools.product(
    [(0, 0), (0, 7), (1, 1), (1, 2), (3, 40), (5, 5), (10, 17), (33, 12), (64, 64), (128, 3)], (0.3, 0.5, 0.7))]


def corner_pool():
    def of(case, *shape):
        return numbers.uniform(PREFIX + case, shape, 2)

    plain = of("rand", 2, 1, 5, 6)
    x = {
        "hand": np.array([[[[1, 3, 2], [3, 3, 0], [0, 2, 3]]]], np.float32),
        "one": of("one", 1, 1, 1, 1), "row": of("row", 1, 2, 1, 6), "col": of("col", 2, 1, 6, 1), "rand": plain,
        "pow2": of("pow2", 1, 1, 8, 8), "const": np.full([1, 1, 3, 4], 0.5, np.float32),
        "relu": np.maximum(of("relu", 1, 2, 5, 5), 0),  # ties at 0, as in the nets
        "ties": numbers.integers(PREFIX + "ties", [1, 2, 4, 5], 0, 3).astype(np.float32),
        "neg": of("neg", 1, 1, 4, 5) - 3,
        "inf": np.where(abs(of("inf", 1, 1, 5, 5)) > 1.4, np.copysign(np.inf, of("inf", 1, 1, 5, 5)),
                        of("inf2", 1, 1, 5, 5)).astype(np.float32),
    }
    tensors = {case + ".x": values for case, values in x.items()}
    tensors |= {case + ".g": of(case + ".g", *values.shape) for case, values in x.items()}
    return tensors, {}


def gaussian():
    draws = {"single": (8, 8, [(3, 4, 2)]), "corner00": (8, 8, [(0, 0, 3)]), "cornerbr": (6, 9, [(8, 5, 3)]),
             "edges": (7, 9, [(4, 0, 2), (4, 6, 2), (0, 3, 1), (8, 3, 4)]), "big": (6, 6, [(2, 3, 9)]),
             "overlap": (10, 10, [(4, 4, 3), (6, 5, 3), (4, 4, 1), (5, 5, 0)])}
    tensors = {f"draw.{case}.calls": np.array(calls, np.int64) for case, (_, _, calls) in draws.items()}
    # Filled in by the oracle: here they say which there are, and how large.
    for case, (height, width, _) in draws.items():
        tensors[f"draw.{case}.heat"] = np.zeros([height, width], np.float32)
    tensors |= {f"kernel.r{radius}": np.zeros([2 * radius + 1] * 2) for radius in (0, 1, 2, 5)}
    return tensors, {}
