"""Loaders of texts, and batches of texts and recordings as models of Hugging Face's transformers take them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from flowtrain import _core

#: The constructors for texts: the data set, and the part that holds the text or the ids; None: `text` names it.
TEXT_LOADERS = {"text": ("text", "text"), "tokens": ("tokens", "tokens"), "jsonl": ("manifest", None),
                "parquet": ("manifest", None)}
_TASKS = ("lm", "tokens", "masked_lm")
_TRANSFORMS = _core.parts()["field"]


def text_constructor(name: str, source: str | None, of_data: Any) -> Any:
    """Makes Loader.text and its like of a data set's constructor, which gets the field `tokens` among its `fields`."""
    open_data = of_data.__func__

    def make(cls: Any, *path: Any, **arguments: Any) -> Any:
        part = source or arguments.pop("text", None)
        has_task = arguments.get("task", "lm") is not None
        of_tokens = [key for key in ("tokenizer", "max_length", "window") if key in arguments]
        if of_tokens and not (part and has_task) and not (source and of_tokens == ["window"]):
            lacking = "text, the column of the text" if has_task else "task, of which batches of tokens are made"
            raise TypeError(f"Loader.{name}() with {of_tokens[0]} lacks {lacking}")
        if part is not None and has_task:
            arguments = _with_tokens(f"Loader.{name}", part, **arguments)
        return open_data(cls, *path, **{key: value for key, value in arguments.items() if key != "task"})

    make.__name__ = name
    make.__qualname__ = f"Loader.{name}"
    make.__doc__ = _doc(source, open_data.__doc__)
    made: Any = make
    return classmethod(made)


def _with_tokens(
    function: str,
    source: str,
    *,
    task: str = "lm",
    tokenizer: str | os.PathLike[str] | None = None,
    window: int = 0,
    max_length: int | None = None,
    fields: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    """Returns the arguments of the data set's constructor. Raises ValueError for a task that is none, TypeError without
    the length of a row."""
    if task not in _TASKS:
        raise ValueError(f"task = {task!r}: expected {', '.join(map(repr, _TASKS))}")
    if window and task != "lm" and window < 2:
        raise ValueError(f"window = {window}: rows of {task!r} have 2 ids at least")
    if not (max_length or window):
        raise TypeError(f"{function}() lacks max_length, the greatest length of a row in tokens"
                        + ("" if function in ("Loader.jsonl", "Loader.parquet") else
                           ", or window, which makes rows of one length"))
    keys = {key for key, *_ in _TRANSFORMS[task][1]} - {"max", "tokenizer"}
    field = {"from": source, "as": task, "max": max_length or window,
             **{key: arguments.pop(key) for key in keys & arguments.keys()}}
    if tokenizer is not None:
        field["tokenizer"] = os.fspath(tokenizer)
    if window:  # a window of the data has an id more, which "lm" needs as the last label
        arguments["window"] = window if task == "lm" else window - 1
    return {**arguments, "fields": {"tokens": field, **(fields or {})}}


def _doc(source: str | None, of_data: str) -> str:
    help_text, _, rest = of_data.partition("\n\nOf the data set:\n")
    data_keys, _, rest = rest.partition("\n\nOf the sampler")
    text = "" if source else "    text: the column of the text, or of its ids; without it `fields` makes the batches\n"
    return (
        f"{help_text}\n\nBatches are dicts of `tokens`, i64 (batch, length), `tokens_length`, (batch,), and `label`, "
        f"(batch, length).\n\nOf the data set:\n{data_keys}\n\nOf the tokens:\n{text}"
        "    task: \"lm\": `label` is the id that follows each; \"masked_lm\": `label` has the ids that are masked;\n"
        "        \"tokens\": ids alone; None: `fields` makes the batches (default \"lm\")\n"
        "    tokenizer: a file, or \"bytes\" (default \"bytes\"; stored ids need none)\n"
        + ("    max_length: the greatest length of a row, in tokens\n" if source is None else
           "    max_length: the greatest length of a row, in tokens (default: window)\n"
           "    window: the length of all rows, which are pieces of the whole text or of all ids\n") +
        "    fields: more fields; with task=\"tokens\" also {\"label\": \"label\"}, of a table with classes\n"
        "    and the keys of the transform, end=\"<|endoftext|>\": see `flowtrain config --keys`"
        "\n\nAlso:\n" + rest.partition("\n\nAlso:\n")[2]
    )


def has_value(values: Mapping[str, str], key: str, wanted: str) -> bool:
    """Returns whether a field's key has a value, by the values that decide the batches."""
    return any(name.endswith(f".{key}") and value.strip("\"'") == wanted for name, value in values.items())


def check_layout(layout: str | None, fields: Sequence[str]) -> None:
    """Raises ValueError for a layout that is none, ConfigError for fields that it does not fit."""
    if layout not in (None, "transformers"):
        raise ValueError(f"layout = {layout!r}: expected 'transformers', or None for the fields' own names")
    if layout is not None and not {"tokens", "features"} & {*fields}:
        raise _core.ConfigError("layout = 'transformers' needs a field `tokens` or `features`, but batches have "
                                f"{', '.join(fields)}\n  hint: Loader.text, Loader.audio, or a [[field]] of that name")


def for_transformers(batch: Mapping[str, Any], *, shifts: bool, bins_first: bool) -> dict[str, Any]:
    """Returns a batch by the names that models of transformers take; fields that they do not know keep theirs.

    shifts: `label` is the id that follows. transformers' models of language compare the label of a place with what they
    predict at the place before it. So each label moves to the place after its own, where most often the id itself is.
    The first one is -100. The label of a row's last place is left out, as no such model counts that prediction.

    Packed rows for such models have no attention_mask, but use_cache=False: only then do these models keep documents
    apart by position_ids. For other models the mask is bool (batch, 1, length, length).

    bins_first: features become (batch, bins, frames), a view, as Whisper takes them. Waves become `input_values`.
    """
    rest = dict(batch)
    if "tokens" not in rest:
        return _of_recordings(rest, bins_first)
    ids, lengths, segment = rest.pop("tokens"), rest.pop("tokens_length", None), rest.pop("segment", None)
    made: dict[str, Any] = {"input_ids": ids}
    if "label" in rest:
        label = rest.pop("label")
        made["labels"] = _moved(label) if shifts else label
    for ours, theirs in (("position", "position_ids"), ("type", "token_type_ids")):
        if ours in rest:
            made[theirs] = _as_i64(rest.pop(ours))
    if lengths is not None:
        made["attention_mask"] = _as_i64(_arange_of(ids)[None, :] < lengths[:, None])
    elif segment is not None and shifts:
        made["use_cache"] = False
    elif segment is not None:
        made["attention_mask"] = segment[:, None, :, None] == segment[:, None, None, :]
    return {**made, **rest}


def _of_recordings(rest: dict[str, Any], bins_first: bool) -> dict[str, Any]:
    features, lengths = rest.pop("features"), rest.pop("features_length", None)
    is_wave = features.ndim == 2
    made = {"input_values" if is_wave else "input_features": features.swapaxes(1, 2) if bins_first else features}
    if lengths is not None:
        made["attention_mask"] = _as_i64(_arange_of(features)[None, :] < lengths[:, None])
    if "label" in rest:
        made["labels"] = rest.pop("label")
    rest.pop("label_length", None)
    return {**made, **rest}


def _moved(label: Any) -> Any:
    moved = label.copy() if isinstance(label, numpy.ndarray) else label.clone()
    moved[:, 1:] = label[:, :-1]
    moved[:, 0] = -100
    return moved


def _arange_of(ids: Any) -> Any:
    if isinstance(ids, numpy.ndarray):
        return numpy.arange(ids.shape[1])
    import torch

    return torch.arange(ids.shape[1], device=ids.device)


def _as_i64(values: Any) -> Any:
    return values.astype(numpy.int64) if isinstance(values, numpy.ndarray) else values.long()
