"""Batches of images for training loops in Python, made by flowtrain's native loader.

    import flowtrain as ft

    loader = ft.Loader.image_folder("pictures", batch_size=64, size=224)
    for epoch in range(90):
        for images, labels in loader:  # f32 (64, 3, 224, 224), i64 (64,)
            ...
        torch.save({"model": model.state_dict(), "loader": loader.state_dict()}, "checkpoint.pt")

Reading, decoding, augmenting and batching run in native threads, which never take the GIL. The order of samples and
every random draw depend on the seed and the position alone: workers, ranks and restarts change neither.
"""

from flowtrain._core import ConfigError, DataError, Record
from flowtrain.data_loader import DataLoader
from flowtrain.export import ExportError, export
from flowtrain.loader import Batch, Loader
from flowtrain._sampler import sample_rng, sampler
from flowtrain.run import Run, Snapshot
from flowtrain.train import Training, train

import atexit

from . import _core
from ._threads import stop_all

atexit.register(_core.end_interpreter)
atexit.register(stop_all)  # the last to be registered is the first to be called

__version__: str = _core.version
__all__ = [
    "Batch", "ConfigError", "DataError", "DataLoader", "ExportError", "Loader", "Record", "Run", "Snapshot", "Training",
    "export", "sample_rng", "sampler", "train",
]
