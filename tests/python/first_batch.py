"""Reads the first batches of a folder of pictures with the flowtrain that is installed: first_batch.py FOLDER"""

import sys

import flowtrain as ft

with ft.Loader.image_folder(sys.argv[1], batch_size=4, size=32, workers=2, seed=1, ids=True) as loader:
    images, labels, ids = next(iter(loader))
    state = loader.state_dict()
with ft.Loader.image_folder(sys.argv[1], batch_size=4, size=32, workers=1, seed=1, ids=True) as loader:
    loader.load_state_dict(state)
    assert len([*loader]) == len(loader) - 1, "the rest of the epoch"
assert tuple(images.shape) == (4, 3, 32, 32), images.shape
library = type(images).__module__
print(f"Python {sys.version.split()[0]}, flowtrain {ft.__version__}: a batch of {library}, labels {labels.tolist()}")
