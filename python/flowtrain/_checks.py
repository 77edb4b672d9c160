"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import operator
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
