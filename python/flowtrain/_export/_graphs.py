"""The training graph and the evaluation graph of a net, as exported programs of torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from flowtrain._export import _torch
from flowtrain._export._free import Edges, Shapes
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
    extents: dict[tuple[str, int], str]  #: symbols for the extents of free axes, by field and axis
    edges: Edges  #: extents of free axes to be tried

    @property
    def changed_parameters(self) -> list[str]:
        """Returns the parameters that the graph changes in place."""
        return list(self.program.graph_signature.parameters_to_mutate.values())


def training_graph(
    net: nn.Module, state: State, example: Batch, name: str, loss: Function, amp: str | None, shapes: Shapes = Shapes()
) -> Graph:
    """A loss, what it shows beside itself, and its gradients, of the net in training mode: (loss, metrics…,
    gradients…).

    With amp="fp16" the last argument is the factor by which gradients are scaled (f32, no dimension).
    """
    which = "" if name == "loss" else f" {name!r}"
    trained = {name: tensor for name, tensor in net.named_parameters() if tensor.requires_grad}
    for key, parameter in trained.items():
        if _torch.has_hooks_after_accumulation(parameter):
            raise ExportError(f"{key} has a hook of register_post_accumulate_grad_hook(), which Python would call "
                              "after each backward pass: register_hook() changes gradients in the graph; updates are "
                              "the optimizer's, [optim] of the config")
    outputs: list[dict[str, Any]] = []

    def step(*arguments: Tensor) -> list[Tensor]:
        values, inputs = _named(state, arguments)
        parameters = {name: values[name].requires_grad_() for name in trained}
        for key, parameter in parameters.items():
            for hook in _torch.hooks(trained[key]):
                parameter.register_hook(hook)
        with _torch.with_tensors(net, values):  # until the backward pass is over: its functions may read the net's
            results = gradients_of(values, inputs)
            for key, buffer in net.named_buffers():
                if buffer is not values.get(key, buffer):  # assigned, as in self.count = self.count + 1
                    values[key].copy_(buffer.detach())
            return results

    def gradients_of(values: dict[str, Tensor], inputs: tuple[Tensor, ...]) -> list[Tensor]:
        named = losses_of(net, name, loss, dict(zip(example, inputs)), amp)
        parameters = {key: values[key] for key in trained}
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
        outputs.extend({"name": name, "kind": _kind_of(name, named), "of": None} for name in named)
        outputs[0]["kind"] = "loss"
        outputs.extend({"name": name, "kind": "gradient", "of": name} for name in reached)
        return [*(value.detach() for value in named.values()), *reached.values()]

    inputs = list(example.values())
    if amp == "fp16":
        inputs.append(torch.ones((), device=inputs[0].device))
    graph, counters, edges = traced(f"train_{name}", step, state, example, inputs, shapes)
    program, extents = exported_program(graph, example, inputs, shapes)
    return Graph(program, {"name": f"train_{name}"} | tensors_read(program, state)
                 | {"counters": counters, "outputs": outputs}, extents, edges)


def evaluation_graph(
    net: nn.Module, state: State, example: Batch, losses: Mapping[str, Function], outputs: Function | None,
    amp: str | None, shapes: Shapes = Shapes(),
) -> Graph:
    """Losses, what they show beside themselves, and outputs, of the net in evaluation mode: (losses and metrics…,
    outputs…)."""
    described: list[dict[str, Any]] = []

    def evaluate(*arguments: Tensor) -> list[Tensor]:
        values, inputs = _named(state, arguments)
        with _torch.with_tensors(net, values):
            named, shown = evaluated(net, losses, outputs, dict(zip(example, inputs)), amp)
        described.clear()
        described.extend({"name": name, "kind": "loss" if name in losses else _kind_of(name, named)}
                         for name in named)
        described.extend({"name": name, "kind": "output"} for name in shown)
        return [*(value.detach() for value in named.values()), *shown.values()]

    inputs = list(example.values())
    graph, _, edges = traced("eval", evaluate, state, example, inputs, shapes)
    # The net is called for the losses, and for the outputs. Not before the program is functional: where a tensor is
    # changed in place, equal expressions are not one value.
    program, extents = exported_program(graph, example, inputs, shapes)
    program = _torch.without_repetition(program)
    return Graph(program, {"name": "eval"} | tensors_read(program, state) | {"counters": [], "outputs": described},
                 extents, edges)


#: The end of the name of the number of terms that a loss or metric is the mean of.
_COUNT = ".count"


def _kind_of(name: str, named: Mapping[str, Tensor]) -> str:
    """Returns the kind of an output beside a loss, by its name."""
    return "count" if name.endswith(_COUNT) and name.removesuffix(_COUNT) in named else "metric"


def losses_of(net: nn.Module, name: str, loss: Function, batch: Batch, amp: str | None) -> dict[str, Tensor]:
    """The loss called `name`, then what it shows beside itself and the counts, of the net in training mode."""
    with _mode(net, training=True), _autocast(next(iter(batch.values())).device, amp):
        return _losses(name, loss(net, batch))


def evaluated(
    net: nn.Module, losses: Mapping[str, Function], outputs: Function | None, batch: Batch, amp: str | None
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Losses and what they show beside themselves, and outputs, of the net in evaluation mode."""
    named: dict[str, Tensor] = {}
    with _mode(net, training=False), torch.no_grad(), _autocast(next(iter(batch.values())).device, amp):
        for name, loss in losses.items():
            shown = _losses(name, _without_gradients(loss, net, batch))
            for twice in (losses.keys() & shown.keys()) - {name} | named.keys() & shown.keys():
                raise ExportError(f"the loss {name!r} returned {twice!r}, which another loss has or is: name it "
                                  "otherwise")
            named |= shown
        return named, _outputs(outputs(net, batch) if outputs else {}, named)


def _without_gradients(loss: Function, net: nn.Module, batch: Batch) -> Any:
    try:
        return loss(net, batch)
    except RuntimeError as error:  # raised by a loss that takes gradients itself, such as a gradient penalty
        if "does not require grad" not in str(error):
            raise
    with torch.enable_grad():
        return loss(net, batch)


def check_operators(graphs: Sequence[Graph]) -> None:
    """Raises ExportError if a graph calls operators that the native program lacks."""
    for graph in graphs:
        if foreign := _torch.foreign_operators(graph.program):
            raise ExportError(f"the net calls {', '.join(foreign)}: the native program has torch's own operators "
                              "(aten) alone; write the net with those")


def operations_of(net: nn.Module, state: State, batch: Batch, name: str, loss: Function, amp: str | None) -> list[str]:
    """Returns the operations that a loss computes, one text each."""

    def call(*arguments: Tensor) -> None:
        values, inputs = _named(state, arguments)
        with _torch.with_tensors(net, values):
            losses_of(net, name, loss, dict(zip(batch, inputs)), amp)

    return _torch.operations(call, [*state.parameters.values(), *state.buffers.values(), *batch.values()])


def _named(state: State, arguments: tuple[Tensor, ...]) -> tuple[dict[str, Tensor], tuple[Tensor, ...]]:
    names = [*state.parameters, *state.buffers]
    return dict(zip(names, arguments)), arguments[len(names):]


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
    """Returns the losses of the loss `name`, that loss first. It is the function's `loss`, or the sum of all if none
    has that name; then what it shows beside; then the counts of those that were given as (sum, count), and are means
    here."""
    named = dict(result) if isinstance(result, Mapping) else {"loss": result}
    if not named:
        raise ExportError("loss returned no loss: expected a tensor, or tensors by name")
    counts: dict[str, Tensor] = {}
    for key, value in named.items():
        what = f"the loss {key!r}" if isinstance(result, Mapping) else "what loss returned"
        if isinstance(value, tuple) and len(value) == 2:
            value, counts[key] = value
            _check_number(f"the count of {what}" if isinstance(result, Mapping) else "the count that loss returned",
                          counts[key], "a tensor without dimensions")
        _check_number(what, value, "a tensor without dimensions, or several by name")
        if not value.is_floating_point():
            raise ExportError(f"{what} is {value.dtype}: expected a floating-point number")
        if key in counts:
            terms = counts[key] = counts[key].detach().float()
            named[key] = value.float() / torch.where(terms == 0, 1, terms)  # the mean of no terms is their sum, 0
    if "loss" not in named and len(named) > 1 and counts:
        raise ExportError(f"the loss {next(iter(counts))!r} has a count, so it cannot be added up with others: give "
                          "one of them the name 'loss'")
    total_count = counts.pop("loss", None) if "loss" in named else next(iter(counts.values()), None)
    total = named.pop("loss") if "loss" in named else sum(named.values())
    if name in named:
        raise ExportError(f"the loss {name!r} returned {name!r} beside `loss`: give it another name")
    for key in named:
        if key.endswith(_COUNT) and key.removesuffix(_COUNT) in {name, *named}:
            raise ExportError(f"the loss {key!r} has the name of a count: give it another name")
    counts = counts if total_count is None else {name: total_count} | counts
    return ({name: total.float()} | {key: value.float() for key, value in named.items()}
            | {key + _COUNT: count for key, count in counts.items()})


def _check_number(what: str, value: Any, expected: str) -> None:
    if not isinstance(value, Tensor):
        kind = type(value).__name__
        raise ExportError(f"{what} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}: expected {expected}")
    if value.dim() != 0:
        shape = ", ".join("rows" if isinstance(size, torch.SymInt) else str(size) for size in value.shape)
        raise ExportError(f"{what} has the shape ({shape}): expected no dimension; take mean() or sum()")


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
            raise ExportError(f"the output {name!r} has the name of a loss: give it another name")
    return {name: value.float() if value.is_floating_point() else value for name, value in result.items()}
