"""Blocks of few channels. No statistic is of less than eight values, as fewer would be ill-conditioned."""

import torch

from oracle import blocks, nets
from oracle import name_numbers as numbers

from . import PREFIX

CASES = {
    "conv7s2": (dict(kind="convolution", k=7, inp=3, out=2, stride=2), (2, 3, 6, 5)),
    "conv3": (dict(kind="convolution", k=3, inp=3, out=2), (2, 3, 3, 4)),
    "conv1_nobn": (dict(kind="convolution", k=1, inp=3, out=2, bn=False), (1, 3, 3, 4)),
    "conv3_nobn": (dict(kind="convolution", k=3, inp=2, out=3, bn=False), (1, 2, 3, 4)),
    "res_same": (dict(kind="residual", inp=2, out=2), (2, 2, 3, 4)),
    "res_widen": (dict(kind="residual", inp=2, out=3), (2, 2, 3, 4)),
    "res_stride2": (dict(kind="residual", inp=2, out=2, stride=2), (2, 2, 5, 4)),
    "res_stride2_widen": (dict(kind="residual", inp=2, out=3, stride=2), (2, 2, 4, 5)),
    "fire_same": (dict(kind="fire", inp=4, out=4), (2, 4, 3, 4)),
    "fire_widen": (dict(kind="fire", inp=4, out=6), (2, 4, 3, 4)),
    "fire_stride2": (dict(kind="fire", inp=4, out=6, stride=2), (2, 4, 5, 4)),
    "fire_stride2_same": (dict(kind="fire", inp=4, out=4, stride=2), (2, 4, 4, 5)),
    "unpool_transpose": (dict(kind="unpool_transpose", dim=2), (1, 2, 3, 4)),
    "unpool_nearest": (dict(kind="unpool_nearest", dim=2), (1, 2, 2, 3)),
    "pred_like": (dict(kind="head", k=3, inp=3, mid=2, out=2), (1, 3, 3, 4)),
    "pred_squeeze": (dict(kind="head", k=1, inp=3, mid=2, out=2), (1, 3, 3, 4)),
    "merge_like": (dict(kind="merge", dim=3), (2, 3, 3, 4)),
    # the width inside is 128, whatever dim is
    "corner_tl": (dict(kind="corner_pool_tl", dim=1), (2, 1, 4, 5)),
    "hg_fire": (dict(kind="hourglass", family="CornerNet_Squeeze", n=1, dims=[2, 2], modules=[2, 1]), (2, 2, 4, 6)),
    "hg_saccade": (dict(kind="hourglass", family="CornerNet_Saccade", n=2, dims=[2, 2, 3], modules=[1, 1, 1]),
                   (2, 2, 8, 8)),
    "stack_saccade": (dict(kind="stack", family="CornerNet_Saccade", stacks=2, n=1, dims=[2, 2], modules=[1, 1],
                           pre=[2, 2]), (2, 3, 13, 13)),
}


def inputs():
    tensors, metadata = {}, {}
    for case, (arguments, shape) in CASES.items():
        module = blocks.build(**arguments)
        with_merged = arguments.get("family") == "CornerNet_Saccade"
        for name, tensor in module.state_dict().items():
            if not name.endswith("num_batches_tracked"):  # 0 where it is missing
                tensors[f"{case}.sd.{name}"] = nets.value_of(f"{PREFIX}{case}.{name}", tuple(tensor.shape))
        x = tensors[case + ".x"] = numbers.uniform(f"{PREFIX}{case}.x", shape, 2)
        module.eval()
        for i, y in enumerate(blocks.outputs(module, torch.from_numpy(x).double(), with_merged)):
            tensors[f"{case}.g{i or ''}"] = numbers.uniform(f"{PREFIX}{case}.g{i}", tuple(y.shape))
        metadata[case] = arguments
    return tensors, metadata
