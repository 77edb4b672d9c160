"""Logits, tags and offsets, with few, one or no objects."""

import numpy as np

from oracle import name_numbers as numbers

from . import PREFIX


def heat(name, shape, peaks):
    """A map of targets below 1, but for so many cells."""
    values = (0.95 * numbers.unit(PREFIX + name, shape)**3).astype(np.float32)
    order = np.argsort(numbers.unit(PREFIX + name + ".peaks", [values.size]))
    values.reshape(-1)[order[:peaks]] = 1
    return values


def mask(counts, objects):
    """Ones for the first objects of each image."""
    return np.array([[i < count for i in range(objects)] for count in counts], np.uint8)


def focal(tensors, case, stacks, peaks, scale=4.0, shape=(2, 2, 3, 4), masked=False):
    for s in range(stacks):
        tensors[f"{case}.in.logits{s}"] = numbers.uniform(f"{PREFIX}{case}.logits{s}", shape, scale)
    tensors[case + ".in.gt"] = heat(case, shape, peaks)
    if masked:
        tensors[case + ".in.mask"] = (numbers.unit(PREFIX + case + ".mask", shape) < 0.7).astype(np.float32)


def ae(tensors, case, counts, objects, scale=1.0, tied=False):
    for corner in ("tag0", "tag1"):
        values = numbers.uniform(f"{PREFIX}{case}.{corner}", [len(counts), objects, 1], scale)
        tensors[f"{case}.in.{corner}"] = np.full_like(values, 0.5) if tied else values
    tensors[case + ".in.mask"] = mask(counts, objects)


def off(tensors, case, counts, scale=0.9, objects=4):
    shape = [len(counts), objects, 2]
    tensors[case + ".in.off"] = numbers.uniform(PREFIX + case + ".off", shape, scale)
    tensors[case + ".in.gt"] = numbers.uniform(PREFIX + case + ".gt", shape, 0.5, 0.5)
    tensors[case + ".in.mask"] = mask(counts, objects)


def total(tensors, case, stacks, counts, peaks, saccade=False, side=4, objects=3):
    def add(name, values):
        tensors[f"{case}.in.{name}"] = values

    batch = len(counts)
    for s in range(stacks):
        for corner in ("tl", "br"):
            for kind, channels, scale in (("heat", 1, 3), ("tag", 1, 1), ("off", 2, 2)):
                name = f"{corner}_{kind}{s}"
                add(name, numbers.uniform(f"{PREFIX}{case}.{name}", [batch, channels, side, side], scale))
        for j in range(3 if saccade else 0):
            name, z = f"att{s}_{j}", side >> (2 - j)
            add(name, numbers.uniform(f"{PREFIX}{case}.{name}", [batch, 1, z, z], 3))
    for corner in ("tl", "br"):
        add(f"gt_{corner}_heat", heat(f"{case}.{corner}", [batch, 1, side, side], peaks))
        add(f"gt_{corner}_off", numbers.uniform(f"{PREFIX}{case}.{corner}_off", [batch, objects, 2], 0.5, 0.5))
        add(f"{corner}_ind", numbers.integers(f"{PREFIX}{case}.{corner}_ind", [batch, objects], 0, side * side))
        if saccade:
            valid = numbers.unit(f"{PREFIX}{case}.{corner}_valid", [batch, 1, side, side]) < 0.8
            add(f"gt_{corner}_valid", valid.astype(np.float32))
    for j in range(3 if saccade else 0):
        z = side >> (2 - j)
        add(f"gt_att{j}", (numbers.unit(f"{PREFIX}{case}.gt_att{j}", [batch, 1, z, z]) < 0.4).astype(np.float32))
    add("mask", mask(counts, objects))


def inputs():
    tensors = {}
    focal(tensors, "focal.basic", 2, peaks=5)
    focal(tensors, "focal.clamped", 2, peaks=4, scale=14)
    focal(tensors, "focal.no_pos", 2, peaks=0)
    focal(tensors, "focal.one_stack", 1, peaks=3)
    focal(tensors, "focal_mask.basic", 3, peaks=5, masked=True)
    focal(tensors, "focal_mask.no_pos", 2, peaks=0, masked=True)
    ae(tensors, "ae.basic", [3, 2], 4)
    ae(tensors, "ae.batch1", [3], 4)
    ae(tensors, "ae.one_each", [1, 1], 2)
    ae(tensors, "ae.all_empty", [0, 0], 2)
    ae(tensors, "ae.empty_and_two", [0, 2], 3)
    ae(tensors, "ae.close", [4, 3], 4, scale=0.1)
    ae(tensors, "ae.far", [4, 3], 4, scale=8)
    ae(tensors, "ae.ties", [3, 2], 3, tied=True)
    ae(tensors, "ae.full", [12, 12], 12)
    off(tensors, "off.basic", [3, 1])
    off(tensors, "off.batch1", [4])
    off(tensors, "off.empty", [0, 0])
    off(tensors, "off.large", [2, 4], scale=5)
    total(tensors, "total.cornernet", 2, [3, 2], peaks=4)
    total(tensors, "total.cornernet_empty", 1, [0, 0], peaks=0)
    total(tensors, "total.saccade", 2, [2, 1], peaks=4, saccade=True)
    return tensors, {}
