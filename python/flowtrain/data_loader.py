"""The loader behind torch's signature: a script changes its import, and runs natively what it had described."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from flowtrain._rows import DatasetRows
from flowtrain.loader import Loader



class DataLoader(Loader):
    """`torch.utils.data.DataLoader` for data sets and transforms that flowtrain has natively.

        loader = ft.DataLoader(ImageFolder("pictures/train", transform), batch_size=64, shuffle=True, num_workers=8)

    `dataset` may be torchvision's ImageFolder. Its transform has, in this order, RandomResizedCrop, or Resize and
    CenterCrop; RandomHorizontalFlip and ColorJitter, if any; ToTensor (of v2: ToDtype, with ToImage anywhere before);
    Normalize, if any. explain() says what became of each. Whatever else is given raises a TypeError that names it:
    python="threads" runs that in Python; or take a data set of flowtrain's (Loader.image_folder and its like).

    Batches are `(images, labels)` as tensors. Each iter() is another epoch with another order, as with torch; the
    order depends on `seed` alone. len(), state_dict(), load_state_dict(), set_epoch() are Loader's.
    """

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
        seed: of the order and of all that is drawn; None: the generator's, or 0.
        """
        asked = [name for name, value in unknown.items() if value not in (None, False, 0)]
        if asked:
            raise TypeError(f"flowtrain.DataLoader has no {', '.join(asked)}: {_WAY_OUT}")
        if batch_size is None:
            raise TypeError("batch_size = None: flowtrain.DataLoader makes batches")
        if seed is None:
            seed = generator.initial_seed() % 2**31 if generator is not None else 0
        if python not in (None, "threads"):
            raise ValueError(f"python = {python!r}: expected 'threads', or nothing")
        if collate_fn is not None and python is None:
            raise TypeError(f"collate_fn is Python, which flowtrain does not run by itself: {_WAY_OUT}")
        self._explained: list[str] = []
        rows = None
        if python is not None:
            rows = DatasetRows(dataset, num_workers, collate_fn or _default_collate(output))
            where = f"{num_workers} threads of Python" if num_workers else "the thread that iterates"
            self._explained.append(f"{rows.name}: as it is, in {where}")
        overrides = {
            **({} if rows else {**self._of_dataset(dataset), **self._of_transform(dataset)}),
            "order.name": "shuffle" if shuffle else "sequential",
            "loader.workers": max(num_workers, 1),
            "loader.prefetch": max((prefetch_factor or 2) * max(num_workers, 1), 2),
            "run.seed": seed,
        }
        super().__init__(overrides=overrides, batch_size=batch_size, drop_last=drop_last, output=output, ids=ids,
                         pin_memory=pin_memory, rank=rank, world_size=world_size, rows=rows)
        if rows is None:
            self._check(dataset)
        self.dataset = dataset
        self.batch_size = batch_size

    def __reduce__(self) -> tuple[Any, ...]:
        more = {name: getattr(self, name) for name in ("_explained", "dataset", "batch_size")}
        return (*super().__reduce__(), more)

    def explain(self) -> str:
        """What each part of the data set and its transform became."""
        return "\n".join(self._explained)

    def _of_dataset(self, dataset: Any) -> dict[str, Any]:
        kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(dataset).__mro__]
        if kinds[0] != "torchvision.datasets.folder.ImageFolder":
            raise TypeError(f"flowtrain.DataLoader does not know the data set {kinds[0]}: {_WAY_OUT}")
        for name, usual in (("target_transform", None), ("loader", "default_loader")):
            value = getattr(dataset, name)
            if getattr(value, "__name__", value) != usual:
                raise TypeError(f"ImageFolder's {name} is Python, which flowtrain does not run: {_WAY_OUT}")
        self._explained.append(f"{kinds[0]}: the data set image_folder, {dataset.root}")
        parent, folder = os.path.split(os.path.abspath(dataset.root))
        return {"data.dataset": "image_folder", "data.path": parent, "data.split": folder}

    def _of_transform(self, dataset: Any) -> dict[str, Any]:
        keys: dict[str, Any] = {"sampler.crop": "none", "sampler.flip": 0.0, "sampler.mean": [0.0] * 3,
                                "sampler.stddev": [1.0] * 3, "sampler.channels": 3}
        if dataset.transform is None:
            raise TypeError("the data set has no transform: batches need pictures of one size")
        seen: list[str] = []
        for transform in _flattened(dataset.transform):
            name = type(transform).__name__
            module = type(transform).__module__
            found = _TRANSFORMS[name](transform) if module.startswith("torchvision.") and name in _TRANSFORMS else None
            if found is None:
                raise TypeError(f"flowtrain does not do {transform!r} of {module}: {_WAY_OUT}")
            if not _may_follow(name, seen):
                raise TypeError(f"flowtrain does not do {transform!r} after {', '.join(seen) or 'nothing'}: {_WAY_OUT}")
            if "filter" in found and not _of_tensors(seen):
                found["filter"] = "antialias"  # as Pillow resizes in any case
            seen.append(name)
            keys.update({f"sampler.{key}": value for key, value in found.items()})
            told = ", ".join(f"sampler.{key} = {value}" for key, value in found.items()) or "as batches are anyway"
            self._explained.append(f"{transform!r}: {told}")
        if "sampler.size" not in keys:
            raise TypeError("the transform gives pictures of no common size: RandomResizedCrop or CenterCrop does")
        if not any(name in _TO_FLOATS for name in seen):
            raise TypeError("the transform gives no tensors of floats: ToTensor does, or ToImage and ToDtype")
        return keys

    def _check(self, dataset: Any) -> None:
        """The same samples, in the same places."""
        sizes = self._core.sizes()
        if self.classes != list(dataset.classes) or sizes["samples"] != len(dataset.samples):
            raise TypeError(
                f"ImageFolder has {len(dataset.samples)} samples of {len(dataset.classes)} classes, flowtrain finds "
                f"{sizes['samples']} of {len(self.classes)}: it takes JPEG, PNG and WebP alone"
            )
        start = len(os.path.join(dataset.root, ""))
        paths, labels = [path[start - 1:] for path, _ in dataset.samples], [label for _, label in dataset.samples]
        other = self._core.first_other(paths, labels)
        if other >= 0:
            raise TypeError(f"ImageFolder's sample {other} is {dataset.samples[other]}, flowtrain finds "
                            f"{self.describe(other)} there, or another label: {_WAY_OUT}")


_WAY_OUT = (
    "python=\"threads\" runs it as it is; or use torch's DataLoader, or one of flowtrain's data sets and samplers "
    "(help(flowtrain.Loader))"
)
_TO_FLOATS = ("ToTensor", "ToDtype", "ConvertImageDtype")
_TO_TENSORS = ("ToImage", "PILToTensor")
# The order in which the sampler does them.
_TURNS = {"Resize": 0, "RandomResizedCrop": 1, "CenterCrop": 1, "RandomHorizontalFlip": 2, "ColorJitter": 2,
          "ToTensor": 3, "ToDtype": 3, "ConvertImageDtype": 3, "Normalize": 4}


def _may_follow(name: str, seen: list[str]) -> bool:
    if name in seen:
        return False
    if name in _TO_TENSORS:
        return not any(each in _TO_FLOATS or each in _TO_TENSORS for each in seen)
    turns = [_TURNS[each] for each in seen if each in _TURNS]
    if name == "CenterCrop":
        return turns == [0]
    if name == "RandomResizedCrop":
        return not turns
    return not any(turn > _TURNS[name] or turn == _TURNS[name] != 2 for turn in turns)


def _of_tensors(seen: list[str]) -> bool:
    return any(name in _TO_TENSORS for name in seen)


def _default_collate(output: str | None) -> Callable[[list[Any]], Any] | None:
    if output == "numpy":
        return None
    try:
        from torch.utils.data import default_collate
    except ImportError:
        return None
    collate: Callable[[list[Any]], Any] = default_collate
    return collate


def _flattened(transform: Any) -> list[Any]:
    if type(transform).__name__ != "Compose":
        return [transform]
    return [part for each in transform.transforms for part in _flattened(each)]


def _square(size: Any) -> int | None:
    sides = list(size) if isinstance(size, (list, tuple)) else [size, size]
    return sides[0] if len(set(sides)) == 1 else None


def _filter(transform: Any) -> str | None:
    if getattr(transform.interpolation, "value", None) != "bilinear":
        return None
    return "antialias" if transform.antialias is not False else "bilinear"


def _random_resized_crop(transform: Any) -> dict[str, Any] | None:
    size, filter_ = _square(transform.size), _filter(transform)
    if size is None or filter_ is None:
        return None
    return {"crop": "random_resized", "size": size, "scale": list(transform.scale), "ratio": list(transform.ratio),
            "filter": filter_}


def _resize(transform: Any) -> dict[str, Any] | None:
    filter_ = _filter(transform)
    shorter = transform.size if isinstance(transform.size, int) else transform.size[0]
    if filter_ is None or transform.max_size or not isinstance(transform.size, int) and len(transform.size) != 1:
        return None
    return {"resize": shorter, "filter": filter_}


def _center_crop(transform: Any) -> dict[str, Any] | None:
    size = _square(transform.size)
    return None if size is None else {"size": size}


def _color_jitter(transform: Any) -> dict[str, Any] | None:
    keys = {}
    for name in ("brightness", "contrast", "saturation", "hue"):
        value = getattr(transform, name)
        if value is None:
            continue
        middle = 0.0 if name == "hue" else 1.0
        if abs((value[0] + value[1]) / 2 - middle) > 1e-9:
            return None
        keys[name] = round(value[1] - middle, 9)
    return keys


def _normalize(transform: Any) -> dict[str, Any] | None:
    return {"mean": [float(x) for x in transform.mean], "stddev": [float(x) for x in transform.std]}


_TRANSFORMS: dict[str, Callable[[Any], dict[str, Any] | None]] = {
    "RandomResizedCrop": _random_resized_crop,
    "Resize": _resize,
    "CenterCrop": _center_crop,
    "RandomHorizontalFlip": lambda transform: {"flip": float(transform.p)},
    "ColorJitter": _color_jitter,
    "ToTensor": lambda transform: {},
    "ToImage": lambda transform: {},
    "PILToTensor": lambda transform: {},
    "ToDtype": lambda transform: {} if str(transform.dtype) == "torch.float32" and transform.scale else None,
    "ConvertImageDtype": lambda transform: {} if str(transform.dtype) == "torch.float32" else None,
    "Normalize": _normalize,
}
