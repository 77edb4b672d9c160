"""An export keeps a net's state, and checks it at its end. Most is traced only; one small net is compiled."""

import collections
import copy
import itertools
import random
import re
import warnings
import zipfile

import flowtrain as ft
import numpy
import pytest
import torch
from conftest import NIGHTLY
from flowtrain._export import _check, _torch, _traceable, cross_entropy
from flowtrain._export._graphs import evaluation_graph, training_graph
from flowtrain._export._package import write_package
from flowtrain._export._python_state import PythonState
from flowtrain._export._tracing import State
from flowtrain._safetensors import tensors_to_bytes
from test_torch_export_nets import IMAGES, Checkpointed, Hooked, Momentum, Recurrent, momentum_loss, penalty_loss, trunk
from torch import nn

pytestmark = pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="export is made for torch 2.11")


def check_traced(net, loss=cross_entropy, batch=IMAGES):
    """The traced graph has the loss and the gradients of eager PyTorch, and draws the same numbers."""
    graph = training_graph(net, State.of(net), batch, "loss", loss, None)
    state = copy.deepcopy({name: tensor.detach() for name, tensor in net.named_buffers()})
    torch.manual_seed(5)
    values = graph.program.module(check_guards=False)(*(tensor.clone() for tensor in batch.values()))
    for name, tensor in net.named_buffers():
        tensor.copy_(state[name])
    torch.manual_seed(5)
    result = loss(net.train(), {name: tensor.clone() for name, tensor in batch.items()})
    result.backward()
    torch.testing.assert_close(values[0], result.detach())
    gradients = {output["of"]: value for output, value in zip(graph.metadata["outputs"], values) if output["of"]}
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-6)
    return graph


def test_hooks_of_weights_and_modules_are_in_the_graph():
    net = Hooked()
    check_traced(net)
    assert net.trunk[0].weight._backward_hooks  # as they were


def test_what_a_net_assigns_or_changes_in_place_is_changed_by_the_graph():
    net, batch = Momentum(), {"image": IMAGES["image"]}

    def graph_of(state):
        return training_graph(net, state, batch, "loss", momentum_loss, None)

    followers = {"follower.0.bias", "follower.0.weight"}
    assert set(graph_of(State.of(net)).changed_parameters) == followers
    graph = graph_of(State.of(net).with_buffers(followers))
    assert graph.metadata["changed"] == ["calls", "centre", *sorted(followers)] and net.calls == 0
    with pytest.raises(ft.ExportError, match="changes trunk.0.weight, a parameter that is trained, in place"):
        State.of(net).with_buffers({"trunk.0.weight"})


def test_a_hook_that_python_would_call_after_a_backward_pass_is_refused(tmp_path):
    net = nn.Linear(3, 6)
    net.bias.register_post_accumulate_grad_hook(lambda parameter: None)
    with pytest.raises(ft.ExportError, match=r"bias has a hook of register_post_accumulate_grad_hook\(\).*optimizer's"):
        ft.export(net, tmp_path / "net.pt2", {"image": torch.zeros(4, 3), "label": torch.arange(4)})


def test_what_python_holds_is_put_back_into_the_same_containers():
    net = nn.Linear(3, 5)
    net.seen, net.names, net.counts = [1], {"kept": [2]}, collections.Counter(a=1)
    calls, seen = [], net.seen
    handle = net.register_forward_hook(lambda *_: calls.append(1))
    state = PythonState.of(net)
    net.seen.append(2)
    net.names["kept"].append(3)
    net.names["new"], net.other = 4, 5
    net.counts["a"] += 1
    state.restore()
    assert net.seen is seen and seen == [1] and net.names == {"kept": [2]} and not hasattr(net, "other")
    assert net.counts == collections.Counter(a=1)
    handle.remove()
    net(torch.zeros(1, 3))
    assert not calls


def test_checkpoints_draw_once():
    check_traced(Checkpointed())


def test_a_gradient_penalty_is_in_both_graphs():
    net, batch = nn.Sequential(trunk(), nn.Linear(32, 1)), {"image": IMAGES["image"]}
    check_traced(net, penalty_loss, batch)
    graph = evaluation_graph(net, State.of(net), batch, {"loss": penalty_loss}, None, None)
    torch.manual_seed(5)
    value, = graph.program.module(check_guards=False)(torch.cat([batch["image"]] * 2))
    torch.manual_seed(5)
    expected = penalty_loss(net, {"image": torch.cat([batch["image"]] * 2)})
    torch.testing.assert_close(value, expected.detach())


@pytest.mark.parametrize("kind, options", [
    (nn.GRU, {"dropout": 0.4}), (nn.RNN, {"bidirectional": True}),
    *([(nn.LSTM, {"dropout": 0.4}), (nn.LSTM, {"bidirectional": True, "bias": False})] if NIGHTLY else [])])
def test_recurrent_layers_have_their_dropout(kind, options):
    graph = check_traced(Recurrent(kind, **options))
    assert _torch.draws(graph.program) == ("dropout" in options)


def test_nets_that_torch_compiles_are_exported_as_they_were_written():
    net = torch.compile(nn.Sequential(torch.compile(trunk()), nn.Linear(32, 5)))
    assert _traceable(net) is net._orig_mod
    graph = training_graph(net._orig_mod, State.of(net._orig_mod), IMAGES, "loss", cross_entropy, None)
    assert [output["of"] for output in graph.metadata["outputs"][1:]] == [
        name for name, _ in net._orig_mod.named_parameters()]


def test_operators_that_the_program_has_not_are_refused_by_name(tmp_path):
    with torch.library._scoped_library("flowtrain_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        library.impl("twice", lambda x: torch.empty_like(x), "Meta")

        def loss(net, batch):
            return net(batch["image"]).mean() + torch.ops.flowtrain_test.twice(batch["image"]).mean()

        with pytest.raises(ft.ExportError, match="the net calls flowtrain_test.twice.default: the native program has"):
            ft.export(nn.Linear(3, 6), tmp_path / "net.pt2", {"image": torch.zeros(4, 3)}, loss)


@pytest.mark.parametrize("make, loss, message", [
    (lambda: torch.jit.script(nn.Sequential(nn.Linear(3, 6))), cross_entropy,
     r"the net is TorchScript.*\[net\] script"),
    (lambda: nn.Sequential(torch.jit.script(nn.Linear(3, 6))), cross_entropy, "^0 is TorchScript"),
    (lambda: nn.Linear(3, 6), lambda net, batch: net(batch["image"]).mean().backward(),
     r"backward\(\) is called while the loss is computed: return the loss")])
def test_refused_by_its_true_reason(make, loss, message, tmp_path):
    with pytest.raises(ft.ExportError, match=message):
        ft.export(make(), tmp_path / "net.pt2", {"image": torch.zeros(4, 3), "label": torch.arange(4)}, loss)


class Calls(nn.Module):
    """A net with something of Python's in its forward pass."""

    def __init__(self, call):
        super().__init__()
        self.trunk, self.last, self.calls, self.call = trunk(), nn.Linear(32, 5), 0, call

    def forward(self, image):
        hidden = self.trunk(image)
        return self.last(hidden.tanh() if self.call(self) else hidden)


def counts(net):
    net.calls += 1
    return net.calls > 100


def carries(net):
    net.total = getattr(net, "total", torch.zeros(())) + 1
    return True


TURNS, NUMBERS = itertools.cycle([True, False]), itertools.count()


@pytest.mark.parametrize("call, message", [
    (lambda net: random.random() > 0.5, "^the net draws from Python's random when it is called"),
    (lambda net: numpy.random.rand() > 0.5, r"^the net draws from Python's numpy\.random"),
    (counts, r"^0\.calls changes in Python with every call \(1, then 2\).*register_buffer"),
    (lambda net: next(TURNS), r"^the net computes otherwise when it is called again \(aten\.tanh.*, then aten\."),
    (carries, r"^0\.total keeps a tensor of one call for the next in Python.*register_buffer"),
    (lambda net: torch.tensor(next(NUMBERS)).dim() == 0, "^the net computes otherwise when it is called again .aten"),
    (lambda net: net.training, None)])
def test_what_python_decides_is_warned_of(call, message, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    monkeypatch.setattr("flowtrain._export.training_graph", stop)
    net = nn.Sequential(Calls(call))
    random.seed(3)
    state = random.getstate()
    with warnings.catch_warnings(record=True) as caught, pytest.raises(Stop):
        warnings.simplefilter("always")
        ft.export(net, tmp_path / "net.pt2", IMAGES)
    told = [str(each.message) for each in caught if each.category is UserWarning and each.filename == __file__]
    assert len(told) == (message is not None)
    assert message is None or re.search(message, told[0])
    assert net[0].calls == 0 and random.getstate() == state  # the net is as it was


def test_weights_that_are_tied_have_all_names(tmp_path):
    """As a run has it, whose snapshot has each tensor once, and whose package the other names."""
    net = nn.ModuleDict({"one": nn.Linear(3, 3), "two": nn.Linear(3, 3)})
    net["two"].weight = net["one"].weight
    state = State.of(net)
    assert state.tied == {"two.weight": "one.weight"}
    run, snapshot = tmp_path / "runs/tied", tmp_path / "runs/tied/snapshots/iter-00000001"
    snapshot.mkdir(parents=True)
    (run / "config.toml").write_text('[net]\npackage = "net.pt2"\n')
    (run / "env.json").write_text('{"started_in": "../.."}')
    (snapshot / "manifest.json").touch()
    (snapshot / "model.safetensors").write_bytes(tensors_to_bytes(state.parameters, {}))
    averages = {f"ema.{name}": tensor + 1 for name, tensor in state.parameters.items()}
    (snapshot / "optim.safetensors").write_bytes(tensors_to_bytes(averages, {}))
    with pytest.raises(RuntimeError, match="two.weight"):  # without the package
        net.load_state_dict(ft.Run(run).state_dict(), strict=True)
    with zipfile.ZipFile(tmp_path / "net.pt2", "w") as package:
        package.writestr("net/weights.safetensors", tensors_to_bytes(state.parameters, state.tied))
    tensors = ft.Run(run).state_dict()
    net.load_state_dict(tensors, strict=True)
    assert tensors["two.weight"] is tensors["one.weight"]
    assert torch.equal(ft.Run(run).state_dict(average=True)["two.weight"], net["one"].weight + 1)


class Small(nn.Module):
    """A net with running statistics, a counter of its own, and parameters of one number."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 5)
        self.slope, self.heat = nn.PReLU(), nn.Parameter(torch.tensor(0.5))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        if self.training:
            self.seen += 1
        return self.last(self.slope(self.norm(self.first(x)))) * self.heat.exp()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A checked package, its net, its graphs, and what compiled them."""
    path, made, code = tmp_path_factory.mktemp("check") / "net.pt2", [], {}
    compile, write = _torch.compile, write_package

    def kept(program):
        key = len(program.graph.nodes)
        code[key] = code.get(key) or compile(program)
        return code[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_torch, "compile", kept)
        patch.setattr("flowtrain._export.write_package", lambda path, package, check: made.append(package) or write(
            path, package, check))
        torch.manual_seed(1)
        net = Small()
        batch = {"image": torch.randn(6, 3), "label": torch.arange(6) % 5}
        ft.export(net, path, batch)
    return path, net, batch, made[0], kept


def checked(small, net=None):
    path, own, batch, package, _ = small
    eager = _check.Eager(net or own, {"loss": cross_entropy}, None, None, PythonState.of(net or own))
    _check.check_package(path, eager, [*package.training, package.evaluation], package.state, batch, package.shapes)


def test_the_check_leaves_the_net_as_it_is(small):
    net = small[1]
    before, state = copy.deepcopy(net.state_dict()), torch.get_rng_state()
    checked(small)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state) and net.last.weight.grad is None


def test_the_check_names_an_update_that_is_left_out(small, monkeypatch, tmp_path):
    update = _check.update

    def forgets(parameters, gradients, rate):
        update({name: tensor for name, tensor in parameters.items() if name != "norm.bias"},
               {name: tensor for name, tensor in gradients.items() if name != "norm.bias"}, rate)

    monkeypatch.setattr(_check, "update", forgets)
    monkeypatch.setattr(_torch, "compile", small[4])
    message = "in step 1 of the loss 'loss': the parameter norm.bias after the update is 1.0e.00 of its size from eager"
    with pytest.raises(ft.ExportError, match=message):
        ft.export(small[1], tmp_path / "net.pt2", small[2])
    assert not list(tmp_path.iterdir())  # no package is left
    ft.export(small[1], tmp_path / "net.pt2", small[2], check=False)


def test_the_check_names_a_gradient_that_the_package_has_otherwise(small):
    net = copy.deepcopy(small[1])
    net.first.weight.register_hook(lambda gradient: gradient * 0.5)
    with pytest.raises(ft.ExportError, match="the gradient of first.weight is 1.0e.00 of its size from eager"):
        checked(small, net)


def test_the_check_names_a_buffer_that_the_package_changes_otherwise(small):
    net = copy.deepcopy(small[1])
    net.norm.momentum = 0.2
    with pytest.raises(ft.ExportError, match="the buffer norm.running_(mean|var) is .* of its size from eager"):
        checked(small, net)


def test_the_check_compares_means_of_what_draws():
    check = object.__new__(_check._Check)
    random = torch.Generator().manual_seed(1)
    drawn = [torch.rand(50, generator=random) for _ in range(12)]
    check._compare_means("gradient w", drawn[:6], drawn[6:], 1e-6, "in step 1")
    check._compare_means("gradient w", [each * 1e-9 for each in drawn[:6]], [each * 0 for each in drawn[6:]], 1e-6, "")
    for wrong in ([each * 0 for each in drawn], [each * 3 for each in drawn]):
        with pytest.raises(ft.ExportError, match="the gradient of w has the size"):
            check._compare_means("gradient w", wrong[:6], drawn[6:], 1e-6, "in step 1")
