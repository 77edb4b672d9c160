"""Nets of torchvision, timm and transformers: what is traced is, bit for bit, what eager PyTorch computes; nothing is
compiled. benchmarks/any_model.py trains them. Tier full has one of each library, nightly all. Each test is skipped
without its library."""

import functools
import runpy
from pathlib import Path

import pytest
import torch
from conftest import NIGHTLY
from flowtrain._export import cross_entropy
from flowtrain._export._command import named_model, parser
from flowtrain._export._graphs import evaluation_graph, training_graph
from flowtrain._export._indices import Values, index_values, merged
from flowtrain._export._tracing import State
from torch import nn
from torch.nn.functional import cross_entropy as cross_entropy_of

pytestmark = pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="export is made for torch 2.11")
GPT2 = ("hf:gpt2 --length 12 --set n_layer=1 --set n_embd=16 --set n_head=2 --set vocab_size=31 --set resid_pdrop=0.0 "
        "--set embd_pdrop=0.0 --set attn_pdrop=0.0")
BERT = ("hf:bert --length 12 --set num_hidden_layers=1 --set hidden_size=16 --set num_attention_heads=2 --set "
        "intermediate_size=32 --set vocab_size=31 --set hidden_dropout_prob=0.0 --set attention_probs_dropout_prob=0.0")
MODELS = {
    "torchvision": "torchvision:squeezenet1_1 --classes 5 --size 32 --set dropout=0.0",
    "timm": "timm:convnext_atto --classes 5 --size 32 --set depths=[1,1,1,1]",
    "timm, attention": "timm:vit_tiny_patch16_224 --classes 5 --size 32 --set depth=1",
    "transformers, tied": GPT2,
    "transformers, masked": BERT,
}
IN_BF16 = ["torchvision", "timm, attention", "transformers, tied"]
IN_FULL = [("torchvision", None), ("timm, attention", None), ("transformers, tied", "bf16")]
LIBRARIES = {"torchvision": "torchvision", "timm": "timm", "hf": "transformers"}


@functools.cache
def traced(words, amp):
    arguments = words.split()
    pytest.importorskip(LIBRARIES[arguments[0].partition(":")[0]])
    model = named_model(parser().parse_args([*arguments, "-o", "net.pt2"]))
    random = torch.Generator().manual_seed(0)

    def batch(rows):
        return {name: torch.rand(field.shape, generator=random) if field.is_floating_point() else
                torch.randint(0, 3, field.shape, generator=random) for name, field in model.example(rows).items()}

    loss = model.loss or cross_entropy
    outputs = model.outputs or (lambda net, batch: net(batch["image"]))
    state = State.of(model.net)
    graphs = (training_graph(model.net, state, batch(4), "loss", loss, amp),
              evaluation_graph(model.net, state, batch(4), {"loss": loss}, outputs, amp))
    return model.net, loss, outputs, batch(7), graphs


@pytest.mark.parametrize("name, amp", [*((name, None) for name in MODELS), *((name, "bf16") for name in IN_BF16)]
                         if NIGHTLY else IN_FULL)
def test_the_graph_is_the_net(name, amp):
    net, loss, outputs, batch, (training, evaluation) = traced(MODELS[name], amp)
    with torch.autocast("cpu", torch.bfloat16, enabled=amp is not None):
        expected = outputs(net.eval(), batch).float()
        value = loss(net.train(), batch)
    value = value[0] / value[1] if isinstance(value, tuple) else value
    value.backward()
    with torch.no_grad():
        values = training.program.module(check_guards=False)(*batch.values())
        assert torch.equal(values[0], value.float())
        assert torch.equal(evaluation.program.module(check_guards=False)(*batch.values())[-1], expected)
    parameters = dict(net.named_parameters())
    gradients = {output["of"]: gradient for output, gradient in zip(training.metadata["outputs"], values)
                 if output["kind"] == "gradient"}
    assert gradients.keys() == {name for name, parameter in parameters.items() if parameter.grad is not None}
    for each, gradient in gradients.items():
        assert torch.equal(gradient, parameters[each].grad), each


def look_up(net, batch):
    """Indices by all ways, some of which cannot be told: values of some rows, of every second column, or of what was
    computed."""
    rows = torch.arange(batch["image"].shape[0])
    logits, pairs = net(batch["image"]), batch["pairs"]
    return {"all": logits[rows, batch["class"]].mean() + logits.gather(1, batch["near"].view(-1, 1)).mean()
            + cross_entropy_of(logits, batch["target"], ignore_index=7),
            "parts": logits.gather(1, pairs[:, 1:][:, :-1]).mean() + logits[:, pairs[:, -1]].mean()
            + logits[:, pairs[:, ::2]].mean() + logits[:, pairs[:2]].mean() + logits[:, pairs[:, 0] // 2].mean()}


def test_values_of_indices_are_told():
    net = nn.Linear(3, 5)
    batch = {"image": torch.rand(4, 3), "pairs": torch.zeros(4, 6, dtype=torch.int64),
             **{name: torch.zeros(4, dtype=torch.int64) for name in ("class", "near", "target")}}
    program = training_graph(net, State.of(net), batch, "loss", look_up, None).program
    told = {name: index_values(program, place) for place, name in enumerate(batch)}
    parts = [Values(0, 5, None, ((1, 1, 5),)), Values(-5, 5, None, ((1, 5, 6),))]
    assert told == {"image": [], "pairs": parts, "class": [Values(-5, 5, None)], "near": [Values(0, 5, None)],
                    "target": [Values(0, 5, 7)]}
    assert merged([Values(0, 5, 7), Values(-3, 9, 7)]) == [Values(0, 5, 7)]
    assert merged([Values(0, 5, 7), Values(0, 9, 7, ((1, 0, 2),)), Values(-3, 4, None)]) == [
        Values(0, 4, None), Values(0, 9, 7, ((1, 0, 2),))]


def test_values_of_a_text_that_is_shifted_against_itself_are_told():
    """As a language model of one's own does it: what comes next is to be told from what came before."""
    net, batch = nn.Sequential(nn.Embedding(31, 4), nn.Linear(4, 29)), {"tokens": torch.zeros(4, 12, dtype=torch.int64)}

    def loss(net, batch):
        tokens = batch["tokens"]
        return cross_entropy_of(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    program = training_graph(net, State.of(net), batch, "loss", loss, None).program
    assert index_values(program, 0) == [Values(0, 31, None, ((1, 0, 11),)), Values(0, 29, -100, ((1, 1, 12),))]


@pytest.mark.parametrize("name, field, values", [
    ("timm", "label", [Values(0, 5, -100)]),
    ("transformers, tied", "tokens", [Values(0, 31, None), Values(0, 31, -100, ((1, 1, 12),))]),
    ("transformers, masked", "tokens", [Values(0, 31, None)]),
    ("transformers, masked", "target", [Values(0, 31, -100)])])
def test_values_of_labels_and_tokens_are_told(name, field, values):
    *_, batch, (training, _) = traced(MODELS[name], None)
    assert index_values(training.program, list(batch).index(field)) == values


def test_layers_in_evaluation_mode_stay_so():
    net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.BatchNorm1d(5))
    batch = {"image": torch.rand(4, 3), "label": torch.zeros(4, dtype=torch.int64)}
    net[1].eval()
    graph = training_graph(net, State.of(net), batch, "loss", cross_entropy, None)
    assert graph.metadata["counters"] == ["2.num_batches_tracked"] and net[2].training and not net[1].training
    changed = graph.program.graph_signature.buffers_to_mutate.values()
    assert sorted(changed) == ["2.running_mean", "2.running_var"]


def test_the_example_of_an_own_net():
    """What examples/own_net.py exports; its dropout draws."""
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples/own_net.py"))
    net, batch = example["ConvMixer"](6), {"image": torch.rand(4, 3, 32, 32), "label": torch.arange(4)}
    graph = training_graph(net, State.of(net), batch, "loss", example["loss"], None)
    names = [output["name"] for output in graph.metadata["outputs"]]
    assert names == ["loss", "correct", *(name for name, _ in net.named_parameters())]
    assert len(graph.metadata["counters"]) == 9


def test_the_example_of_an_own_detector():
    """What examples/own_detector.py exports: pictures without objects, and rows that the example does not have."""
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples/own_detector.py"))
    net = example["Fcos"](width=8)

    def batch(rows):
        random = torch.Generator().manual_seed(rows)
        corners = torch.rand(rows, 8, 2, generator=random) * 32
        return {"image": torch.rand(rows, 3, 64, 64, generator=random), "boxes": torch.cat([corners, corners + 20], 2),
                "labels": torch.randint(0, 6, (rows, 8), generator=random), "count": torch.arange(rows)}

    state, loss, outputs = State.of(net), example["loss"], example["outputs"]
    training = training_graph(net, state, batch(4), "loss", loss, None)
    evaluation = evaluation_graph(net, state, batch(4), {"loss": loss}, outputs, None)
    value = training.program.module(check_guards=False)(*batch(7).values())[0]
    torch.testing.assert_close(value, loss(net.train(), batch(7))["loss"])
    found = evaluation.program.module(check_guards=False)(*batch(7).values())
    names = [output["name"] for output in evaluation.metadata["outputs"]]
    expected = outputs(net.eval(), batch(7))
    assert [*expected] == ["boxes", "scores", "labels"] and expected["boxes"].shape == (7, 50, 4)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[names.index(name)], tensor)


def test_the_factor_of_fp16_scales_gradients_alone():
    net, batch = nn.Linear(3, 5), {"image": torch.rand(4, 3), "label": torch.zeros(4, dtype=torch.int64)}
    graph = training_graph(net, State.of(net), batch, "loss", cross_entropy, "fp16")
    run = graph.program.module(check_guards=False)
    one, thousand = (run(*batch.values(), torch.tensor(factor)) for factor in (1.0, 1024.0))
    assert torch.equal(one[0], thousand[0])
    torch.testing.assert_close(one[1] * 1024, thousand[1], rtol=1e-2, atol=1e-2)


def test_a_loss_may_take_gradients_of_its_own():
    """The gradient penalty of WGAN-GP (Gulrajani et al. 2017)."""
    net, batch = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), {"image": torch.rand(4, 3)}

    def loss(net, batch):
        image = batch["image"].clone().requires_grad_()
        slope, = torch.autograd.grad(net(image).sum(), image, create_graph=True)
        return {"penalty": (slope.norm(dim=1) - 1).square().mean(), "score": net(image).mean()}

    graph = training_graph(net, State.of(net), batch, "loss", loss, None)
    values = graph.program.module(check_guards=False)(torch.rand(6, 3, generator=torch.Generator().manual_seed(1)))
    expected = loss(net, {"image": torch.rand(6, 3, generator=torch.Generator().manual_seed(1))})
    sum(expected.values()).backward()
    assert [output["name"] for output in graph.metadata["outputs"][:3]] == ["loss", "penalty", "score"]
    torch.testing.assert_close(values[1], expected["penalty"].detach())
    gradients = dict(zip([output["of"] for output in graph.metadata["outputs"]], values))
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad)


def test_parts_of_a_net_have_losses_of_their_own():
    """A generator and a discriminator: what examples/own_gan.py exports."""
    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples/own_gan.py"))
    net, batch = example["Gan"](), {"image": torch.rand(4, 3, 32, 32)}
    state = State.of(net)
    losses = {part: example[f"{part}_loss"] for part in ("discriminator", "generator")}
    for part, loss in losses.items():
        graph = training_graph(net, state, batch, part, loss, None)
        assert all(parameter.requires_grad for parameter in net.parameters())
        assert graph.metadata["name"] == f"train_{part}" and graph.metadata["outputs"][0]["name"] == part
        assert graph.metadata["counters"] == ["generator.2.1.num_batches_tracked", "generator.3.1.num_batches_tracked"]
        own = dict(getattr(net, part).named_parameters(prefix=part))
        torch.manual_seed(5)
        values = graph.program.module(check_guards=False)(*batch.values())
        gradients = {output["of"]: value for output, value in zip(graph.metadata["outputs"], values) if output["of"]}
        assert gradients.keys() == own.keys()
        torch.manual_seed(5)
        expected = loss(net, batch)
        expected = expected["loss"] if part == "discriminator" else expected
        net.requires_grad_()
        assert torch.equal(values[0], expected)
        for name, gradient in zip(own, torch.autograd.grad(expected, own.values())):
            assert torch.equal(gradients[name], gradient)
    outputs = evaluation_graph(net, state, batch, losses, None, None).metadata["outputs"]
    assert [(output["name"], output["kind"]) for output in outputs] == [
        ("discriminator", "loss"), ("real", "metric"), ("fake", "metric"), ("generator", "loss")]
