"""The training graph and the evaluation graph of a net, as exported programs of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from flowtrain._export import _torch
from flowtrain._export._tracing import State, exported_program, tensors_read, traced
from flowtrain.export import ExportError

Batch = dict[str, Tensor]
#: A function of the net and the batch: tensors, by name where there are several.
Function = Callable[[nn.Module, Batch], Any]

_AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Graph:
    """A traced graph, with what the engine has to know of it."""

    program: torch.export.ExportedProgram
    metadata: dict[str, Any]  #: "name", "parameters", "buffers", "counters", "outputs", …: as in flowtrain.json


class _Call(nn.Module):
    """Calls a function of the net and the batch, so that the net's tensors can be replaced for that call."""

    def __init__(self, net: nn.Module, function: Function) -> None:
        super().__init__()
        self.net = net
        self.function = function

    def forward(self, batch: Batch) -> Any:
        return self.function(self.net, batch)


def training_graph(
    net: nn.Module, state: State, example: Batch, name: str, loss: Function, amp: str | None, dynamic_batch: bool
) -> Graph:
    """A loss, what it shows beside itself, and its gradients, of the net in training mode: (loss, metrics…,
    gradients…).

    With amp="fp16" the last argument is the factor by which gradients are scaled (f32, no dimension).
    """
    call = _Call(net, loss)
    which = "" if name == "loss" else f" {name!r}"
    trained = [name for name, tensor in net.named_parameters() if tensor.requires_grad]
    outputs: list[dict[str, Any]] = []

    def step(*arguments: Tensor) -> list[Tensor]:
        values, inputs = _named(state, arguments)
        parameters = {name: values[name].requires_grad_() for name in trained}
        with _autocast(next(iter(example.values())).device, amp):
            named = _losses(name, _call(call, values, dict(zip(example, inputs))))
        total = named[name]
        if not total.requires_grad:
            raise ExportError(f"the loss{which} does not depend on a parameter that is trained: see requires_grad, "
                              "detach()")
        scaled = total * inputs[-1] if amp == "fp16" else total
        # A loss may have switched some off, as in net.critic.requires_grad_(False).
        parameters = {key: parameter for key, parameter in parameters.items() if parameter.requires_grad}
        gradients = torch.autograd.grad(scaled, list(parameters.values()), allow_unused=True)
        reached = {name: gradient for name, gradient in zip(parameters, gradients) if gradient is not None}
        for parameter, gradient in reached.items():
            if gradient.layout != torch.strided:
                raise ExportError(f"the gradient of {parameter} is sparse: build the layer with sparse=False")
        outputs.clear()
        outputs.extend({"name": name, "kind": "metric", "of": None} for name in named)
        outputs[0]["kind"] = "loss"
        outputs.extend({"name": name, "kind": "gradient", "of": name} for name in reached)
        return [*(value.detach() for value in named.values()), *reached.values()]

    inputs = list(example.values())
    if amp == "fp16":
        inputs.append(torch.ones((), device=inputs[0].device))
    with _mode(net, training=True):
        graph, counters = traced(f"train_{name}", step, state, inputs, dynamic_batch)
    program = exported_program(graph, inputs, dynamic_batch)
    return Graph(program, {"name": f"train_{name}"} | tensors_read(program, state)
                 | {"counters": counters, "outputs": outputs})


def evaluation_graph(
    net: nn.Module, state: State, example: Batch, losses: Mapping[str, Function], outputs: Function | None,
    amp: str | None, dynamic_batch: bool,
) -> Graph:
    """Losses, what they show beside themselves, and outputs, of the net in evaluation mode: (losses and metrics…,
    outputs…)."""
    calls = {name: _Call(net, loss) for name, loss in losses.items()}
    results = _Call(net, outputs or (lambda net, batch: {}))
    described: list[dict[str, Any]] = []

    def evaluate(*arguments: Tensor) -> list[Tensor]:
        values, inputs = _named(state, arguments)
        batch = dict(zip(example, inputs))
        named: dict[str, Tensor] = {}
        with torch.no_grad(), _autocast(inputs[0].device, amp):
            for name, call in calls.items():
                told = _losses(name, _call(call, values, batch))
                for twice in (losses.keys() & told.keys()) - {name} | named.keys() & told.keys():
                    raise ExportError(f"the loss {name!r} returned {twice!r}, which another loss has or is: name it "
                                      "otherwise")
                named |= told
            shown = _outputs(_call(results, values, batch), named)
        described.clear()
        described.extend({"name": name, "kind": "loss" if name in losses else "metric"} for name in named)
        described.extend({"name": name, "kind": "output"} for name in shown)
        return [*named.values(), *shown.values()]

    inputs = list(example.values())
    with _mode(net, training=False):
        graph, _ = traced("eval", evaluate, state, inputs, dynamic_batch)
    # The net is called for the losses, and for the outputs. Not before the program is functional: where a tensor is
    # changed in place, equal expressions are not one value.
    program = _torch.without_repetition(exported_program(graph, inputs, dynamic_batch))
    return Graph(program, {"name": "eval"} | tensors_read(program, state) | {"counters": [], "outputs": described})


def _named(state: State, arguments: tuple[Tensor, ...]) -> tuple[dict[str, Tensor], tuple[Tensor, ...]]:
    names = [*state.parameters, *state.buffers]
    return dict(zip(names, arguments)), arguments[len(names):]


def _call(call: nn.Module, values: Mapping[str, Tensor], batch: Batch) -> Any:
    named = {f"net.{name}": tensor for name, tensor in values.items()}
    return torch.func.functional_call(call, named, (batch,), tie_weights=True)


def _autocast(device: torch.device, amp: str | None) -> Any:
    if amp is None:
        return contextlib.nullcontext()
    return torch.autocast(device.type, _AMP[amp], cache_enabled=False)


@contextlib.contextmanager
def _mode(net: nn.Module, training: bool) -> Iterator[None]:
    """The net in evaluation mode, or in training mode: a net that is in training mode already stays as it is, with
    those of its modules that are not (frozen batch normalisation). Afterwards each module is as it was."""
    were = {module: module.training for module in net.modules()}
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # one operation that is not compiled
    try:
        if not (training and net.training):
            net.train(training)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for module, was in were.items():
            module.training = was


def _losses(name: str, result: Any) -> dict[str, Tensor]:
    """What the function of the loss `name` returned: that loss first, which is its `loss`, or the sum of all where none
    has that name; then what it shows beside."""
    named = dict(result) if isinstance(result, Mapping) else {"loss": result}
    if not named:
        raise ExportError("loss returned no loss: expected a tensor, or tensors by name")
    for key, value in named.items():
        what = f"the loss {key!r}" if isinstance(result, Mapping) else "what loss returned"
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            raise ExportError(f"{what} is a {kind}: expected a tensor without dimensions, or several by name")
        if value.dim() != 0:
            shape = ", ".join("rows" if isinstance(size, torch.SymInt) else str(size) for size in value.shape)
            raise ExportError(f"{what} has the shape ({shape}): expected no dimension; take mean() or sum()")
        if not value.is_floating_point():
            raise ExportError(f"{what} is {value.dtype}: expected a floating-point number")
    total = named.pop("loss") if "loss" in named else sum(named.values())
    if name in named:
        raise ExportError(f"the loss {name!r} returned {name!r} beside `loss`: name it otherwise")
    return {name: total.float()} | {key: value.float() for key, value in named.items()}


def _outputs(result: Any, losses: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A tensor is `logits`; of a mapping, such as what nets of transformers return, the tensors by name."""
    if isinstance(result, Tensor):
        result = {"logits": result}
    if not isinstance(result, Mapping):
        raise ExportError(f"outputs returned a {type(result).__name__}: expected a tensor, or tensors by name")
    for name, value in result.items():
        if not isinstance(value, Tensor):
            raise ExportError(f"the output {name!r} is a {type(value).__name__}: expected a tensor")
        if name in losses:
            raise ExportError(f"the output {name!r} has the name of a loss: name it otherwise")
    return {name: value.float() if value.is_floating_point() else value for name, value in result.items()}
