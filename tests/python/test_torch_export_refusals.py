"""flowtrain.export refuses nets with the reason and the way out. None is compiled, and no file is left."""

import re
import sys

import flowtrain as ft
import pytest
import torch
from flowtrain.__main__ import main
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

pytestmark = pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="export is made for torch 2.11")
BATCH = {"image": torch.zeros(4, 3), "label": torch.zeros(4, dtype=torch.int64)}


def classify(net, batch):
    return cross_entropy(net(batch["image"]), batch["label"])


class Branches(nn.Linear):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else x


class ChangesInput(nn.Linear):
    def forward(self, x):
        return super().forward(x.mul_(2))


class FixesRows(nn.Linear):
    def forward(self, x):
        return super().forward(x + torch.zeros(4, 1))


class PairsRows(nn.Linear):
    def forward(self, x):
        return super().forward(x).view(x.shape[0] // 2, 2, 6).flip(1).view(-1, 6)


class Pair(nn.Linear):
    def forward(self, x):
        return super().forward(x), x


class Codes(nn.Linear):
    def __init__(self):
        super().__init__(3, 6)
        self.register_buffer("codes", torch.ones(6, dtype=torch.uint16))

    def forward(self, x):
        return super().forward(x) * self.codes.float()


teacher = nn.Linear(3, 6)
CASES = {
    "no scalar": (nn.Linear(3, 6), {"loss": lambda net, batch: net(batch["image"])},
                  r"what loss returned has the shape \(rows, 6\): expected no dimension; take mean"),
    "a named loss that is no scalar": (nn.Linear(3, 6), {"loss": lambda net, batch: {"a": net(batch["image"])}},
                                       "the loss 'a' has the shape"),
    "a number": (nn.Linear(3, 6), {"loss": lambda net, batch: 1.0}, "what loss returned is a float"),
    "a count of Python": (nn.Linear(3, 6), {"loss": lambda net, batch: (classify(net, batch), 6)},
                          "the count that loss returned is an int: expected a tensor without dimensions"),
    "a sum of losses that count": (nn.Linear(3, 6), {"loss": lambda net, batch: {
        "a": (classify(net, batch), batch["label"].sum()), "b": classify(net, batch)}},
                                   "the loss 'a' has a count, so it cannot be added up with others"),
    "a count's name": (nn.Linear(3, 6), {"loss": lambda net, batch: {
        "loss": classify(net, batch), "loss.count": batch["label"].sum().float()}},
                       "the loss 'loss.count' has the name of a count: give it another name"),
    "whole numbers": (nn.Linear(3, 6), {"loss": lambda net, batch: batch["label"].sum()}, "is torch.int64: exp"),
    "no loss": (nn.Linear(3, 6), {"loss": lambda net, batch: {}}, "loss returned no loss"),
    "detached": (nn.Linear(3, 6), {"loss": lambda net, batch: classify(net, batch).detach()}, "does not depend"),
    "one of two detached": (nn.Linear(3, 6), {"loss": {"one": classify, "two": lambda net, batch: classify(
        net, batch).detach()}}, "the loss 'two' does not depend on a parameter"),
    "losses without functions": (nn.Linear(3, 6), {"loss": {"one": 1.0}}, "the loss 'one' is a float: expected a func"),
    "a loss's name": (nn.Linear(3, 6), {"loss": {"one/two": classify}}, "the loss 'one/two': a name has letters"),
    "no losses": (nn.Linear(3, 6), {"loss": {}}, "loss is empty: expected a function"),
    "losses that show the same": (nn.Linear(3, 6), {"loss": {name: lambda net, batch: {
        "loss": classify(net, batch), "twice": classify(net, batch)} for name in ("one", "two")}},
                                  "the loss 'two' returned 'twice', which another loss has or is"),
    "a loss that shows another": (nn.Linear(3, 6), {"loss": {"one": lambda net, batch: {
        "loss": classify(net, batch), "two": classify(net, batch)}, "two": classify}},
                                  "the loss 'one' returned 'two', which another loss has or is"),
    "frozen": (nn.Linear(3, 6).requires_grad_(False), {}, "does not depend on a parameter that is trained"),
    "branches": (Branches(3, 6), {}, r"from a tensor's values at .*test_torch_export_refusals.py:\d+ .*torch.where"),
    "an input that is changed": (ChangesInput(3, 6), {}, r"changes its input in place.*clone\(\)"),
    "rows that are fixed": (FixesRows(3, 6), {}, "dynamic_batch=False"),
    "rows in pairs": (PairsRows(3, 6), {}, "not take every number of rows: give dynamic_batch=False"),
    "a name of torch's": (nn.ModuleDict({"graph": nn.Linear(3, 6)}), {}, "graph.weight: torch's graphs have something"),
    "two results": (Pair(3, 6), {}, "the net returned a tuple; cross-entropy.*give loss="),
    "a parameter from elsewhere": (nn.Linear(3, 6), {"loss": lambda net, batch: mse_loss(
        net(batch["image"]), teacher(batch["image"]))}, r"is not the net's.*requires_grad_\(False\)"),
    "sparse gradients": (nn.Embedding(9, 6, sparse=True), {"loss": lambda net, batch: net(batch["label"]).sum()},
                         "the gradient of weight is sparse: build the layer with sparse=False"),
    "outputs": (nn.Linear(3, 6), {"loss": classify, "outputs": lambda net, batch: (1, 2)}, "outputs returned a tuple"),
    "an output like a loss": (nn.Linear(3, 6), {"loss": classify, "outputs": lambda net, batch: {
        "loss": net(batch["image"])}}, "the output 'loss' has the name of a loss"),
    "lazy": (nn.LazyLinear(6), {}, "weight has no shape yet: call the net once"),
    "a dtype": (Codes(), {}, "codes is torch.uint16, which safetensors files cannot hold"),
    "no parameters": (nn.Flatten(), {}, "nothing to train"),
    "amp": (nn.Linear(3, 6), {"amp": "int8"}, "amp = 'int8': expected 'bf16', 'fp16' or None"),
    "device": (nn.Linear(3, 6), {"device": "meta"}, "device = 'meta': expected 'cpu' or 'cuda'"),
    "other fields": (nn.Linear(3, 6), {"example": {"x": torch.zeros(4, 3)}}, "example has the fields x; cross-entropy"),
    "rows that differ": (nn.Linear(3, 6), {"example": (torch.zeros(4, 3), torch.zeros(3, dtype=torch.int64))},
                         "image has 4, label has 3"),
    "one row": (nn.Linear(3, 6), {"example": (torch.zeros(1, 3), torch.zeros(1, dtype=torch.int64))}, "two or more"),
    "three parts": (nn.Linear(3, 6), {"example": (1, 2, 3)}, "example has 3 parts"),
    "no tensor": (nn.Linear(3, 6), {"example": ({}, 2)}, r"example\['image'\] is a dict"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_the_reason(name, tmp_path):
    net, options, message = CASES[name]
    with pytest.raises(ft.ExportError, match=f"(?s){message}") as raised:
        ft.export(net, tmp_path / "net.pt2", **{"example": BATCH, **options})
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_another_torch_is_told_before_its_parts_are_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch, "__version__", "2.12.1+cpu")
    monkeypatch.delitem(sys.modules, "flowtrain._export", raising=False)
    with pytest.raises(ft.ExportError, match=r"this is torch 2.12.1\+cpu, .*pip install torch==2.11.0"):
        ft.export(nn.Linear(3, 6), tmp_path / "net.pt2", BATCH)
    assert main(["export", "net.pt2", "-o", "net.pt2"]) == 2
    assert "this is torch 2.12.1+cpu" in capsys.readouterr().err
    assert "flowtrain._export" not in sys.modules


def test_the_files_name_ends_with_pt2(tmp_path):
    with pytest.raises(ft.ExportError, match=r"net.pth: the name of a package ends with .pt2"):
        ft.export(nn.Linear(3, 6), tmp_path / "net.pth", BATCH)


def test_the_folder_has_to_exist(tmp_path):
    with pytest.raises(ft.ExportError, match=r"net.pt2: its folder does not exist"):
        ft.export(nn.Linear(3, 6), tmp_path / "none" / "net.pt2", BATCH)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_a_gpu_is_needed_for_its_kernels(tmp_path):
    with pytest.raises(ft.ExportError, match="this one has none"):
        ft.export(nn.Linear(3, 6), tmp_path / "net.pt2", BATCH, device="cuda")


@pytest.mark.parametrize("arguments, message", [
    (["net.txt"], "net.txt: expected timm:NAME, torchvision:NAME, hf:NAME, or a package"),
    (["none.pt2"], "none.pt2 is not a complete package"),
    (["torchvision:resnet19"], "torchvision has no model resnet19; near it: resnet18"),
    (["torchvision:fasterrcnn_resnet50_fpn"], "write its loss"),
    (["torchvision:resnet18", "--set", "depth=3"], "resnet18: .*depth"),
    (["timm:resnet19x"], "timm has no model resnet19x; near it"),
    (["hf:gpt3"], "transformers has no kind of model gpt3; near it"),
    (["hf:gpt2", "--set", "layers=3"], "--set layers: the configuration of gpt2 has no such key"),
])
def test_the_command_ends_with_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    library = arguments[0].partition(":")[0] if arguments else ""
    if library in ("torchvision", "timm", "hf"):
        pytest.importorskip({"hf": "transformers"}.get(library, library))
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments, "-o", "net.pt2"] if arguments else []) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.search(message, lines[0])
    assert not list(tmp_path.iterdir())
