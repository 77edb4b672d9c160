"""The training graph and the evaluation graph of a net, as exported programs of torch."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from flowtrain._export import _torch
from flowtrain.export import ExportError

Batch = dict[str, Tensor]
Losses = Callable[[nn.Module, Batch], Any]

_AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Graph:
    """A traced graph, with what the engine has to know of it."""

    program: torch.export.ExportedProgram
    metadata: dict[str, Any]  #: "parameters", "buffers", "constants", "outputs", …: as in flowtrain.json
    counters: list[str]
    random: bool


@dataclass(frozen=True)
class State:
    """Parameters and buffers of a net by name, each tensor once, contiguous."""

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    tied: dict[str, str]  #: further names of these tensors
    persistent: set[str]  #: buffers of the net's state_dict()

    @classmethod
    def of(cls, net: nn.Module) -> State:
        named = [*net.named_parameters(remove_duplicate=False), *net.named_buffers(remove_duplicate=False)]
        first: dict[int, str] = {}
        tied = {name: first[id(tensor)] for name, tensor in named if first.setdefault(id(tensor), name) != name}
        for name, tensor in named:
            if name.partition(".")[0] in vars(torch.fx.GraphModule):
                raise ExportError(f"{name}: torch's graphs have something of that name: export a module that holds the "
                                  "net")
            if nn.parameter.is_lazy(tensor):
                raise ExportError(f"{name} has no shape yet: call the net once on a batch, then export it")
            if tensor.dtype.is_complex or tensor.layout != torch.strided:
                raise ExportError(f"{name} is {tensor.dtype}, {tensor.layout}: expected a dense tensor of real numbers")
        return cls(
            {name: tensor.detach().contiguous() for name, tensor in net.named_parameters()},
            {name: tensor.detach().contiguous() for name, tensor in net.named_buffers()},
            tied,
            set(net.state_dict(keep_vars=True)),
        )


class _Losses(nn.Module):
    """Calls a function of the net and the batch, so that the net's tensors can be replaced for that call."""

    def __init__(self, net: nn.Module, function: Losses) -> None:
        super().__init__()
        self.net = net
        self.function = function

    def forward(self, batch: Batch) -> Any:
        return self.function(self.net, batch)


def training_graph(
    net: nn.Module, state: State, example: Batch, loss: Losses, amp: str | None, dynamic_batch: bool
) -> Graph:
    """Losses and the gradients of the first of them: (loss, metrics…, gradients…), of the net in training mode.

    With amp="fp16" the last argument is the factor by which gradients are scaled (f32, no dimension).
    """
    call = _Losses(net, loss)
    trained = [name for name, tensor in net.named_parameters() if tensor.requires_grad]
    outputs: list[dict[str, Any]] = []

    def step(*arguments: Tensor) -> list[Tensor]:
        values, inputs = _named(state, arguments)
        parameters = {name: values[name].requires_grad_() for name in trained}
        with _autocast(next(iter(example.values())).device, amp):
            named = _losses(_call(call, values, dict(zip(example, inputs))))
        total = next(iter(named.values()))
        if not total.requires_grad:
            raise ExportError("the loss does not depend on a parameter that is trained: see requires_grad, detach()")
        scaled = total * inputs[-1] if amp == "fp16" else total
        gradients = torch.autograd.grad(scaled, list(parameters.values()), allow_unused=True)
        reached = {name: gradient for name, gradient in zip(parameters, gradients) if gradient is not None}
        for name, gradient in reached.items():
            if gradient.layout != torch.strided:
                raise ExportError(f"the gradient of {name} is sparse: build the layer with sparse=False")
        outputs.clear()
        outputs.extend({"name": name, "kind": "metric", "of": None} for name in named)
        outputs[0]["kind"] = "loss"
        outputs.extend({"name": name, "kind": "gradient", "of": name} for name in reached)
        return [*(value.detach() for value in named.values()), *reached.values()]

    inputs = list(example.values())
    if amp == "fp16":
        inputs.append(torch.ones((), device=inputs[0].device))
    with _mode(net, training=True):
        graph, counters = _traced("training", step, state, inputs, dynamic_batch)
    order = {node: place for place, node in enumerate(graph.graph.nodes)}
    results: Any = graph.graph.output_node().args[0]
    final = sorted((order[node], output["of"]) for node, output in zip(results, outputs)
                   if output["kind"] == "gradient")
    program = _exported(graph, inputs, dynamic_batch)
    metadata = _tensors(program, state)
    metadata |= {"outputs": outputs, "final_order": [name for _, name in final]}
    return Graph(program, metadata, counters, _is_random(graph))


def evaluation_graph(
    net: nn.Module, state: State, example: Batch, loss: Losses, outputs: Losses | None, amp: str | None,
    dynamic_batch: bool,
) -> Graph:
    """Losses and outputs, of the net in evaluation mode: (loss, metrics…, outputs…)."""
    losses, results = _Losses(net, loss), _Losses(net, outputs or (lambda net, batch: {}))
    described: list[dict[str, Any]] = []

    def evaluate(*arguments: Tensor) -> list[Tensor]:
        values, inputs = _named(state, arguments)
        batch = dict(zip(example, inputs))
        with torch.no_grad(), _autocast(inputs[0].device, amp):
            named = _losses(_call(losses, values, batch))
            shown = _outputs(_call(results, values, batch), named)
        described.clear()
        described.extend({"name": name, "kind": "metric"} for name in named)
        described[0]["kind"] = "loss"
        described.extend({"name": name, "kind": "output"} for name in shown)
        return [*named.values(), *shown.values()]

    inputs = list(example.values())
    with _mode(net, training=False):
        graph, _ = _traced("evaluation", evaluate, state, inputs, dynamic_batch)
    graph.graph = _torch.without_repetition(graph)  # the net is called for the losses, and for the outputs
    program = _exported(graph, inputs, dynamic_batch)
    return Graph(program, _tensors(program, state) | {"outputs": described}, [], _is_random(graph))


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


def _losses(result: Any) -> dict[str, Tensor]:
    """The named losses, the optimized one first: `loss`, which is the sum of the others where no loss has that name."""
    named = dict(result) if isinstance(result, Mapping) else {"loss": result}
    if not named:
        raise ExportError("loss returned no loss: expected a tensor, or tensors by name")
    for name, value in named.items():
        what = f"the loss {name!r}" if isinstance(result, Mapping) else "what loss returned"
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            raise ExportError(f"{what} is a {kind}: expected a tensor without dimensions, or several by name")
        if value.dim() != 0:
            shape = ", ".join("rows" if isinstance(size, torch.SymInt) else str(size) for size in value.shape)
            raise ExportError(f"{what} has the shape ({shape}): expected no dimension; take mean() or sum()")
        if not value.is_floating_point():
            raise ExportError(f"{what} is {value.dtype}: expected a floating-point number")
    total = named.pop("loss") if "loss" in named else sum(named.values())
    return {"loss": total.float()} | {name: value.float() for name, value in named.items()}


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


def _traced(
    kind: str, function: Callable[..., list[Tensor]], state: State, inputs: list[Tensor], dynamic_batch: bool
) -> tuple[torch.fx.GraphModule, list[str]]:
    """The graph with all tensors that are no inputs as attributes, and the names of its counters."""
    values = [*map(_parameter, state.parameters.values()), *state.buffers.values()]
    with _reasons():
        graph, free = _torch.trace(function, values, inputs, dynamic_batch)
    if dynamic_batch and not free:
        raise ExportError(f"the net fixes the number of rows at the example's, {inputs[0].shape[0]}: give "
                          "dynamic_batch=False, and train with batches of that size")
    literals = [node for node in graph.graph.nodes if node.op == "get_attr"]
    for number, node in enumerate(literals):
        tensor = getattr(graph, node.target)
        if isinstance(tensor, Tensor):
            if tensor.requires_grad:
                raise ExportError(f"a parameter of the shape {tuple(tensor.shape)} is not the net's: export a module "
                                  "that holds both; a net that is not trained wants requires_grad_(False)")
            delattr(graph, node.target)
            node.target = f"{kind}_constants.{number}"
            _register(graph, node.target, tensor.contiguous())
    counters = []
    places = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for name, tensor, place in zip([*state.parameters, *state.buffers], values, places):
        if _is_counter(place, tensor):
            counters.append(name)
            for node in list(place.users):
                graph.graph.erase_node(node)
        if place.users:
            _register(graph, name, tensor)
            with graph.graph.inserting_before(place):
                place.replace_all_uses_with(graph.graph.get_attr(name))
        graph.graph.erase_node(place)
    graph.recompile()
    return graph, counters


def _parameter(tensor: Tensor) -> nn.Parameter:
    return nn.Parameter(tensor, requires_grad=False)


def _is_counter(place: torch.fx.Node, tensor: Tensor) -> bool:
    """Whether the tensor is a whole number to which the graph adds 1, and nothing else: num_batches_tracked."""
    if tensor.dim() > 0 or tensor.is_floating_point() or len(place.users) != 1:
        return False
    user = next(iter(place.users))
    return user.target is torch.ops.aten.add_.Tensor and user.args == (place, 1) and not user.users


def _register(root: nn.Module, name: str, tensor: Tensor) -> None:
    *folders, last = name.split(".")
    for folder in folders:
        if not isinstance(getattr(root, folder, None), nn.Module):
            root.add_module(folder, nn.Module())
        root = getattr(root, folder)
    if isinstance(tensor, nn.Parameter):
        root.register_parameter(last, tensor)
    else:
        root.register_buffer(last, tensor)


def _exported(graph: torch.fx.GraphModule, inputs: list[Tensor], dynamic_batch: bool) -> torch.export.ExportedProgram:
    rows = torch.export.Dim("rows", min=1)
    shapes = tuple({0: rows} if dynamic_batch and tensor.dim() > 0 else None for tensor in inputs)
    with torch.no_grad(), _reasons():
        program: torch.export.ExportedProgram = torch.export.export(
            graph, tuple(inputs), dynamic_shapes=shapes).run_decompositions({})  # functional: what changes is told
    if program.graph_signature.user_inputs_to_mutate:
        raise ExportError("the net changes its input in place: let it change a copy, x = x.clone()")
    return program


def _tensors(program: torch.export.ExportedProgram, state: State) -> dict[str, Any]:
    """The names of what the graph reads: parameters, buffers, and constants, which are neither trained nor state."""
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    read = list(signature.inputs_to_buffers.values())
    kept = [name for name in read if name in changed or name in state.persistent]
    return {
        "parameters": list(signature.inputs_to_parameters.values()),
        "buffers": kept,
        "constants": [name for name in read if name not in kept],
    }


def _is_random(graph: torch.fx.GraphModule) -> bool:
    return any(torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in graph.graph.nodes)


@contextlib.contextmanager
def _reasons() -> Iterator[None]:
    """What torch raises becomes an ExportError."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(_reason(error)) from error


def _reason(error: Exception) -> str:
    """Why tracing failed: where in the net, what, and the way out where one is known."""
    own = Path(torch.__file__).parent, Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not any(folder in Path(frame.filename).parents for folder in own)]
    place = f" at {frames[-1].filename}:{frames[-1].lineno} (`{frames[-1].line}`)" if frames else ""
    first = str(error).strip().split("\n")[0]
    if isinstance(error, _torch.READS_VALUES):
        return (f"the net takes a number, a condition or a shape of Python from a tensor's values{place}: a graph has "
                "tensors alone; take torch.where in place of `if`, a mask in place of an index")
    if isinstance(error, _torch.UserError) and "onstraint" in first:
        return (f"the net does not take every number of rows: give dynamic_batch=False, and train with batches of the "
                f"example's size; torch says: {first}")
    return f"the net cannot be traced{place}: {type(error).__name__}: {first}"
