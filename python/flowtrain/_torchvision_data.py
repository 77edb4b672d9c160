"""torchvision's data sets as native ones: what ft.DataLoader knows of each."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

from flowtrain._arrays import Arrays, as_arrays

if TYPE_CHECKING:
    from flowtrain.loader import Loader

WAY_OUT = (
    'python="threads" runs it as it is; or use torch\'s DataLoader, or one of flowtrain\'s data sets and samplers '
    "(help(flowtrain.Loader))"
)


@dataclass
class NativeData:
    """A data set as flowtrain opens it."""

    keys: dict[str, Any]  #: keys of the configuration
    description: str  #: shown by explain()
    arrays: Arrays | None = None  #: the arrays, if the data set is in memory
    has_transform: bool = True  #: false: the sampler does all, and batches are dicts
    check: Callable[[Loader[Any]], None] = field(default=lambda loader: None)  #: raises TypeError for other samples

    @property
    def picture(self) -> tuple[int, int, int] | None:
        """Height, width and channels of the stored pictures; None where each has its own."""
        return None if self.arrays is None else self.arrays[0].shape[1:]


def native_data(dataset: Any, shuffle: bool) -> NativeData:
    """Raises TypeError for a data set, or a part of one, that only Python can read."""
    kind = f"{type(dataset).__module__}.{type(dataset).__qualname__}"
    if kind not in _KINDS:
        raise TypeError(f"flowtrain.DataLoader does not know the data set {kind}: {WAY_OUT}")
    if dataset.target_transform is not None:
        raise _is_python(dataset, "target_transform")
    data = _KINDS[kind](dataset, shuffle)
    data.description = f"{kind}: {data.description}"
    return data


def _is_python(dataset: Any, name: str) -> TypeError:
    return TypeError(f"{type(dataset).__name__}'s {name} is Python, which flowtrain does not run: {WAY_OUT}")


def _image_folder(dataset: Any, shuffle: bool) -> NativeData:
    if getattr(dataset.loader, "__name__", "") != "default_loader":
        raise _is_python(dataset, "loader")
    parent, folder = os.path.split(os.path.abspath(dataset.root))
    keys = {"data.dataset": "image_folder", "data.path": parent, "data.split": folder, "sampler.channels": 3}
    return NativeData(keys, f"the data set image_folder, {dataset.root}",
                      check=lambda loader: _check_image_folder(loader, dataset))


def _check_image_folder(loader: Loader[Any], dataset: Any) -> None:
    samples = loader._core.sizes()["samples"]
    if loader.classes != list(dataset.classes) or samples != len(dataset.samples):
        if samples > len(dataset.samples) or len(loader.classes) > len(dataset.classes):
            why = f"what is_valid_file or the script has left out is in the folder: {WAY_OUT}"
        elif samples < len(dataset.samples):
            why = f"it takes JPEG, PNG and WebP alone: {WAY_OUT}"
        else:
            why = f"its classes are the folders that have pictures, by name: {WAY_OUT}"
        raise TypeError(f"ImageFolder has {len(dataset.samples)} samples of {len(dataset.classes)} classes, flowtrain "
                        f"finds {samples} of {len(loader.classes)}: {why}")
    start = len(os.path.join(dataset.root, ""))
    paths, labels = [path[start - 1:] for path, _ in dataset.samples], [label for _, label in dataset.samples]
    other = loader._core.first_other(paths, labels)
    if other >= 0:
        raise TypeError(f"ImageFolder's sample {other} is {dataset.samples[other]}, flowtrain finds "
                        f"{loader.describe(other)} there, or another label: {WAY_OUT}")


def _in_memory(arrays: Arrays, description: str) -> NativeData:
    return NativeData({"data.dataset": "arrays"}, f"{description}, {arrays[0].nbytes / 1e6:,.1f} MB", arrays)


def _pixels(dataset: Any, shuffle: bool) -> NativeData:
    """CIFAR's, MNIST's and its like: data and targets."""
    targets = numpy.asarray(dataset.targets)
    if targets.ndim == 2:  # QMNIST's facts of a digit, of which the class is the first
        if not dataset.compat:
            raise TypeError(f"QMNIST(compat=False) has several targets for a picture: {WAY_OUT}")
        targets = targets[:, 0]
    arrays = as_arrays(dataset.data, targets, dataset.classes)
    copied = not numpy.shares_memory(arrays[0], numpy.asarray(dataset.data))
    return _in_memory(arrays, "its pixels in memory, " + ("copied once, row by row" if copied else "not copied"))


def _fake(dataset: Any, shuffle: bool) -> NativeData:
    plain = copy.copy(dataset)
    plain.transform = None
    made = [plain[index] for index in range(len(plain))]
    arrays = as_arrays(numpy.stack([numpy.asarray(image) for image, _ in made]), [label for _, label in made],
                       [str(label) for label in range(dataset.num_classes)])
    return _in_memory(arrays, "its pictures, made once by torchvision and kept in memory")


def _coco(dataset: Any, shuffle: bool) -> NativeData:
    if dataset.transforms is not None:
        raise _is_python(dataset, "transform")
    root = os.path.abspath(dataset.root)
    parent, split = os.path.split(root)
    for path in (parent, os.path.dirname(parent) if os.path.basename(parent) == "images" else parent):
        file = os.path.join(path, "annotations", f"instances_{split}.json")
        if os.path.isfile(file):
            break
    else:
        raise TypeError(f"CocoDetection does not say where its annotations are, and {file} is not there: "
                        "Loader.coco(path, annotations=…, pictures=…, sampler=\"cornernet\") takes them anywhere")
    images = dataset.coco.dataset["images"]
    if not shuffle and [image["id"] for image in images] != dataset.ids:
        raise TypeError("CocoDetection sorts its pictures by id, flowtrain takes them as the file lists them: give "
                        "shuffle=True, or sort the file's images")
    keys = {"data.dataset": "coco", "data.path": path, "data.split": split, "sampler.name": "cornernet"}
    return NativeData(keys, f"the data set coco, {root} with {file}; labels are the places of categories among their "
                      "sorted ids; the sampler cornernet gives dicts", has_transform=False,
                      check=lambda loader: _check_coco(loader, dataset))


def _check_coco(loader: Loader[Any], dataset: Any) -> None:
    content = dataset.coco.dataset
    names = [category["name"] for category in sorted(content["categories"], key=lambda category: category["id"])]
    files = [image["file_name"] for image in content["images"]]
    samples = loader._core.sizes()["samples"]
    boxes = [box for annotation in content["annotations"] for box in annotation["bbox"]]
    count, total = loader._core.box_sum()
    if (loader.classes != names or samples != len(files) or count != len(boxes) // 4
            or not math.isclose(total, sum(boxes), rel_tol=1e-9)
            or not all(file in loader.describe(id) for id, file in enumerate(files))):
        raise TypeError("CocoDetection was made from other annotations than those that lie beside its pictures: "
                        "Loader.coco(path, annotations=…, pictures=…, sampler=\"cornernet\") takes them anywhere")


_KINDS: dict[str, Callable[[Any, bool], NativeData]] = {
    "torchvision.datasets.folder.ImageFolder": _image_folder,
    "torchvision.datasets.cifar.CIFAR10": _pixels,
    "torchvision.datasets.cifar.CIFAR100": _pixels,
    "torchvision.datasets.mnist.MNIST": _pixels,
    "torchvision.datasets.mnist.FashionMNIST": _pixels,
    "torchvision.datasets.mnist.KMNIST": _pixels,
    "torchvision.datasets.mnist.EMNIST": _pixels,
    "torchvision.datasets.mnist.QMNIST": _pixels,
    "torchvision.datasets.fakedata.FakeData": _fake,
    "torchvision.datasets.coco.CocoDetection": _coco,
}
