"""Turns the heads' maps into boxes."""

import numpy as np
import torch

FILE = "decode"


def peaks(heat, kernel):
    """heat (B, C, H, W) where a cell has the largest value of the kernel x kernel cells around it, else 0."""
    reach = kernel // 2
    padded = np.pad(heat, [(0, 0), (0, 0), (reach, reach), (reach, reach)], constant_values=-np.inf)
    highest = np.full_like(heat, -np.inf)
    for dy in range(kernel):
        for dx in range(kernel):
            highest = np.maximum(highest, padded[:, :, dy:dy + heat.shape[2], dx:dx + heat.shape[3]])
    return np.where(heat == highest, heat, np.float32(0))


def corners(heat, count):
    """The `count` best cells of heat (C, H, W): (score, class, y, x), best first."""
    order = np.argsort(-heat.reshape(-1), kind="stable")[:count]
    return [(heat.reshape(-1)[i], *np.unravel_index(i, heat.shape)) for i in order]


def pairs(heats, tags, offs, K, ae_threshold, no_border=False):
    """All boxes of one image from its K best corners of both kinds, best first. Row: x0 y0 x1 y1, score, the corners'
    scores, class. `heats`, `tags` (1, H, W) and `offs` (2, H, W) are pairs: top left, bottom right."""
    height, width = heats[0].shape[1:]
    rows = []
    for tl_score, tl_class, tl_y, tl_x in corners(heats[0], K):
        for br_score, br_class, br_y, br_x in corners(heats[1], K):
            x0, y0 = tl_x + offs[0][0, tl_y, tl_x], tl_y + offs[0][1, tl_y, tl_x]
            x1, y1 = br_x + offs[1][0, br_y, br_x], br_y + offs[1][1, br_y, br_x]
            apart = abs(tags[0][0, tl_y, tl_x] - tags[1][0, br_y, br_x])
            refused = tl_class != br_class or apart > ae_threshold or x1 < x0 or y1 < y0
            if no_border:
                refused = refused or tl_y == 0 or tl_x == 0 or br_y == height - 1 or br_x == width - 1
            score = -1 if refused else (tl_score + br_score) / 2
            rows.append([x0, y0, x1, y1, score, tl_score, br_score, tl_class])
    return sorted(rows, key=lambda row: -row[4])


def decode(maps, K, kernel, ae_threshold, num_dets, no_border=False):
    """Detections (B, num_dets, 8) of raw maps."""
    heats = [peaks(torch.sigmoid(torch.from_numpy(maps[f"{corner}_heat"])).numpy(), kernel) for corner in ("tl", "br")]
    of_images = []
    for b in range(len(heats[0])):
        tags, offs = ([maps[f"{corner}_{kind}"][b] for corner in ("tl", "br")] for kind in ("tag", "off"))
        rows = pairs([heat[b] for heat in heats], tags, offs, K, ae_threshold, no_border)
        of_images.append(np.array(rows[:num_dets], np.float32))
    return np.stack(of_images)


def expected(stored, metadata):
    out = {}
    for case in stored.cases():
        found = decode(stored.below(case + ".in."), **metadata[case])
        out[case + ".out.detections"] = found
        out[case + ".out.n_valid"] = (found[:, :, 4] > -1).sum(axis=1)
    return out


def tolerance(name, stored=None):
    return (0, 0, 0) if name.endswith("n_valid") else (1e-5, 0, 0)


def share(name, got, wanted, limits):
    """How much of the tolerance is used. Rows that were refused may be any: only their scores are compared."""
    if name.endswith("n_valid"):
        return 0 if (got == wanted).all() else np.inf
    worst = 0
    for mine, theirs in zip(got, wanted):
        count = (theirs[:, 4] > -1).sum()
        if not (theirs[count:, 4] == mine[count:, 4]).all():
            return np.inf
        worst = max(worst, abs(mine[:count] - theirs[:count]).max(initial=0) / limits[0])
    return worst
