"""Explains in words what a loader does, by the values that it was made with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from flowtrain import _core


def explain_loader(core: _core.Loader, arguments: Mapping[str, Any], where: str) -> str:
    """`arguments`: those of Loader(). `where`: what memory batches are in."""
    values = {key: _parsed(text) for key, text in core.values().items()}
    training = arguments["split"] == "train"
    sizes, stored = core.sizes(), core.stored()
    fields = {name: shape for name, (_, shape, *_) in zip(core.fields(), core.layout())}
    sized, free = _sized(values), core.free_axes()
    first = 1 if _who_makes_floats(arguments) == "the workers" else 0  # axis of heights

    def axes(name: str) -> set[int]:
        """Returns the axes of a field whose extent differs between batches."""
        if name in sized:
            return {first, first + 1} if training else set()
        return {axis - 1 for axis in free.get(name, {})}

    lines = [
        f"data: {_dataset(values, training)}, {sizes['samples']:,} samples in {len(core.classes())} classes, "
        + _place_of(stored, arguments["arrays"]),
        f"order: {_order(values, training)}; {_batches(sizes, arguments, values if training else None)}",
        _sampler(values),
        *(f"  {step}" for step in _steps(values, stored, fields, training, _who_makes_floats(arguments))),
        "fields of a row: " + ", ".join(
            f"{name} {_shape(shape, axes(name))}" for name, shape in fields.items()),
        f"threads: {_readers(sizes, stored)}{sizes['workers']} that sample, {sizes['prefetch']} batches ahead; none "
        "takes the GIL",
        f"copies: each row is written once, into the memory of its batch; batches are in {where}",
    ]
    return "\n".join(lines)


def explain_rows(core: Any, arguments: Mapping[str, Any], name: str, where: str) -> str:
    """Explains a loader of rows made in Python; `name` is the sampler or the data set."""
    values, sizes = {key: _parsed(text) for key, text in core.basis().items()}, core.sizes()
    data = arguments["overrides"].get("data.dataset") or arguments["file"] or name
    threads = f"{sizes['workers']} threads of Python, which share the GIL" if sizes["workers"] else (
        "the thread that iterates")
    return "\n".join([
        f"data: {data}, {sizes['samples']:,} samples",
        f"order: {_order(values, 'order.name' in values)}; {_batches(sizes, arguments)}",
        f"rows: {name}, in {threads}",
        f"copies: rows are stacked; batches are in {where}",
    ])


def _chain(values: Mapping[str, Any]) -> list[str]:
    """Returns the sampler, and what each decorator decorates, down to the innermost."""
    name = values["sampler.name"]
    _, keys = _core.parts()["sampler"].get(name, ("", []))
    decorated = values["sampler.inner"].split(",") if "inner" in (key for key, *_ in keys) else []
    return [name, *(each.strip() for each in decorated)]


def _sampler(values: Mapping[str, Any]) -> str:
    *decorators, name = _chain(values)
    return f"sampler: {name}, on each sample, in order" + (
        f"; decorated by {', '.join(decorators)}" if decorators else "")


def _batches(sizes: Mapping[str, int], arguments: Mapping[str, Any], values: Mapping[str, Any] | None = None) -> str:
    part = f", of which rank {arguments['rank']} of {arguments['world_size']} takes its part"
    budget = (values or {}).get("loader.budget")
    size = f"up to {budget:,} positions" if budget else f"{sizes['batch_size']}"
    return (f"{sizes['batches']:,} batches of {size} an epoch"
            + (part if arguments["world_size"] > 1 else ""))


def _sized(values: Mapping[str, Any]) -> set[str]:
    """Returns the fields of pictures that have several sizes."""
    tables = [key.removesuffix("sizes") for key, value in values.items() if key.endswith(".sizes") and value]
    fields = {values[f"{table}name"] for table in tables if values.get(f"{table}as") == "image"}
    return fields | ({"image"} if "sampler." in tables and _chain(values)[-1] == "classify" else set())


def _shape(shape: list[int], free: set[int]) -> str:
    """Returns the shape of a field; "≤" is before the bounds of axes that differ between batches."""
    sides = [f"≤{side}" if axis in free else f"{side}" for axis, side in enumerate(shape)]
    return f"({', '.join(sides)}{',' if len(sides) == 1 else ''})"


def _who_makes_floats(arguments: Mapping[str, Any]) -> str | None:
    """Returns what turns the bytes of pictures into floats."""
    if arguments["dtype"] == "uint8":
        return None
    return "the workers" if arguments["normalize"] == "host" else "the GPU"


def _parsed(toml: str) -> Any:
    try:
        return json.loads(toml)
    except ValueError:
        return toml


def _dataset(values: Mapping[str, Any], training: bool) -> str:
    if training and "data.source.0.dataset" in values:
        names = [value for key, value in values.items() if key.startswith("data.source.") and key.endswith(".dataset")]
        return f"{len(names)} sources ({', '.join(names)})"
    return str(values["data.dataset" if training else "data.val.dataset"])


def _place_of(stored: Mapping[str, Any], arrays: Any) -> str:
    if arrays is not None:
        return f"{arrays[0].nbytes / 1e6:,.1f} MB in memory that Python holds, which is not copied"
    return "in memory" if stored["resident"] else "each read from its file when it is needed"


def _order(values: Mapping[str, Any], training: bool) -> str:
    if not training:
        return "as stored"
    more = [f"{key.removeprefix('order.')} = {value}" for key, value in values.items()
            if key.startswith("order.") and key != "order.name" and value not in (0, False, "")]
    return ", ".join([str(values["order.name"]), *more, f"seed {values['run.seed']}"])


def _readers(sizes: Mapping[str, int], stored: Mapping[str, Any]) -> str:
    return "" if stored["resident"] else f"{sizes['readers']} that read, "


def _steps(
    values: Mapping[str, Any], stored: Mapping[str, Any], fields: Mapping[str, list[int]], training: bool,
    makes_floats: str | None,
) -> Iterator[str]:
    sampler = {key.removeprefix("sampler."): value for key, value in values.items() if key.startswith("sampler.")}
    name = _chain(values)[-1]
    for key in ("name", "inner"):
        sampler.pop(key, None)
    if name == "fields":
        yield from _fields(values)
        return
    if stored["files"]:
        yield "decode JPEG, PNG or WebP"
    if name != "classify":
        yield from (f"{key} = {value}" for key, value in sampler.items())
        return
    shape = fields["image"]
    is_planar = makes_floats == "the workers"
    channels = shape[0] if is_planar else shape[2]
    yield from _cut(sampler, stored, shape[1:] if is_planar else shape[:2], training)
    if training and sampler["sizes"]:
        how = "growing over the run" if values["loader.resizing"] == "progressive" else "drawn for each batch"
        yield f"in the size of the batch, one of {sampler['sizes']}, {how}"
    if training and sampler["flip"] > 0:
        yield f"mirror left to right with probability {sampler['flip']}"
    if stored["files"] or channels != stored["channels"]:
        yield "convert to " + ("grey" if channels == 1 else "RGB")
    if training:
        yield from _augmentation(sampler)
    if makes_floats:
        usual = _IMAGENET if stored["files"] and channels == 3 else ([0.5] * channels, [0.5] * channels)
        mean, deviation = (sampler[key] or values for key, values in zip(("mean", "stddev"), usual))
        yield f"(x / 255 - {mean}) / {deviation}, as float32 (channels, height, width), by {makes_floats}"


def _fields(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields how each [[field]] is made."""
    number = 0
    while (table := f"field.{number}.") + "name" in values:
        keys = {key.removeprefix(table): value for key, value in values.items() if key.startswith(table)}
        name, how, part = (keys.pop(key) for key in ("name", "as", "from"))
        more = ", ".join(f"{key} = {value}" for key, value in keys.items())
        part = part or ("the class" if how == "label" else "the image")
        yield f"{name}: {how} of {part}" + (f" ({more})" if more else "")
        number += 1


_IMAGENET = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def _cut(sampler: Mapping[str, Any], stored: Mapping[str, Any], sides: list[int], training: bool) -> Iterator[str]:
    height, width = sides
    fits = [stored["height"], stored["width"]] == sides
    crop = sampler["crop"]
    if crop == "auto":
        crop = "none" if fits else "random_resized"
    larger = 256 if crop == "random_resized" else 224
    resize = sampler["resize"] or [side * larger // 224 for side in sides]
    if training and crop == "pad":
        yield f"pad by {sampler['padding']} black pixels on each side, cut {height} x {width} at a random place"
    elif training and crop == "random_resized":
        (least, most), (narrow, wide) = sampler["scale"], sampler["ratio"]
        yield (f"cut a random part of {least:.0%} to {most:.0%} of the area, width / height {narrow:.3g} to "
               f"{wide:.3g}, and resize it to {height} x {width} ({sampler['filter']})")
    elif not fits or resize not in (height, sides):
        yield f"resize {_resized(sampler, resize)} ({sampler['filter']}) and cut {height} x {width} from the middle"
    else:
        yield "take the picture as it is stored"


def _resized(sampler: Mapping[str, Any], resize: Any) -> str:
    if isinstance(resize, int) or resize[0] == resize[1] and not sampler["resize"]:
        return f"the shorter side to {resize if isinstance(resize, int) else resize[0]}"
    return f"to {resize[0]} x {resize[1]}" if sampler["resize"] else f"to cover {resize[0]} x {resize[1]}"


def _augmentation(sampler: Mapping[str, Any]) -> Iterator[str]:
    """Yields the augmentations in the sampler's order."""
    policy = sampler["augment"]
    if policy == "randaugment":
        yield f"RandAugment, {sampler['augment_steps']} operations of magnitude {sampler['augment_magnitude']}"
    elif policy != "none":
        yield "TrivialAugment (wide)"
    affine = [f"{key} = {sampler[key]}" for key in ("rotate", "translate", "shear") if sampler[key]]
    if sampler["zoom"] != [1.0, 1.0]:
        affine.append(f"zoom = {sampler['zoom']}")
    if affine:
        yield "affine: " + ", ".join(affine)
    jitter = [f"{key} = {sampler[key]}" for key in ("brightness", "contrast", "saturation", "hue") if sampler[key]]
    if jitter:
        yield "colour jitter: " + ", ".join(jitter)
    yield from (f"{key} with probability {sampler[key]}" for key in ("grey", "blur", "solarize") if sampler[key])
