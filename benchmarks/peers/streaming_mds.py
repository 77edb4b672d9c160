"""MosaicML Streaming: pictures in MDS shards on the local disk, read by the worker processes of torch's DataLoader."""

import pathlib

from streaming import MDSWriter, StreamingDataset
from torch.utils.data import DataLoader

from augmentation import BATCH
from torch_transforms import Pillow, endless

LIBRARY = "mosaicml-streaming"
RESIZE = "antialias (Pillow)"


class Pictures(StreamingDataset):
    def __init__(self, work, transform):
        super().__init__(local=str(work), shuffle=True, batch_size=BATCH)
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(super().__getitem__(index)["jpg"])


def prepare(pictures, work):
    with MDSWriter(out=str(work), columns={"jpg": "bytes"}) as writer:
        for picture in pictures:
            writer.write({"jpg": pathlib.Path(picture).read_bytes()})


def batches(pictures, workers, floats, work):
    return endless(DataLoader(Pictures(work, Pillow(floats)), BATCH, num_workers=workers, persistent_workers=True))
