"""make_package.py FOLDER VERSION: small packages, as the tests of nets that come as packages train them.

full.pt2: a convolution, batch normalisation, dropout and a linear layer with three biases, for RGB pictures of 16 x 16
and 6 classes; the gradients of the biases are one tensor, and one parameter takes none. plain.pt2: the same without
batch normalisation, dropout and more biases, and with the default loss. fixed.pt2: plain for batches of 16 rows alone.
two.pt2: two linear layers with a loss each, head and critic; the critic judges what the head gives. half.pt2: bf16
parameters beside an f32 one, and buffers that training changes in modules without parameters: the net itself counts,
and a batch normalisation has running statistics alone. boxes.pt2: a detector that gives a box for each of 16 cells
of 8 x 8 pixels. counted.pt2: plain, whose loss and hits are over the rows that are not of class 0. texts.pt2: learns
the bytes that follow in texts of 1 to 64 bytes. gpt.pt2: a GPT-2 for rows of 1 to 32 bytes of `as = "lm"`, with the
names of the built-in net.
Exits with 77 where torch or flowtrain's Python package is not there, or torch is not of this version.
"""

import os
import sys
from pathlib import Path

try:
    import torch
    import flowtrain as ft
except ImportError as error:
    print(f"torch and flowtrain for Python cannot be imported: {error}")
    sys.exit(77)
import torch.nn.functional as F

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
import text_twin


class Net(torch.nn.Module):
    def __init__(self, plain):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.norm = torch.nn.Identity() if plain else torch.nn.BatchNorm2d(16)
        self.drop = torch.nn.Dropout(0.0 if plain else 0.3)
        self.fc = torch.nn.Linear(16 * 16, 6)
        self.biases = torch.nn.ParameterList([] if plain else [torch.zeros(6), torch.zeros(6)])
        if not plain:
            self.scale = torch.nn.Parameter(torch.ones(6), requires_grad=False)

    def forward(self, image):
        hidden = F.relu(self.norm(self.conv(image)))
        logits = self.fc(self.drop(F.max_pool2d(hidden, 2).flatten(1)))
        for bias in self.biases:
            logits = logits + bias
        return logits * self.scale if hasattr(self, "scale") else logits


class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(48, affine=False)
        self.body = torch.nn.Sequential(torch.nn.Linear(48, 32), torch.nn.ReLU(), torch.nn.Linear(32, 6)).bfloat16()
        self.scale = torch.nn.ParameterList([torch.ones(6)])
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, image):
        if self.training:
            self.seen += 1
        hidden = self.norm(F.adaptive_avg_pool2d(image, 4).flatten(1))
        return self.body(hidden.bfloat16()).float() * self.scale[0]


def loss_and_hits(net, batch):
    logits = net(batch["image"])
    hits = (logits.detach().argmax(1) == batch["label"]).float().mean()
    return {"loss": F.cross_entropy(logits, batch["label"]), "hits": hits}


def loss_of_known(net, batch):
    logits, label = net(batch["image"]), batch["label"]
    count = (label != 0).sum()
    hits = ((logits.detach().argmax(1) == label) & (label != 0)).float().sum()
    return {"loss": (F.cross_entropy(logits, label, ignore_index=0, reduction="sum"), count), "hits": (hits, count)}


class Judged(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(3 * 16 * 16, 6)
        self.critic = torch.nn.Linear(6, 1)


def head_loss(net, batch):
    net.critic.requires_grad_(False)
    logits = net.head(batch["image"].flatten(1))
    return F.cross_entropy(logits, batch["label"]) - 0.01 * net.critic(logits.softmax(1)).mean()


def critic_loss(net, batch):
    made = net.head(batch["image"].flatten(1)).detach().softmax(1)
    gap = net.critic(made).mean() - net.critic(F.one_hot(batch["label"], 6).float()).mean()
    return {"loss": gap + 0.1 * net.critic.weight.square().sum(), "gap": gap}


class Cells(torch.nn.Module):
    """The logits of six classes and the four sides of a box, in cells, for each cell."""

    def __init__(self):
        super().__init__()
        self.map = torch.nn.Conv2d(3, 10, 8, stride=8)
        steps = torch.arange(4) + 0.5
        self.register_buffer("middles", torch.cartesian_prod(steps, steps).flip(1))

    def forward(self, image):
        made = self.map(image).flatten(2).transpose(1, 2)
        sides = made[..., 6:].abs() + 0.5
        return made[..., :6], 8 * torch.cat([self.middles - sides[..., :2], self.middles + sides[..., 2:]], -1)


def loss_of_boxes(net, batch):
    logits, boxes = net(batch["image"])
    there = (torch.arange(3) < batch["count"][:, None]).float()
    wanted = torch.zeros_like(logits[:, 0]).scatter_reduce(1, batch["labels"], there, "amax")
    middle = (batch["boxes"] * there[..., None]).mean(1)
    return F.binary_cross_entropy_with_logits(logits.amax(1), wanted) + 1e-3 * F.mse_loss(boxes.mean(1), middle)


def outputs_of_boxes(net, batch):
    logits, boxes = net(batch["image"])
    scores, labels = logits.sigmoid().max(2)
    return {"boxes": boxes, "scores": scores, "labels": labels}


class Follows(torch.nn.Module):
    """Scores of the next byte, from the mean of those before it."""

    def __init__(self):
        super().__init__()
        self.bytes, self.last = torch.nn.Embedding(256, 16), torch.nn.Linear(16, 256)

    def forward(self, text):
        places = torch.arange(1, text.shape[1] + 1, device=text.device)
        return self.last(self.bytes(text.long()).cumsum(1) / places[:, None])


def loss_of_texts(net, batch):
    text, place = batch["text"].long(), torch.arange(batch["text"].shape[1], device=batch["text"].device)
    target = text.masked_fill(place >= batch["text_length"][:, None], -100)[:, 1:]
    scores = net(text)[:, :-1].transpose(1, 2)
    count = (target != -100).sum()
    return {"loss": (F.cross_entropy(scores, target, ignore_index=-100, reduction="sum"), count),
            "hits": ((scores.detach().argmax(1) == target).float().sum(), count)}


def loss_of_lm(net, batch):
    label = batch["label"]
    return F.cross_entropy(net(batch["tokens"]).transpose(1, 2), label, reduction="sum"), (label != -100).sum()


def main():
    folder, version = sys.argv[1:]
    if torch.__version__.split("+")[0] != version:
        print(f"torch for Python is {torch.__version__}, and the program has LibTorch {version}")
        sys.exit(77)
    torch.set_num_threads(1)
    os.chdir(folder)
    example = {"image": torch.zeros(16, 3, 16, 16), "label": torch.zeros(16, dtype=torch.int64)}
    for name in ("fixed", "plain", "full"):
        torch.manual_seed(1)
        own = {"loss": loss_and_hits, "outputs": lambda net, batch: net(batch["image"])} if name == "full" else {}
        ft.export(Net(name != "full"), f"{name}.pt2", example, **own, dynamic_batch=name != "fixed")
    torch.manual_seed(1)
    ft.export(Net(True), "counted.pt2", example, loss_of_known, lambda net, batch: net(batch["image"]))
    torch.manual_seed(1)
    ft.export(Half(), "half.pt2", example)
    torch.manual_seed(1)
    ft.export(Cells(), "boxes.pt2", {"image": torch.rand(4, 3, 32, 32), "boxes": torch.rand(4, 3, 4).cumsum(2) * 10,
                                     "labels": torch.zeros(4, 3, dtype=torch.int64), "count": torch.full((4,), 2)},
              loss_of_boxes, outputs_of_boxes)
    torch.manual_seed(1)
    texts = {"text": torch.arange(20, dtype=torch.uint8).repeat(4, 1), "text_length": torch.tensor([20, 1, 7, 12])}
    ft.export(Follows(), "texts.pt2", texts, loss_of_texts, lambda net, batch: net(batch["text"]),
              free={"text": {1: 64}})
    torch.manual_seed(1)
    text_twin.LAYERS, text_twin.HEADS, text_twin.WIDTH, text_twin.LENGTH = 1, 2, 32, 32
    rows = torch.arange(20).repeat(4, 1)
    ft.export(text_twin.Twin(), "gpt.pt2", {"tokens": rows, "label": rows}, loss_of_lm,
              lambda net, batch: net(batch["tokens"]).movedim(-1, 1), free={"tokens": {1: 32}, "label": {1: 32}})
    torch.manual_seed(1)
    ft.export(Judged(), "two.pt2", example, {"head": head_loss, "critic": critic_loss},
              lambda net, batch: net.head(batch["image"].flatten(1)))


main()
