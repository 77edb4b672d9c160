"""Blocks of the nets: outputs in both modes, gradients, and the statistics after a step of training."""

import torch

from . import nets

FILE = "blocks"
# What the larger set's cases are made of; those of the small set stand in its metadata.
LARGER = {
    "conv7s2": dict(kind="convolution", k=7, inp=3, out=8, stride=2),
    "conv3": dict(kind="convolution", k=3, inp=6, out=5),
    "conv1_nobn": dict(kind="convolution", k=1, inp=6, out=5, bn=False),
    "conv3_nobn": dict(kind="convolution", k=3, inp=4, out=5, bn=False),
    "res_same": dict(kind="residual", inp=6, out=6),
    "res_widen": dict(kind="residual", inp=6, out=10),
    "res_stride2": dict(kind="residual", inp=6, out=6, stride=2),
    "res_stride2_widen": dict(kind="residual", inp=6, out=10, stride=2),
    "fire_same": dict(kind="fire", inp=8, out=8),
    "fire_widen": dict(kind="fire", inp=8, out=12),
    "fire_stride2": dict(kind="fire", inp=8, out=12, stride=2),
    "fire_stride2_same": dict(kind="fire", inp=8, out=8, stride=2),
    "unpool_transpose": dict(kind="unpool_transpose", dim=6),
    "unpool_nearest": dict(kind="unpool_nearest", dim=3),
    "pred_like": dict(kind="head", k=3, inp=6, mid=6, out=4),
    "merge_like": dict(kind="merge", dim=6),
    "corner_tl": dict(kind="corner_pool_tl", dim=8),
    "corner_br": dict(kind="corner_pool_br", dim=8),
    "hg_residual": dict(kind="hourglass", family="CornerNet", n=2, dims=[6, 8, 10], modules=[2, 1, 3]),
    "hg_fire": dict(kind="hourglass", family="CornerNet_Squeeze", n=2, dims=[8, 8, 12], modules=[2, 1, 3]),
    "hg_saccade": dict(kind="hourglass", family="CornerNet_Saccade", n=3, dims=[6, 8, 8, 10], modules=[1, 1, 1, 1]),
    "stack_hg": dict(kind="stack", family="CornerNet", stacks=2, n=2, dims=[6, 8, 10], modules=[1, 1, 1], pre=[4, 6]),
    "stack_saccade": dict(kind="stack", family="CornerNet_Saccade", stacks=2, n=2, dims=[6, 8, 10],
                          modules=[1, 1, 1], pre=[4, 6]),
}


def build(kind, **arguments):
    """The block, in double precision."""
    makers = {"convolution": nets.Convolution, "residual": nets.Residual, "fire": nets.Fire, "head": nets.head,
              "merge": nets.merge, "unpool_transpose": nets.transposed, "unpool_nearest": lambda dim: nets.Nearest(),
              "corner_pool_tl": lambda dim: nets.CornerPool("tl", dim),
              "corner_pool_br": lambda dim: nets.CornerPool("br", dim), "hourglass": nets.Hourglass,
              "stack": nets.Stack}
    return makers[kind](**arguments).double()


def outputs(module, x, with_merged):
    """The block's outputs as a list."""
    y = module(x)
    if isinstance(module, nets.Hourglass):
        return [y[0], *y[1]] if with_merged else [y[0]]
    if isinstance(module, nets.Stack):
        maps, merged = y
        return maps + [each for inside in merged for each in inside] if with_merged else maps
    return [y]


def run(arguments, given):
    """Expected values of one block: first in evaluation mode, then in training mode from the same weights."""
    module = build(**arguments)
    with_merged = arguments.get("family") == "CornerNet_Saccade"
    # as they are stored, in single precision: copied into double
    module.load_state_dict({name[3:]: torch.from_numpy(values) for name, values in given.items() if name[:3] == "sd."})
    x = torch.from_numpy(given["x"]).double().requires_grad_()
    out, total = {}, 0
    for mode in ("eval", "train"):
        module.train(mode == "train")
        results = outputs(module, x, with_merged)
        for i, y in enumerate(results):
            out[f"{mode}.y{i or ''}"] = y
            if mode == "train":
                total = total + (y * torch.from_numpy(given[f"g{i or ''}"])).sum()
    total.backward()
    out["train.gx"] = x.grad
    out |= {"train.grad." + name: parameter.grad for name, parameter in module.named_parameters()}
    out |= {"train.sd." + name: buffer for name, buffer in module.named_buffers()}
    return {name: (tensor.detach() if tensor.dtype == torch.int64 else tensor.detach().float()).numpy()
            for name, tensor in out.items()}


def expected(stored, metadata):
    out = {}
    for case in stored.cases():
        arguments = metadata.get(case, LARGER.get(case))
        given = {name: stored[f"{case}.{name}"] for name in
                 [full[len(case) + 1:] for full in stored if full.startswith(case + ".")]
                 if not name.startswith(("train.", "eval."))}
        out |= {f"{case}.{name}": values for name, values in run(arguments, given).items()}
    return out


def tolerance(name, stored=None):
    if name.endswith("num_batches_tracked"):
        return 0, 0, 0
    if ".train.sd." in name:
        return 1e-5, 0, 0
    return (0, 1e-4, 0.1) if ".train.g" in name else (0, 1e-5, 1)
