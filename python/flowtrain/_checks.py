"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any


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
