"""WebDataset: pictures in .tar shards, read by the worker processes of torch's DataLoader."""

import pathlib
import tarfile

import webdataset

from augmentation import BATCH
from torch_transforms import Pillow, endless

LIBRARY = "webdataset"
RESIZE = "antialias (Pillow)"
SHARDS = 4


def prepare(pictures, work):
    for shard in range(SHARDS):
        with tarfile.open(work / f"{shard}.tar", "w") as archive:
            for picture in pictures[shard::SHARDS]:
                archive.add(picture, pathlib.Path(picture).name)


def batches(pictures, workers, floats, work):
    shards = sorted(map(str, work.glob("*.tar")))
    dataset = (webdataset.WebDataset(shards, shardshuffle=SHARDS).shuffle(1000).to_tuple("jpg")
               .map_tuple(Pillow(floats)).map(lambda sample: sample[0]))
    return endless(webdataset.WebLoader(dataset, batch_size=BATCH, num_workers=workers, persistent_workers=True))
