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

import atexit as _atexit

from flowtrain import _core, _threads
from flowtrain._core import ConfigError, DataError, Record
from flowtrain._sampler import sample_rng, sampler
from flowtrain.data_loader import DataLoader
from flowtrain.export import ExportError, export
from flowtrain.loader import Batch, Loader
from flowtrain.run import Run, Snapshot
from flowtrain.train import Training, train

_atexit.register(_core.end_interpreter)
_atexit.register(_threads.stop_all)  # the last to be registered is the first to be called

__version__: str = _core.version
__all__ = [
    "Batch", "ConfigError", "DataError", "DataLoader", "ExportError", "Loader", "Record", "Run", "Snapshot", "Training",
    "__version__", "export", "sample_rng", "sampler", "train",
]


def __dir__() -> list[str]:
    """Returns the public names."""
    return sorted(__all__)
