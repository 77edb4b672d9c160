"""Data sets of torch and torchvision that run in threads of Python. Skipped without them."""

import pickle
import random

import flowtrain as ft
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

transforms = pytest.importorskip("torchvision.transforms")
ImageFolder = pytest.importorskip("torchvision.datasets").ImageFolder


def test_the_batches_of_torchs_loader(pictures):
    steps = transforms.Compose([transforms.Grayscale(3), transforms.CenterCrop(24), transforms.ToTensor()])
    data = ImageFolder(str(pictures / "train"), steps)
    with pytest.raises(TypeError, match=r'Grayscale.*python="threads"'):
        ft.DataLoader(data, 8)
    ours = ft.DataLoader(data, batch_size=8, num_workers=2, python="threads", ids=True)
    for (images, labels, ids), (expected, expected_labels) in zip(ours, DataLoader(data, batch_size=8), strict=True):
        assert torch.equal(images, expected) and torch.equal(labels, expected_labels)
        assert ids.dtype == torch.int64
    assert ours.classes == data.classes
    assert "ImageFolder" in ours.explain()


def test_random_transforms_are_reproducible_without_workers(pictures):
    steps = transforms.Compose([transforms.RandomResizedCrop(24), transforms.RandomHorizontalFlip(),
                                transforms.ColorJitter(0.4, 0.4, 0.4), transforms.ToTensor()])
    data = ImageFolder(str(pictures / "train"), steps)

    def opened(batch_size):
        return ft.DataLoader(data, batch_size, True, seed=3, python="threads")

    torch.manual_seed(1)
    before = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    straight = opened(8)
    stream = torch.cat([images for _ in range(2) for images, _ in straight])
    now = torch.random.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    assert torch.equal(before[0], now[0]) and before[1:] == now[1:]
    torch.manual_seed(2)
    loader, later = opened(8), opened(5)
    first = [images for _, (images, _) in zip(range(3), loader)]
    later.load_state_dict(loader.state_dict())
    rest = [images for _ in range(2) for images, _ in later]
    assert torch.equal(torch.cat([*first, *rest]), stream)


def test_collation_is_torchs_or_the_callers():
    data = Subset(TensorDataset(torch.arange(20).reshape(10, 2), torch.arange(10)), range(9))
    pairs, numbers = next(iter(ft.DataLoader(data, 4, num_workers=1, python="threads")))
    assert torch.equal(pairs, torch.arange(8).reshape(4, 2)) and numbers.tolist() == [0, 1, 2, 3]
    longest = ft.DataLoader(data, 4, num_workers=2, python="threads", drop_last=True,
                            collate_fn=lambda rows: max(row[1] for row in rows))
    assert [each.item() for each in longest] == [3, 7] and len(longest) == 2
    named = [{"name": f"sample {i}", "x": i} for i in range(4)]
    batch = next(iter(ft.DataLoader(named, 4, python="threads", ids=True)))
    assert batch["name"] == [row["name"] for row in named] and batch["ids"].tolist() == [0, 1, 2, 3]


def test_rows_of_samplers_become_tensors(pictures):
    @ft.sampler
    def corner(record, rng):
        return {"image": record.image()[:24, :24], "label": record.label}

    images, labels = next(iter(ft.Loader.image_folder(str(pictures), sampler=corner, batch_size=4)))
    assert images.dtype == torch.uint8 and images.shape == (4, 24, 24, 3) and labels.dtype == torch.int64
    rows = next(iter(ft.Loader.python([{"x": torch.ones(3)}] * 4, batch_size=4)))
    assert torch.equal(rows["x"], torch.ones(4, 3))


def test_tensors_that_numpy_has_not_are_collated_by_torch():
    for row in (torch.ones(3, dtype=torch.bfloat16), torch.ones(3, requires_grad=True)):
        data = [{"x": row}] * 4
        with pytest.raises(ft.DataError, match=r'field x of sample (.|\n)*DataLoader\(dataset, python="threads"\)'):
            next(iter(ft.Loader.python(data, batch_size=4)))
        assert torch.equal(next(iter(ft.DataLoader(data, 4, python="threads")))["x"], torch.stack([row] * 4))


def first_epochs(data, **arguments):
    loader = ft.DataLoader(data, 4, shuffle=True, python="threads", **arguments)
    return loader, [[batch.tolist() for batch in loader] for _ in range(2)]


def test_the_order_follows_torchs_seed():
    data = torch.arange(20)
    torch.manual_seed(1)
    _, one = first_epochs(data)
    torch.manual_seed(1)
    torch.rand(3)  # what was drawn since does not matter
    assert first_epochs(data)[1] == one
    torch.manual_seed(2)
    assert first_epochs(data)[1] != one
    assert first_epochs(data, generator=torch.Generator().manual_seed(1))[1] == one
    assert first_epochs(data, seed=1)[1] == one == first_epochs(data, overrides={"run.seed": 1})[1]
    ranks = [first_epochs(data, rank=rank, world_size=2)[1] for rank in range(2)]
    torch.manual_seed(3)
    assert [first_epochs(data, rank=rank, world_size=2)[1] for rank in range(2)] == ranks
    assert sorted(sum(ranks[0][0] + ranks[1][0], [])) == list(range(20))


def test_a_state_brings_its_seed_where_none_was_given():
    data = torch.arange(20)
    torch.manual_seed(1)
    begun = ft.DataLoader(data, 4, shuffle=True, python="threads")
    next(taken := iter(begun))
    torch.manual_seed(2)
    later = ft.DataLoader(data, 4, shuffle=True, python="threads")
    running = iter(later)
    next(running)
    later.load_state_dict(begun.state_dict())
    assert list(running) == []
    copy = pickle.loads(pickle.dumps(later))
    rest = [batch.tolist() for batch in taken]
    assert [batch.tolist() for batch in later] == rest == [batch.tolist() for batch in copy]
    assert "seed 1;" in later.explain()
    for given in ({"seed": 2}, {"generator": torch.Generator().manual_seed(2)}, {"overrides": {"run.seed": 2}}):
        with pytest.raises(ft.ConfigError, match="run.seed: 2, was 1"):
            ft.DataLoader(data, 4, shuffle=True, python="threads", **given).load_state_dict(begun.state_dict())
