"""flowtrain's Python package, of this build: PYTHONPATH=build/release/python."""

import os

import flowtrain as ft

from augmentation import BATCH

LIBRARY = "flowtrain"
VERSION = ft.__version__
RESIZE = "antialias"


def batches(pictures, workers, floats, work):
    folder = os.path.dirname(os.path.dirname(pictures[0]))  # holds <class>/<picture>
    loader = ft.Loader.image_folder(folder, batch_size=BATCH, size=224, filter="antialias", workers=workers,
                                    dtype="float32" if floats else "uint8")
    while True:
        for images, _ in loader:
            yield images
