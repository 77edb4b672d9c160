"""torch's DataLoader with worker processes; Pillow decodes and resizes."""

from torch.utils.data import DataLoader

from augmentation import BATCH
from torch_transforms import Files, Pillow, endless

LIBRARY = "torch"
RESIZE = "antialias (Pillow)"


def batches(pictures, workers, floats, work):
    loader = DataLoader(Files(pictures, Pillow(floats)), BATCH, shuffle=True, num_workers=workers,
                        persistent_workers=True)
    return endless(loader)
