"""Training samples of CornerNet, Squeeze and Saccade from recorded draws."""

import json

import numpy as np

from . import gaussian
from . import name_numbers as numbers
from .picture import MEAN, STD, paste, resize_bytes

FILE = "sampler"
DRAWS = "sampler_draws.json"
MOST = 128  # objects
EIGENVALUES = np.array([0.2141788, 0.01817699, 0.00341571])
EIGENVECTORS = np.array([[-0.58752847, -0.69563484, 0.41340352], [-0.5832747, 0.00994535, -0.81221408],
                         [-0.56089297, 0.71832671, 0.41158938]])
GREY = np.array([0.114, 0.587, 0.299])  # of blue, green, red


class Draws:
    """What was drawn, in order; another kind or another range than is asked for is an error."""

    def __init__(self, rows):
        self.rows = list(rows)

    def __call__(self, kind, *asked):
        drawn, given, named, result = self.rows.pop(0)
        assert drawn == kind, f"a {kind} is needed, but a {drawn} was drawn"
        if kind == "randint":
            given = [named["low"], named["high"]] if named else [0, *given][-2:]
        if kind in ("randint", "choice"):
            assert list(asked) == list(given), f"drawn from {given} instead of {asked}"
        return result


class MadeDraws:
    """Draws that follow from a name, recorded as rows for Draws."""

    def __init__(self, name):
        self.name, self.rows = name, []

    def __call__(self, kind, *asked):
        name = f"{self.name}.draw{len(self.rows)}"
        u = float(numbers.unit(name, [1])[0])
        assert kind != "randint" or asked[0] < asked[1], f"{name}: nothing to draw from in {asked}"
        if kind == "shuffle":
            result = [asked[0][i] for i in np.argsort(numbers.unit(name, [3]))]
        else:
            result = {"choice": lambda: asked[0][int(u * len(asked[0]))],
                      "randint": lambda: asked[0] + int(u * (asked[1] - asked[0])),
                      "uniform": lambda: u, "data.uniform": lambda: (2 * u - 1) * 0.4,
                      "data.normal": lambda: numbers.uniform(name, [3], 0.2).tolist()}[kind]()
        self.rows.append([kind, list(asked) if kind in ("choice", "randint") else [], {}, result])
        return result


def scales_of(config):
    """The scales that one is drawn from: a null stands for the range."""
    if config.get("rand_scales", 1) is not None:
        return config.get("rand_scales", [1])
    ends = [config.get("rand_scale_" + end, usual) for end, usual in (("min", 0.8), ("max", 1.4), ("step", 0.2))]
    return np.arange(*ends).tolist()


def clip(boxes, top, bottom, left, right):
    """Boxes cut off at a rectangle whose ends belong to it, and which of them still have an area."""
    boxes = boxes.copy()
    boxes[:, [0, 2]] = np.clip(boxes[:, [0, 2]], left, right)
    boxes[:, [1, 3]] = np.clip(boxes[:, [1, 3]], top, bottom)
    return boxes, (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])


def flip(image, boxes):
    boxes = boxes.copy()
    boxes[:, [0, 2]] = image.shape[1] - boxes[:, [2, 0]] - 1
    return image[:, ::-1].copy(), boxes


def shift(boxes, x, y):
    return boxes + np.array([x, y, x, y, 0], np.float32)


def border_of(size, border):
    """The border that a crop's centre keeps, halved until it leaves room."""
    part = 1
    while size - border // part <= border // part:
        part *= 2
    return border // part


def cut_cornernet(image, boxes, config, draws):
    """The picture of bytes at input size, and the boxes in it."""
    size = config["input_size"]
    if config.get("rand_crop"):
        scale = draws("choice", config["rand_scales"])
        sides = [int(side * scale) for side in size]
        borders = [border_of(extent, config.get("border", 64)) for extent in image.shape[:2]]
        centre_x = draws("randint", borders[1], image.shape[1] - borders[1])
        centre_y = draws("randint", borders[0], image.shape[0] - borders[0])
        image, _ = paste(image, (centre_y, centre_x), *sides)
        boxes = shift(boxes, sides[1] // 2 - centre_x, sides[0] // 2 - centre_y)
    ratios = [whole / side for whole, side in zip(size, image.shape)]
    image = resize_bytes(image, *size)
    boxes = boxes.copy()
    boxes[:, [0, 2]] *= np.float32(ratios[1])
    boxes[:, [1, 3]] *= np.float32(ratios[0])
    boxes, has_area = clip(boxes, 0, size[0] - 1, 0, size[1] - 1)
    boxes = boxes[has_area]
    if draws("uniform") > 0.5:
        image, boxes = flip(image, boxes)
    return image, boxes


def crop_middle(ends, extent, side, centred, draws):
    """Where the middle of Saccade's crop lies on an axis of `extent`; `ends` are the reference object's, or None."""
    if extent <= side:
        return extent // 2
    if ends is None:
        return draws("randint", 0, extent - side + 1) + side // 2
    begin, end = int(ends[0]), int(ends[1])
    if not centred:
        return draws("randint", max(end - side, 0), min(extent - side, begin) + 1) + side // 2
    middle = int((ends[0] + ends[1]) // 2)
    lower = max(middle - draws("randint", 0, 15), 0)
    upper = min(middle + draws("randint", 0, 15), extent - 1)
    return draws("randint", lower, upper + 1)


def target_side(side, draws):
    """The long side that the reference object is to have."""
    return draws("randint", *((96, 255) if side > 96 else (32, 97) if side > 32 else (16, 33)))


def cut_saccade(image, boxes, config, draws):
    """The picture of bytes at input size; the boxes in it; the same boxes scaled but not cut; and their indices."""
    height, width = image.shape[:2]
    scaled, has_area = clip(boxes, 0, height - 1, 0, width - 1)
    indices = np.flatnonzero(has_area)
    if len(indices) == 0 or (config.get("rand_crop") and draws("uniform") < 0.3):
        reference, scale = None, draws("choice", config["rand_scales"])
    else:
        reference = indices[draws("randint", 0, len(indices))]
        x0, y0, x1, y1 = scaled[reference, :4]
        side = float(max(x1 - x0, y1 - y0))
        scale = target_side(side, draws) / side
    sides = int(height * scale), int(width * scale)
    image = resize_bytes(image, *sides)
    whole = boxes.copy()
    whole[:, :4] = whole[:, :4] * np.float32(scale)
    size = config["input_size"]
    centred = config.get("rand_center", True) and draws("uniform") > 0.5 and reference is not None
    ends = None if reference is None else whole[reference]
    middle_x = crop_middle(None if ends is None else ends[[0, 2]], sides[1], size[1], centred, draws)
    middle_y = crop_middle(None if ends is None else ends[[1, 3]], sides[0], size[0], centred, draws)
    image, (top, bottom, left, right) = paste(image, (middle_y, middle_x), *size)
    whole = shift(whole, size[1] // 2 - middle_x, size[0] // 2 - middle_y)[indices]
    cut, has_area = clip(whole, top, bottom - 1, left, right - 1)
    cut, whole = cut[has_area], whole[has_area]
    if draws("uniform") > 0.5:
        image, cut = flip(image, cut)
    return image, cut, whole


def grey(image):
    return (image * GREY).sum(axis=2)


def jitter(image, draws):
    """Brightness, contrast and saturation in a drawn order; grey is that of the picture before all of them."""
    shades = grey(image)[:, :, None]
    average = shades.mean()
    for name in draws("shuffle", ["brightness", "contrast", "saturation"]):
        factor = 1 + draws("data.uniform")
        other = {"brightness": 0, "contrast": average, "saturation": shades}[name]
        image = image * factor + other * (1 - factor)
    return image


def lighting(image, draws):
    return image + EIGENVECTORS @ (EIGENVALUES * np.array(draws("data.normal")))


def radius(box, ratios, config):
    """Of a box's Gaussians, in cells."""
    if config.get("gaussian_radius", -1) >= 0:
        return config["gaussian_radius"]
    width = np.ceil(float(box[2] - box[0]) * ratios[1])
    height = np.ceil(float(box[3] - box[1]) * ratios[0])
    return gaussian.whole_radius(height, width, config["gaussian_iou"])


def targets(boxes, is_good, config, saccade):
    """Heat maps, tags and offsets of the good boxes; for Saccade also where the maps are valid."""
    size, cells = config["input_size"], config["output_sizes"][0]
    ratios = [out / side for out, side in zip(cells, size)]
    shape = (config["categories"], *cells)
    out = {"mask": np.zeros(MOST, np.uint8)}
    others = {}
    for corner in ("tl", "br"):
        out[corner + "_heat"], others[corner] = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        out[corner + "_off"], out[corner + "_ind"] = np.zeros((MOST, 2), np.float32), np.zeros(MOST, np.int64)
    objects = 0
    for box, good in zip(boxes, is_good):
        for corner, (x, y) in (("tl", box[:2]), ("br", box[2:4])):
            x, y = float(x) * ratios[1], float(y) * ratios[0]
            heat = (out[corner + "_heat"] if good else others[corner])[int(box[4]) - 1]
            if config.get("gaussian_bump") or saccade:
                gaussian.draw(heat, int(x), int(y), radius(box, ratios, config))
            else:
                heat[int(y), int(x)] = 1
            if good:
                out[corner + "_off"][objects] = x - int(x), y - int(y)
                out[corner + "_ind"][objects] = int(y) * cells[1] + int(x)
        objects += bool(good)
    out["mask"][:objects] = 1
    if saccade:
        out |= {corner + "_valid": (drawn == 0).astype(np.float32) for corner, drawn in others.items()}
    return out


def attention(boxes, config):
    """A map for each range of long sides: 1 where the centre of such a box lies."""
    out = {}
    sizes, ratios = config.get("att_sizes", [16, 32, 64]), config.get("att_ratios", [16, 8, 4])
    ranges = config.get("att_ranges", [[96, 256], [32, 96], [0, 32]])
    for i, (size, ratio, (least, most)) in enumerate(zip(sizes, ratios, ranges)):
        side = size if isinstance(size, list) else [size, size]
        out[f"att{i}"] = np.zeros((1, *side), np.float32)
        for x0, y0, x1, y1 in boxes[:, :4]:
            if least <= max(x1 - x0, y1 - y0) <= most:
                out[f"att{i}"][0, int((y0 + y1) / 2 / ratio), int((x0 + x1) / 2 / ratio)] = 1
    return out


def are_good(cut, whole, config):
    """Boxes of which more than half is left, and whose long side is not below min_scale."""
    area = (cut[:, 2] - cut[:, 0]) * (cut[:, 3] - cut[:, 1])
    of_whole = (whole[:, 2] - whole[:, 0]) * (whole[:, 3] - whole[:, 1])
    ends = np.trunc(cut[:, :4])
    side = np.maximum(ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1])
    return (area / of_whole > 0.5) & (side >= config.get("min_scale", 16))


def sample(saccade, config, draws, image, boxes):
    """All that a sample consists of, and the stages of its picture."""
    config = {key: value for key, value in config.items() if value is not None} | {"rand_scales": scales_of(config)}
    out = {}
    if saccade:
        image, boxes, whole = cut_saccade(image, boxes, config, draws)
        out |= attention(boxes, config)
        out |= targets(boxes, are_good(boxes, whole, config), config, True)
    else:
        image, boxes = cut_cornernet(image, boxes, config, draws)
        out |= targets(boxes, np.ones(len(boxes), bool), config, False)
    out = {"out." + name: values for name, values in out.items()}
    out["stage.u8_hwc"] = image
    values = image / 255
    if config.get("rand_color") or saccade:
        values = jitter(values, draws)
        out["stage.after_jitter"] = values
        if config.get("lighting", True) or saccade:
            values = lighting(values, draws)
    out.setdefault("stage.after_jitter", values)
    out["stage.after_lighting"] = values
    out["out.image"] = ((values - MEAN) / STD).transpose(2, 0, 1).astype(np.float32)
    for stage in ("stage.after_jitter", "stage.after_lighting"):
        out[stage] = out[stage][::4, ::4].astype(np.float32)
    return out


def read_draws(folder):
    with open(f"{folder}/{DRAWS}") as file:
        return json.load(file)


def expected(stored, metadata, recorded):
    out = {}
    for name, all_samples in recorded.items():
        for i, rows in enumerate(all_samples["samples"]):
            case = f"{name}.{i}."
            draws = Draws(rows)
            values = sample(name == "saccade", all_samples["config"], draws, stored[case + "in.image_bgr"],
                            stored[case + "in.boxes"])
            assert not draws.rows, case + " draws are left over"
            out |= {case + key: value for key, value in values.items()}
    return out


def tolerance(name, stored=None):
    kind = name.split(".")[-1]
    if kind in ("after_jitter", "after_lighting", "tl_off", "br_off"):
        return 1e-5, 0, 0
    return {"image": (0, 1e-5, 1), "tl_heat": (1e-6, 0, 0), "br_heat": (1e-6, 0, 0)}.get(kind, (0, 0, 0))
