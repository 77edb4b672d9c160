"""CornerNet's way from a picture to the net's input, and from the net's boxes to those of the picture."""

import numpy as np

from .nms import soft_nms
from .picture import MEAN, STD, paste, resize_bytes

FILE = "postproc"
METHODS = {"nms": "hard", "linear_soft_nms": "linear", "exp_soft_nms": "exp"}


def net_input(image, scale, flipped):
    """The picture at `scale` in the middle of one with sides of 128 k - 1, normalised, (1 or 2, 3, h, w); and the
    place, top and left, where it begins."""
    size = [int(side * scale) for side in image.shape[:2]]
    sides = [side | 127 for side in size]
    small = resize_bytes(image, *size)
    pasted, filled = paste(small, (size[0] // 2, size[1] // 2), *sides)
    values = ((pasted / 255 - MEAN) / STD).transpose(2, 0, 1)
    return np.stack([values, values[:, :, ::-1]] if flipped else [values]).astype(np.float32), (filled[0], filled[2])


def to_picture(dets, sides, start, size, scale, config):
    """The net's boxes (1 or 2, n, 8) as rows of the picture's coordinates."""
    outs = [(side + 1) // ((whole + 1) // cells) for side, whole, cells in
            zip(sides, config["input_size"], config["output_sizes"][0])]
    dets = dets.astype(np.float64)
    if len(dets) > 1:
        dets[1][:, [0, 2]] = outs[1] - dets[1][:, [2, 0]]
    rows = dets.reshape(-1, 8)
    for axis, columns in enumerate(([1, 3], [0, 2])):
        at_input = rows[:, columns] / (outs[axis] / sides[axis]) - start[axis]
        rows[:, columns] = np.clip(at_input, 0, size[axis]) / scale
    return rows


def best_boxes(of_classes, most):
    """Leaves the boxes whose score is at least that of the `most`-th best one of all classes."""
    scores = np.sort(np.concatenate([boxes[:, 4] for boxes in of_classes]))
    least = scores[-most] if len(scores) > most else -np.inf
    return [boxes[boxes[:, 4] >= least] for boxes in of_classes]


def expected(stored, metadata):
    out = {}
    for case in stored.cases():
        config = metadata[case]
        image = stored[case + ".in.image_bgr"]
        rows = []
        for i, scale in enumerate(config.get("test_scales", [1])):
            inputs, start = net_input(image, scale, config.get("test_flipped", True))
            add_net_input(out, f"{case}.scale{i}", inputs, f"{case}.scale{i}.net_input" in stored)
            size = [int(side * scale) for side in image.shape[:2]]
            rows.append(to_picture(stored[f"{case}.scale{i}.raw_dets"], inputs.shape[2:], start, size, scale, config))
        rows = np.concatenate(rows)
        rows = rows[rows[:, 4] > -1]
        after = []
        for j in range(config["categories"]):
            boxes = rows[rows[:, 7] == j][:, :7].astype(np.float32)
            out[f"{case}.class{j + 1}.before_nms"] = boxes
            # What soft-NMS says of how many boxes it kept is not looked at.
            after.append(soft_nms(boxes, METHODS[config.get("nms_algorithm", "exp_soft_nms")],
                                  Nt=config["nms_threshold"], merge=config.get("merge_bbox", False),
                                  weight_exp=config.get("weight_exp", 8))[0][:, :5])
        for j, boxes in enumerate(best_boxes(after, config["max_per_image"])):
            out[f"{case}.class{j + 1}.out"] = boxes
    return out


def add_net_input(out, name, images, whole):
    """What is kept of images for the net: all, or some rows and the sums of channels."""
    if whole:
        out[name + ".net_input"] = images
        return
    out[name + ".net_input_rows"] = images[:, :, ::64, ::8]
    out[name + ".net_input_sum"] = images.astype(np.float64).sum(axis=(2, 3))


def tolerance(name, stored=None):
    if ".net_input" in name:
        return (0.02, 0, 0)  # a level more or less, where the scale is not 1
    return (1e-5, 0, 0) if name.endswith("before_nms") else (1e-4, 0, 0)


def share(name, got, wanted, limits):
    """How much of the tolerance is used: coordinates of boxes have 1e-3, scores their own limit."""
    limit = np.full(got.shape[-1], limits[0])
    if "class" in name:
        limit[:4] = 1e-3
    return (abs(got.astype(np.float64) - wanted) / limit).max(initial=0)
