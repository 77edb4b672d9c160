"""The program flowtrain that the wheel holds: where it is, and the LibTorch of this Python's torch for it."""

from __future__ import annotations

import importlib.util
import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "flowtrain")


def environment() -> dict[str, str]:
    """This process' environment, in which FLOWTRAIN_TORCH names the folder of the package torch, if there is one."""
    around = dict(os.environ)
    torch = importlib.util.find_spec("torch")  # imports nothing
    if torch is not None and torch.submodule_search_locations:
        around.setdefault("FLOWTRAIN_TORCH", torch.submodule_search_locations[0])
    return around


if __name__ == "__main__":
    os.execve(PROGRAM, [PROGRAM, *sys.argv[1:]], environment())
