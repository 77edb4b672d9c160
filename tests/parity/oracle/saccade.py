"""CornerNet-Saccade's search of a picture: glances, where to look next, and the boxes of all of them."""

import numpy as np

from . import postproc
from .decode import peaks as peaks_of
from .nms import soft_nms
from .picture import MEAN, STD, paste, resize
from .postproc import METHODS, add_net_input, best_boxes

FILE = "saccade_test"


def location_nms(locations, thresh):
    """Thins out rows y, x, scale, score: best first, without those near a better one in a row or a column."""
    order = list(reversed(sorted(range(len(locations)), key=lambda i: locations[i][3])))
    kept = []
    while order:
        best, order = order[0], order[1:]
        y, x, scale, _ = locations[best]
        kept.append(best)

        def is_near(other):
            apart = min(abs(locations[other][0] - y), abs(locations[other][1] - x))
            return apart <= thresh / scale and 0.8 <= scale / locations[other][2] <= 1.2
        order = [other for other in order if not is_near(other)]
    return np.array([locations[i] for i in kept], np.float64).reshape(-1, 4)


def reference_locations(dets):
    """Where good boxes (n, 8) are to be looked at again: their centres, at a scale that follows from the long side."""
    rows = []
    for x0, y0, x1, y1, score in np.asarray(dets, np.float64)[:, :5]:
        if score > 0.5:
            side = max(x1 - x0, y1 - y0)
            wanted = 192 if side > 96 else 64 if side > 32 else 24
            rows.append([(y0 + y1) / 2, (x0 + x1) / 2, wanted / side, 1])
    return np.array(rows, np.float64).reshape(-1, 4)


def attention_peaks(maps, kernels):
    """Each map (B, 1, z, z) where it is the largest value around, else 0."""
    return [peaks_of(each, kernel) for each, kernel in zip(maps, kernels)]


def attended(maps, scales, offsets, height, width, thresh, ignore_same=False, att_scales=(1, 2, 4),
             att_ratios=(16, 8, 4)):
    """The locations that attention maps point at: rows y, x, scale, score; by image, map, and row by row."""
    rows = []
    for b, scale in enumerate(np.asarray(scales, np.float64)):
        for each, factor, ratio in zip(maps, att_scales, att_ratios):
            for cell_y, cell_x in np.argwhere(each[b, 0] > np.float32(thresh)):
                y, x = cell_y * ratio / scale + offsets[b][0], cell_x * ratio / scale + offsets[b][1]
                inside = 0 <= y < height and 0 <= x < width
                if inside and scale <= 2 and scale * factor <= 4 and not (ignore_same and factor <= 1):
                    rows.append([y, x, scale * factor, each[b, 0, cell_y, cell_x]])
    return np.array(rows, np.float64).reshape(-1, 4)


def cut(picture, location, size):
    """What is around a location (y, x, scale) of a picture (H, W, 3), enlarged to `size`; and the crop's place."""
    y, x, scale = int(location[0]), int(location[1]), float(location[2])
    sides = [int(side / scale) for side in size]
    pieces, extents, middles = [], [], []
    for middle, side, whole, extent in zip((y, x), sides, size, picture.shape):
        begin, end = max(middle - side // 2, 0), min(middle + side // 2, extent)
        factor = whole / side
        pieces.append(slice(begin, end))
        middles.append(int((middle - begin) * factor))
        extents.append(middles[-1] + int((end - middle) * factor))
    pasted, _ = paste(resize(picture[pieces[0], pieces[1]], *extents), middles, *size)
    return pasted, [y - sides[0] // 2, x - sides[1] // 2]


def prepare(picture, locations, size):
    """Crops (n, 3, h, w) and their places (n, 2)."""
    crops = [cut(picture.transpose(1, 2, 0), location, size) for location in locations]
    images = np.stack([image.transpose(2, 0, 1) for image, _ in crops]).astype(np.float32)
    return images, np.array([place for _, place in crops], np.float32)


def to_input(dets, input_size, output_size):
    """Boxes of the net's maps as boxes of the net's input."""
    dets = np.array(dets, np.float64)
    for axis, columns in enumerate(([1, 3], [0, 2])):
        dets[:, :, columns] /= output_size[axis] / input_size[axis]
    return dets


def to_picture(dets, scales, offsets):
    """Boxes of crops as boxes of the picture."""
    dets = np.array(dets, np.float64)
    for crop, scale, (y, x) in zip(dets, scales, offsets):
        crop[:, :4] = crop[:, :4] / scale + [x, y, x, y]
    return dets


def search(image, answers, config):
    """The whole search of a picture of bytes (H, W, 3). answers(i, n): the boxes and attention maps of the net's i-th
    call, for n crops. Returns for each call the locations and the net's input, and the boxes (n, 8) of all calls."""
    picture = (image / 255).transpose(2, 0, 1)
    height, width = image.shape[:2]
    size = config["input_size"]
    locations = np.array([[height // 2, width // 2, side / max(height, width), 1] for side in config["init_sizes"]],
                         np.float32)
    visited, inputs, found = [], [], []
    for call in range(len(config["att_thresholds"]) + 1):
        visited.append(locations)
        images, offsets = prepare(picture, locations[:, :3], size)
        images = ((images - MEAN[:, None, None]) / STD[:, None, None]).astype(np.float32)  # what is outside, too
        inputs.append(images)
        dets, maps = answers(call, len(locations))
        assert len(dets) == len(locations), f"call {call}: {len(dets)} answers for {len(locations)} crops"
        scales = locations[:, 2]
        dets = to_picture(to_input(dets, size, config["output_sizes"][0]), scales, offsets)
        dets = dets.reshape(-1, 8)
        dets = dets[dets[:, 4] > 0.3] if call == 0 else dets[dets[:, 4] > -1]
        found.append(dets)
        if call == len(config["att_thresholds"]):
            break
        peaks = attention_peaks(maps, config["att_nms_ks"])
        locations = attended(peaks, scales, offsets, height, width, config["att_thresholds"][call], call > 0,
                             config["att_scales"][call], config["att_ratios"])
        if config["ref_dets"]:
            locations = np.concatenate([locations, reference_locations(dets)])
        locations = location_nms(locations, 16)[:config["att_max_crops"]]
    return visited, inputs, np.concatenate(found)


def settle(rows, config):
    """The boxes (m, 5) of each class: soft-NMS, then the best ones of all classes."""
    after = []
    for j in range(config["categories"]):
        boxes = rows[rows[:, 7] == j][:, :7].astype(np.float32)
        boxes, kept = soft_nms(boxes, METHODS[config["nms_algorithm"]], Nt=config["nms_threshold"], sigma=0.7)
        after.append(boxes[:kept, :5])
    return best_boxes(after, config["max_per_image"])


DEFAULTS = {"init_sizes": [192, 255], "att_ratios": [16, 8, 4], "att_nms_ks": [3, 3, 3], "ref_dets": True,
            "nms_algorithm": "exp_soft_nms"}


def expected_run(case, stored, metadata, out):
    config = DEFAULTS | metadata["config"]

    def answers(call, count):
        given = stored.below(f"{case}.call{call}.")
        return given["dets"], [given[name] for name in sorted(given) if name.startswith("att")]
    visited, inputs, rows = search(stored[case + ".in.image_bgr"], answers, config)
    out[case + ".locations0"] = visited[0][:, :3].astype(np.float32)
    out[case + ".locations1"] = visited[1]
    for call, images in enumerate(inputs):
        add_net_input(out, f"{case}.call{call}", images, False)
    for j, boxes in enumerate(settle(rows, config)):
        out[f"{case}.class{j + 1}.out"] = boxes


def expected(stored, metadata):
    out = {}
    for case in stored.cases("location_nms", depth=2):
        out[case + ".out"] = location_nms(stored[case + ".in"], 16)
    out["get_ref_locs.out"] = reference_locations(stored["get_ref_locs.in"]).astype(np.float32)
    peaks = attention_peaks([stored[f"att_nms.in{i}"] for i in range(3)], [3, 3, 3])
    out |= {f"att_nms.out{i}": each for i, each in enumerate(peaks)}
    given = peaks, stored["decode_atts.scales"], stored["decode_atts.offsets"], 200, 300, 0.3
    out["decode_atts.out_h200_w300_t0.3"] = attended(*given)
    out["decode_atts.out_ignore_same"] = attended(*given, ignore_same=True)

    size = metadata.get("prepare", {"input_size": [255, 255]})["input_size"]
    images, out["prepare.offsets"] = prepare(stored["prepare.image"], stored["prepare.locations"], size)
    out |= {f"prepare.images{i}": image for i, image in enumerate(images)}
    at_input = to_input(stored["remap.in"], [255, 255], [64, 64])
    out["remap.after_rescale"] = at_input.astype(np.float32)
    out["remap.out"] = to_picture(at_input, stored["remap.scales"], stored["remap.offsets"]).astype(np.float32)
    for case in stored.cases("saccade_run"):
        expected_run(case, stored, metadata, out)
    return out


def tolerance(name, stored=None):
    if name.endswith("net_input_sum"):
        return 1e-5 * 255 * 255, 0, 0  # 1e-5 of the mean
    return (0, 0, 0) if name.startswith("att_nms") else (1e-3, 0, 0) if name.startswith("remap") else (1e-4, 0, 0)


def share(name, got, wanted, limits):
    """How much of the tolerance is used."""
    if ".class" in name:
        return postproc.share(name, got, wanted, limits)
    apart = abs(got.astype(np.float64) - wanted).max(initial=0)
    return apart / limits[0] if limits[0] else 0 if apart == 0 else np.inf
