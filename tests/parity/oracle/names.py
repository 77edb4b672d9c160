"""The entries of the nets' state dicts: names, shapes, types, and whether it is a parameter."""

import itertools
import json

import torch

from . import nets
from . import name_numbers as numbers


def entries(family):
    with torch.device("meta"):
        net = nets.Net(family)
    parameters = {name for name, _ in net.named_parameters()}
    return [[name, list(tensor.shape), str(tensor.dtype).removeprefix("torch."), "p" if name in parameters else "b"]
            for name, tensor in net.state_dict().items()]


def parts(rows):
    """The entries in short: of each part of the net how many there are, and the hash of their lines of JSON."""
    short = []
    for part, group in itertools.groupby(rows, key=lambda row: ".".join(row[0].split(".")[:2])):
        lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in group]
        short.append([part, len(lines), f"{numbers.name_hash(''.join(lines)):016x}"])
    return short
