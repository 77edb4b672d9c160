"""Whole nets, whose weights and pictures follow from names: all heads in evaluation mode, and steps of training."""

import re

import torch

from . import losses, nets
from . import name_numbers as numbers

TARGETS = {"heat_tl_u8": "gt_tl_heat", "heat_br_u8": "gt_br_heat", "valid_tl_u8": "gt_tl_valid",
           "valid_br_u8": "gt_br_valid", "off_tl": "gt_tl_off", "off_br": "gt_br_off", "ind_tl": "tl_ind",
           "ind_br": "br_ind", "mask": "mask", "att0_u8": "gt_att0", "att1_u8": "gt_att1", "att2_u8": "gt_att2"}


def make(family, prefix):
    """The net in double precision, with single-precision weights from names."""
    with torch.device("meta"):
        net = nets.Net(family)
    net = net.to_empty(device="cpu").double()
    nets.fill(net, prefix)
    return net


def evaluate(net, case, prefix):
    """The maps of a case that is called after its picture's size: eval255, eval255x383."""
    sides = [int(side) for side in re.findall(r"\d+", case)]
    image = numbers.uniform(f"{prefix}{case}.input", [1, 3, sides[0], sides[-1]], 2)
    with torch.no_grad():
        return net.eval()(torch.from_numpy(image).double())


def summary(maps, case):
    """What the small set keeps of each map: some of its values, and its channels' sums and sums of squares."""
    out = {}
    for name, values in maps.items():
        step = max(1, values.shape[2] // 4)
        out[f"{case}.{name}.slice"] = values[:, ::16, ::step, ::step].float().numpy()
        out[f"{case}.{name}.sum"] = values.sum((2, 3)).numpy()
        out[f"{case}.{name}.sumsq"] = values.square().sum((2, 3)).numpy()
    return out


def differences(maps, stored, case):
    """For each stored value of a case how far off it is, as a share of what is allowed."""
    for name, values in maps.items():
        pixels = values.shape[2] * values.shape[3]
        given = {key: torch.from_numpy(stored[f"{case}.{name}.{key}"]) for key in ("full", "slice", "sum", "sumsq")
                 if f"{case}.{name}.{key}" in stored}
        yield (values.sum((2, 3)) - given["sum"]).abs().max().item() / pixels / 2e-5
        root = (values.square().sum((2, 3)) / pixels).sqrt() - (given["sumsq"] / pixels).sqrt()
        yield root.abs().max().item() / 2e-5
        if "full" in given:
            yield (values - given["full"]).abs().max().item() / 1e-4
        if "slice" in given:
            step = next(t for t in range(1, 100) if -(-values.shape[2] // t) <= given["slice"].shape[2])
            yield (values[:, ::16, ::step, ::step] - given["slice"]).abs().max().item() / 1e-4


def training(net, given, prefix, steps, rate):
    """Losses of `steps` steps on one batch; gradients and statistics of the first one."""
    targets = {}
    for name, target in TARGETS.items():
        if name in given:
            values = losses.wide(given[name])
            if name.endswith("u8"):
                values = values.double() / (255 if name.startswith("heat") else 1)
            targets[target] = values
    image = torch.from_numpy(numbers.uniform(prefix + "train.input", [2, 3, 255, 255], 2)).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    net.train()
    out = {"losses": []}
    for step in range(steps):
        last = step + 1 == steps
        with torch.set_grad_enabled(not last or steps == 1):
            loss = losses.total(net(image), targets, {})
        out["losses"].append(loss.item())
        if last and steps > 1:
            break
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            out["gradients"] = {name: parameter.grad.clone() for name, parameter in net.named_parameters()}
            out["buffers"] = {name: buffer.clone() for name, buffer in net.named_buffers()}
        optimizer.step()
    return out


def training_differences(got, stored, metadata):
    """As differences(), for the case train."""
    wanted = torch.from_numpy(stored["train.losses"])
    apart = (torch.tensor(got["losses"], dtype=torch.float64) - wanted).abs() / wanted.abs()
    yield apart[0].item() / 1e-4
    yield apart.max().item() / 1e-3
    rows = torch.stack([torch.stack([g.sum(), g.abs().sum(), g.norm()])
                        for g in (got["gradients"][name] for name in metadata["grad_rows"])])
    wanted = torch.from_numpy(stored["train.grad_sums"])
    errors = (rows - wanted).abs() / wanted[:, [1, 1, 2]]
    yield errors.max().item() / 0.02
    yield errors[:, 2].median().item() / 0.005
    rows = torch.stack([torch.stack([b.sum(), b.abs().sum()])
                        for b in (got["buffers"][name] for name in metadata["buffer_rows"])])
    wanted = torch.from_numpy(stored["train.buffer_sums"])
    yield ((rows - wanted).abs() / wanted[:, 1:]).max().item() / 1e-4
    for name, gradient in got["gradients"].items():
        if "train.grad." + name in stored:
            wanted = torch.from_numpy(stored["train.grad." + name])
            part = gradient[::8, ::8] if gradient.numel() > 20000 else gradient
            limit = wanted.abs().max().item() * (0.1 if name.startswith("hg.") else 0.01)
            yield (part - wanted).abs().max().item() / limit
    for name, buffer in got["buffers"].items():
        if "train.buffer." + name in stored:
            wanted = torch.from_numpy(stored["train.buffer." + name])
            limit = wanted.abs().max().item() * (0 if name.endswith("tracked") else 1e-4)
            apart = (buffer - wanted).abs().max().item()
            yield 0 if apart == 0 else apart / limit if limit else float("inf")
