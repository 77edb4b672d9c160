"""torchdata's StatefulDataLoader, whose state can be saved: torch's DataLoader otherwise; torchvision decodes."""

from torchdata.stateful_dataloader import StatefulDataLoader

from augmentation import BATCH
from torch_transforms import Files, Torchvision, endless

LIBRARY = "torchdata"
RESIZE = "antialias (torchvision)"


def batches(pictures, workers, floats, work):
    loader = StatefulDataLoader(Files(pictures, Torchvision(floats)), BATCH, shuffle=True, num_workers=workers,
                                persistent_workers=True)
    return endless(loader)
