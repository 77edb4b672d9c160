"""Values of Python as TOML writes them."""

from __future__ import annotations

import json
import numbers
import os
from typing import Any

import numpy


def key_to_toml(key: str, value: Any) -> str:
    """Formats the value of a key; errors name the key."""
    try:
        return to_toml(value)
    except TypeError as error:
        raise TypeError(f"{key}: {error}") from None


def to_toml(value: Any) -> str:
    """Returns `true` for True, a text for a path, a list for a tuple, a table for a dict.

    Raises TypeError for what TOML has no word for."""
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {to_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_toml(item) for item in value) + "]"
    raise TypeError(f"a {type(value).__name__} cannot be a value of a configuration: {value!r}")
