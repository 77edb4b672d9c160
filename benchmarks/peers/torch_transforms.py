"""The augmentation of all peers that use torch: a JPEG's bytes become a tensor (3, 224, 224)."""

import io

import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

from augmentation import DEVIATION, MEAN, RATIO, SCALE


def _augmentation(floats):
    steps = [v2.RandomResizedCrop(224, scale=SCALE, ratio=RATIO, antialias=True),
             v2.RandomHorizontalFlip(0.5), v2.ToImage()]
    if floats:
        steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)]
    return v2.Compose(steps)


def _read(file):
    if isinstance(file, bytes):
        return file
    with open(file, "rb") as opened:
        return opened.read()


class Pillow:
    """Decoded, cut and resized by Pillow. Takes a path, or the file's bytes."""

    def __init__(self, floats):
        self.augment = _augmentation(floats)

    def __call__(self, file):
        return self.augment(Image.open(io.BytesIO(_read(file))).convert("RGB")).as_subclass(torch.Tensor)


class Torchvision:
    """Decoded by torchvision's libjpeg-turbo, cut and resized as a tensor. Takes a path, or the file's bytes."""

    def __init__(self, floats):
        self.augment = _augmentation(floats)

    def __call__(self, file):
        picture = decode_jpeg(torch.frombuffer(bytearray(_read(file)), dtype=torch.uint8), ImageReadMode.RGB)
        return self.augment(picture).as_subclass(torch.Tensor)


class Files(torch.utils.data.Dataset):
    """A picture per index, at random cut."""

    def __init__(self, pictures, transform):
        self.pictures, self.transform = pictures, transform

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.transform(self.pictures[index])


def endless(loader):
    """Epoch after epoch of anything that can be iterated again."""
    while True:
        yield from loader
