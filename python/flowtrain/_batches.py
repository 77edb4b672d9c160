"""Types of what loaders hand out, by the arguments that decide them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import numpy
    from torch import Tensor

    from flowtrain.loader import Loader

    Path = str | os.PathLike[str]
    Detection = Literal["boxes", "cornernet", "cornernet_saccade"]

#: The type of what a loader hands out.
BatchT = TypeVar("BatchT", covariant=True)


class Opens(Protocol):
    """Loader.image_folder and its like: help() of each lists its arguments."""

    @overload
    def __call__(self, path: Path = ..., *, sampler: Detection, **arguments: Any) -> Loader[dict[str, Any]]: ...
    @overload
    def __call__(
        self, path: Path = ..., *, output: Literal["numpy"], ids: Literal[True], **arguments: Any
    ) -> Loader[tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]]: ...
    @overload
    def __call__(
        self, path: Path = ..., *, output: Literal["numpy"], **arguments: Any
    ) -> Loader[tuple[numpy.ndarray, numpy.ndarray]]: ...
    @overload
    def __call__(
        self, path: Path = ..., *, ids: Literal[True], **arguments: Any
    ) -> Loader[tuple[Tensor, Tensor, Tensor]]: ...
    @overload
    def __call__(self, path: Path = ..., **arguments: Any) -> Loader[tuple[Tensor, Tensor]]: ...


class OpensText(Protocol):
    """Loader.text, Loader.audio and their like, whose batches are dicts."""

    def __call__(self, path: Path = ..., **arguments: Any) -> Loader[dict[str, Any]]: ...


class OpensArrays(Protocol):
    """Loader.arrays."""

    @overload
    def __call__(
        self, images: Any, labels: Any, class_names: Sequence[str] | None = ..., *, output: Literal["numpy"],
        ids: Literal[True], **arguments: Any
    ) -> Loader[tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]]: ...
    @overload
    def __call__(
        self, images: Any, labels: Any, class_names: Sequence[str] | None = ..., *, output: Literal["numpy"],
        **arguments: Any
    ) -> Loader[tuple[numpy.ndarray, numpy.ndarray]]: ...
    @overload
    def __call__(
        self, images: Any, labels: Any, class_names: Sequence[str] | None = ..., *, ids: Literal[True],
        **arguments: Any
    ) -> Loader[tuple[Tensor, Tensor, Tensor]]: ...
    @overload
    def __call__(
        self, images: Any, labels: Any, class_names: Sequence[str] | None = ..., **arguments: Any
    ) -> Loader[tuple[Tensor, Tensor]]: ...
