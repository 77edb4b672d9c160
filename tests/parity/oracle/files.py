"""Files of cases: safetensors, and the tensors of a file by name."""

import json
import struct

import numpy as np

TYPES = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "U8": np.uint8}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}


class Stored(dict):
    """Tensors by name. Remembers which were read, so that what no oracle looked at can be named."""

    def __init__(self, *values):
        super().__init__(*values)
        self.used = set()

    def __getitem__(self, name):
        self.used.add(name)
        return super().__getitem__(name)

    def cases(self, prefix="", depth=1):
        """The first `depth` words of all names that begin with `prefix`, each once, sorted."""
        return sorted({".".join(name.split(".")[:depth]) for name in self if name.startswith(prefix)})

    def below(self, prefix):
        """The tensors whose names begin with `prefix`, without it."""
        return {name[len(prefix):]: self[name] for name in sorted(self) if name.startswith(prefix)}


def read(path):
    """The tensors and the metadata of a safetensors file; metadata that are JSON are decoded."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = Stored()
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[begin:end], dtype=TYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).copy()
    return tensors, {key: json.loads(text) if text[:1] in "{[" else text for key, text in metadata.items()}


def write(path, tensors, metadata):
    """Writes safetensors: the widest types first, then by name; the same tensors give the same bytes."""
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in sorted(metadata.items())}
    header, offset = {"__metadata__": text}, 0
    for name in order:
        values = tensors[name]
        header[name] = {"dtype": NAMES[values.dtype], "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(encoded)) + encoded)
        for name in order:
            file.write(np.ascontiguousarray(tensors[name]).tobytes())
