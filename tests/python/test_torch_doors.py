"""flowtrain.DataLoader for torchvision's data sets beside ImageFolder: pixels and labels as torchvision has them."""

import json
import pickle
import struct

import flowtrain as ft
import numpy as np
import pytest
import torch
from conftest import png

datasets = pytest.importorskip("torchvision.datasets")
transforms = pytest.importorskip("torchvision.transforms")
v2 = pytest.importorskip("torchvision.transforms.v2")

PLAIN = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])])
GREY = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """CIFAR10 and CIFAR100 of 30 pictures of noise, in torchvision's own files."""
    random = np.random.default_rng(1)

    def of(kind, **arguments):
        folder = tmp_path / kind.base_folder
        folder.mkdir(exist_ok=True)
        classes = 10 if kind is datasets.CIFAR10 else 100
        content = {"data": random.integers(0, 256, (30, 3 * 32 * 32), np.uint8),
                   ("labels" if classes == 10 else "fine_labels"): random.integers(0, classes, 30).tolist()}
        (folder / "batch").write_bytes(pickle.dumps(content))
        (folder / "names").write_bytes(pickle.dumps({"names": [f"class {i}" for i in range(classes)]}))
        monkeypatch.setattr(kind, "train_list", [["batch", None]])
        monkeypatch.setattr(kind, "test_list", [])
        monkeypatch.setattr(kind, "meta", {"filename": "names", "key": "names", "md5": None})
        return kind(str(tmp_path), **arguments)

    return of


def idx(values, kind):
    return struct.pack(f">HBB{values.ndim}I", 0, kind, values.ndim, *values.shape) + values.tobytes()


@pytest.fixture
def mnist(tmp_path):
    """MNIST and its like, of 30 pictures of noise, in torchvision's own files."""
    random = np.random.default_rng(2)

    def of(kind, **arguments):
        folder = tmp_path / kind.__name__ / "raw"
        folder.mkdir(parents=True, exist_ok=True)
        images = idx(random.integers(0, 256, (30, 28, 28), np.uint8), 8)
        labels = random.integers(0, 10, 30)
        prefix = "emnist-digits-train" if kind is datasets.EMNIST else "train"
        if kind is datasets.QMNIST:
            facts = np.stack([labels] * 8, axis=1).astype(">i4")
            (folder / "qmnist-train-images-idx3-ubyte").write_bytes(images)
            (folder / "qmnist-train-labels-idx2-int").write_bytes(idx(facts, 12))
        else:
            for split in (prefix, "t10k"):  # torchvision looks for both
                (folder / f"{split}-images-idx3-ubyte").write_bytes(images)
                (folder / f"{split}-labels-idx1-ubyte").write_bytes(idx(labels.astype(np.uint8), 8))
        return kind(str(tmp_path), **arguments)

    return of


def compare(dataset):
    """Every batch of ours with torch's own."""
    ours, theirs = list(ft.DataLoader(dataset, 8, num_workers=2)), list(torch.utils.data.DataLoader(dataset, 8))
    assert len(ours) == len(theirs) > 0
    for (images, labels), (expected, expected_labels) in zip(ours, theirs):
        torch.testing.assert_close(images, expected, rtol=0, atol=2e-6)
        assert torch.equal(labels, expected_labels) and labels.dtype == torch.int64


@pytest.mark.parametrize("kind", [datasets.CIFAR10, datasets.CIFAR100])
def test_cifar(cifar, kind):
    data = cifar(kind, transform=PLAIN)
    compare(data)
    loader = ft.DataLoader(data, 8, shuffle=True, ids=True)
    assert loader.classes == data.classes
    assert "copied once, row by row" in loader.explain() and "torchvision.datasets.cifar" in loader.explain()
    assert sorted(i for batch in loader for i in batch[2].tolist()) == list(range(30))


@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST"])
def test_mnist_and_its_like(mnist, name):
    data = mnist(getattr(datasets, name), transform=GREY, **({"split": "digits"} if name == "EMNIST" else {}))
    compare(data)
    loader = ft.DataLoader(data, 8)
    assert next(iter(loader))[0].shape == (8, 1, 28, 28)
    assert ", not copied" in loader.explain()


def test_fake_data_is_made_once():
    data = datasets.FakeData(20, (3, 16, 16), 4, transform=PLAIN)
    compare(data)
    compare(datasets.FakeData(20, (1, 16, 16), 4, transform=GREY, random_offset=3))
    assert "made once by torchvision and kept in memory, 0.0 MB" in ft.DataLoader(data, 8).explain()
    compare(datasets.FakeData(4, (3, 16, 20), 4, transform=PLAIN))


@pytest.mark.parametrize("parts", [
    (transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(0)),
    (transforms.RandomHorizontalFlip(0), transforms.Pad(4), transforms.RandomCrop((32, 32))),
    (v2.Pad([4, 4]), v2.RandomCrop(32)),
    (v2.RandomCrop(32, padding=[4]),),
])
def test_random_crops_are_parts_of_the_padded_picture(cifar, parts):
    data = cifar(datasets.CIFAR10, transform=transforms.Compose([*parts, transforms.ToTensor()]))
    loader = ft.DataLoader(data, 10, shuffle=True, seed=3, ids=True)
    places = set()
    for _ in range(4):
        for images, labels, ids in loader:
            for image, label, i in zip((images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy(), labels, ids):
                padded = np.pad(data.data[i], ((4, 4), (4, 4), (0, 0)))
                found = [(y, x) for y in range(9) for x in range(9)
                         if np.array_equal(padded[y:y + 32, x:x + 32], image)]
                assert len(found) == 1 and label == data.targets[i]
                places.update(found)
    assert len(places) > 50  # of 81, in 120 draws
    assert "cut 32 x 32 at a random place" in loader.explain()


@pytest.mark.parametrize("parts", [
    (transforms.Resize(24),), (transforms.Resize((24, 24)),), (transforms.Resize(40),),
    (transforms.Resize(28), transforms.CenterCrop(24)), (v2.Resize([24]),), (transforms.Resize((20, 28)),),
    (transforms.Resize(28), transforms.CenterCrop((20, 26))), (transforms.Resize((30, 28)), transforms.CenterCrop(24)),
])
def test_resizing_pictures_of_one_size(cifar, parts):
    data = cifar(datasets.CIFAR10, transform=transforms.Compose([*parts, transforms.ToTensor()]))
    for (images, _), (expected, _) in zip(ft.DataLoader(data, 8), torch.utils.data.DataLoader(data, 8)):
        assert images.shape == expected.shape
        assert (images - expected).abs().max() < 2.5 / 255  # two bytes: Pillow and we round filters differently


def test_a_single_mean_is_that_of_all_channels(cifar):
    compare(cifar(datasets.CIFAR10, transform=transforms.Compose([transforms.ToTensor(),
                                                                  transforms.Normalize(0.5, 0.25)])))


def test_means_may_be_tensors_and_arrays(cifar):
    compare(cifar(datasets.CIFAR10, transform=transforms.Compose([
        transforms.ToTensor(), transforms.Normalize(torch.tensor([0.5, 0.4, 0.3]), np.array([0.2, 0.3, 0.4]))])))


def test_what_cannot_be_mapped_is_named(cifar, mnist):
    def refused(match, *parts, data=datasets.CIFAR10, **arguments):
        with pytest.raises(TypeError, match=match):
            ft.DataLoader(cifar(data, transform=transforms.Compose([*parts, transforms.ToTensor()]), **arguments), 8)

    refused("RandomCrop.*use torch's DataLoader", transforms.RandomCrop(32, padding=4, padding_mode="reflect"))
    refused("RandomCrop", transforms.RandomCrop(32, padding=4, fill=9))
    refused("RandomCrop", transforms.RandomCrop(32, pad_if_needed=True))
    refused("RandomCrop.*after Pad", transforms.Pad(2), transforms.RandomCrop(32, padding=4))
    refused("RandomCrop.*after Resize", transforms.Resize(40), transforms.RandomCrop(32))
    refused("CenterCrop.*shorter side is 32, which it would have to pad.*python=", transforms.Resize(32),
            transforms.CenterCrop(64))
    refused("Pad without RandomCrop", transforms.Pad(4))
    refused("Pad", transforms.Pad((1, 2)))
    refused("RandomRotation", transforms.RandomRotation(10))
    refused("CIFAR10's target_transform is Python", target_transform=str)
    with pytest.raises(TypeError, match="has no transform"):
        ft.DataLoader(cifar(datasets.CIFAR10), 8)
    with pytest.raises(TypeError, match="does not make tensors of floats"):
        ft.DataLoader(cifar(datasets.CIFAR10, transform=transforms.RandomCrop(32)), 8)
    with pytest.raises(TypeError, match=r"QMNIST\(compat=False\)"):
        ft.DataLoader(mnist(datasets.QMNIST, compat=False, transform=GREY), 8)

    class Mine(datasets.FakeData):
        pass

    with pytest.raises(TypeError, match="does not know the data set .*Mine"):
        ft.DataLoader(Mine(4, transform=PLAIN), 8)


def test_an_image_folder_that_was_filtered_is_refused(pictures):
    steps = transforms.Compose([transforms.Resize(28), transforms.CenterCrop(24), transforms.ToTensor()])
    data = datasets.ImageFolder(str(pictures / "train"), steps, is_valid_file=lambda path: not path.endswith("7.png"))
    with pytest.raises(TypeError, match=r"flowtrain finds 61 of 3: what is_valid_file or the script has left out"):
        ft.DataLoader(data, 8)
    data = datasets.ImageFolder(str(pictures / "train"), steps)
    assert len(ft.DataLoader(data, 8)) == 8
    data.classes = ["a", "b", "c"]
    with pytest.raises(TypeError, match="its classes are the folders that have pictures"):
        ft.DataLoader(data, 8)


def coco(folder, ids, **box):
    """COCO's layout: train2017/ and annotations/instances_train2017.json."""
    pictures = folder / "train2017"
    pictures.mkdir(exist_ok=True)
    (folder / "annotations").mkdir(exist_ok=True)
    for i in ids:
        (pictures / f"{i}.png").write_bytes(png(64, 48, f"coco{i}"))
    content = {
        "images": [{"id": i, "file_name": f"{i}.png", "width": 64, "height": 48} for i in ids],
        "categories": [{"id": 7, "name": "dog"}, {"id": 3, "name": "cat"}],
        "annotations": [{"id": n, "image_id": i, "category_id": 3 + 4 * (n % 2), "iscrowd": 0, "area": 200,
                         "bbox": [4.5, 6, 20, 10], **box} for n, i in enumerate(ids)],
    }
    file = folder / "annotations" / "instances_train2017.json"
    file.write_text(json.dumps(content))
    return pictures, file


def test_coco_detection_gives_dicts(tmp_path):
    pytest.importorskip("pycocotools")
    data = datasets.CocoDetection(*map(str, coco(tmp_path, [5, 2, 9])))
    loader = ft.DataLoader(data, 2, shuffle=True, ids=True)
    assert loader.classes == ["cat", "dog"]
    assert "the data set coco" in loader.explain() and "sampler: cornernet" in loader.explain()
    batches = list(loader)
    assert batches[0]["image"].shape == (2, 511, 511, 3) and {"gaussians", "mask", "tl_off", "ids"} <= set(batches[0])
    assert sorted(i for batch in batches for i in batch["ids"].tolist()) == [0, 1, 2]
    with pytest.raises(TypeError, match="sorts its pictures by id"):
        ft.DataLoader(data, 2)
    with pytest.raises(TypeError, match="CocoDetection's transform is Python"):
        ft.DataLoader(datasets.CocoDetection(data.root, str(tmp_path / "annotations" / "instances_train2017.json"),
                                             transform=PLAIN), 2, shuffle=True)
    coco(tmp_path, [5, 2, 9], bbox=[4, 6, 20, 10])
    with pytest.raises(TypeError, match="made from other annotations"):
        ft.DataLoader(data, 2, shuffle=True)
    (tmp_path / "annotations" / "instances_train2017.json").rename(tmp_path / "annotations" / "mine.json")
    with pytest.raises(TypeError, match="does not say where its annotations are.*Loader.coco"):
        ft.DataLoader(data, 2, shuffle=True)
    data = datasets.CocoDetection(*map(str, coco(tmp_path, [2, 5, 9])))
    assert len(list(ft.DataLoader(data, 2))) == 2
