"""The losses and their gradients, in double precision; gradients are autograd's."""

import torch

FILE = "losses"
USUAL = (0, 1e-5, 1e-3)


def focal(logits, target, valid=None):
    """Sum over stacks of the focal loss of one kind of map. `valid`: 1 where a cell counts."""
    positive = target == 1
    count = positive.sum()  # of all cells, valid or not
    valid = torch.ones_like(target) if valid is None else valid
    total = 0
    for each in logits:
        p = torch.sigmoid(each).clamp(1e-4, 1 - 1e-4)
        of_positives = (torch.log(p) * (1 - p)**2 * valid)[positive].sum()
        of_others = (torch.log(1 - p) * p**2 * (1 - target)**4 * valid)[~positive].sum()
        total = total - (of_others if count == 0 else (of_positives + of_others) / count)
    return total


def associative(tag0, tag1, mask):
    """Pull and push of the tags (B, N) of objects' corners, summed over the images."""
    pull = push = torch.zeros((), dtype=torch.float64)
    for first, second, there in zip(tag0, tag1, mask.bool()):
        first, second = first[there], second[there]
        n = float(len(first))
        mean = (first + second) / 2
        pull = pull + ((first - mean)**2 + (second - mean)**2).sum() / (n + 1e-4)
        apart = (mean[:, None] - mean[None, :]).abs()
        push = push + ((1 - apart).relu() - 1 / (n + 1e-4)).sum() / (n * (n - 1) + 1e-4)
    return pull, push


def offsets(off, target, mask):
    """Smooth L1 of the offsets (B, N, 2) over all objects."""
    apart = (off - target)[mask.bool()].abs()
    return torch.where(apart < 1, apart**2 / 2, apart - 0.5).sum() / (mask.sum() + 1e-4)


def at_cells(maps, cells):
    """Values (B, N, C) of maps (B, C, H, W) at flat cells (B, N)."""
    return torch.stack([each.flatten(1)[:, where].T for each, where in zip(maps, cells)])


def total(maps, targets, weights):
    """The loss of all stacks' maps: `maps` by name and stack, e.g. tl_heat0, att0_2."""
    stacks = sum(name.startswith("tl_heat") for name in maps)
    saccade = "att0_0" in maps
    value = 0
    for corner in ("tl", "br"):
        heats = [maps[f"{corner}_heat{s}"] for s in range(stacks)]
        value = value + focal(heats, targets[f"gt_{corner}_heat"], targets[f"gt_{corner}_valid"] if saccade else None)
    for j in range(3 if saccade else 0):  # divided by the number of stacks here, and once more below
        value = value + focal([maps[f"att{s}_{j}"] for s in range(stacks)], targets[f"gt_att{j}"]) / stacks
    mask = targets["mask"]
    for s in range(stacks):
        tags = [at_cells(maps[f"{corner}_tag{s}"], targets[f"{corner}_ind"])[..., 0] for corner in ("tl", "br")]
        pull, push = associative(*tags, mask)
        value = value + weights.get("pull_weight", 0.1) * pull + weights.get("push_weight", 0.1) * push
        for corner in ("tl", "br"):
            off = at_cells(maps[f"{corner}_off{s}"], targets[f"{corner}_ind"])
            value = value + weights.get("off_weight", 1) * offsets(off, targets[f"gt_{corner}_off"], mask)
    return value / stacks


def wide(values, gradient=False):
    """A tensor in double precision where it is of real numbers."""
    tensor = torch.from_numpy(values)
    if tensor.is_floating_point():
        tensor = tensor.double()
    return tensor.requires_grad_() if gradient else tensor


def single(tensor):
    return tensor.detach().float().numpy()


def with_gradients(case, values, leaves, into):
    """Adds results and their gradients; with several results a gradient's name says of which."""
    for name, value in values.items():
        into[f"{case}.out.{name}"] = single(torch.as_tensor(value))
        middle = f"{name}." if len(values) > 1 else ""
        gradients = torch.autograd.grad(value, list(leaves.values()), retain_graph=True, allow_unused=True)
        for (leaf, tensor), gradient in zip(leaves.items(), gradients):
            gradient = torch.zeros_like(tensor) if gradient is None else gradient
            into[f"{case}.grad.{middle}{leaf}"] = single(gradient)


# Which inputs of a kind of case the gradients are for.
LEAVES = {"focal": lambda name: name.startswith("logits"), "focal_mask": lambda name: name.startswith("logits"),
          "ae": lambda name: name.startswith("tag"), "off": lambda name: name == "off",
          "total": lambda name: name[-1].isdigit() and not name.startswith("gt_")}


def expected(stored, metadata):
    out = {}
    for case in stored.cases(depth=2):
        given = stored.below(case + ".in.")
        kind = case.split(".")[0]
        is_leaf = LEAVES[kind]
        tensors = {name: wide(values, is_leaf(name)) for name, values in given.items()}
        leaves = {name: tensor for name, tensor in tensors.items() if is_leaf(name)}
        if kind == "ae":
            pull, push = associative(tensors["tag0"][..., 0], tensors["tag1"][..., 0], tensors["mask"])
            values = {"pull": pull, "push": push}
        elif kind == "off":
            values = {"loss": offsets(tensors["off"], tensors["gt"], tensors["mask"])}
        elif kind == "total":
            values = {"loss": total(leaves, tensors, metadata.get(case, {}))}
        else:
            values = {"loss": focal(list(leaves.values()), tensors["gt"], tensors.get("mask"))}
        for name, value in values.items():  # a sum over nothing has no gradient of its own
            if not value.requires_grad:
                values[name] = value + 0 * sum(leaf.sum() for leaf in leaves.values())
        with_gradients(case, values, leaves, out)
    return out


def tolerance(name, stored=None):
    if name.startswith("focal.clamped"):
        return 0, 1e-4, 1e-3
    if name.endswith("out.push"):
        alone = (stored[name.replace("out.push", "in.mask")].sum(axis=1) == 1).any()
        return (0, 1e-3, 1) if alone else (0, 1e-5, 1)
    return USUAL
