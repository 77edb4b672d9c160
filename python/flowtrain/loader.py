"""The loader: an endless stream of batches, cut into epochs, whose place can be stored."""

from __future__ import annotations

import inspect
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy

from flowtrain import _core
from flowtrain._arrays import Arrays, as_arrays
from flowtrain._audio import audio_constructor
from flowtrain._batches import BatchT, Opens, OpensArrays, OpensText
from flowtrain._checks import no_argument, refuse_workers, whole
from flowtrain._epochs import Epoch, Position, Streams
from flowtrain._explain import explain_loader, explain_rows
from flowtrain._output import Output, is_elsewhere, make_output
from flowtrain._python_core import open_core
from flowtrain._ranks import rank_and_world
from flowtrain._rows import DatasetRows, SamplerRows, with_ids
from flowtrain._rows_output import make_rows_output
from flowtrain._text import TEXT_LOADERS, check_layout, for_transformers, has_value, text_constructor
from flowtrain._toml import key_to_toml

#: `(images, labels)`, or `(images, labels, ids)`; of data with other fields a dict by their names.
Batch = Any

_NUMBER_END = 2**63
_STATE_VERSION = 1
_PARTS = _core.parts()
_DATASETS, _SAMPLERS = _PARTS["data"], _PARTS["sampler"]


def _check_position(epoch: int, samples: int) -> None:
    for name, value in (("epoch", epoch), ("samples", samples)):
        if not 0 <= value < _NUMBER_END:
            raise _core.ConfigError(f"a position with {name} = {value}: expected a number from 0 to 2**63 - 1\n"
                                    "  hint: pass what state_dict() has returned")


class Loader(Generic[BatchT]):
    """Batches of a data set, epoch after epoch.

    Make one by a constructor that is called like its data set, or from a configuration file:

        loader = Loader.image_folder("pictures", batch_size=64, size=224)
        loader = Loader.config("my_run.toml", split="val")

    Each `iter()` is the next epoch; `len()` is the batches of one. A batch is `(images, labels)`: tensors where torch
    is installed, else NumPy arrays. Images are f32 (batch, channels, height, width), normalized; with `dtype="uint8"`
    they are u8 (batch, height, width, channels) as decoded. Labels are i64 (batch,). The memory of a batch is reused
    once nothing refers to it any more: keep batches as long as you like.

    Raises ConfigError for arguments, DataError for missing or damaged data; both name the key, and the way out.
    """

    def __init__(
        self: Loader[Any],  # a file decides what batches hold
        file: str | os.PathLike[str] = "",
        overrides: Mapping[str, Any] | None = None,
        *,
        split: str = "train",
        batch_size: int | None = None,
        global_batch_size: int | None = None,
        drop_last: bool = False,
        dtype: str = "float32",
        output: str | None = None,
        ids: bool = False,
        device: Any = None,
        normalize: str | None = None,
        memory_format: Any = None,
        pin_memory: bool | None = None,
        copy: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        sampler: Callable[[_core.Record, numpy.random.Generator], Any] | None = None,
        rows: DatasetRows | None = None,
        arrays: Arrays | None = None,
        fields: Mapping[str, Any] | None = None,
        layout: str | None = None,
    ) -> None:
        """Opens the data of a configuration.

        file: a TOML file; none: `overrides` say all.
        overrides: values of keys, {"data.path": "pictures"}, which replace those of the file.
        split: "train", in the order of [order] and augmented; "val", in stored order and as it is.
        batch_size: rows of a batch on this rank.
        global_batch_size: rows of a batch on all ranks together, in place of `batch_size`.
        drop_last: leaves out the rest of an epoch that fills no batch; else the last batch is shorter.
        dtype: of images: "float32" or "uint8".
        output: "torch" or "numpy"; None: torch where it is installed.
        ids: batches have the ids of their samples, too, i64 (batch,): see describe().
        device: "cuda", "cuda:1": batches are tensors there; the next one is copied, on a stream of its own, while one
            is used. None: in host memory.
        normalize: "device": bytes go to the GPU, which makes the f32 images of them: a quarter of the traffic, and
            equal to the host's up to rounding. "host": threads of the loader make them. None: "device" where there is
            one, else "host".
        memory_format: of f32 images on a GPU, torch.channels_last; None: contiguous.
        pin_memory: tensors are in page-locked memory, where torch has a GPU: `batch.cuda(non_blocking=True)` returns at
            once, and the batch may be dropped then.
        copy: batches have memory of their own, which is never reused: for what reads it after the batch was dropped,
            and is not torch.
        rank, world_size: which part of each batch this process takes; None: of torch.distributed, or of the
            environment variables RANK and WORLD_SIZE.
        sampler: a function after @ft.sampler, which makes the rows in place of [sampler]; `dtype` is ignored.
        rows: of a data set in Python: see Loader.python().
        arrays: pictures and labels in the place of a data set, as Loader.arrays() gives them.
        fields: the fields of a batch, by name: the transform that makes each, "label", or a dict with its keys,
            {"from": "txt", "as": "bytes", "max": 512}. A field whose rows differ in length is as long as the longest of
            the batch, and has a field `<name>_length` beside it. Some transforms of text make further fields, as "lm"
            makes `label` (docs/text.md, "Rows of text"). With `source` in the dict it belongs to the rows of that
            [[data.source]], and is called `<source>.<name>` (docs/own_data.md, "Groups of rows").
        layout: "transformers": batches of texts and recordings are dicts of what a model of Hugging Face's transformers
            takes: input_ids, input_features or input_values, attention_mask, labels … (docs/text.md and docs/speech.md,
            "From Python").
        """
        if split not in ("train", "val"):
            raise ValueError(f"split = {split!r}: expected 'train' or 'val'")
        if dtype not in ("float32", "uint8"):
            raise ValueError(f"dtype = {dtype!r}: expected 'float32' or 'uint8'")
        if batch_size is not None and global_batch_size is not None:
            raise TypeError("give batch_size, of this rank, or global_batch_size, of all")
        if normalize is None:
            on_device = is_elsewhere(device) and dtype == "float32" and sampler is None and rows is None
            normalize = "device" if on_device else "host"
        if dtype == "uint8" and normalize == "device":
            raise TypeError("normalize = 'device' makes floats: leave out dtype = 'uint8'")
        rank, world_size = rank_and_world(rank, world_size)
        values = dict(overrides or {})
        if batch_size is not None:
            global_batch_size = batch_size * world_size
        if global_batch_size is not None:
            values["loader.batch" if split == "train" else "val.batch"] = global_batch_size
        if arrays is not None:
            values["data.dataset"] = "arrays"
        if fields is not None:
            values["field"] = [{"name": name, **({"as": how} if isinstance(how, str) else how)}
                               for name, how in fields.items()]
        self._arguments: dict[str, Any] = {
            "file": os.fspath(file), "overrides": values, "split": split, "drop_last": drop_last, "dtype": dtype,
            "output": output, "ids": ids, "device": device, "normalize": normalize,
            "memory_format": memory_format, "pin_memory": pin_memory,
            "copy": copy, "rank": rank, "world_size": world_size, "sampler": sampler, "rows": rows,
            "arrays": arrays, "fields": None, "layout": layout,  # `fields` are among `values`
        }
        file, pairs = os.fspath(file), [(key, key_to_toml(key, value)) for key, value in values.items()]
        training, floats = split == "train", dtype == "float32" and normalize == "host"
        self._rows = rows if sampler is None else SamplerRows(sampler)
        self._output: Output
        self._core: _core.Loader  # opens streams, and knows the data; iterators have streams of their own
        if self._rows is not None:
            if arrays is not None:
                raise TypeError("Loader.arrays takes native samplers: Loader.python takes a data set with arrays")
            self._output = make_rows_output(self._rows, output, device, pin_memory, normalize, memory_format)
            self._core = open_core(file, pairs, training, drop_last, rank, world_size, self._rows)
        else:
            self._output = make_output(output, device, pin_memory, normalize, copy, memory_format)
            self._core = _core.Loader(file, pairs, training, drop_last, floats, rank, world_size,
                                      self._output.allocate, arrays)
        self._output.open(self._core)
        self._ids = ids
        self._names = self._core.fields()
        self._is_pair = sorted(self._names) == ["image", "label"]
        check_layout(layout, self._names)
        self._layout = layout
        values = self._core.values() if layout else {}
        self._form = {"shifts": has_value(values, "as", "lm"), "bins_first": has_value(values, "values", "whisper")}
        self._streams = Streams(self._core, os.getpid())
        self._place: Mapping[str, int] = self._core.position()  # after the batch that was handed out last
        self._wait_s = 0.0
        self._longest_wait_s = 0.0
        self._batches = 0
        self._since = time.perf_counter()

    if TYPE_CHECKING:  # made below, from the registry: help(Loader.image_folder) has the keys
        arrays: ClassVar[OpensArrays]
        audio: ClassVar[OpensText]
        cifar: ClassVar[Opens]
        coco: ClassVar[Opens]
        idx: ClassVar[Opens]
        image_folder: ClassVar[Opens]
        jsonl: ClassVar[OpensText]
        manifest: ClassVar[Opens]
        parquet: ClassVar[OpensText]
        shapes: ClassVar[Opens]
        tensors: ClassVar[Opens]
        text: ClassVar[OpensText]
        tokens: ClassVar[OpensText]
        voc: ClassVar[Opens]
        webdataset: ClassVar[Opens]

    @classmethod
    def config(
        cls,
        file: str | os.PathLike[str],
        *,
        split: str = "train",
        overrides: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Loader[Any]:
        """The data of a configuration file, as `flowtrain FILE` would train on them; or of a Run, or a run's folder."""
        folder = os.fspath(file)
        if folder and os.path.isdir(folder):
            file = os.path.join(folder, "config.toml")
        _check_arguments("Loader.config", more, {"file", "split", "overrides"})
        return cls(file, overrides, split=split, **more)

    @classmethod
    def python(
        cls,
        dataset: Any,
        *,
        shuffle: bool = True,
        workers: int = 4,
        prefetch: int | None = None,
        seed: int | None = None,
        overrides: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Loader[Any]:
        """Batches of a data set in Python, made by threads of Python, which share the GIL.

        dataset: has `__len__` and `__getitem__`, which gives a row: a dict or tuple of arrays and numbers, whose shapes
            and dtypes are the same in all rows of a batch. Threads call it at once. Random numbers that do not depend
            on threads are those of flowtrain.sample_rng().
        shuffle: each epoch in another order; False: in stored order.
        workers: threads, each of which makes whole batches; 0: the thread that iterates makes each when it is asked
            for, and the generators of `random`, `numpy.random` and torch are seeded for each sample, too, and put back.
        prefetch: batches ahead. seed: of the order and of all that is drawn.
        overrides: of keys of an order, {"order.name": "weighted", "order.weights_file": "weights.txt"}.
        more: batch_size, global_batch_size, drop_last, output, ids, rank, world_size, as Loader() has them.

        A state knows of the data set its kind and length. Raises DataError, which names the sample, for what the data
        set raises, in the place of the batch that has the sample.
        """
        _check_arguments("Loader.python", more, {"dataset", "shuffle", "workers", "prefetch", "seed", "overrides"})
        workers = whole("workers", workers)
        refuse_workers(overrides, "workers")
        values: dict[str, Any] = {"order.name": "shuffle" if shuffle else "sequential", **(overrides or {})}
        for key, value in (("loader.prefetch", prefetch), ("run.seed", seed)):
            if value is not None:
                values[key] = value
        return cls("", values, rows=DatasetRows(dataset, workers), **more)

    # --- Epochs ---

    def __len__(self) -> int:
        """The number of batches of an epoch, on every rank."""
        return self._core.sizes()["batches"]

    def __iter__(self) -> Epoch[BatchT]:
        """An iterator of the next epoch, or of the rest of the one that load_state_dict() has set.

        Iterators are independent: each takes the next epoch that no other one has taken, when it is asked for its first
        batch, so nested loops and zip(loader, loader) work. Each has threads of its own while it runs.
        """
        return Epoch(self, self._streams.prepare())

    def _batches_of(self, position: Position) -> Iterator[BatchT]:
        started: deque[tuple[Any, dict[str, int]]] = deque()  # with the position after it
        handed_out = False
        try:
            stream = self._streams.take(position)
            while position.stream is not None:  # close() or load_state_dict() may have ended it
                begin = time.perf_counter()
                self._start_batches(stream, started)
                if not started:
                    return
                waiting, place = started.popleft()
                if isinstance(waiting, Exception):
                    raise waiting
                handed = [self._batch(self._output.finish(waiting))]
                handed_out = True
                del waiting  # the variable would keep the batch alive until the next one is requested
                waited = time.perf_counter() - begin
                self._batches += 1
                self._wait_s += waited
                self._longest_wait_s = max(self._longest_wait_s, waited)
                position.place = self._place = place  # last: an interrupt before this leaves the batch to come again
                yield handed.pop()
        except KeyboardInterrupt:
            if not handed_out:
                self._streams.give_back(position)
            raise
        finally:
            self._streams.release(position)

    def _start_batches(self, stream: Any, started: deque[tuple[Any, dict[str, int]]]) -> None:
        """Fetches one batch, for which it waits, and those that go ahead to a device, if they are ready."""
        while len(started) <= self._output.ahead:
            try:
                batch = stream.next(wait=not started)
            except Exception as error:
                if not started:
                    raise
                started.append((error, {}))  # raised in its turn
                return
            if not batch:
                return
            started.append((self._output.start(*batch), stream.position()))

    def _batch(self, tensors: list[Any]) -> Batch:
        *fields, ids = tensors
        if self._rows is not None:
            return with_ids(fields[0], ids) if self._ids else fields[0]
        named = dict(zip(self._names, fields))
        if self._is_pair:
            pair = (named["image"], named["label"])
            return (*pair, ids) if self._ids else pair
        if self._layout:
            named = for_transformers(named, **self._form)
        return {**named, "ids": ids} if self._ids else named

    def set_epoch(self, epoch: int) -> None:
        """The next iter() is that epoch, from 0. Without it each iter() is the one after the last: nothing to call.

        After load_state_dict() its own epoch goes on where it stood, if it has batches left.
        """
        epoch = whole("epoch", epoch)
        _check_position(epoch, 0)
        self._streams.begin_at(epoch)

    # --- State ---

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the stream as JSON data: what was handed out on all ranks, never what was prepared.

        Equal on all ranks that have taken as many batches. With another batch size, other workers or another number of
        ranks the same samples follow, with the same pixels. Of an epoch that was left by `break` the rest follows.

        Of several iterators it is the one that has handed out a batch last; each one's own is `iterator.state_dict()`.
        """
        return self._state_at(self._place)

    def _state_at(self, place: Mapping[str, int]) -> dict[str, Any]:
        return {"version": _STATE_VERSION, "epoch": place["epoch"], "samples": place["samples"],
                "basis": dict(self._basis)}

    @cached_property
    def _basis(self) -> dict[str, str]:
        """Constant; hashing the names of all records takes a while."""
        return self._core.basis()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iter() goes on from there; those that run end. Raises ConfigError where data or keys differ."""
        if not isinstance(state, Mapping) or state.get("version") != _STATE_VERSION:
            what = state.get("version") if isinstance(state, Mapping) else f"none, a {type(state).__name__}"
            raise _core.ConfigError(f"the loader's state has version {what}, expected {_STATE_VERSION}")
        for name, kind, what in (("epoch", int, "a whole number"), ("samples", int, "a whole number"),
                                 ("basis", Mapping, "a dict")):
            value = state.get(name)
            if not isinstance(value, kind) or isinstance(value, int) and value < 0:
                found = repr(value) if name in state else "nothing"
                raise _core.ConfigError(f"a loader's state has {found} as {name}, expected {what}: is it what "
                                        "state_dict() has returned?")
        now, before = self._basis, state["basis"]
        changes = [
            f"{key}: {now.get(key, 'not there')}, was {before.get(key, 'not there')}"
            for key in sorted({*now, *before})
            if now.get(key) != before.get(key)
        ]
        if changes:
            raise _core.ConfigError(
                "the state is of another stream of samples: " + "; ".join(changes)
                + "\n  hint: put back what was there, or begin a new stream: without load_state_dict()"
            )
        _check_position(state["epoch"], state["samples"])
        self._place = self._streams.seek(state["epoch"], state["samples"])

    # --- What it is, and how it fares ---

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of their labels."""
        return self._core.classes()

    @property
    def free_axes(self) -> dict[str, dict[int, int]]:
        """The axes of a batch's fields whose extent differs between batches, with its bound: {"text": {1: 512}}. The
        axis of rows, 0, is not among them."""
        return {} if self._rows is not None else self._core.free_axes()

    def describe(self, id: int) -> str:
        """Returns the description of a sample by its id in a batch's `ids`, such as a file's path."""
        if int(id) < 0:
            raise IndexError(f"no sample {id}: there are {self._core.sizes()['samples']}")
        return self._core.describe(int(id))

    def explain(self) -> str:
        """Describes the loader: data set, order, each step of the sampler, threads, copies. A line for each."""
        if self._rows is not None:
            return explain_rows(self._core, self._arguments, self._rows.name, self._output.where)
        return explain_loader(self._core, self._arguments, self._output.where)

    def stats(self) -> dict[str, Any]:
        """Returns measurements since the loader was made, or since the last call.

        batches; wait_s and longest_wait_s: seconds that batches were waited for, in all and at most; wait: their part
        of the time; busy: seconds that each stage has worked, over all its threads, since they were started;
        memory_blocks: batches that were held at once (None: their memory is not the loader's); verdict: what to change.
        """
        seconds = time.perf_counter() - self._since
        sizes, busy = self._core.sizes(), {"read": 0.0, "sample": 0.0}
        for stream in self._streams.all():
            busy = {stage: busy[stage] + seconds for stage, seconds in stream.busy_seconds().items()}
        wait = self._wait_s / seconds if seconds > 0 else 0.0
        if wait < 0.01:
            verdict = "batches were there when they were asked for"
        elif self._rows is not None:
            verdict = "rows are made in Python, whose threads share the GIL: less Python for each, or a native sampler"
        elif busy["read"] / max(sizes["readers"], 1) > busy["sample"] / max(sizes["workers"], 1):
            verdict = "reading is the slowest stage: more readers, or the data on a faster disk"
        elif sizes["workers"] < (cores := _core.usable_cores()):
            verdict = f"decoding and augmenting is the slowest stage: more workers, there are {cores} cores"
        else:
            verdict = "all cores decode and augment: smaller stored pictures, or cheaper augmentation"
        stats = {
            "batches": self._batches, "wait_s": self._wait_s, "longest_wait_s": self._longest_wait_s, "wait": wait,
            "busy": busy, "memory_blocks": sizes.get("memory_blocks"), "verdict": verdict,
        }
        self._batches, self._wait_s, self._longest_wait_s, self._since = 0, 0.0, 0.0, time.perf_counter()
        return stats

    def __repr__(self) -> str:
        sizes, place = self._core.sizes(), self._place
        python = self._rows.name if isinstance(self._rows, DatasetRows) else None
        overrides = self._arguments["overrides"]
        by_length = bool(overrides.get("loader.budget"))
        size = "" if by_length else f" of {sizes['batch_size']}"
        what = self._arguments["file"] or python or overrides.get("data.path") or overrides.get("data.dataset")
        return (
            f"<flowtrain.Loader of {what}, {self._arguments['split']}: {sizes['samples']:,} samples, "
            f"{len(self):,} batches{size} an epoch, {sizes['workers']} workers; "
            f"epoch {place['epoch']}, {'batch' if by_length else 'sample'} {place['samples']:,}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in this process or another, opens the data anew and goes on from the same place."""
        return _again, (type(self), self._arguments, self.state_dict())

    def close(self) -> None:
        """Ends its threads and running iterators. Batches that were handed out stay valid; iter() starts again."""
        self._streams.close()

    def __enter__(self) -> Loader[BatchT]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _again(kind: type[Loader[Any]], arguments: dict[str, Any], state: dict[str, Any]) -> Loader[Any]:
    loader: Loader[Any] = kind.__new__(kind)
    Loader.__init__(loader, **arguments)
    loader.load_state_dict(state)
    return loader


def _check_arguments(function: str, given: Mapping[str, Any], own: set[str]) -> None:
    """Raises TypeError for arguments that neither the function nor Loader() takes."""
    known = {*inspect.signature(Loader.__init__).parameters} - {"self", "rows", "arrays"} | own
    for name in given:
        if name not in known:
            raise no_argument(function, name, known)


# --- Loader.image_folder and its like: one for each data set, from the registry's keys ---

_TRAIN_KEYS = {"workers": "loader.workers", "readers": "loader.readers", "prefetch": "loader.prefetch",
               "seed": "run.seed", "sampler": "sampler.name", "order": "order.name", "plugins": "run.plugins",
               "budget": "loader.budget", "length_of": "loader.length_of", "pack": "loader.pack",
               "resizing": "loader.resizing", "resize_at": "loader.resize_at", "val_share": "data.val_share"}
_VAL_KEYS = {"workers": "val.workers", "seed": "run.seed", "sampler": "sampler.name", "plugins": "run.plugins",
             "val_share": "data.val_share"}


def _constructor(dataset: str) -> Any:
    help_text, keys = _DATASETS[dataset]
    data_keys = {key for key, *_ in keys}

    def make(cls: type[Loader[Any]], *path: Any, **arguments: Any) -> Loader[Any]:
        if len(path) > 1:
            raise TypeError(f"Loader.{dataset}() takes one path, and all other arguments by name")
        values: dict[str, Any] = {"data.dataset": dataset}
        if path:
            arguments["path"] = path[0]
        training = arguments.pop("train", True)
        named = _TRAIN_KEYS if training else _VAL_KEYS
        shuffle = arguments.pop("shuffle", None)
        overrides = dict(arguments.pop("overrides", None) or {})
        own = {"batch_size", "global_batch_size", "drop_last", "dtype", "output", "ids", "device", "normalize",
               "memory_format", "pin_memory", "copy", "rank", "world_size", "fields", "layout"}
        own |= {"arrays"} if dataset == "arrays" else set()
        places = {"path", "split"} if dataset != "arrays" else set()
        more: dict[str, Any] = {}
        sampler = arguments.get("sampler", "classify")
        if not isinstance(sampler, str):
            more["sampler"] = arguments.pop("sampler")
        # A decorator takes the keys of what it decorates, too: sampler="check", inner="slow, classify".
        chain = [name.strip() for name in f"{sampler},{arguments.get('inner', '')}".split(",") if name.strip()]
        sampler_keys = {key for name in chain if name in _SAMPLERS for key, *_ in _SAMPLERS[name][1]}
        # The keys of a plugin's sampler are known once it is open.
        of_plugin = isinstance(sampler, str) and any(name not in _SAMPLERS for name in chain)
        # A decorator has keys of its own, `inner` among them.
        innermost = _SAMPLERS.get(chain[-1]) if chain else None
        if innermost and "inner" in (key for key, *_ in innermost[1]) and "sampler.inner" not in overrides:
            raise TypeError(f'Loader.{dataset}() lacks inner, the sampler that {chain[-1]!r} decorates: '
                            f'sampler="{chain[0]}", inner="{", ".join([*chain[1:], "classify"])}"')
        for key, value in arguments.items():
            if key in own:
                more[key] = value
            elif key in named:
                values[named[key]] = [value] if key == "plugins" and isinstance(value, (str, os.PathLike)) else value
            elif key == "split" and not training:  # labels are those of the training data, which is another split
                values["data.val.split"] = value
            elif key in data_keys | places:
                values[f"data.{key}"] = value
            elif key in sampler_keys or of_plugin:
                values[f"sampler.{key}"] = value
            else:
                if key in _TRAIN_KEYS:
                    raise TypeError(
                        f"Loader.{dataset}() with train=False has no argument {key!r}: it applies only to training")
                raise no_argument(f"Loader.{dataset}", key, {"train", "shuffle", "overrides", *places, *own, *named,
                                                             *data_keys, *sampler_keys} - {"arrays"})
        if shuffle is False and "order.name" not in values:
            values["order.name"] = "sequential"
        values.update(overrides)
        if shuffle and not training:
            raise TypeError("shuffle=True with train=False: validation is in stored order; split=… says which part of "
                            "the data set to train on")
        if shuffle and values.get("order.name") == "sequential":
            raise TypeError('shuffle=True with order="sequential": leave out one of them')
        return cls("", values, split="train" if training else "val", **more)

    make.__name__ = dataset
    make.__qualname__ = f"Loader.{dataset}"
    make.__doc__ = _doc(dataset, help_text, keys)
    return classmethod(make)


def _doc(dataset: str, help_text: str, keys: list[tuple[str, str | None, str]]) -> str:
    def lines(entries: list[tuple[str, str | None, str]]) -> str:
        return "\n".join(
            f"    {key}: {text} ({'must be given' if default is None else 'default ' + default})"
            for key, default, text in entries
        )

    path = "    path: where it is; given first, it needs no name (must be given)\n"
    of_data = ("" if dataset in ("arrays", "shapes") else path) + lines(
        [entry for entry in keys if entry[0] not in _TRAIN_KEYS])
    text = f"{help_text}\n\nOf the data set:\n{of_data}\n\nOf the sampler `classify`, which is the default:\n"
    return inspect.cleandoc(text) + "\n" + lines(_SAMPLERS["classify"][1]) + (
        "\n\nAlso:\n"
        "    train: False: for validation, in stored order and as it is (default True): the part of the data that is\n"
        "        called val or the like, or what val_share holds out; else all of the data, as for training\n"
        "    val_share: share of each class that is held out of training, and is the data of train=False (default 0)\n"
        "    split: a part of the data set, by its name\n"
        "    shuffle: False: in stored order (default: True for training)\n"
        "    batch_size: rows of a batch on this rank (default 64 on all ranks together)\n"
        "    workers: threads that decode and augment (default: one per core; for validation 1)\n"
        "    readers, prefetch: threads that read, batches ahead, of training alone (default 2, 4)\n"
        "    seed: of the order and of all that is drawn (default 1)\n"
        "    sampler: a name, or a function after @ft.sampler (default \"classify\")\n"
        "    order: a name, of training alone (default \"shuffle\")\n"
        "    plugins: a path, or a list of them (default [])\n"
        "    fields: the fields of a batch, in place of a sampler's: see Loader()\n"
        "    budget, length_of, pack: batches by length, of training alone: see loader.budget and loader.pack\n"
        "    resizing, resize_at: the way to choose among `sizes`, of training alone: see loader.resizing\n"
        "    overrides: values of any other keys, {\"data.max_bad\": 2}, which replace those of arguments\n"
        "    and what Loader() takes\n"
    )


def _arrays_constructor() -> Any:
    open_arrays = _constructor("arrays").__func__

    def arrays(
        cls: Any, images: Any, labels: Any, class_names: Sequence[str] | None = None, **arguments: Any
    ) -> Any:
        return open_arrays(cls, arrays=as_arrays(images, labels, class_names), **arguments)

    arrays.__qualname__ = "Loader.arrays"
    arrays.__doc__ = _ARRAYS_DOC + open_arrays.__doc__.partition("Of the data set:")[2].lstrip()
    make: Any = arrays
    return classmethod(make)


_ARRAYS_DOC = """Pictures and labels in memory: arrays of NumPy, or tensors on the CPU.

images: u8 (n, height, width) or (n, height, width, channels), with 1 or 3 channels for `classify`. They are not copied
    where they lie row by row, and must not change while there is a loader. A loader's state holds a hash of all bytes.
labels: whole numbers (n,), indices of classes from 0; i64 is not copied.
class_names: in label order; None: 0, 1, 2 … up to the largest label.

Raises TypeError for other dtypes, ValueError for shapes that do not fit, DataError for labels without a class.

"""

for _dataset in _DATASETS:
    setattr(Loader, _dataset, _arrays_constructor() if _dataset == "arrays" else _constructor(_dataset))
for _name, (_dataset, _source) in TEXT_LOADERS.items():
    setattr(Loader, _name, text_constructor(_name, _source, _constructor(_dataset)))
setattr(Loader, "audio", audio_constructor(lambda dataset: _constructor(dataset).__func__))
