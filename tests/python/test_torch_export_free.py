"""flowtrain.export of nets whose batches have free axes. Most is traced only; one small net is compiled."""

import json
import runpy
import subprocess
from pathlib import Path

import flowtrain as ft
import pytest
import torch
import torch.nn.functional as F
from conftest import NIGHTLY
from flowtrain._export import _free, check_extents
from flowtrain._export._check import Eager
from flowtrain._export._graphs import evaluation_graph, training_graph
from flowtrain._export._indices import Values, index_values
from flowtrain._export._python_state import PythonState
from flowtrain._export._torch import read_record
from flowtrain._export._tracing import State
from test_torch_export import Opened
from test_torch_run import PROGRAM
from torch import nn

pytestmark = pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="export is made for torch 2.11")
ROOT = Path(__file__).resolve().parents[2]
LENGTHS = {"text": torch.arange(12).repeat(5, 1), "text_length": torch.tensor([12, 1, 5, 7, 2])}


class Texts(nn.Module):
    """The embedded texts, summed, then what `more` makes of them."""

    def __init__(self, more=None):
        super().__init__()
        self.bytes, self.more, self.last = nn.Embedding(40, 4), more, nn.Linear(4, 3)

    def forward(self, text, length):
        x = self.bytes(text) * (torch.arange(text.shape[1]) < length[:, None])[..., None]
        return self.last((self.more(x) if self.more else x).sum(1))


def loss_of(net, batch):
    return net(batch["text"], batch["text_length"]).square().mean()


def graphs_of(net, free, batch=LENGTHS, loss=loss_of):
    """The graphs of a net, checked by eager PyTorch as an export checks them before it compiles; and their batch."""
    shapes = _free.Shapes(True, _free.checked(free, batch))
    batch, state = _free.traceable(batch, shapes.axes), State.of(net)
    graphs = [training_graph(net, state, batch, "loss", loss, None, shapes),
              evaluation_graph(net, state, batch, {"loss": loss}, None, None, shapes)]
    check_extents(Eager(net, {"loss": loss}, None, None, PythonState.of(net)), graphs, batch, shapes)
    return graphs, batch


def otherwise(x):
    return x * 2 if x.shape[1] % 3 == 0 else x


def windows(x):
    return F.conv1d(x.transpose(1, 2), torch.ones(4, 1, 5), groups=4).transpose(1, 2)


@pytest.mark.parametrize("more, free, message", [
    (None, {"txt": {1: 64}}, "free names the field 'txt', and example has: text, text_length"),
    (None, {"text": {0: 64}}, r"free\['text'\]\[0\]: expected an axis from 1"),
    (None, {"text": {1: 8}}, r"free\['text'\]\[1\] = 8: axis 1 of example\['text'\] has the extent 12"),
    (None, {"text": {1: (9, 9)}}, r"expected the largest extent, or \(least, largest\)"),
    (lambda x: x.reshape(-1, 12, 4), {"text": {1: 64}}, "the net fixes axis 1 of 'text' at the example's extent, 12"),
    (otherwise, {"text": {1: 64}}, "the net computes otherwise where axis 1 of 'text' has the extent"),
    (lambda x: x if x.shape[1] < 30 else x * 2, {"text": {1: 64}}, "the net computes otherwise where axis 1 of 'text'"),
    (lambda x: x + torch.ones(20, 4)[:x.shape[1]], {"text": {1: 64}}, "the extent 64, .* the condition extent <= 20"),
    (windows, {"text": {1: 64}}, "the net does not take 1 along axis 1 of 'text': .*let the loss pad what it gets"),
])
def test_a_net_that_does_not_take_all_extents_is_refused_with_the_way_out(more, free, message):
    with pytest.raises(ft.ExportError, match=message):
        graphs_of(Texts(more), free)


def test_a_net_may_take_extents_from_a_least_one_on():
    graphs, batch = graphs_of(Texts(windows), {"text": {1: (5, 64)}})
    assert {graph.extents["text", 1] for graph in graphs} and batch["text"].shape == (5, 12)


def test_an_example_with_short_or_many_rows_is_made_longer():
    short = {"text": LENGTHS["text"][:, :1], "text_length": torch.ones(5, dtype=torch.int64)}
    assert graphs_of(Texts(), {"text": {1: 64}}, short)[1]["text"].shape == (5, 4)
    square = {"text": LENGTHS["text"][:, :5], "text_length": LENGTHS["text_length"].clamp(max=5)}
    assert graphs_of(Texts(), {"text": {1: 64}}, square)[1]["text"].shape == (5, 6)


def test_axes_that_a_net_combines_have_one_number_and_others_have_their_own():
    batch = LENGTHS | {"target": LENGTHS["text"] % 3, "other": torch.randn(5, 12)}

    def loss(net, batch):
        scores = net.last(net.bytes(batch["text"]))
        return F.cross_entropy(scores.transpose(1, 2), batch["target"]) + batch["other"].mean() * scores.mean()

    graphs, _ = graphs_of(Texts(), {name: {1: 64} for name in ("text", "target", "other")}, batch, loss)
    assert _free.numbered(graph.extents for graph in graphs) == {("text", 1): 0, ("target", 1): 0, ("other", 1): 1}


def test_values_of_parts_along_a_free_axis_are_known():
    def loss(net, batch):
        text = batch["text"].int()
        scores = net.last(net.bytes(text[:, 1:-1]))
        return F.cross_entropy(scores.transpose(1, 2), text[:, 2:].long())

    graphs, _ = graphs_of(Texts(), {"text": {1: (4, 64)}}, LENGTHS | {"text": LENGTHS["text"] % 3}, loss)
    assert index_values(graphs[0].program, 0) == [Values(0, 40, None, ((1, 1, -1),)), Values(0, 3, -100, ((1, 2, 0),))]


@pytest.fixture(scope="module")
def own_text():
    """What examples/own_text.py is made of, for short texts."""
    script = runpy.run_path(str(ROOT / "examples/own_text.py"))
    script["main"].__globals__["LENGTH"] = 48
    return script


def train_eagerly(script, folder, steps):
    """The losses of the example's net, trained by PyTorch on the batches of ft.Loader."""
    torch.manual_seed(0)
    net, losses = script["Transformer"](), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = ft.Loader.config(folder / "text.toml")
    while True:  # epoch after epoch
        for batch in loader:
            total, count = script["loss"](net, batch)
            optimizer.zero_grad()
            (total / count).backward()
            optimizer.step()
            losses.append((total / count).item())
            if len(losses) == steps:
                return losses


@pytest.mark.parametrize("pack", [False, True] if NIGHTLY else [False])
def test_the_example_learns_in_the_program_what_it_learns_in_pytorch(own_text, tmp_path, pack):
    own_text["main"](tmp_path, ROOT / "docs/first-run.md", ROOT / "docs/data.md", pack=pack)
    inputs = json.loads(read_record(tmp_path / "text.pt2", "extra/flowtrain.json"))["inputs"]
    assert [field["field"] for field in inputs] == (
        ["text", "position", "segment"] if pack else ["text", "text_length"])
    free = [{"axis": 1, "least": 1, "most": 48, "extent": 0}]
    assert inputs[0]["shape"] == [-1, 48 if pack else -1] and inputs[0].get("free") == (None if pack else free)
    steps = 12
    words = ["--run-dir", "run", "--set", f"run.max_iter={steps}", "--set", "display.every=1", "--set", "val.every=6",
             "--set", "loader.last_batch=pad", "--set", "run.threads=1"]  # short batches, as in ft.Loader
    subprocess.run([PROGRAM, "text.toml", *words], check=True, cwd=tmp_path, capture_output=True)
    lines = [json.loads(line) for line in open(tmp_path / "run/metrics.jsonl")]
    losses = [line["loss"] for line in lines if line["kind"] == "train"]
    assert losses == pytest.approx(train_eagerly(own_text, tmp_path, steps), rel=1e-5)
    assert [line["iter"] for line in lines if line["kind"] == "val"] == [6, 12]


@pytest.mark.skipif(not NIGHTLY, reason="it compiles")
def test_a_graph_takes_rows_and_extents_that_the_example_has_not(tmp_path):
    net, path = Texts(), tmp_path / "net.pt2"
    ft.export(net, path, LENGTHS, loss_of, lambda net, batch: net(batch["text"], batch["text_length"]),
              free={"text": {1: 64}})
    for rows, extent in ((1, 1), (2, 1), (1, 64), (7, 2), (3, 33)):
        batch = {"text": torch.randint(0, 40, (rows, extent)), "text_length": torch.randint(1, extent + 1, (rows,))}
        step, evaluate = Opened(path, "train_loss"), Opened(path, "eval")
        expected = loss_of(net, batch)
        assert step(batch)[0].item() == pytest.approx(expected.item(), rel=1e-5)
        slope, = torch.autograd.grad(expected, [net.bytes.weight])
        torch.testing.assert_close(step.of("gradient", step(batch))["bytes.weight"], slope, rtol=1e-4, atol=1e-7)
        logits = evaluate.of("output", evaluate(batch))["logits"]
        torch.testing.assert_close(logits, net(batch["text"], batch["text_length"]), rtol=1e-4, atol=1e-6)
