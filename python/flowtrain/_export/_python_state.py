"""Finds the Python state that a net reads and changes while it is called, which a graph does not contain."""

from __future__ import annotations

import copy
import random
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from flowtrain._export._torch import CarriedOver

_PLAIN = (int, float, bool, str, bytes, complex, type(None))
# Containers of Python itself. A class derived from one may refuse changes, and is replaced by its copy.
#: Those of Python itself. A class made of one may refuse to be changed, and is replaced by its copy.
_CONTAINERS = (dict, OrderedDict, defaultdict, set, list)
_MOST = 1000  #: values of a list or dict that is looked into


@dataclass(frozen=True)
class PythonState:
    """Random generators of Python and NumPy, and the attributes of a net's modules."""

    generators: dict[str, Any]
    #: With their names, and attributes with copies of what these hold.
    modules: list[tuple[nn.Module, str, dict[str, tuple[Any, Any]]]]

    @classmethod
    def of(cls, net: nn.Module) -> PythonState:
        return cls(_generators(), [(module, name, {key: (value, _copied(value)) for key, value in vars(module).items()})
                                   for name, module in net.named_modules()])

    def restore(self) -> None:
        """Restores everything. Containers stay the same objects: handles of hooks, for one, refer to theirs."""
        random.setstate(self.generators["random"])
        if "numpy.random" in self.generators:
            sys.modules["numpy"].random.set_state(self.generators["numpy.random"])
        for module, _, attributes in self.modules:
            for key in vars(module).keys() - attributes.keys():
                del vars(module)[key]
            for key, (value, content) in attributes.items():
                own = type(value) in _CONTAINERS
                vars(module)[key] = value if own else _copied(content)
                if own and value is not content:
                    value.clear()
                    (value.extend if isinstance(value, list) else value.update)(_copied(content))

    def drawn_from(self) -> list[str]:
        """Returns the generators that have drawn since."""
        return [name for name, state in _generators().items() if not _same(state, self.generators.get(name, state))]

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """The attributes of modules that are other plain values since, by name: before and now."""
        found = {}
        for module, name, attributes in self.modules:
            for key, (_, before) in attributes.items():
                now = vars(module).get(key)
                if _is_plain(before) and _is_plain(now) and not _same(before, now):
                    found[f"{name}.{key}" if name else key] = (before, now)
        return found


def warnings_of(net: nn.Module, call: Callable[[], list[str]]) -> list[str]:
    """Returns warnings for a net whose calls depend on Python's state. call: computes once, without values, and returns
    the operations that it has computed."""
    first = PythonState.of(net)
    try:
        operations = call()
        drawn = first.drawn_from()
        second = PythonState.of(net)
        again = call()
        counted = second.changed()
    except CarriedOver as error:
        own = [f"{name}.{key}" if name else key for name, module in net.named_modules()
               for key, value in vars(module).items() if value is error.tensor]
        return [f"{own[0] if own else 'the net'} keeps a tensor of one call for the next in Python: what it was while "
                "the net was traced holds in every step; a buffer (register_buffer) changes in the graph, too"]
    except Exception:  # the tracing reports it
        return []
    finally:
        first.restore()
    found = [f"the net draws from Python's {name} when it is called: what it drew while it was traced holds in every "
             "step; draw by torch (torch.rand), as tensors" for name in drawn]
    for name, (before, now) in counted.items():
        found.append(f"{name} changes in Python with every call ({before!r}, then {now!r}): what it was while the net "
                     "was traced holds in every step; a buffer (register_buffer) changes in the graph, too")
    if operations != again and not found:
        place = next((i for i, (one, other) in enumerate(zip(operations, again)) if one != other),
                     min(len(operations), len(again)))
        one, other = (ops[place] if place < len(ops) else "the end" for ops in (operations, again))
        found.append(f"the net computes otherwise when it is called again ({one}, then {other}): something of Python "
                     "decides, and what it was while the net was traced holds in every step")
    return found


def _generators() -> dict[str, Any]:
    states: dict[str, Any] = {"random": random.getstate()}
    if "numpy" in sys.modules:
        states["numpy.random"] = sys.modules["numpy"].random.get_state()
    return states


def _copied(value: Any) -> Any:
    """Copies containers that a call may change; everything else is returned as it is."""
    if isinstance(value, (dict, list, set)) and not isinstance(value, nn.Module):
        try:
            return copy.deepcopy(value) if _is_plain(value) else copy.copy(value)
        except Exception:  # a class of somebody's own
            return value
    return value


def _is_plain(value: Any) -> bool:
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, dict):
        return len(value) < _MOST and all(_is_plain(each) for pair in value.items() for each in pair)
    return isinstance(value, (list, tuple, set)) and len(value) < _MOST and all(_is_plain(each) for each in value)


def _same(one: Any, other: Any) -> bool:
    """Whether states of generators, and plain values, are equal; arrays are among the former."""
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    equal = one == other
    return equal or (one != one and other != other) if isinstance(equal, bool) else bool(equal.all())
