"""Loaders of recordings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from glob import escape, iglob
from typing import Any

from flowtrain import _core
from flowtrain._checks import NoArgument, no_argument

_FEATURES = ("logmel", "mfcc", "wave")
_TRANSFORMS = _core.parts()["field"]
#: The data sets whose records have transcripts and no classes, and the files by which a folder shows its kind.
_TRANSCRIBED = {"kaldi": ("wav.scp", "*/wav.scp"), "common_voice": ("clips",),
                "librispeech": ("*/*.trans.txt", "*/*/*.trans.txt", "*/*/*/*.trans.txt")}


def dataset_of(path: str | os.PathLike[str]) -> str:
    """Returns the data set that reads recordings at a path, by the path's ending or by the files of the folder."""
    name = os.fspath(path)
    ending = os.path.splitext(name.partition("?")[0])[1].lower()
    if ending in (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"):
        return "manifest"
    if ending == ".tar":
        return "webdataset"
    for dataset, patterns in _TRANSCRIBED.items():
        if _has(name, *patterns):
            return dataset
    return "webdataset" if _has(name, "*.tar", "*/*.tar") else "audio_folder"


def _has(folder: str, *patterns: str) -> bool:
    return any(next(iglob(os.path.join(escape(folder), pattern)), None) for pattern in patterns)


def audio_constructor(open_as: Callable[[str], Any]) -> Any:
    """Makes Loader.audio of the constructors of data sets, which open_as() returns by name."""

    def audio(
        cls: Any,
        path: str | os.PathLike[str],
        *,
        features: str = "logmel",
        dataset: str | None = None,
        audio: str = "audio",
        text: str | None = None,
        tokenizer: str | os.PathLike[str] | None = None,
        label: Any = None,
        fields: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> Any:
        if features not in _FEATURES:
            raise ValueError(f"features = {features!r}: expected {', '.join(map(repr, _FEATURES))}")
        dataset = dataset or dataset_of(path)
        if dataset not in _core.parts()["data"]:
            raise ValueError(f"dataset = {dataset!r}: expected {', '.join(_core.parts()['data'])}")
        keys = {key for key, *_ in _TRANSFORMS[features][1]} & arguments.keys()
        own = {key: _plain(arguments.pop(key)) for key in keys}
        made: dict[str, Any] = {"features": {"from": audio, "as": features, **own}}
        transcribes = tokenizer is not None or isinstance(label, Mapping) or dataset in _TRANSCRIBED
        if isinstance(label, str) and tokenizer is not None:
            raise TypeError("Loader.audio() takes label, a column of classes, or tokenizer, which makes labels of text")
        if text is not None and (label is False or not transcribes):
            raise TypeError("Loader.audio() makes labels of text with a tokenizer: a file, or \"bytes\"")
        if transcribes and not isinstance(label, str) and label is not False:
            made["label"] = {
                "from": text or ("txt" if dataset == "webdataset" else "text"),
                "as": "tokens", "max": 512, "fill": -100,
                "tokenizer": os.fspath(tokenizer or "bytes"), **(label or {})}
        elif label is not False and arguments.get("labels") != "none":
            made["label"] = {"as": "label"}
            arguments |= {"label": label} if label else {}
        try:
            return open_as(dataset)(cls, path, **arguments, fields={**made, **(fields or {})})
        except NoArgument as error:  # the keys of the transform, and what is named here, are arguments, too
            own_names = {"features", "dataset", "audio", "text", "tokenizer", "label"}
            transform_keys = {key for key, *_ in _TRANSFORMS[features][1]}
            raise no_argument("Loader.audio", error.name, error.known | own_names | transform_keys) from None

    audio.__qualname__ = "Loader.audio"
    audio.__doc__ = _DOC
    return classmethod(audio)


def _plain(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


_DOC = """Recordings (WAV, FLAC, Ogg, MP3), with their classes or transcripts.

Batches are dicts of `features`, f32 (batch, frames, bins), or of waves f32 (batch, samples), as long as the longest
row; `features_length`, i64 (batch,); and `label`: classes i64 (batch,), or transcripts i64 (batch, length), whose
padding is -100.

path: a folder of class folders, of LibriSpeech, Common Voice or Kaldi; a table (.jsonl, .csv, .tsv, .parquet) with a
    column `audio`; shards of samples (.tar), or their folder, or a folder with folders of them.
dataset: the name of the data set that reads them; None: by the path's ending or the folder's files. A .tar of class
    folders needs "audio_folder".
features: "logmel", "mfcc" or "wave". Each key of the transform is an argument: rate=16000, bins=80, max=20.0 …
audio: the part, or column, that is the recording: "audio_filepath" in NeMo's lists.
tokenizer: the tokenizer of the transcripts, a file or "bytes". Without it labels are classes, or bytes where the data
    set has transcripts alone.
text: the part, or column, of the transcripts; None: "txt" of shards, else "text". Shards that `flowtrain pack` makes
    of a table with a column text have "text.txt".
label: further keys of the transcripts' field, {"max": 448, "end": "<|endoftext|>"} (by default 512 ids at most); the
    name of a table's column of classes; or False: no labels.
fields: more fields, or others of these names: see Loader().
layout: "transformers": see docs/speech.md, "From Python".
more: the keys of the data set, and all that Loader.audio_folder() takes besides the keys of a sampler.

Raises ValueError for other features and data sets, and what Loader() raises.
"""
