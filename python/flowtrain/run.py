"""Reads what a run of the native program has written: its metrics, its configuration, its weights."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from flowtrain._safetensors import read_metadata, read_tensors

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Snapshot:
    """The state of a run after an iteration."""

    iteration: int
    path: Path  #: the snapshot's folder
    best: bool  #: whether validation has found it to be the best so far


class Run:
    """The folder of a run of `flowtrain CONFIG`, which may still be training.

        run = Run("runs/quickstart")
        pandas.DataFrame(run.metrics("val")).plot(x="iter", y="accuracy")
        model = torchvision.models.resnet18(num_classes=6)
        model.load_state_dict(run.state_dict())

    Nothing is kept: each call reads what the files hold by then. Raises FileNotFoundError where there is no run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """path: the folder, such as runs/quickstart."""
        self.path = Path(path)
        if not (self.path / "config.toml").is_file():
            raise FileNotFoundError(f"{self.path} holds no run: it has no config.toml")

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        snapshots = self.snapshots
        last = f", the last of iteration {snapshots[-1].iteration:,}" if snapshots else ""
        return f"<flowtrain.Run {self.path}: {len(snapshots)} snapshots{last}>"

    @property
    def config(self) -> dict[str, Any]:
        """The whole configuration with all defaults, table by table: run.config["net"]["name"]."""
        with open(self.path / "config.toml", "rb") as file:
            return tomllib.load(file)

    def metrics(self, kind: str = "train") -> dict[str, numpy.ndarray]:
        """Columns of equal length, a row for each line of that kind in metrics.jsonl.

        kind: "train" (a row each display.every iterations), "epoch", "val", "snapshot", and what else the run writes.
        Whole numbers are i64, other numbers f64, texts str, truth values bool. Where a row has no number there is NaN,
        as for numbers that were not finite; what is none of these is a column of objects.
        Raises ValueError where there is no such line yet, with the kinds that there are.
        """
        lines = read_metrics(self.path / "metrics.jsonl")
        rows = [line for line in lines if line["kind"] == kind]
        if not rows:
            kinds = ", ".join(sorted({line["kind"] for line in lines}))
            raise ValueError(f"{self.path} has no metrics of kind {kind!r}; there are: {kinds or 'none yet'}")
        names = dict.fromkeys(name for row in rows for name in row if name != "kind")
        return {name: _column([row.get(name) for row in rows]) for name in names}

    @property
    def snapshots(self) -> list[Snapshot]:
        """The run's complete snapshots that still exist, oldest first."""
        folder = self.path / "snapshots"
        best = (folder / "best").resolve()
        places = sorted((int(place.name[5:]), place) for place in folder.glob("iter-*") if place.name[5:].isdigit())
        return [Snapshot(iteration, place, place.resolve() == best)
                for iteration, place in places if (place / "manifest.json").is_file()]

    def state_dict(
        self, snapshot: Snapshot | int | None = None, *, average: bool = False, output: str | None = None
    ) -> dict[str, Any]:
        """Parameters and buffers by name, for load_state_dict() of the same net. Of weights that are tied in a net that
        was exported, each name is there, if its package lies where the run has found it.

        resnet18, 34, 50 and 101 have the names and shapes of torchvision's. The net takes what the run's batches hold:
        normalized as its [sampler] says (Loader.config(run, split="val") makes such batches).

        snapshot: of that iteration; None: the best one, without one that is the best the newest.
        average: the average of the weights, of a run with [ema], in place of the weights.
        output: "torch" or "numpy"; None: torch where it is installed.
        Raises ValueError where there is no such snapshot or average, or where the file is damaged.
        """
        chosen = self._choose(snapshot)
        tensors = read_tensors(chosen.path / "model.safetensors", output)
        if average:
            tensors = self._averaged(chosen, tensors, output)
        return tensors | {other: tensors[name] for other, name in self._tied().items() if name in tensors}

    def _averaged(self, chosen: Snapshot, tensors: dict[str, Any], output: str | None) -> dict[str, Any]:
        averages = {name.removeprefix("ema."): tensor
                    for name, tensor in read_tensors(chosen.path / "optim.safetensors", output).items()
                    if name.startswith("ema.")}
        if not averages:
            raise ValueError(f"{chosen.path} holds no average of the weights: a run with ema.decay > 0 keeps one")
        return {name: averages.get(name, tensor) for name, tensor in tensors.items()}

    def _tied(self) -> dict[str, str]:
        """Other names of tensors in the net that a package was made of, which are metadata of its weights."""
        try:
            started = json.loads((self.path / "env.json").read_bytes())["started_in"]
            with zipfile.ZipFile(self.path / started / self.config["net"]["package"]) as package:
                weights = next(name for name in package.namelist() if name.endswith("/weights.safetensors"))
                with package.open(weights) as file:
                    return read_metadata(file)
        except (OSError, KeyError, ValueError, StopIteration, zipfile.BadZipFile):
            return {}  # it has no package, or that is gone

    def _choose(self, requested: Snapshot | int | None) -> Snapshot:
        if isinstance(requested, Snapshot):
            return requested
        snapshots = self.snapshots
        if not snapshots:
            raise ValueError(f"{self.path} has no snapshot yet")
        if requested is None:
            return next((each for each in snapshots if each.best), snapshots[-1])
        for each in snapshots:
            if each.iteration == requested:
                return each
        there = ", ".join(str(each.iteration) for each in snapshots)
        raise ValueError(f"{self.path} has no snapshot of iteration {requested}; there are: {there}")


def read_metrics(file: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, whose texts may have other ends of lines than \\n.

    An unfinished line, or one torn by a power cut, is left out.
    """
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []  # a run that has not begun
    return [line for line in map(metrics_line, text.split("\n")) if line]


def metrics_line(text: str | bytes) -> dict[str, Any] | None:
    """Parses a line of metrics.jsonl; None if it is torn."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and "kind" in line else None


def _column(values: list[Any]) -> numpy.ndarray:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return numpy.array(values, dtype=bool)
    if kinds == {int}:
        return numpy.array(values, dtype=numpy.int64)
    if kinds <= {int, float, type(None)}:
        return numpy.array([numpy.nan if value is None else value for value in values], dtype=numpy.float64)
    if kinds == {str}:
        return numpy.array(values)
    column = numpy.empty(len(values), dtype=object)
    column[:] = values
    return column
