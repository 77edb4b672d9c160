"""Values of Python as TOML writes them."""

from __future__ import annotations

import json
import os
from typing import Any


def to_toml(value: Any) -> str:
    """`True` is `true`, a path a text, a tuple a list. Raises TypeError for what TOML has no word for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_toml(item) for item in value) + "]"
    raise TypeError(f"a {type(value).__name__} is no value of a configuration: {value!r}")
