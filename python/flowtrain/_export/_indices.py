"""Finds the values that an input may have, as compiled code ends the process at an index that is out of bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx

_ATEN: Any = torch.ops.aten
#: Operations whose results have all values of their first argument, each in its place.
_SAME_PLACES = {_ATEN.alias.default, _ATEN.clone.default, _ATEN.detach.default}
#: Operations whose results have all values of their first argument, and no others.
_SAME_VALUES = {
    *_SAME_PLACES, _ATEN.expand.default, _ATEN.permute.default, _ATEN.reshape.default, _ATEN.squeeze.dim,
    _ATEN.squeeze.dims, _ATEN.t.default, _ATEN.transpose.int, _ATEN.unsqueeze.default, _ATEN.view.default,
    _ATEN._unsafe_view.default,
}
#: The bounds of a part of a field: for some of its dimensions the first place, and that behind the last one; along a
#: free axis the latter is 0 or less, counted from the axis's end.
Part = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Values:
    """Whole numbers: at least `least`, and below `end`, or `ignored`. The part (dimension, begin, end of each that
    is cut) of a field has no others."""

    least: int
    end: int
    ignored: int | None  #: targets that a loss leaves out have it: -100
    part: Part = ()

    def both(self, other: Values) -> Values:
        """Returns the values that both allow; they are of the same part."""
        ignored = self.ignored if self.ignored == other.ignored else None
        return Values(max(self.least, other.least), min(self.end, other.end), ignored, self.part)


def index_values(program: torch.export.ExportedProgram, place: int) -> list[Values]:
    """Returns the values that the graph may get in input number `place`, for each part used as an index: rows of
    an embedding, a label's class. Parts other than slices of dimensions, and values computed from a field, are not
    known."""
    name = program.graph_signature.user_inputs[place]
    node = next(node for node in program.graph.nodes if node.name == name)
    return merged(_uses(node, _Seen(None, (), tuple(range(node.meta["val"].dim())))))


def merged(values: Iterable[Values]) -> list[Values]:
    """Merges the values of each part."""
    by_part: dict[Part, Values] = {}
    for each in values:
        by_part[each.part] = each.both(by_part[each.part]) if each.part in by_part else each
    return list(by_part.values())


@dataclass(frozen=True)
class _Seen:
    """A node's view of the field."""

    ignored: int | None
    part: Part
    dimensions: tuple[int, ...] | None  #: the field's, in the node's order; None: that is not followed


def _arguments(node: fx.Node) -> tuple[Any, ...]:
    return node.args


def _uses(node: fx.Node, seen: _Seen) -> Iterator[Values]:
    for user in node.users:
        if user.target in _SAME_PLACES or user.target is _ATEN._to_copy.default and _is_whole(user):
            yield from _uses(user, seen)
        elif user.target in _SAME_VALUES:
            yield from _uses(user, replace(seen, dimensions=None))
        elif user.target in (_ATEN.slice.Tensor, _ATEN.select.int):
            if (cut := _cut(user, node, seen)) is not None:
                yield from _uses(user, cut)
        elif user.target is _ATEN.where.self and user.args[1] is node and _left_out(user.args[0], node) is not None:
            yield from _uses(user, replace(seen, ignored=_left_out(user.args[0], node)))
        else:
            yield from _lookup(user, node, seen)


def _is_whole(node: fx.Node) -> bool:
    dtype = node.meta["val"].dtype
    return not dtype.is_floating_point and dtype != torch.bool


def _cut(user: fx.Node, node: fx.Node, seen: _Seen) -> _Seen | None:
    """Returns what a slice or a select() keeps; None if that is unknown. Rows stay whole, since there may be any number
    of them."""
    dimension, begin, end, step = [*_arguments(user)[1:], *(None,) * 4][:4]
    dimension = dimension or 0
    selects = user.target is _ATEN.select.int
    if not selects and begin in (None, 0) and _is_end(end) and step in (None, 1):
        return seen
    size = node.meta["val"].shape[dimension]
    if seen.dimensions is None or step not in (None, 1) or seen.dimensions[dimension] == 0:
        return None
    of = seen.dimensions[dimension]
    if selects:
        end = begin + 1 or None
    if not all(isinstance(number, int) for number in (begin or 0, end or 0)):
        return None  # it follows from the number of rows
    first, last = {cut[0]: cut[1:] for cut in seen.part}.get(of, (0, 0))
    if isinstance(size, int):
        begin, end, _ = slice(begin, end).indices(size)
        bounds = (of, first + begin, first + end)
    elif (begin or 0) >= 0 and (_is_end(end) or end <= 0):
        bounds = (of, first + (begin or 0), last + (0 if _is_end(end) else end))
    else:
        return None
    part = (*(cut for cut in seen.part if cut[0] != of), bounds)
    kept = [each for each in seen.dimensions if not selects or each != of]
    return replace(seen, part=tuple(sorted(part)), dimensions=tuple(kept))


def _is_end(end: Any) -> bool:
    return end is None or end == torch.iinfo(torch.int64).max


def _left_out(condition: Any, node: fx.Node) -> int | None:
    """Returns the number that a where() takes out of a tensor, as in `tensor != number`."""
    if isinstance(condition, fx.Node) and condition.target is _ATEN.ne.Scalar and condition.args[0] is node:
        number = condition.args[1]
        return number if isinstance(number, int) else None
    return None


def _lookup(user: fx.Node, node: fx.Node, seen: _Seen) -> Iterator[Values]:
    target, arguments = user.target, _arguments(user)
    if target is _ATEN.embedding.default and arguments[1] is node:
        yield from _below(arguments[0], 0, seen)
    elif target in (_ATEN.gather.default, _ATEN.index_select.default, _ATEN.scatter.value, _ATEN.scatter.src):
        if arguments[2] is node:
            yield from _below(arguments[0], arguments[1], seen)
    elif target in (_ATEN.nll_loss_forward.default, _ATEN.nll_loss2d_forward.default) and arguments[1] is node:
        scores, ignored = arguments[0], arguments[4]
        yield from _below(scores, min(1, scores.meta["val"].dim() - 1), replace(seen, ignored=ignored))
    elif target is _ATEN.index.Tensor:
        for dimension, index in enumerate(arguments[1]):
            if index is node:
                yield from _below(arguments[0], dimension, seen, negative=True)


def _below(indexed: Any, dimension: Any, seen: _Seen, negative: bool = False) -> Iterator[Values]:
    size = indexed.meta["val"].shape[dimension]
    empty = any(0 < end <= begin for _, begin, end in seen.part)
    if isinstance(size, int) and not empty:  # otherwise it follows from the number of rows
        yield Values(-size if negative else 0, size, seen.ignored, seen.part)
