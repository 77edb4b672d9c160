"""flowtrain.export: a net of PyTorch with its loss and backward pass, compiled for the native program."""

from __future__ import annotations

import copy
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from flowtrain._export._check import Eager, check_extents, check_package
from flowtrain._export._free import Shapes, checked, example_of, traceable
from flowtrain._export._graphs import Function, Graph, check_operators, evaluation_graph, operations_of, training_graph
from flowtrain._export._package import Package, check_path, write_package
from flowtrain._export._python_state import PythonState, warnings_of
from flowtrain._export._tracing import State
from flowtrain.export import ExportError
from flowtrain.loader import Loader

_MANY_OPERATIONS = 4000
_SECONDS_OF_OPERATION = 0.02


def export_package(
    net: nn.Module,
    path: str | os.PathLike[str],
    example: Mapping[str, Any] | Sequence[Any] | Loader[Any],
    loss: Function | Mapping[str, Function] | None = None,
    outputs: Function | None = None,
    *,
    amp: str | None = None,
    device: str | torch.device | None = None,
    dynamic_batch: bool = True,
    free: Mapping[str, Mapping[int, Any]] | None = None,
    check: bool = True,
    command: str | None = None,
) -> None:
    """See flowtrain.export. command: what makes the file again, if not the file itself."""
    check_path(path)
    if amp not in (None, "bf16", "fp16"):
        raise ExportError(f"amp = {amp!r}: expected 'bf16', 'fp16' or None")
    net = _traceable(net)
    place = _device(net, device)
    if isinstance(example, Loader):
        example, of_fields = example_of(example)
        free = of_fields if free is None else free
    batch = _batch(example, place, dynamic_batch)
    shapes = Shapes(dynamic_batch, checked(free or {}, batch))
    batch = traceable(batch, shapes.axes)
    if any(tensor.device != place for tensor in [*net.parameters(), *net.buffers()]):
        net = copy.deepcopy(net).to(place)
    if loss is None:
        if not {"image", "label"} <= batch.keys():
            raise ExportError(f"example has the fields {', '.join(batch)}; cross-entropy, the default, is of image and "
                              "label: give loss=, a function of the net and the batch")
        loss, outputs = cross_entropy, outputs or _logits
    losses = _named_losses(loss)
    state = State.of(net)
    python = PythonState.of(net)
    for name, function in losses.items():
        for text in warnings_of(net, partial(operations_of, net, state, batch, name, function, amp)):
            warnings.warn(text, stacklevel=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's, of torch
        try:
            def traced() -> list[Graph]:
                graphs = [training_graph(net, state, batch, name, function, amp, shapes)
                          for name, function in losses.items()]
                python.restore()
                return graphs

            training = traced()
            if changed := {name for graph in training for name in graph.changed_parameters}:
                state = state.with_buffers(changed)
                training = traced()
            _tell_size(training)
            evaluation = evaluation_graph(net, state, batch, losses, outputs, amp, shapes)
        finally:
            python.restore()
        check_operators([*training, evaluation])
        eager = Eager(net, losses, outputs, amp, python)
        graphs = [*training, evaluation]
        if check:
            check_extents(eager, graphs, batch, shapes)
        write_package(path, Package(training, evaluation, state, batch, amp, shapes, command),
                      (lambda file: check_package(file, eager, graphs, state, batch, shapes)) if check else None)


def _tell_size(graphs: list[Graph]) -> None:
    operations = sum(len(graph.program.graph.nodes) for graph in graphs)
    if operations > _MANY_OPERATIONS:
        warnings.warn(f"the training graphs have {operations:,} operations: compilation takes about "
                      f"{operations * _SECONDS_OF_OPERATION / 60:.0f} minutes; loops of Python, and recurrent layers "
                      "(LSTM, GRU), are unrolled: shorter sequences make fewer", stacklevel=4)


def _traceable(net: nn.Module) -> nn.Module:
    """Returns the net within one that torch.compile() has wrapped."""
    net = getattr(net, "_orig_mod", net)
    for name, module in net.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise ExportError(f"{name or 'the net'} is TorchScript (torch.jit), of which torch records no operations: "
                              "export the module that it was made of, or train its file: [net] script in the config")
    return net


def _named_losses(loss: Function | Mapping[str, Function]) -> dict[str, Function]:
    losses = dict(loss) if isinstance(loss, Mapping) else {"loss": loss}
    if not losses:
        raise ExportError("loss is empty: expected a function of the net and the batch, or several by name")
    for name, function in losses.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII):
            raise ExportError(f"the loss {name!r}: a name has letters, digits and _, and begins with a letter")
        if not callable(function):
            kind = type(function).__name__
            raise ExportError(f"the loss {name!r} is a {kind}: expected a function of the net and the batch")
    return losses


def _device(net: nn.Module, requested: str | torch.device | None) -> torch.device:
    first = next(net.parameters(), None)
    if first is None:
        raise ExportError("the net has no parameters, so there is nothing to train")
    device = torch.device(requested) if requested is not None else first.device
    if device.type not in ("cpu", "cuda"):
        raise ExportError(f"device = {str(device)!r}: expected 'cpu' or 'cuda'")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ExportError("device = 'cuda': kernels are compiled on a machine with a GPU, and this one has none")
    return torch.device("cuda", torch.cuda.current_device()) if device == torch.device("cuda") else device


def _batch(example: Mapping[str, Any] | Sequence[Any], device: torch.device, dynamic_batch: bool) -> dict[str, Tensor]:
    if not isinstance(example, Mapping):
        if len(example) != 2:
            raise ExportError(f"example has {len(example)} parts: give (image, label), or a dict of fields by name")
        example = dict(zip(("image", "label"), example))
    batch = {}
    for name, value in example.items():
        try:
            batch[name] = _laid_out(torch.as_tensor(value, device=device).detach())
        except (TypeError, ValueError, RuntimeError):
            kind = type(value).__name__
            raise ExportError(f"example[{name!r}] is a {kind}: expected a tensor, or an array") from None
    rows = {name: tensor.shape[0] if tensor.dim() else 0 for name, tensor in batch.items()}
    of_source: dict[str, int] = {}  # the fields of a [[data.source]] with rows of its own are <source>.<field>
    for name, count in rows.items():
        if of_source.setdefault(name.rpartition(".")[0], count) != count:
            raise ExportError("the fields of example have different numbers of rows: " +
                              ", ".join(f"{name} has {count}" for name, count in rows.items()))
    if not batch:
        raise ExportError("example has no field")
    if dynamic_batch and min(rows.values()) < 2:
        raise ExportError("example has one row, which torch treats as a fixed number: give two or more")
    return batch


def _laid_out(tensor: Tensor) -> Tensor:
    """Lays a tensor out as the native program's batches are, so that it need not copy them: on a GPU, pictures have
    channels last."""
    is_picture = tensor.dim() == 4 and tensor.is_floating_point()
    return tensor.contiguous(memory_format=torch.channels_last if is_picture and tensor.is_cuda
                             else _torch.layout(tensor))


def cross_entropy(net: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """The loss of a classifier."""
    return nn.functional.cross_entropy(_logits(net, batch), batch["label"])


def _logits(net: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    result = net(batch["image"])
    if not isinstance(result, Tensor):
        raise ExportError(f"the net returned a {type(result).__name__}; cross-entropy, the default, is of a tensor of "
                          "logits: give loss= and outputs=, functions of the net and the batch")
    return result
