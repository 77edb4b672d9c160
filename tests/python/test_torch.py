"""Tests that need PyTorch. Skipped without it."""

import pickle
import warnings

import flowtrain as ft
import numpy as np
import pytest
import torch
from test_loader import open_pictures


def test_torch_tensors_share_the_memory(pictures):
    images, labels, ids = next(iter(open_pictures(pictures, output="torch")))
    assert isinstance(images, torch.Tensor) and images.dtype == torch.float32 and images.shape == (8, 3, 24, 24)
    assert labels.dtype == torch.int64
    expected, _, _ = next(iter(open_pictures(pictures)))
    assert np.array_equal(images.numpy(), expected)


transforms = pytest.importorskip("torchvision.transforms")
ImageFolder = pytest.importorskip("torchvision.datasets").ImageFolder


def with_transform(folder, *parts):
    return ImageFolder(str(folder / "train"), transforms.Compose(parts))


def test_the_pixels_of_torchvision(pictures):
    data = with_transform(pictures, transforms.Resize(30), transforms.CenterCrop(24), transforms.ToTensor(),
                          transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]))
    ours = list(ft.DataLoader(data, batch_size=8, num_workers=2))
    theirs = list(torch.utils.data.DataLoader(data, batch_size=8))
    assert len(ours) == len(theirs) == 8
    for (images, labels), (expected, expected_labels) in zip(ours, theirs):
        assert images.shape == expected.shape and torch.equal(labels, expected_labels)
        # A byte of difference is 1 / 255 / 0.2; Pillow and we round filters differently.
        assert ((images - expected).abs() < 3 / 255 / 0.2).float().mean() > 0.98
        assert (images - expected).abs().mean() < 1.5 / 255 / 0.2


def test_what_a_script_describes_runs_natively_and_is_explained(pictures):
    data = with_transform(pictures, transforms.RandomResizedCrop(24, scale=(0.5, 1)),
                          transforms.RandomHorizontalFlip(0.25), transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
                          transforms.ToTensor())
    loader = ft.DataLoader(data, 8, True, num_workers=2, pin_memory=False, ids=True)
    first, second = [sorted(i for batch in loader for i in batch[2].tolist()) for _ in range(2)]
    assert first == second == list(range(61))
    for part in ("scale = [0.5, 1]", "flip = 0.25", "brightness = 0.4", "hue = 0.1", "image_folder"):
        assert part in loader.explain()
    with torch.random.fork_rng():
        one = ft.DataLoader(data, 8, True, generator=torch.Generator().manual_seed(4), ids=True)
        other = ft.DataLoader(data, 8, True, seed=4, ids=True)
        assert all(torch.equal(a[2], b[2]) for a, b in zip(one, other))


def test_arguments_that_most_scripts_have(pictures):
    data = with_transform(pictures, transforms.RandomResizedCrop(24), transforms.ToTensor())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        loader = ft.DataLoader(data, 8, True, pin_memory=True, persistent_workers=True, prefetch_factor=None)
        ft.Loader.image_folder(str(pictures), size=24, pin_memory=True)
    if not torch.cuda.is_available():
        assert [warning.filename for warning in warned] == [__file__] * 2
    assert loader.dataset is data and len(loader.dataset) == 61
    copy = pickle.loads(pickle.dumps(loader))
    assert isinstance(copy, ft.DataLoader) and copy.explain() == loader.explain()
    assert all(torch.equal(a[0], b[0]) for a, b in zip(loader, copy))


def test_what_is_not_known_is_named(pictures):
    usual = (transforms.RandomResizedCrop(24), transforms.ToTensor())
    with pytest.raises(TypeError, match=r"RandomErasing.*use torch's DataLoader"):
        ft.DataLoader(with_transform(pictures, *usual, transforms.RandomErasing()), 8)
    with pytest.raises(TypeError, match="Lambda"):
        ft.DataLoader(with_transform(pictures, transforms.Lambda(lambda image: image), *usual), 8)
    with pytest.raises(TypeError, match="no common size"):
        ft.DataLoader(with_transform(pictures, transforms.Resize(30), transforms.ToTensor()), 8)
    for parts in ((transforms.CenterCrop(24),), (transforms.CenterCrop(24), transforms.Resize(30)),
                  (transforms.RandomResizedCrop(30), transforms.CenterCrop(24)),
                  (transforms.RandomResizedCrop(24), *[transforms.RandomHorizontalFlip()] * 2)):
        with pytest.raises(TypeError, match="flowtrain does not support .* after"):
            ft.DataLoader(with_transform(pictures, *parts, transforms.ToTensor()), 8)
    other = with_transform(pictures, *usual)
    other.samples = [(path, 2 - label) for path, label in other.samples]
    with pytest.raises(TypeError, match="sample 0 is .* another label"):
        ft.DataLoader(other, 8)
    with pytest.raises(TypeError, match="collate_fn"):
        ft.DataLoader(with_transform(pictures, *usual), 8, collate_fn=len)
    with pytest.raises(TypeError, match="TensorDataset"):
        ft.DataLoader(torch.utils.data.TensorDataset(torch.zeros(3)), 8)
