"""Tensors of a safetensors file: u64 bytes of a JSON header, the header, then the tensors' bytes."""

from __future__ import annotations

import importlib
import io
import json
import os
from typing import IO, Any

import numpy

from flowtrain._output import torch_if_it_works

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
           "I8": "i1", "U8": "u1", "BOOL": "?"}

_METADATA = "__metadata__"
_MOST_HEADER_BYTES = 100_000_000  #: the limit of the library safetensors

_TORCH_DTYPES = {"torch.float64": "F64", "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16",
                 "torch.int64": "I64", "torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8",
                 "torch.uint8": "U8", "torch.bool": "BOOL"}


def read_tensors(file: str | os.PathLike[str], output: str | None) -> dict[str, Any]:
    """{name: tensor}, in the order of the file.

    output: "torch" or "numpy"; None: torch where it is installed. NumPy has no bfloat16.
    Raises ValueError for a file that is damaged, or holds what NumPy has not.
    """
    with open(file, "rb") as opened:
        return tensors_from(opened.read(), os.fspath(file), output)


def read_metadata(file: IO[bytes]) -> dict[str, str]:
    """The metadata of an open file, of which the header alone is read. Raises ValueError where it is damaged."""
    metadata = _header(file).get(_METADATA, {})
    return metadata if isinstance(metadata, dict) else {}


def tensors_from(content: bytes, file: str, output: str | None) -> dict[str, Any]:
    """Does read_tensors() for a file's content; `file` is its name in errors."""
    if output not in (None, "torch", "numpy"):
        raise ValueError(f"output = {output!r}: expected 'torch' or 'numpy'")
    torch = None if output == "numpy" else torch_if_it_works(must=output == "torch")
    try:
        start = 8 + int.from_bytes(content[:8], "little")
        arrays = {name: _array(content, start, **entry) for name, entry in _header(io.BytesIO(content)).items()
                  if name != _METADATA}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is not a complete safetensors file: {error}") from None
    if torch is not None:
        return {
            name: torch.from_numpy(array.view("<i2")).view(torch.bfloat16) if dtype == "BF16" else
            torch.from_numpy(array) for name, (dtype, array) in arrays.items()
        }
    for name, (dtype, _) in arrays.items():
        if dtype == "BF16":
            raise ValueError(f"{file}: {name} is bfloat16, which NumPy lacks: install torch")
    return {name: array for name, (_, array) in arrays.items()}


def tensors_to_bytes(tensors: dict[str, Any], tied: dict[str, str]) -> bytes:
    """A file of these tensors of torch, in their order. Raises ValueError for a dtype that such files have not.

    tied: other names of them, {other: name}; they are metadata, as the library safetensors has it.
    """
    torch = importlib.import_module("torch")
    header: dict[str, Any] = {_METADATA: tied} if tied else {}
    parts, end = [], 0
    for name, tensor in tensors.items():
        dtype = _TORCH_DTYPES.get(str(tensor.dtype))
        if dtype is None:
            raise ValueError(f"{name} is {tensor.dtype}, which safetensors files cannot hold")
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        parts.append(flat.view(torch.uint8).numpy().tobytes())
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [end, end + len(parts[-1])]}
        end += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def _header(file: IO[bytes]) -> dict[str, Any]:
    header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), _MOST_HEADER_BYTES)))
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header


def _array(content: bytes, start: int, dtype: str, shape: list[int], data_offsets: list[int]) -> tuple[str, Any]:
    first, last = data_offsets
    part = content[start + first:start + last]
    if len(part) != last - first:
        raise ValueError(f"it ends {last - first - len(part)} bytes too early")
    return dtype, numpy.frombuffer(bytearray(part), _DTYPES[dtype]).reshape(shape)
