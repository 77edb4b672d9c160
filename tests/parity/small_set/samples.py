"""Pictures and boxes for the samplers, and what the samplers are to draw."""

import numpy as np

from oracle import name_numbers as numbers
from oracle import sampler

from . import PREFIX
from .detection import picture

CORNERNET = {"categories": 2, "rand_scale_min": 0.6, "rand_scale_max": 1.4, "rand_scale_step": 0.1, "rand_scales": None,
             "rand_crop": True, "rand_color": True, "border": 16, "gaussian_bump": True, "gaussian_iou": 0.3,
             "input_size": [15, 15], "output_sizes": [[8, 8]]}
# A box that fills the crop is 21 pixels long, and so in two of the ranges.
SACCADE = {"categories": 2, "rand_scale_min": 0.5, "rand_scale_max": 1.1, "rand_scale_step": 0.1, "rand_scales": None,
           "gaussian_bump": True, "gaussian_iou": 0.5, "min_scale": 8, "view_sizes": [], "input_size": [23, 23],
           "output_sizes": [[12, 12]], "att_sizes": [2, 3, 6], "att_ranges": [[21, 40], [14, 21], [0, 14]]}
CONFIGS = {
    "cornernet": CORNERNET,
    "squeeze": CORNERNET | {"output_sizes": [[4, 4]]},
    # nothing by chance but the flip; no Gaussians
    "plain": {"categories": 2, "input_size": [15, 15], "output_sizes": [[8, 8]], "gaussian_iou": 0.7},
    "saccade": SACCADE,
}
# Of each sample the picture's height and width, how many boxes it has, how long those but the first may be, and the
# name of its draws, chosen so that there are crops of both kinds and pictures that are flipped.
SAMPLES = {
    "cornernet": [(22, 30, 5, 20, "d"), (14, 9, 2, 9, "g")],
    "squeeze": [(20, 26, 4, 20, "b")],
    "plain": [(18, 24, 3, 15, "c")],
    # A large object, several in a picture larger than the crop, none, and a small one that is not in the middle.
    "saccade": [(14, 124, 1, 0, "b"), (34, 40, 6, 30, "h"), (18, 20, 0, 0, "a"), (16, 18, 3, 10, "d")],
}


def boxes_of(name, height, width, count, longest):
    """Rows x0 y0 x1 y1 class: a large one, and others, some of them partly outside of the picture."""
    u = numbers.unit(PREFIX + name, [count, 5])
    sides = 2 + u[:, 2:4] * (longest - 2)
    start = u[:, :2] * [width, height] - sides / 4
    sides[:1], start[:1] = [0.8 * width, 0.9 * height], [0.1 * width + 0.3, 0.05 * height + 0.1]
    of_class = 1 + np.floor(u[:, 4:] * 2)
    return np.concatenate([start, start + sides, of_class], axis=1).astype(np.float32)


def inputs():
    """The tensors, no metadata, and the draws."""
    tensors, drawn = {}, {}
    for name, sizes in SAMPLES.items():
        drawn[name] = {"config": CONFIGS[name], "samples": []}
        for i, (height, width, count, longest, of_draws) in enumerate(sizes):
            case = f"{name}.{i}"
            image = tensors[case + ".in.image_bgr"] = picture(case, height, width)
            boxes = tensors[case + ".in.boxes"] = boxes_of(case, height, width, count, longest)
            draws = sampler.MadeDraws(f"{PREFIX}{case}.{of_draws}")
            sampler.sample(name == "saccade", CONFIGS[name], draws, image, boxes)
            drawn[name]["samples"].append(draws.rows)
    return tensors, {}, drawn
