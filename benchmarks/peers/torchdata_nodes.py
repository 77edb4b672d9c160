"""torchdata's nodes: a batch of indices goes to a worker process, which makes the whole batch."""

import torch
from torch.utils.data import RandomSampler
from torchdata.nodes import Batcher, Loader, ParallelMapper, SamplerWrapper

from augmentation import BATCH
from torch_transforms import Files, Torchvision, endless

LIBRARY = "torchdata"
RESIZE = "antialias (torchvision)"


class Collate:
    def __init__(self, files):
        self.files = files

    def __call__(self, indices):
        return torch.stack([self.files[index] for index in indices])


def batches(pictures, workers, floats, work):
    files = Files(pictures, Torchvision(floats))
    indices = Batcher(SamplerWrapper(RandomSampler(files)), BATCH, drop_last=False)
    made = ParallelMapper(indices, Collate(files), num_workers=workers, method="process",
                          multiprocessing_context="fork")
    return endless(Loader(made))
