"""torchvision's transforms as keys of the sampler `classify`: what ft.DataLoader knows of each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy

from flowtrain._torchvision_data import WAY_OUT, NativeData

#: Keys of the sampler, without "sampler.".
Keys = dict[str, Any]


def sampler_keys(transform: Any, data: NativeData, lines: list[str]) -> Keys:
    """Keys of the configuration for all parts of a transform; adds a line for each to `lines`.

    Raises TypeError for a part that the sampler does not do, or not in that place.
    """
    if transform is None:
        raise TypeError("the data set has no transform: batches need pictures of one size, as tensors")
    keys: Keys = {"crop": "none", "flip": 0.0, "mean": [0.0], "stddev": [1.0]}
    seen: list[str] = []
    for part in _flattened(transform):
        name = type(part).__name__
        module = type(part).__module__
        found = _PARTS[name](part, data) if module.startswith("torchvision.") and name in _PARTS else None
        if found is None:
            raise TypeError(f"flowtrain does not support {part!r} of {module}: {WAY_OUT}")
        if not _may_follow(name, seen) or name == "RandomCrop" and "Pad" in seen and found["padding"]:
            raise TypeError(f"flowtrain does not support {part!r} after {', '.join(seen) or 'nothing'}: {WAY_OUT}")
        if name == "CenterCrop" and any(map(operator.gt, _both(found["size"]), _both(keys["resize"]))):
            raise TypeError(f"flowtrain does not support {part!r} of pictures whose shorter side is {keys['resize']}, "
                            f"which it would have to pad: {WAY_OUT}")
        if "filter" in found and not any(each in _TO_TENSORS for each in seen):
            found["filter"] = "antialias"  # Pillow always antialiases
        if name == "RandomCrop" and "Pad" in seen:
            found["padding"] = keys["padding"]
        seen.append(name)
        keys.update(found)
        what = ", ".join(f"sampler.{key} = {value}" for key, value in found.items()) or "already done by the loader"
        lines.append(f"{part!r}: {what}")
    _check_whole(seen, keys, data)
    channels = data.picture[2] if data.picture else 3
    for key in ("mean", "stddev"):
        if len(keys[key]) == 1:  # torch repeats it
            keys[key] *= channels
    return {f"sampler.{key}": value for key, value in keys.items()}


def _check_whole(seen: list[str], keys: Keys, data: NativeData) -> None:
    """Checks that pictures have one size and become tensors of floats."""
    if "Pad" in seen and "RandomCrop" not in seen:
        raise TypeError(f"flowtrain does not support Pad without RandomCrop after it: {WAY_OUT}")
    if "size" not in keys and data.picture is None:
        raise TypeError("the transform gives pictures of no common size: RandomResizedCrop, RandomCrop or CenterCrop "
                        "does")
    if not any(name in _TO_FLOATS for name in seen):
        raise TypeError("the transform does not make tensors of floats: ToTensor does, or ToImage and ToDtype")


_TO_FLOATS = ("ToTensor", "ToDtype", "ConvertImageDtype")
_TO_TENSORS = ("ToImage", "PILToTensor")
# The order in which the sampler does them.
_TURNS = {"Resize": 0, "RandomResizedCrop": 1, "RandomCrop": 1, "CenterCrop": 1, "RandomHorizontalFlip": 2,
          "ColorJitter": 2, "ToTensor": 3, "ToDtype": 3, "ConvertImageDtype": 3, "Normalize": 4}


def _may_follow(name: str, seen: list[str]) -> bool:
    if name in seen:
        return False
    if name in _TO_TENSORS:
        return not any(each in _TO_FLOATS or each in _TO_TENSORS for each in seen)
    before = [each for each in seen if each not in _TO_TENSORS]
    if name == "CenterCrop":
        return before == ["Resize"]
    if name in ("Pad", "RandomCrop"):  # mirrored pictures have the same parts
        return [each for each in before if each != "RandomHorizontalFlip"] in ([], ["Pad"])
    if name == "RandomResizedCrop":
        return not before
    turns = [_TURNS[each] for each in before if each != "Pad"]
    return not any(turn > _TURNS[name] or turn == _TURNS[name] != 2 for turn in turns)


def _flattened(transform: Any) -> list[Any]:
    if type(transform).__name__ != "Compose":
        return [transform]
    return [part for each in transform.transforms for part in _flattened(each)]


def _same(sides: Any) -> int | None:
    """Returns the number that all sides have."""
    numbers = list(sides) if isinstance(sides, (list, tuple)) else [sides]
    return numbers[0] if len(set(numbers)) == 1 else None


def _size(sides: Any) -> int | list[int]:
    """Returns one number if both sides are equal, else [height, width]."""
    same = _same(sides)
    return list(sides) if same is None else same


def _both(size: int | list[int]) -> list[int]:
    return [size, size] if isinstance(size, int) else size


def _filter(transform: Any) -> str | None:
    if getattr(transform.interpolation, "value", None) != "bilinear":
        return None
    return "antialias" if transform.antialias is not False else "bilinear"


def _random_resized_crop(transform: Any, data: NativeData) -> Keys | None:
    size, filter_ = _size(transform.size), _filter(transform)
    if filter_ is None:
        return None
    return {"crop": "random_resized", "size": size, "scale": list(transform.scale), "ratio": list(transform.ratio),
            "filter": filter_}


def _resize(transform: Any, data: NativeData) -> Keys | None:
    filter_ = _filter(transform)
    if filter_ is None or transform.max_size:
        return None
    if not isinstance(transform.size, int) and len(transform.size) != 1:  # both sides, whatever the picture's form
        if data.picture and data.picture[0] == data.picture[1] and _same(transform.size) is not None:
            return {"size": _same(transform.size), "resize": _same(transform.size), "filter": filter_}
        return {"size": _size(transform.size), "resize": list(transform.size), "filter": filter_}
    shorter = _same(transform.size)
    if data.picture is None or shorter is None:
        return {"resize": shorter, "filter": filter_}
    sides = [shorter * side // min(data.picture[:2]) for side in data.picture[:2]]
    return {"size": _size(sides), "resize": shorter, "filter": filter_}


def _center_crop(transform: Any, data: NativeData) -> Keys | None:
    return {"size": _size(transform.size)}


def _padding(transform: Any) -> int | None:
    """Returns the padding if it is black and equal on all sides, else None."""
    padding = 0 if transform.padding is None else _same(transform.padding)
    black = transform.padding_mode == "constant" and _same(transform.fill) == 0
    return padding if black or padding == 0 else None


def _random_crop(transform: Any, data: NativeData) -> Keys | None:
    padding = _padding(transform)
    if padding is None or transform.pad_if_needed:
        return None
    return {"crop": "pad", "size": _size(transform.size), "padding": padding}


def _pad(transform: Any, data: NativeData) -> Keys | None:
    padding = _padding(transform)
    return None if padding is None else {"padding": padding}


def _color_jitter(transform: Any, data: NativeData) -> Keys | None:
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


def _normalize(transform: Any, data: NativeData) -> Keys | None:
    return {key: numpy.asarray(values, float).ravel().tolist()
            for key, values in (("mean", transform.mean), ("stddev", transform.std))}


_PARTS: dict[str, Callable[[Any, NativeData], Keys | None]] = {
    "RandomResizedCrop": _random_resized_crop,
    "RandomCrop": _random_crop,
    "Resize": _resize,
    "CenterCrop": _center_crop,
    "Pad": _pad,
    "RandomHorizontalFlip": lambda transform, data: {"flip": float(transform.p)},
    "ColorJitter": _color_jitter,
    "ToTensor": lambda transform, data: {},
    "ToImage": lambda transform, data: {},
    "PILToTensor": lambda transform, data: {},
    "ToDtype": lambda transform, data: {} if str(transform.dtype) == "torch.float32" and transform.scale else None,
    "ConvertImageDtype": lambda transform, data: {} if str(transform.dtype) == "torch.float32" else None,
    "Normalize": _normalize,
}
