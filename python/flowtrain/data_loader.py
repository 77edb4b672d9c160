"""The loader behind torch's signature: a script changes its import, and runs natively what it had described."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from flowtrain.loader import Loader



class DataLoader(Loader):
    """`torch.utils.data.DataLoader` for data sets and transforms that flowtrain has natively.

        loader = ft.DataLoader(ImageFolder("pictures/train", transform), batch_size=64, shuffle=True, num_workers=8)

    `dataset` may be torchvision's ImageFolder, with Compose of RandomResizedCrop, Resize, CenterCrop,
    RandomHorizontalFlip, ColorJitter, ToTensor (or ToImage and ToDtype) and Normalize. explain() says what became of
    each. Whatever else is given raises a TypeError that names it: use torch's DataLoader for that, or a data set of
    flowtrain's (Loader.image_folder and its like).

    Batches are `[images, labels]` as tensors. Each iter() is another epoch with another order, as with torch; the
    order depends on `seed` alone. len(), state_dict(), load_state_dict(), set_epoch() are Loader's.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        num_workers: int = 0,
        drop_last: bool = False,
        prefetch_factor: int = 2,
        generator: Any = None,
        seed: int | None = None,
        output: str | None = None,
        ids: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        **unknown: Any,
    ) -> None:
        """batch_size, shuffle, num_workers, drop_last, prefetch_factor, generator: as torch has them; 0 workers are 1.

        seed: of the order and of all that is drawn; None: the generator's, or 0.
        """
        asked = [name for name, value in unknown.items() if value not in (None, False, 0)]
        if asked:
            raise TypeError(f"flowtrain.DataLoader has no {', '.join(asked)}: its threads need none, or it cannot do it")
        self._explained: list[str] = []
        overrides = {
            **self._of_dataset(dataset),
            **self._of_transform(dataset),
            "order.name": "shuffle" if shuffle else "sequential",
            "loader.workers": max(num_workers, 1),
            "loader.prefetch": max(prefetch_factor * max(num_workers, 1), 2),
            "run.seed": seed if seed is not None else generator.initial_seed() % 2**31 if generator is not None else 0,
        }
        super().__init__(overrides=overrides, batch_size=batch_size, drop_last=drop_last, output=output, ids=ids,
                         rank=rank, world_size=world_size)
        self._check(dataset)

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
        floats = False
        for transform in _flattened(dataset.transform):
            name = type(transform).__name__
            module = type(transform).__module__
            found = _TRANSFORMS[name](transform) if module.startswith("torchvision.") and name in _TRANSFORMS else None
            if found is None:
                raise TypeError(f"flowtrain does not do {transform!r} of {module}: {_WAY_OUT}")
            floats = floats or name in _TO_FLOATS
            keys.update({f"sampler.{key}": value for key, value in found.items()})
            told = ", ".join(f"sampler.{key} = {value}" for key, value in found.items()) or "as batches are anyway"
            self._explained.append(f"{transform!r}: {told}")
        if "sampler.size" not in keys:
            raise TypeError("the transform gives pictures of no common size: RandomResizedCrop or CenterCrop does")
        if not floats:
            raise TypeError("the transform gives no tensors of floats: ToTensor does, or ToImage and ToDtype")
        return keys

    def _check(self, dataset: Any) -> None:
        """The same samples, in the same places."""
        sizes = self._core.sizes()
        last = len(dataset.samples) - 1
        same = self.classes == list(dataset.classes) and sizes["samples"] == len(dataset.samples) and all(
            os.path.samefile(self.describe(place), dataset.samples[place][0]) for place in (0, last // 2, last)
        )
        if not same:
            raise TypeError(
                f"ImageFolder has {len(dataset.samples)} samples of {len(dataset.classes)} classes, flowtrain finds "
                f"{sizes['samples']} of {len(self.classes)}: it takes JPEG, PNG and WebP alone"
            )


_WAY_OUT = "use torch's DataLoader, or one of flowtrain's data sets and samplers (help(flowtrain.Loader))"
_TO_FLOATS = ("ToTensor", "ToDtype", "ConvertImageDtype")


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
