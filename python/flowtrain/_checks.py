"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

from flowtrain import _core


def whole(name: str, value: Any, least: int = 0) -> int:
    """Returns the value as an int. Raises ValueError if it is not a whole number, or less than `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} = {value!r}: expected a whole number of at least {least}")
    return number


def refuse_workers(overrides: Mapping[str, Any] | None, argument: str) -> None:
    """Refuses loader.workers, which are not the threads of rows made in Python. The TypeError names the argument."""
    if overrides and "loader.workers" in overrides:
        raise TypeError(f"loader.workers sets native threads: give {argument}={overrides['loader.workers']!r}")


def check_process(made_in: int) -> None:
    """Raises RuntimeError in a process that was forked from the one in which a loader was made."""
    if os.getpid() != made_in:
        raise RuntimeError(_core.made_before_fork)


class NoArgument(TypeError):
    """An argument that a function does not have: its name, and the names of those that it has."""

    def __init__(self, message: str, name: str, known: Iterable[str]) -> None:
        super().__init__(message)
        self.name = name
        self.known = set(known)


def no_argument(function: str, name: str, known: Iterable[str]) -> NoArgument:
    """Returns the error for an unknown argument, with the nearest one, or the place that lists all."""
    names = set(known)
    near = difflib.get_close_matches(name, sorted(names), n=1)
    way_out = f"did you mean {near[0]}?" if near else f"help(flowtrain.{function}) lists them"
    return NoArgument(f"{function}() has no argument {name!r}: {way_out}", name, names)


def import_torch() -> Any:
    """Returns torch, or None if it is not installed. Raises ImportError with the reason if it is broken."""
    try:
        return importlib.import_module("torch")
    except Exception as error:  # a library that is missing is an ImportError, an OSError or a ValueError
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            return None
        found = importlib.util.find_spec("torch")
        raise ImportError(
            f"{found.origin if found else 'torch'} cannot be imported: {error}. The LibTorch that cmake/go installs is "
            "for C++ alone, without the libraries that Python's torch loads: pip install torch in a folder of its own"
        ) from error
