"""Which values an input may have: compiled code ends the process at an index that is out of bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

_ATEN: Any = torch.ops.aten
#: Operations whose results have all values of their first argument, and no others.
_SAME_VALUES = {
    _ATEN.alias.default, _ATEN.clone.default, _ATEN.detach.default, _ATEN.expand.default, _ATEN.permute.default,
    _ATEN.reshape.default, _ATEN.squeeze.dim, _ATEN.squeeze.dims, _ATEN.t.default, _ATEN.transpose.int,
    _ATEN.unsqueeze.default, _ATEN.view.default, _ATEN._unsafe_view.default,
}


@dataclass(frozen=True)
class Values:
    """Whole numbers: at least `least`, and below `end`, or `ignored`."""

    least: int
    end: int
    ignored: int | None  #: targets that a loss leaves out have it: -100

    def both(self, other: Values | None) -> Values:
        """Those that are among the other's, too. None: any."""
        if other is None:
            return self
        ignored = self.ignored if self.ignored == other.ignored else None
        return Values(max(self.least, other.least), min(self.end, other.end), ignored)


def index_values(program: torch.export.ExportedProgram, place: int) -> Values | None:
    """Those that the graph may get in its input number `place`, if it looks something up by all of them: rows of an
    embedding, a label's class. None: it does not, or that cannot be told."""
    name = program.graph_signature.user_inputs[place]
    values = None
    for use in _uses(next(node for node in program.graph.nodes if node.name == name), None):
        values = use.both(values)
    return values


def _uses(node: fx.Node, ignored: int | None) -> Iterator[Values]:
    for user in node.users:
        if user.target in _SAME_VALUES:
            yield from _uses(user, ignored)
        elif user.target is _ATEN.where.self and user.args[1] is node and _left_out(user.args[0], node) is not None:
            yield from _uses(user, _left_out(user.args[0], node))
        else:
            yield from _lookup(user, node, ignored)


def _left_out(condition: Any, node: fx.Node) -> int | None:
    """The number that a where() takes out of a tensor: that of `tensor != number`."""
    if isinstance(condition, fx.Node) and condition.target is _ATEN.ne.Scalar and condition.args[0] is node:
        number = condition.args[1]
        return number if isinstance(number, int) else None
    return None


def _lookup(user: fx.Node, node: fx.Node, ignored: int | None) -> Iterator[Values]:
    target, arguments = user.target, user.args
    if target is _ATEN.embedding.default and arguments[1] is node:
        yield from _below(arguments[0], 0, ignored)
    elif target in (_ATEN.gather.default, _ATEN.index_select.default, _ATEN.scatter.value, _ATEN.scatter.src):
        if arguments[2] is node:
            yield from _below(arguments[0], arguments[1], ignored)
    elif target in (_ATEN.nll_loss_forward.default, _ATEN.nll_loss2d_forward.default) and arguments[1] is node:
        scores: Any = arguments[0]
        yield from _below(scores, min(1, scores.meta["val"].dim() - 1), arguments[4])
    elif target is _ATEN.index.Tensor:
        indices: Any = arguments[1]
        for dimension, index in enumerate(indices):
            if index is node:
                yield from _below(arguments[0], dimension, ignored, negative=True)


def _below(indexed: Any, dimension: Any, ignored: Any, negative: bool = False) -> Iterator[Values]:
    size = indexed.meta["val"].shape[dimension]
    if isinstance(size, int):  # else it follows from the number of rows
        yield Values(-size if negative else 0, size, ignored)
