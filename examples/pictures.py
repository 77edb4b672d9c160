"""Writes pictures of drawn shapes, a folder for each class, for the other examples: python pictures.py FOLDER"""

import sys
from pathlib import Path

import flowtrain as ft
from torchvision.io import write_png


def draw(folder: Path, train: bool, samples: int) -> None:
    loader = ft.Loader.shapes(size=32, samples=samples, val_samples=samples, train=train, flip=0.0, dtype="uint8",
                              batch_size=100, ids=True)
    for images, labels, ids in loader:
        for image, label, number in zip(images, labels.tolist(), ids.tolist()):
            place = folder / ("train" if train else "val") / loader.classes[label]
            place.mkdir(parents=True, exist_ok=True)
            write_png(image.permute(2, 0, 1).expand(3, -1, -1).contiguous(), str(place / f"{number:05}.png"))


if __name__ == "__main__":
    draw(Path(sys.argv[1]), True, 6000)
    draw(Path(sys.argv[1]), False, 500)
