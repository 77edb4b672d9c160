"""Exports a function of tensors as a program of torch."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from flowtrain._export import _torch
from flowtrain._export._free import Edges, Shapes, edges_of
from flowtrain.export import ExportError


@dataclass(frozen=True)
class State:
    """Parameters and buffers of a net by name, each tensor once, contiguous."""

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]
    trained: set[str]
    persistent: set[str]  #: buffers of the net's state_dict()
    tied: dict[str, str]  #: other names in state_dict(), and those of the same tensors above

    @classmethod
    def of(cls, net: nn.Module) -> State:
        for name, tensor in [*net.named_parameters(), *net.named_buffers()]:
            if name.partition(".")[0] in vars(torch.fx.GraphModule):
                raise ExportError(f"{name}: torch's graphs have something of that name: export a module that holds the "
                                  "net")
            if nn.parameter.is_lazy(tensor):
                raise ExportError(f"{name} has no shape yet: call the net once on a batch, then export it")
            if tensor.dtype.is_complex or tensor.layout != torch.strided:
                raise ExportError(f"{name} is {tensor.dtype}, {tensor.layout}: expected a dense tensor of real numbers")
        names = {id(tensor): name for name, tensor in [*net.named_parameters(), *net.named_buffers()]}
        kept = net.state_dict(keep_vars=True)
        return cls(
            {name: tensor.detach().contiguous() for name, tensor in net.named_parameters()},
            {name: tensor.detach().contiguous() for name, tensor in net.named_buffers()},
            {name for name, tensor in net.named_parameters() if tensor.requires_grad},
            set(kept),
            {other: names[id(tensor)] for other, tensor in kept.items() if names.get(id(tensor), other) != other},
        )


    def with_buffers(self, names: set[str]) -> State:
        """These parameters, which a graph changes in place, are buffers. Raises ExportError for one that is trained."""
        for name in sorted(names):
            if name in self.trained:
                raise ExportError(f"the net changes {name}, a parameter that is trained, in place: let it compute with "
                                  f"a changed copy (weight.clamp(), not weight.clamp_()), or requires_grad_(False)")
        kept = {name: tensor for name, tensor in self.parameters.items() if name not in names}
        moved = {name: self.parameters[name] for name in names}
        return replace(self, parameters=kept, buffers={**self.buffers, **moved})


def traced(
    kind: str, function: Callable[..., list[Tensor]], state: State, example: Mapping[str, Tensor],
    inputs: list[Tensor], shapes: Shapes,
) -> tuple[torch.fx.GraphModule, list[str], Edges]:
    """The graph with all tensors that are no inputs as attributes, the names of its counters, and the extents of free
    axes to be tried. `inputs` begin with the fields of `example`."""
    values = [*map(_parameter, state.parameters.values()), *state.buffers.values()]
    with _reasons():
        made = _torch.trace(function, values, inputs, shapes.rows, shapes.of(example))
    graph, edges = made.graph, edges_of(made, example, shapes.axes)
    if shapes.rows and any(rows.is_number for rows in made.rows):
        raise ExportError(f"the net fixes the number of rows at the example's, {inputs[0].shape[0]}: give "
                          "dynamic_batch=False, and train with batches of that size")
    _name_literals(kind, graph, inputs[0].device)
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
    return graph, counters, edges


def _name_literals(kind: str, graph: torch.fx.GraphModule, device: torch.device) -> None:
    """Gives tensors that are neither state nor inputs names of their own, and the graph's device."""
    names: dict[str, str] = {}  # one may be read in several places
    for node in graph.graph.nodes:
        if node.op != "get_attr":
            continue
        tensor = None if node.target in names else getattr(graph, node.target)
        if isinstance(tensor, Tensor):
            if tensor.requires_grad:
                raise ExportError(f"a parameter of the shape {tuple(tensor.shape)} is not the net's: export a module "
                                  "that holds both; a net that is not trained wants requires_grad_(False)")
            if tensor.device != device and tensor.dim() > 0:
                raise ExportError(f"a tensor of the shape {tuple(tensor.shape)} is on {tensor.device}, and the net on "
                                  f"{device}: move it there")
            names[node.target] = f"{kind}_constants.{len(names)}"
            delattr(graph, node.target)
            _register(graph, names[node.target], tensor.contiguous().to(device))
        node.target = names.get(node.target, node.target)


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


def exported_program(
    graph: torch.fx.GraphModule, example: Mapping[str, Tensor], inputs: list[Tensor], shapes: Shapes
) -> tuple[torch.export.ExportedProgram, dict[tuple[str, int], str]]:
    """The graph of traced(), functional: the program's signature names what it changes. Beside it the symbols that it
    has for the extents of free axes."""
    counts = dict.fromkeys(tensor.shape[0] for tensor in inputs if tensor.dim() > 0)  # several: groups of rows
    rows = {count: torch.export.Dim("rows" if len(counts) == 1 else f"rows_{count}", min=1) for count in counts}
    sizes = tuple({**({0: rows[tensor.shape[0]]} if shapes.rows else {}),
                   **{axis: torch.export.Dim.AUTO(min=least, max=most) for axis, (least, most) in axes.items()}}
                  if tensor.dim() > 0 else None
                  for tensor, axes in zip_longest(inputs, shapes.of(example), fillvalue={}))
    with torch.no_grad(), _reasons():
        program: torch.export.ExportedProgram = torch.export.export(
            graph, tuple(inputs), dynamic_shapes=sizes).run_decompositions({})
    if program.graph_signature.user_inputs_to_mutate:
        raise ExportError("the net changes its input in place: let it change a copy, x = x.clone()")
    return program, {(name, axis): _torch.symbol(program, place, axis, f"axis {axis} of {name!r}", most)
                     for place, name in enumerate(example) for axis, (_, most) in shapes.axes.get(name, {}).items()}


def tensors_read(program: torch.export.ExportedProgram, state: State) -> dict[str, Any]:
    """The names of what the graph reads: parameters, buffers, those of them that it changes, and constants, which are
    neither trained nor state."""
    signature = program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    read = list(signature.inputs_to_buffers.values())
    kept = [name for name in read if name in changed or name in state.persistent]
    return {
        "parameters": list(signature.inputs_to_parameters.values()),
        "buffers": kept,
        "changed": sorted(changed),
        "constants": [name for name in read if name not in kept],
    }


@contextlib.contextmanager
def _reasons() -> Iterator[None]:
    """Turns exceptions of torch into ExportErrors."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(_reason(error)) from error


def _reason(error: Exception) -> str:
    """Returns why tracing failed: the place in the net, the reason, and the way out if one is known."""
    own = Path(torch.__file__).parent, Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not any(folder in Path(frame.filename).parents for folder in own)]
    place = f" at {frames[-1].filename}:{frames[-1].lineno} (`{frames[-1].line}`)" if frames else ""
    first = str(error).strip().split("\n")[0]
    if isinstance(error, _torch.READS_VALUES):
        return (f"the net takes a number, a condition or a shape of Python from a tensor's values{place}: a graph has "
                "tensors alone; take torch.where in place of `if`, a mask in place of an index")
    if isinstance(error, _torch.UNTRACEABLE):
        return (f"torch cannot trace the operator {error.func}{place}, which tells no shapes (it has no fake kernel): "
                "write the net without it, or register one by torch.library.register_fake()")
    if "_grouped_mm" in str(error) or "grouped_mm" in place:
        return (f"torch traces grouped products of matrices in bf16 alone{place}: of a mixture of experts of "
                "transformers, net.set_experts_implementation(\"batched_mm\") takes others")
    if "torch._C.Generator" in first:
        return (f"the net draws from a generator of its own{place}: a graph draws from torch's own, which the program "
                "seeds for each step; leave generator= out")
    if "with symbolic sizes" in first:
        return (f"an operator of torch takes no free sizes{place}: give dynamic_batch=False and no `free`, and train "
                f"with batches of the example's size; torch says: {first}")
    if isinstance(error, _torch.EXPORT_ERROR) and "onstraint" in first:
        return (f"the net does not take every number of rows: give dynamic_batch=False, and train with batches of the "
                f"example's size; torch says: {first}")
    return f"the net cannot be traced{place}: {type(error).__name__}: {first}"
