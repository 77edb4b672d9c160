"""Maps to decode, boxes to thin out, and what the nets are to answer when pictures are searched."""

import numpy as np

from oracle import name_numbers as numbers
from oracle import saccade

from . import PREFIX


def decode():
    shapes = {"cornernet_like": (1, 3, 8, 10), "squeeze_like": (2, 2, 7, 9), "saccade_like": (2, 2, 8, 8),
              "kernel1": (1, 2, 5, 5)}
    metadata = {"cornernet_like": {"K": 12, "kernel": 3, "ae_threshold": 0.5, "num_dets": 60},
                "squeeze_like": {"K": 6, "kernel": 3, "ae_threshold": 0.5, "num_dets": 12},
                "saccade_like": {"K": 8, "kernel": 3, "ae_threshold": 0.3, "num_dets": 8, "no_border": True},
                "kernel1": {"K": 6, "kernel": 1, "ae_threshold": 1, "num_dets": 20}}
    tensors = {}
    for case, (batch, classes, height, width) in shapes.items():
        for corner in ("tl", "br"):
            for kind, channels, scale, shift in (("heat", classes, 4, 0), ("tag", 1, 0.5, 0), ("off", 2, 0.5, 0.5)):
                name = f"{case}.in.{corner}_{kind}"
                tensors[name] = numbers.uniform(PREFIX + name, [batch, channels, height, width], scale, shift)
    return tensors, metadata


def boxes(name, count, extent, side, scores=(0.05, 0.95)):
    """count rows x0 y0 x1 y1, score, the corners' scores; corners within extent and sides up to `side`."""
    start = numbers.uniform(PREFIX + name + ".start", [count, 2], extent / 2, extent / 2)
    sides = numbers.uniform(PREFIX + name + ".sides", [count, 2], side / 2 - 1, side / 2 + 1)
    middle, reach = sum(scores) / 2, (scores[1] - scores[0]) / 2
    of_corners = numbers.uniform(PREFIX + name + ".scores", [count, 2], reach, middle)
    return np.concatenate([start, start + sides, of_corners.mean(axis=1, keepdims=True), of_corners], axis=1)


def nms():
    same = boxes("same", 6, 40, 20)
    same[:, :4] = same[0, :4]
    tensors = {"dense.in": boxes("dense", 12, 12, 30), "many.in": boxes("many", 24, 60, 40), "same.in": same,
               "sparse.in": boxes("sparse", 5, 300, 12), "single.in": boxes("single", 1, 40, 20),
               "none.in": np.zeros([0, 7], np.float32)}
    return tensors, {}


def answers(name, images, count, cells, classes=2, crowd=0):
    """Detections (images, count, 8) of maps of so many cells; a fifth of them were refused. The first `crowd` of each
    image are the same box, so that soft-NMS drops some of them."""
    height, width = cells
    rows = boxes(name, images * count, 1, 1)
    rows[:, :4] = numbers.unit(PREFIX + name + ".corners", [len(rows), 4]) * [width / 2, height / 2, width / 2,
                                                                             height / 2]
    rows[:, 2:4] += rows[:, :2]
    rows[numbers.unit(PREFIX + name + ".refused", [len(rows)]) < 0.2, 4] = -1
    of_class = numbers.integers(PREFIX + name + ".class", [len(rows), 1], 0, classes)
    dets = np.concatenate([rows, of_class], axis=1).astype(np.float32).reshape(images, count, 8)
    dets[:, :crowd, :4] = dets[:, :1, :4]
    dets[:, :crowd, 7] = 0
    return dets


def picture(name, height, width):
    return numbers.integers(PREFIX + name, [height, width, 3], 0, 256).astype(np.uint8)


def postproc():
    base = {"rand_scales": None, "input_size": [511, 511], "categories": 2, "ae_threshold": 0.5, "nms_threshold": 0.5}
    metadata = {
        "cornernet": base | {"max_per_image": 8, "output_sizes": [[128, 128]], "test_scales": [1], "top_k": 100},
        # a width of 127 needs no more, so that its last column is dropped
        "squeeze": base | {"max_per_image": 40, "output_sizes": [[64, 64]], "test_scales": [1], "test_flipped": False,
                           "top_k": 20, "num_dets": 100},
        "multi": base | {"max_per_image": 100, "output_sizes": [[128, 128]], "test_scales": [0.5, 1, 1.5],
                         "top_k": 100, "merge_bbox": True, "weight_exp": 10},
        "linear": base | {"max_per_image": 100, "output_sizes": [[128, 128]], "test_scales": [1],
                          "nms_algorithm": "linear_soft_nms"},
    }
    sizes = {"cornernet": (30, 46), "squeeze": (12, 127), "multi": (26, 40), "linear": (20, 20)}
    tensors = {}
    for case, config in metadata.items():
        height, width = sizes[case]
        tensors[case + ".in.image_bgr"] = picture(case, height, width)
        stride = 512 // config["output_sizes"][0][0]
        for i, scale in enumerate(config["test_scales"]):
            cells = [((int(side * scale) | 127) + 1) // stride for side in (height, width)]
            images = 1 + config.get("test_flipped", True)
            tensors[f"{case}.scale{i}.raw_dets"] = answers(f"{case}.scale{i}", images, 12, cells, crowd=6)
    return tensors, metadata


CONFIG = {"rand_scales": None, "input_size": [63, 63], "output_sizes": [[16, 16]], "categories": 2, "top_k": 6,
          "num_dets": 8, "ae_threshold": 0.3, "nms_threshold": 0.5, "max_per_image": 30, "att_max_crops": 8,
          "att_scales": [[1, 2, 4]], "att_thresholds": [0.3], "min_scale": 16, "init_sizes": [40, 63]}


def attention(name, images, sides, least):
    """Maps of attention above `least` in some of their cells."""
    maps = []
    for j, side in enumerate(sides):
        values = numbers.unit(f"{PREFIX}{name}{j}", [images, 1, side, side])
        chosen = numbers.unit(f"{PREFIX}{name}{j}.chosen", values.shape) < 0.15
        maps.append(np.where(chosen, least + (1 - least) * values, least * values).astype(np.float32))
    return maps


def add_search(tensors, case, height, width, share):
    """What the net answers in a search: as many boxes as there are crops, which the search itself decides."""
    image = tensors[case + ".in.image_bgr"] = picture(case, height, width)

    def answer(call, count):
        dets = answers(f"{case}.call{call}", count, CONFIG["num_dets"], (24, 24), crowd=5)
        maps = attention(f"{case}.att", count, (4, 8, 16), 0.3) if call == 0 else []
        if call == 0:
            dets[:, :, 4] *= share
        tensors[f"{case}.call{call}.dets"] = dets
        tensors.update({f"{case}.call{call}.att{j}": each for j, each in enumerate(maps)})
        return dets, maps
    saccade.search(image, answer, saccade.DEFAULTS | CONFIG)


def saccade_test():
    tensors = {}
    for count in (1, 6, 14):
        rows = numbers.unit(f"{PREFIX}location_nms.{count}", [count, 4]) * [80, 120, 3.5, 1] + [0, 0, 0.5, 0]
        rows[:, 2] = np.round(rows[:, 2])  # so that some are of like scale
        rows[:, 2] = np.maximum(rows[:, 2], 0.5)
        tensors[f"location_nms.{count}.in"] = rows
    dets = answers("get_ref_locs", 1, 12, (64, 64))[0]
    dets[::3, 2:4] = dets[::3, :2] + [9, 25]  # small ones, and one larger than 96 below
    dets[1, 2:4] = dets[1, :2] + [130, 40]
    dets[::2, 4] = 0.6 + dets[::2, 5] / 4
    tensors["get_ref_locs.in"] = dets
    tensors |= {f"att_nms.in{j}": each for j, each in enumerate(attention("att_nms", 3, (4, 6, 8), 0.3))}
    tensors["decode_atts.scales"] = np.array([0.75, 1.5, 2.5], np.float32)
    tensors["decode_atts.offsets"] = np.array([[-20, -3], [174, 255], [40, 50]], np.float32)  # some point outside

    tensors["prepare.image"] = picture("prepare", 9, 16).transpose(2, 0, 1) / 255
    tensors["prepare.locations"] = np.array([[4, 8, 1], [0, 0, 1.3], [8, 15, 2], [3, 12, 3], [5, 2, 0.6]], np.float32)
    tensors["remap.in"] = answers("remap", 3, 3, (64, 64))
    tensors["remap.scales"] = np.array([0.5, 1.5, 2], np.float32)
    tensors["remap.offsets"] = np.array([[1, -2], [30, 4], [0, 0]], np.float32)
    add_search(tensors, "saccade_run", 40, 60, share=1)
    add_search(tensors, "saccade_run_few", 30, 22, share=0.4)
    return tensors, {"config": CONFIG, "prepare": {"input_size": [15, 15]}}
