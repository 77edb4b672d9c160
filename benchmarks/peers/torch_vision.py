"""torch's DataLoader with worker processes; torchvision's decode_jpeg and its resize of tensors."""

from torch.utils.data import DataLoader

from augmentation import BATCH
from torch_transforms import Files, Torchvision, endless

LIBRARY = "torchvision"
RESIZE = "antialias (torchvision)"


def batches(pictures, workers, floats, work):
    loader = DataLoader(Files(pictures, Torchvision(floats)), BATCH, shuffle=True, num_workers=workers,
                        persistent_workers=True)
    return endless(loader)
