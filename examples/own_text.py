#!/usr/bin/env python3
"""A small transformer that learns to continue texts of any length, for the native program:

    python examples/own_text.py FOLDER docs/*.md && flowtrain FOLDER/text.toml

Their paragraphs become a table. With --pack a row holds several texts, else a batch holds texts of like length.
"""
import json
import sys
from pathlib import Path

import flowtrain as ft
import torch
from torch import nn
from torch.nn.functional import cross_entropy

LENGTH = 256  # bytes; what is longer is cut
CONFIG = """[run]
max_iter = 300
[data]
dataset = "manifest"
path = "{folder}/texts.jsonl"
val_share = 0.1
[[field]]
name = "text"
from = "text"
as = "bytes"
max = {length}
[loader]
{loader}
[net]
package = "{folder}/text.pt2"
[optim]
lr = 0.1
[val]
every = 100
metrics = []
"""


class Transformer(nn.Module):
    def __init__(self, width=64, heads=2, depth=2):
        super().__init__()
        self.bytes, self.places = nn.Embedding(256, width), nn.Embedding(LENGTH, width)
        self.head = nn.Linear(width, 256)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(
            width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True) for _ in range(depth))

    def forward(self, text, position, segment):
        """Nothing sees another segment of its row, or what comes after it."""
        x, order = self.bytes(text) + self.places(position), torch.arange(text.shape[1], device=text.device)
        hidden = (segment[:, :, None] != segment[:, None, :]) | (order[:, None] < order)
        for layer in self.layers:
            x = layer(x, hidden.repeat_interleave(layer.self_attn.num_heads, 0))
        return self.head(x)


def loss(net, batch):
    """The mean over all bytes that follow another one of their text: padding and first bytes do not count."""
    text, place = batch["text"].long(), torch.arange(batch["text"].shape[1], device=batch["text"].device)
    packed = "segment" in batch
    segment = batch["segment"] if packed else (place < batch["text_length"][:, None]).int()
    logits = net(text, batch["position"].long() if packed else place.expand_as(text), segment)
    counts = (segment[:, 1:] == segment[:, :-1]) & (segment[:, 1:] > 0)
    target = text[:, 1:].masked_fill(~counts, -100)
    return cross_entropy(logits[:, :-1].transpose(1, 2), target, ignore_index=-100, reduction="sum"), counts.sum()


def main(folder, *files, pack=False):
    folder = Path(folder).resolve()
    texts = [text for file in files for text in Path(file).read_text().split("\n\n") if text.strip()]
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    loader = "pack = true\nbatch = 8" if pack else "budget = 4096"
    (folder / "text.toml").write_text(CONFIG.format(folder=folder, length=LENGTH, loader=loader))
    torch.manual_seed(0)
    ft.export(Transformer(), folder / "text.pt2", ft.Loader.config(folder / "text.toml"), loss)


if __name__ == "__main__":
    main(*[word for word in sys.argv[1:] if word != "--pack"], pack="--pack" in sys.argv)
