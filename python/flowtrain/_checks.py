"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any

from flowtrain import _core


def whole(name: str, value: Any, least: int = 0) -> int:
    """The value as an int. Raises ValueError where it is no whole number, or less than `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} = {value!r}: expected a whole number from {least} on")
    return number


def refuse_workers(overrides: Mapping[str, Any] | None, argument: str) -> None:
    """Of rows that Python makes: the key says nothing of their threads. Raises TypeError, which names the argument."""
    if overrides and "loader.workers" in overrides:
        raise TypeError(f"loader.workers is of native threads: give {argument}={overrides['loader.workers']!r}")


def check_process(made_in: int) -> None:
    """Raises RuntimeError in a process that was forked from the one in which a loader was made."""
    if os.getpid() != made_in:
        raise RuntimeError(_core.made_before_fork)
