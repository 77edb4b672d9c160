"""The loader behind torch's signature: a script changes its import, and runs natively what it had described."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, overload

from flowtrain._batches import BatchT
from flowtrain._checks import no_argument, refuse_workers, whole
from flowtrain._output import torch_if_it_works
from flowtrain._ranks import rank_and_world
from flowtrain._rows import DatasetRows
from flowtrain._torchvision_data import WAY_OUT, NativeData, native_data
from flowtrain._torchvision_transforms import sampler_keys
from flowtrain.loader import Loader

if TYPE_CHECKING:
    import numpy
    from torch import Tensor


class DataLoader(Loader[BatchT]):
    """`torch.utils.data.DataLoader` for data sets and transforms that flowtrain has natively.

        loader = ft.DataLoader(ImageFolder("pictures/train", transform), batch_size=64, shuffle=True, num_workers=8)

    `dataset` may be of torchvision: ImageFolder; CIFAR10, CIFAR100, MNIST, FashionMNIST, KMNIST, EMNIST, QMNIST, whose
    pixels are in memory already; FakeData, whose pictures torchvision makes once. Its transform has, in this order,
    RandomResizedCrop, or Resize and CenterCrop, or RandomCrop with or after padding, or none where pictures are stored
    in one size; RandomHorizontalFlip and ColorJitter, if any; ToTensor (of v2: ToDtype, with ToImage anywhere before);
    Normalize, if any. explain() says what became of each. Whatever else is given raises a TypeError that names it:
    python="threads" runs that in Python; or take a data set of flowtrain's (Loader.image_folder and its like).

    Batches are `(images, labels)`: f32 (batch, channels, height, width) and i64 (batch,), as tensors. Each iter() is
    another epoch with another order, as with torch; the order depends on `seed` alone, which is torch's unless it is
    given. len(), state_dict(), load_state_dict(), set_epoch() are Loader's.

    Under torch.distributed, or RANK and WORLD_SIZE, each rank takes its part of the samples by itself, those of
    validation, too: leave out DistributedSampler, and give rank=0, world_size=1 where a rank is to see all of them.

    CocoDetection, without a transform and with COCO's own layout of files (annotations/instances_<folder>.json beside
    the pictures' folder), gives dicts, as its samples differ in size and number of boxes: the rows that CornerNet
    learns from, with the keys of Loader.coco(path, sampler="cornernet"), augmented.
    """

    _follows_torch = False  # the seed is torch's: no argument gives one

    @overload
    def __init__(
        self: DataLoader[Any], dataset: Any, batch_size: int = ..., shuffle: bool = ..., *,
        python: Literal["threads"], **more: Any
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]], dataset: Any, batch_size: int = ...,
        shuffle: bool = ..., *, output: Literal["numpy"], ids: Literal[True], **more: Any
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[tuple[numpy.ndarray, numpy.ndarray]], dataset: Any, batch_size: int = ...,
        shuffle: bool = ..., *, output: Literal["numpy"], **more: Any
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[tuple[Tensor, Tensor, Tensor]], dataset: Any, batch_size: int = ..., shuffle: bool = ..., *,
        ids: Literal[True], **more: Any
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[tuple[Tensor, Tensor]], dataset: Any, batch_size: int = ..., shuffle: bool = ..., **more: Any
    ) -> None: ...
    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        num_workers: int = 0,
        pin_memory: bool = False,
        drop_last: bool = False,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        generator: Any = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        python: str | None = None,
        seed: int | None = None,
        output: str | None = None,
        ids: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        overrides: Mapping[str, Any] | None = None,
        **unknown: Any,
    ) -> None:
        """batch_size, shuffle, drop_last, generator: as torch has them. num_workers, prefetch_factor: threads, at least
        one, and batches ahead for each, 2 by default; threads stay from epoch to epoch in any case.

        pin_memory: tensors are in page-locked memory, where torch has a GPU.
        python: "threads" runs the data set, its transform and collate_fn as they are, whatever they are, in
            `num_workers` threads of Python, which share the GIL and call the data set at once. Order, state and errors
            are the loader's. What transforms draw from `random`, `numpy.random` or torch is reproducible with
            num_workers=0 alone, which makes each batch when it is asked for, and seeds these generators for each sample
            (and puts them back): threads share them. What they draw from flowtrain.sample_rng() always is.
        collate_fn: as torch has it, with python="threads"; None: torch's default_collate; without torch, or with
            output="numpy", rows are stacked as NumPy arrays.
        seed: of the order and of all that is drawn. None: the generator's; without one that of torch.manual_seed(), or
            what torch has drawn where it was not called, another one in each process; 0 for several ranks, which must
            have the same, and without torch. load_state_dict() takes such a seed from the state.
        overrides: values of keys, {"order.name": "weighted", "order.weights_file": "weights.txt"}, which replace those
            that the other arguments give.
        """
        for name, value in unknown.items():
            _check_is_default(name, value)
        if batch_size is None:
            raise TypeError("batch_size = None: flowtrain.DataLoader makes batches")
        num_workers = whole("num_workers", num_workers)
        if prefetch_factor is not None:
            prefetch_factor = whole("prefetch_factor", prefetch_factor, 1)
        rank, world_size = rank_and_world(rank, world_size)
        self._follows_torch = seed is None and generator is None and "run.seed" not in (overrides or {})
        if seed is None:
            seed = _seed_of_torch(generator, world_size)
        if python not in (None, "threads"):
            raise ValueError(f"python = {python!r}: expected 'threads', or nothing")
        if collate_fn is not None and python is None:
            raise TypeError(f"collate_fn is Python, which flowtrain does not run by itself: {WAY_OUT}")
        data: NativeData | None = None
        rows: DatasetRows | None = None
        if python is not None:
            refuse_workers(overrides, "num_workers")
            rows = DatasetRows(dataset, num_workers, collate_fn or _default_collate(output))
            self._explained = [f"{rows.name}, its transform and collate_fn: as they are, in Python"]
            keys: dict[str, Any] = {}
        else:
            data = native_data(dataset, shuffle)
            self._explained = [data.description]
            keys = {**data.keys,
                    **(sampler_keys(dataset.transform, data, self._explained) if data.has_transform else {})}
        values = {
            **keys,
            "order.name": "shuffle" if shuffle else "sequential",
            "loader.workers": max(num_workers, 1),
            "loader.prefetch": max((prefetch_factor or 2) * max(num_workers, 1), 2),
            "run.seed": seed,
            **(overrides or {}),
        }
        super().__init__(overrides=values, batch_size=batch_size, drop_last=drop_last, output=output, ids=ids,
                         pin_memory=pin_memory, rank=rank, world_size=world_size, rows=rows,
                         arrays=data.arrays if data else None)
        if data is not None:
            data.check(self)
        self.dataset = dataset
        self.batch_size = batch_size

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores a state as Loader does; a seed that came from torch becomes the state's, so its order continues."""
        seed = self._basis.get("run.seed")
        before = state.get("basis") if isinstance(state, Mapping) else None
        stored = before.get("run.seed", seed) if isinstance(before, Mapping) else seed
        if self._follows_torch and stored != seed and isinstance(stored, str) and stored.isdecimal():
            self.close()
            overrides = {**self._arguments["overrides"], "run.seed": int(stored)}
            Loader.__init__(self, **{**self._arguments, "overrides": overrides})
            del self._basis
        super().load_state_dict(state)

    def __reduce__(self) -> tuple[Any, ...]:
        more = {name: getattr(self, name) for name in ("_explained", "_follows_torch", "dataset", "batch_size")}
        return (*super().__reduce__(), more)

    def explain(self) -> str:
        """Describes what each part of the data set and its transform became, then what Loader.explain() returns."""
        return "\n".join([*self._explained, super().explain()])


def _seed_of_torch(generator: Any, world_size: int) -> int:
    """The generator's seed, or that of torch.manual_seed(). Ranks must have one order, and scripts seed each rank
    otherwise: for several it is 0, as DistributedSampler's is."""
    if generator is None:
        torch = sys.modules.get("torch")
        if torch is None or world_size > 1:
            return 0
        generator = torch
    seed: int = generator.initial_seed() % 2**31
    return seed


#: Arguments of torch's DataLoader that this one lacks: their defaults, and what to do in place of others.
_LACKING: dict[str, tuple[Any, str]] = {
    "sampler": (None, 'shuffle says the order, or overrides={"order.name": "weighted", …}'),
    "batch_sampler": (None, 'batch_size, drop_last and shuffle say the batches, or overrides={"order.name": …}'),
    "worker_init_fn": (None, "workers are threads of this process: call it before, and draw from "
                             "flowtrain.sample_rng(), which is seeded for each sample"),
    "multiprocessing_context": (None, "workers are threads: leave it out"),
    "timeout": (0, "Ctrl-C ends a wait, which has no limit: leave it out"),
    "pin_memory_device": ("", "pin_memory=True takes the device that torch is on: leave it out"),
    "in_order": (True, "batches come in order: leave it out"),
}


def _check_is_default(name: str, value: Any) -> None:
    """Raises TypeError for an argument that neither torch's DataLoader nor this one has, or that asks for something."""
    if name not in _LACKING:
        raise no_argument("DataLoader", name, [*signature(DataLoader).parameters, *_LACKING])
    default, way_out = _LACKING[name]
    if value is default or type(value) in (int, float, str) and value == default:
        return
    if any(type(each).__name__ == "DistributedSampler" for each in (value, getattr(value, "sampler", None))):
        way_out = "leave it out: each rank takes its part by itself, and shuffle=True gives each epoch its order"
    raise TypeError(f"flowtrain.DataLoader has no {name}: {way_out}")


def _default_collate(output: str | None) -> Callable[[list[Any]], Any] | None:
    if output == "numpy":
        return None
    if torch_if_it_works(must=output == "torch") is None:
        return None
    from torch.utils.data import default_collate

    collate: Callable[[list[Any]], Any] = default_collate
    return collate
