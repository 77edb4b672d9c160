"""The free axes of a batch's fields: those whose extent differs between batches, up to a bound."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from flowtrain._export import _torch
from flowtrain.export import ExportError
from flowtrain.loader import Loader

#: The least and the largest extent of each free axis, by field and axis.
Free = dict[str, dict[int, tuple[int, int]]]
#: The number of each free axis's extent, by field and axis: axes of one number have one extent in a batch.
Numbers = dict[tuple[str, int], int]
#: Extents of each free axis, by field and axis, that a graph may treat unlike others.
Edges = dict[tuple[str, int], set[int]]


@dataclass(frozen=True)
class Shapes:
    """The sizes of a batch that are free."""

    rows: bool = True
    axes: Free = field(default_factory=dict)

    def of(self, names: Iterable[str]) -> list[dict[int, tuple[int, int]]]:
        """Returns the free axes of each field."""
        return [self.axes.get(name, {}) for name in names]


_LEAST_TRACED = 4  #: extents below it are special cases of torch's operators


def example_of(loader: Loader[Any]) -> tuple[dict[str, Any], dict[str, dict[int, int]]]:
    """Returns a batch of a loader, which stays where it is, and the free axes of its fields."""
    with copy.copy(loader) as other:
        batch = next(iter(other), None)
    if batch is None:
        raise ExportError("the loader's epoch has no batch, and an example is one")
    if not isinstance(batch, Mapping):
        batch = dict(zip(("image", "label"), batch))
    return {name: values for name, values in batch.items() if name != "ids"}, loader.free_axes


def checked(free: Mapping[str, Mapping[int, Any]], example: Mapping[str, Tensor]) -> Free:
    """Returns `free` with both bounds of each axis. Raises ExportError where it does not fit the example."""
    made: Free = {}
    for name, axes in free.items():
        if name not in example:
            raise ExportError(f"free names the field {name!r}, and example has: {', '.join(example)}")
        made[name] = {axis: _bounds(name, axis, bounds, example[name]) for axis, bounds in sorted(axes.items())}
    return made


def _bounds(name: str, axis: int, bounds: Any, tensor: Tensor) -> tuple[int, int]:
    what = f"free[{name!r}][{axis}]"
    if not 1 <= axis < tensor.dim():
        raise ExportError(f"{what}: expected an axis from 1, as rows are axis 0, to {tensor.dim() - 1}, the last one")
    least, most = bounds if isinstance(bounds, tuple) else (1, bounds)
    if not (isinstance(least, int) and isinstance(most, int) and 1 <= least < most):
        raise ExportError(f"{what} = {bounds!r}: expected the largest extent, or (least, largest)")
    if tensor.shape[axis] > most:
        raise ExportError(f"{what} = {bounds!r}: axis {axis} of example[{name!r}] has the extent {tensor.shape[axis]}")
    return least, most


def traceable(batch: Mapping[str, Tensor], free: Free) -> dict[str, Tensor]:
    """The batch, whose free axes are longer where torch would take their extents for fixed numbers, or for the number
    of rows."""
    rows = next(iter(batch.values())).shape[0]
    extents = {}
    for name, axes in free.items():
        for axis, (least, most) in axes.items():
            extent = min(max(batch[name].shape[axis], least, _LEAST_TRACED), most)
            extents[name, axis] = extent if extent != rows else extent + 1 if extent < most else extent - 1
    return _resized(batch, extents) if extents else dict(batch)


def edges_of(traced: _torch.Traced, example: Mapping[str, Tensor], free: Free) -> Edges:
    """Returns the extents of each free axis to be tried. Raises ExportError where it does not take
    all extents within the bounds."""
    edges: Edges = {}
    names = list(example)
    for (place, axis), extent in traced.extents.items():
        name, (least, most) = names[place], free[names[place]][axis]
        what = f"axis {axis} of {name!r}"
        if extent.is_number:
            raise ExportError(f"the net fixes {what} at the example's extent, {extent}: take shape[{axis}] in place of "
                              "the number; or leave the axis out of `free`, where all batches have that extent")
        if extent in traced.rows:
            raise ExportError(f"the net takes {what} to be as long as a batch has rows, {example[name].shape[0]} in "
                              "the example: give an example in which they differ")
        if not extent.is_symbol:
            raise ExportError(f"the net takes {what} to follow from the extent of another one: make it of that field, "
                              "in the loss")
        edges[name, axis] = _edges(traced, extent, what, least, most)
    return edges


def _edges(traced: _torch.Traced, symbol: Any, what: str, least: int, most: int) -> set[int]:
    """Returns the shortest and longest extents, and those around the end of the short ones that conditions exclude:
    torch makes conditions of its own, as if no size were 0 or 1, and its code serves these nevertheless."""
    tried = [extent for extent in range(least, most + 1) if extent < 200 or extent > most - 3]
    failing = [extent for extent in tried if traced.fails(symbol, extent)]
    after = tried[len(failing):]
    if failing and (failing[-1] > min(after, default=0) or not after):
        raise ExportError(f"the net computes otherwise where {what} has the extent {failing[-1]}, and a graph is one "
                          f"way alone: the example meets the condition {traced.fails(symbol, failing[-1])}; "
                          "compute alike for all extents, or give `free` narrower bounds")
    return {least, least + 1, least + 2, most, *failing[-1:], *after[:1]} & set(tried)


def numbered(graphs: Iterable[Mapping[tuple[str, int], Any]]) -> Numbers:
    """Returns the numbers of extents, from the symbols that each graph has for them."""
    numbers: Numbers = {}
    for symbols in graphs:
        for place, symbol in symbols.items():
            numbers.setdefault(place, len(numbers))
            for other, its in symbols.items():
                if its == symbol and other in numbers:
                    former, joined = numbers[other], numbers[place]
                    numbers = {each: joined if number == former else number for each, number in numbers.items()}
    order = list(dict.fromkeys(numbers.values()))
    return {place: order.index(number) for place, number in numbers.items()}


def merged(edges: Iterable[Edges]) -> Edges:
    """Returns the extents to be tried of several graphs."""
    all_edges: Edges = {}
    for each in edges:
        for place, extents in each.items():
            all_edges[place] = all_edges.get(place, set()) | extents
    return all_edges


def variants(
    batch: Mapping[str, Tensor], numbers: Numbers, edges: Edges, rows: int | None
) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Batches of so many rows with the extents `edges` of free axes, the shortest first, each with its name."""
    groups: dict[int, list[int]] = {}
    for place, number in numbers.items():
        within = set.intersection(*(set(edges[other]) for other in numbers if numbers[other] == number))
        groups[number] = sorted(within or edges[place])
    few = {name: tensor[:rows] for name, tensor in batch.items()}
    for step in range(max(map(len, groups.values()), default=0)):
        extents = {number: all[min(step, len(all) - 1)] for number, all in groups.items()}
        yield (", ".join(f"{extents[number]} along axis {axis} of {name!r}"
                         for (name, axis), number in numbers.items()),
               _resized(few, {place: extents[number] for place, number in numbers.items()}))


def _resized(batch: Mapping[str, Tensor], extents: Mapping[tuple[str, int], int]) -> dict[str, Tensor]:
    """The batch with other extents: values are cut, or repeated. A field `<name>_length` is at most the extent."""
    made = {name: tensor.clone() for name, tensor in batch.items()}
    for (name, axis), extent in extents.items():
        tensor = made[name]
        places = torch.arange(extent, device=tensor.device) % tensor.shape[axis]
        made[name] = tensor.index_select(axis, places).contiguous(memory_format=_torch.layout(tensor))
        length = made.get(f"{name}_length")
        if length is not None:  # with one free axis a number for each row, else a list of them
            column = [other for field, other in extents if field == name].index(axis)
            (length if length.dim() == 1 else length[:, column]).clamp_(max=extent)
    return made
