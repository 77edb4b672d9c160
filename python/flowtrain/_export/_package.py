"""The file net.pt2: torch's archive of all graphs, compiled, with weights and metadata for the native program."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from flowtrain._export import _torch
from flowtrain._export._free import Shapes, numbered
from flowtrain._export._graphs import Graph
from flowtrain._export._indices import index_values, merged
from flowtrain._export._tracing import State
from flowtrain._safetensors import tensors_from, tensors_to_bytes
from flowtrain.export import ExportError

_METADATA = "flowtrain.json"
_VERSION = 5
_WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class Package:
    """The parts that a file is written from."""

    training: list[Graph]  #: one for each loss
    evaluation: Graph
    state: State
    example: dict[str, Tensor]
    amp: str | None
    shapes: Shapes
    command: str | None  #: the command that makes it again; None: made from the programs in the file


#: Raises ExportError where what was written does not compute what it should.
Check = Callable[[Path], None]


def write_package(path: str | os.PathLike[str], package: Package, check: Check | None) -> None:
    """Compiles all graphs and writes the file: as a whole, or not at all."""
    first = next(iter(package.example.values()))
    graphs = [*package.training, package.evaluation]
    numbers = numbered(graph.extents for graph in graphs)
    free = {name: [{"axis": axis, "least": least, "most": most, "extent": numbers[name, axis]}
                   for axis, (least, most) in axes.items()] for name, axes in package.shapes.axes.items()}
    counts = list(dict.fromkeys(tensor.shape[0] for tensor in package.example.values()))
    inputs = [
        {"field": name, "dtype": str(tensor.dtype).removeprefix("torch."),
         "shape": [-1 if package.shapes.rows else tensor.shape[0],
                   *(-1 if axis in package.shapes.axes.get(name, {}) else size
                     for axis, size in enumerate(tensor.shape[1:], 1))],
         "values": _values(graphs, place)}
        | ({"free": free[name]} if name in free else {})
        | ({"rows": counts.index(tensor.shape[0])} if len(counts) > 1 else {})
        | ({"channels_last": True} if _torch.layout(tensor) == torch.channels_last else {})
        for place, (name, tensor) in enumerate(package.example.items())
    ]
    metadata = {
        "version": _VERSION,
        "torch": _torch_version(),
        "device": first.device.type,
        "instruction_set": _torch.instruction_set(first.device),
        "amp": package.amp,
        "command": package.command or _again(path),
        "inputs": inputs,
        "train": [graph.metadata for graph in package.training],
        "eval": package.evaluation.metadata,
    }
    programs = {graph.metadata["name"]: graph.program for graph in graphs}
    weights = {**package.state.parameters, **package.state.buffers}
    for program in programs.values():
        weights |= {name: tensor.detach() for name, tensor in program.state_dict.items() if name not in weights}
    try:
        content = tensors_to_bytes(weights, package.state.tied)
    except ValueError as error:
        raise ExportError(str(error)) from None
    _write(path, programs, metadata, content, check)


def _values(graphs: list[Graph], place: int) -> list[dict[str, Any]]:
    """Returns the values that the parts of a field may have, as flowtrain.json lists them."""
    found = merged(values for graph in graphs for values in index_values(graph.program, place))
    return [dataclasses.asdict(values) for values in found]


def remake_package(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Compiles the programs of a package again, for this machine and this torch, with the same weights.

    Raises ExportError where the file is no package, or is of another device than this machine has.
    """
    check_path(path)
    try:
        metadata = json.loads(_torch.read_record(source, f"extra/{_METADATA}"))
        content = _torch.read_record(source, _WEIGHTS)
        programs = _torch.read_programs(source)
    except (RuntimeError, ValueError, KeyError) as error:
        reason = str(error).split("\n")[0]
        raise ExportError(f"{os.fspath(source)} is not a complete package of flowtrain.export: {reason}") from error
    device = torch.device(metadata["device"])
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ExportError(f"{os.fspath(source)} needs a GPU, and this machine has none: export it with --device cpu")
    weights = {name: tensor.to(device) for name, tensor in tensors_from(content, os.fspath(source), "torch").items()}
    programs = {name: _torch.with_weights(program, weights) for name, program in programs.items()}
    metadata |= {"version": _VERSION, "torch": _torch_version(), "instruction_set": _torch.instruction_set(device)}
    if any(word.endswith(".pt2") for word in shlex.split(metadata["command"])[4:5]):  # otherwise it is a library's net
        metadata["command"] = _again(path)
    _write(path, programs, metadata, content, None)


def _write(
    path: str | os.PathLike[str], programs: dict[str, Any], metadata: dict[str, Any], weights: bytes,
    check: Check | None,
) -> None:
    try:
        code = {name: _torch.compile(program) for name, program in programs.items()}
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise ExportError(f"the graph cannot be compiled: {type(error).__name__}: {reason}") from error
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=Path(path).parent) as folder:
        whole = Path(folder) / Path(path).name  # names of files in the archive begin with the archive's
        _torch.write_archive(whole, programs, code, {_METADATA: json.dumps(metadata, indent=1)}, {_WEIGHTS: weights})
        if check:
            check(whole)
        os.replace(whole, path)


def check_path(path: str | os.PathLike[str]) -> None:
    """Raises ExportError if no package can be written there. It is called before minutes of work."""
    if not os.fspath(path).endswith(".pt2"):
        raise ExportError(f"{os.fspath(path)}: the name of a package ends with .pt2, as torch's do")
    if not Path(path).resolve().parent.is_dir():
        raise ExportError(f"{os.fspath(path)}: its folder does not exist")


def _torch_version() -> str:
    return torch.__version__.split("+")[0]


def _again(path: str | os.PathLike[str]) -> str:
    file = shlex.quote(os.fspath(path))
    return f"python -m flowtrain export {file} -o {file}"
