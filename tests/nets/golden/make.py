"""Writes the golden files of the ResNets, from torchvision (made with torch 2.11.0 and torchvision 0.26.0).

    python3 tests/nets/golden/make.py

<net>.txt: a line for each entry of the state_dict: parameter|buffer name dtype [shape].
resnet_logits.txt: for one net with each kind of block, a line of its name and its logits, in eval mode, with weights
and pictures filled by formula. tests/nets/resnet_test.cpp holds the same formula.
"""

import pathlib

import torch
import torchvision

NAMED = ["resnet18", "resnet34", "resnet50", "resnet101"]
COMPUTED = ["resnet18", "resnet50"]
HERE = pathlib.Path(__file__).parent


def pattern(count, seed):
    """Values in [-0.5, 0.5): the high bits of a linear congruential hash of the index, exact in integers."""
    index = torch.arange(count, dtype=torch.int64) + seed * 1000003
    return ((index * 1103515245 + 12345) % 2147483648 // 32768).float() / 65536 - 0.5


def filled(name, tensor, seed):
    """Weights that keep activations at a like size through the net; statistics near those of a fresh batch norm."""
    values = pattern(tensor.numel(), seed).view(tensor.shape)
    if tensor.dim() > 1:
        return values * (24 / tensor[0].numel()) ** 0.5
    if name.endswith("running_var"):
        return 2 + values
    if name.endswith("weight"):
        return 1 + values * 0.2
    return values * 0.2


def write_names(net):
    model = getattr(torchvision.models, net)()
    parameters = {name for name, _ in model.named_parameters()}
    with open(HERE / f"{net}.txt", "w") as file:
        for name, tensor in model.state_dict().items():
            kind = "parameter" if name in parameters else "buffer"
            dtype = str(tensor.dtype).removeprefix("torch.")
            print(kind, name, dtype, list(tensor.shape), file=file)


@torch.no_grad()
def write_logits(net, file):
    model = getattr(torchvision.models, net)(num_classes=10).eval()
    tensors = list(model.named_parameters()) + list(model.named_buffers())
    for seed, (name, tensor) in enumerate(tensors):
        if tensor.is_floating_point():
            tensor.copy_(filled(name, tensor, seed))
    logits = model(pattern(2 * 3 * 64 * 64, 999).view(2, 3, 64, 64))
    print(net, *(f"{value:.6g}" for value in logits.flatten().tolist()), file=file)


for net in NAMED:
    write_names(net)
with open(HERE / "resnet_logits.txt", "w") as file:
    for net in COMPUTED:
        write_logits(net, file)
