"""flowtrain.Loader.arrays: pictures and labels that Python holds. And what explain() says of loaders."""

import gc
import pickle
import sys

import numpy as np
import pytest
from conftest import hashes

import flowtrain as ft


def some(count=40, side=12, channels=3):
    random = np.random.default_rng(3)
    return random.integers(0, 256, (count, side, side, channels), np.uint8), random.integers(0, 5, count)


def open_arrays(images, labels, class_names=None, **changes):
    arguments = {"batch_size": 8, "seed": 5, "workers": 2, "ids": True, "output": "numpy"}
    return ft.Loader.arrays(images, labels, class_names, **{**arguments, **changes})


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_and_labels_are_those_of_the_arrays(channels):
    images, labels = some(channels=channels)
    for loader in (open_arrays(images, labels, dtype="uint8", flip=0), open_arrays(images, labels, dtype="uint8",
                                                                                   train=False)):
        seen = []
        for pixels, classes, ids in loader:
            assert np.array_equal(pixels, images[ids]) and np.array_equal(classes, labels[ids])
            seen += ids.tolist()
        assert sorted(seen) == list(range(40))
    assert loader.describe(7) == "images[7]" and loader.classes == ["0", "1", "2", "3", "4"]


def test_grey_pictures_without_channels_and_labels_of_any_width():
    images, labels = some(channels=1)
    plain = open_arrays(images, labels)
    for other in (open_arrays(images[..., 0], labels.astype(np.uint8)), open_arrays(images, labels.tolist())):
        assert [hashes(batch) for batch in other] == [hashes(batch) for batch in open_arrays(images, labels)]
        plain.load_state_dict(other.state_dict())
    assert open_arrays(images, labels, ["a", "b", "c", "d", "e", "f"]).classes[-1] == "f"


def test_nothing_is_copied_and_python_keeps_the_memory():
    images, labels = some()
    before = sys.getrefcount(images)
    loader = open_arrays(images, labels, train=False, dtype="uint8")
    assert loader._arguments["arrays"][0] is images
    assert sys.getrefcount(images) > before
    images[...] = 7  # before a thread looks
    assert all((batch[0] == 7).all() for batch in loader)
    copy = images.copy()
    loader = open_arrays(copy, labels, dtype="uint8", flip=0)
    iterator = iter(loader)
    del copy
    gc.collect()
    assert all((batch[0] == 7).all() for batch in iterator)
    del loader, iterator
    gc.collect()
    assert sys.getrefcount(images) == before


def test_arrays_that_are_not_laid_out_row_by_row_are_copied():
    images, labels = some()
    by_planes = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)  # as CIFAR is kept
    rows = [hashes(batch) for batch in open_arrays(images, labels)]
    assert rows == [hashes(batch) for batch in open_arrays(by_planes, labels)]
    images.setflags(write=False)
    assert rows == [hashes(batch) for batch in open_arrays(images, labels)]


def test_a_state_holds_a_hash_of_the_bytes_and_a_pickled_loader_goes_on():
    images, labels = some()
    loader = open_arrays(images, labels)
    next(iter(loader))
    state = loader.state_dict()
    rest = [hashes(batch) for batch in pickle.loads(pickle.dumps(loader))]
    later = open_arrays(images.copy(), labels)
    later.load_state_dict(state)
    assert rest == [hashes(batch) for batch in later]
    images[3, 0, 0, 0] ^= 1
    with pytest.raises(ft.ConfigError, match=r"records: \w+, was \w+"):
        open_arrays(images, labels).load_state_dict(state)


def test_what_does_not_fit_is_named():
    images, labels = some()
    with pytest.raises(TypeError, match="images are float64: expected uint8"):
        open_arrays(images / 255, labels)
    with pytest.raises(ValueError, match=r"shape \(40, 3, 12, 12\): expected .* puts channels last"):
        open_arrays(images.transpose(0, 3, 1, 2), labels)
    with pytest.raises(ValueError, match=r"labels have the shape \(39,\): expected \(40,\)"):
        open_arrays(images, labels[1:])
    with pytest.raises(TypeError, match="labels are float64"):
        open_arrays(images, labels / 2)
    with pytest.raises(ft.DataError, match=r"labels\[0\] is -1"):
        open_arrays(images, np.full(40, -1))
    with pytest.raises(ft.DataError, match=r"labels\[\d+\] is 4, but class_names has 2 names"):
        open_arrays(images, labels, ["a", "b"])
    with pytest.raises(ft.DataError, match="there are no images"):
        open_arrays(images[:0], labels[:0])
    with pytest.raises(TypeError, match=r"Loader.arrays\(\) has no argument 'path'"):
        open_arrays(images, labels, path="here")
    with pytest.raises(ft.ConfigError, match="only a program can pass.*\n.*Loader.arrays"):
        ft.Loader(overrides={"data.dataset": "arrays"})


def test_explain_lists_data_order_steps_threads_and_copies(pictures):
    loader = ft.Loader.image_folder(pictures, batch_size=8, size=24, seed=5, workers=2, readers=1, flip=0.25, rotate=10,
                                    brightness=0.4, output="numpy")
    lines = loader.explain().splitlines()
    told = "\n".join(lines)
    assert lines[0].startswith("data: image_folder, 61 samples in 3 classes")
    assert lines[1].startswith("order: shuffle, seed 5; 8 batches of 8")
    steps = ["decode", "cut a random part of 8% to 100%", "mirror left to right with probability 0.25", "RGB",
             "rotate = 10", "brightness = 0.4", "/ 255"]
    assert [told.index(step) for step in steps] == sorted(told.index(step) for step in steps)
    assert "1 that read, 2 that sample" in told and "copies: " in told
    validation = ft.Loader.image_folder(pictures, batch_size=8, size=24, train=False, output="numpy").explain()
    assert "as stored" in validation and "mirror" not in validation
    assert "resize the shorter side to 27 (antialias) and cut 24 x 24 from the middle" in validation
    assert "a random place" in open_arrays(*some(), crop="pad", padding=2).explain()
    assert "not copied" in open_arrays(*some()).explain()
    assert "input_size = [511, 511]" in ft.Loader.shapes(batch_size=8, sampler="cornernet", output="numpy").explain()
