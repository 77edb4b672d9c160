"""Finds the rank of this process and the number of processes that train together."""

from __future__ import annotations

import os
import sys


def rank_and_world(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns the arguments, or those of an initialized torch.distributed, or RANK and WORLD_SIZE, or (0, 1)."""
    if (rank is None) != (world_size is None):
        raise TypeError("rank and world_size go together: give both, or neither")
    if rank is not None and world_size is not None:
        found = (rank, world_size)
    elif (group := sys.modules.get("torch.distributed")) and group.is_available() and group.is_initialized():
        found = (group.get_rank(), group.get_world_size())
    else:
        found = _of_environment()
    if not 0 <= found[0] < found[1]:
        raise ValueError(f"rank = {found[0]} and world_size = {found[1]}: expected 0 <= rank < world_size")
    return found


def _of_environment() -> tuple[int, int]:
    texts = {name: os.environ[name] for name in ("RANK", "WORLD_SIZE") if name in os.environ}
    given = " ".join(f"{name}={text}" for name, text in texts.items())
    try:
        found = int(texts.get("RANK", "0")), int(texts.get("WORLD_SIZE", "1"))
    except ValueError:
        raise ValueError(f"the environment has {given}: expected whole numbers") from None
    if len(texts) == 1 and found != (0, 1):
        raise ValueError(f"the environment has {given} alone: RANK and WORLD_SIZE go together; or give rank and "
                         "world_size")
    return found
