"""ft.Loader with `fields`: rows made from the parts of samples, of any length."""

import json

import numpy as np
import pytest
from conftest import NIGHTLY

import flowtrain as ft

COUNT = 300
FIELDS = {"text": {"from": "caption", "as": "bytes", "max": 64, "fill": 255}, "label": "label",
          "weight": {"from": "weight", "as": "number"}}
TEXT = {"text": FIELDS["text"]}


@pytest.fixture(scope="module")
def captions(tmp_path_factory):
    """A manifest of COUNT captions of 1 to 90 letters, with a class and a number each."""
    file = tmp_path_factory.mktemp("captions") / "captions.jsonl"
    random = np.random.default_rng(1)
    with open(file, "w") as out:
        for number in range(COUNT):
            letters = "".join(chr(97 + letter) for letter in random.integers(0, 26, random.integers(1, 91)))
            out.write(json.dumps({"caption": letters, "label": "ab"[number % 2], "weight": number / 2}) + "\n")
    return file


def lines_of(file):
    return [json.loads(line) for line in open(file)]


def open_captions(file, **changes):
    arguments = {"fields": FIELDS, "batch_size": 16, "seed": 5, "workers": 2, "ids": True, "output": "numpy"}
    arguments.update(changes)
    return ft.Loader.manifest(str(file), **{key: value for key, value in arguments.items() if value is not None})


def rows_of(batch):
    """(id, bytes, label, weight) of each row, without its padding."""
    for row, identity in enumerate(batch["ids"]):
        length = batch["text_length"][row]
        assert (batch["text"][row][length:] == 255).all()
        yield identity, batch["text"][row][:length].tobytes(), batch["label"][row], batch["weight"][row]


@pytest.mark.parametrize("changes", [{}, {"batch_size": None, "budget": 600}, {"train": False}])
def test_rows_are_the_samples_and_batches_as_long_as_their_longest(captions, changes):
    lines, seen = lines_of(captions), []
    loader = open_captions(captions, **changes)
    for batch in loader:
        assert batch["text"].shape[1] == batch["text_length"].max()
        assert "budget" not in changes or batch["text"].size <= 600
        for identity, text, label, weight in rows_of(batch):
            line = lines[identity]
            assert text == line["caption"].encode()[:64]
            assert loader.classes[label] == line["label"] and weight == line["weight"]
            seen.append(identity)
    assert sorted(seen) == list(range(COUNT))


def test_packed_rows_say_which_letters_belong_together(captions):
    lines, seen = lines_of(captions), []
    for batch in open_captions(captions, fields=TEXT, pack=True, batch_size=4):
        assert batch["text"].shape[1] == 64 == batch["segment"].shape[1] == batch["position"].shape[1]
        found = []
        for text, segment, position in zip(batch["text"], batch["segment"], batch["position"]):
            assert (text[segment == 0] == 255).all()
            for number in range(1, segment.max() + 1):
                where = np.flatnonzero(segment == number)
                assert (position[where] == np.arange(len(where))).all() and (np.diff(where) == 1).all()
                found.append(text[where].tobytes())
        assert found == [lines[identity]["caption"].encode()[:64] for identity in batch["ids"]]
        seen += batch["ids"].tolist()
    assert sorted(seen) == list(range(COUNT))


@pytest.mark.parametrize("form", [{}, {"batch_size": None, "budget": 600}, {"pack": True}, {"train": False}])
def test_a_transform_of_several_fields_makes_all_of_them_in_each_form_of_batches(captions, form):
    table = {"from": "caption", "as": "lm", "max": 64, "end": "<|endoftext|>", "bytes": True}
    loader = open_captions(captions, fields={"tokens": table}, **form)
    packed, names = "pack" in form, ["tokens", "label", "label_bytes"]
    bound = {} if packed else {name: {1: 64} for name in names}
    assert loader.free_axes == bound
    assert f"label ({'' if packed else '≤'}64,)" in loader.explain()
    lines, seen = lines_of(captions), []
    for batch in loader:
        assert list(batch) == [*names, *(["position", "segment"] if packed else ["tokens_length"]), "ids"]
        assert batch["label_bytes"].dtype == np.int32
        assert len({batch[name].shape for name in names}) == 1
        found = []
        for row in range(len(batch["tokens"])):
            tokens, label, label_bytes = (batch[name][row] for name in names)
            segment = batch["segment"][row] if packed else np.arange(len(tokens)) < batch["tokens_length"][row]
            assert (label[segment == 0] == -100).all() and (label_bytes == ((label >= 0) & (label < 256))).all()
            for number in range(1, int(segment.max()) + 1):
                own = segment == number
                assert (tokens[own][1:] == label[own][:-1]).all()
                found.append([*tokens[own].tolist(), int(label[own][-1])])
        assert found == [[*lines[identity]["caption"].encode(), 256][:65] for identity in batch["ids"]]
        seen += batch["ids"].tolist()
    assert sorted(seen) == list(range(COUNT))


def stream(loaders, epochs=2):
    """Each batch of all ranks as (ids, arrays without their padding), in order."""
    for _ in range(epochs):
        for batches in zip(*loaders):
            yield [(key, row.tobytes()) for batch in batches for key in ("ids", *TEXT) for row in batch[key]]


@pytest.mark.parametrize("form", [{}, {"batch_size": None, "budget": 600}, {"pack": True}])
def test_batches_are_the_same_with_any_workers_and_after_any_state(captions, form):
    whole = list(stream([open_captions(captions, fields=TEXT, **form)]))
    for workers in (1, 4):
        assert list(stream([open_captions(captions, fields=TEXT, workers=workers, **form)])) == whole
    for stop in range(1, len(whole), 1 if NIGHTLY else max(1, len(whole) // 3)):
        first = open_captions(captions, fields=TEXT, **form)
        batches = stream([first])
        assert [next(batches) for _ in range(stop)] == whole[:stop]
        state = json.loads(json.dumps(first.state_dict()))
        resumed = open_captions(captions, fields=TEXT, workers=3, **form)
        resumed.load_state_dict(state)
        left = len(whole) // 2 - stop % (len(whole) // 2)
        assert list(stream([resumed], epochs=1)) == whole[stop : stop + left]


@pytest.mark.parametrize("form", [{"global_batch_size": 12}, {"budget": 600}, {"global_batch_size": 12, "pack": True}])
def test_the_ranks_of_any_world_have_the_rows_of_one(captions, form):
    def ids_of(**ranks):
        batches = stream([open_captions(captions, fields=TEXT, **{"batch_size": None, **form}, **rank) for rank in
                          ranks.values()])
        return [{row for key, row in batch if key == "ids"} for batch in batches]

    whole = ids_of(only={})
    for world in (2, 3):
        assert ids_of(**{f"rank{rank}": {"rank": rank, "world_size": world} for rank in range(world)}) == whole


def open_pictures(**changes):
    images = np.random.default_rng(1).integers(0, 256, (60, 16, 16, 3), dtype="uint8")
    return ft.Loader.arrays(images, np.arange(60) % 3, **{"batch_size": 6, "output": "numpy", **changes})


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_pictures_have_the_size_of_their_batch(dtype):
    drawn = [images for images, _ in open_pictures(sizes=[8, 12, 16], dtype=dtype)]
    assert len({images.shape for images in drawn}) == 3
    for size in (8, 12, 16):
        for images, (alone, _) in zip(drawn, open_pictures(size=size, dtype=dtype)):
            assert images.shape != alone.shape or np.array_equal(images, alone)
    growing = open_pictures(sizes=[8, 12, 16], resizing="progressive", resize_at=[2, 5], dtype=dtype)
    sides = [images.shape[2] for images, _ in growing]
    assert sides == [8] * 2 + [12] * 3 + [16] * 5
    assert ("image (3, ≤16, ≤16)" if dtype == "float32" else "image (≤16, ≤16, 3)") in growing.explain()
    assert next(iter(open_pictures(sizes=[8, 12], train=False, dtype=dtype)))[0].shape[2] == 12


def test_tensors_share_the_loaders_memory(captions):
    torch = pytest.importorskip("torch")
    arrays = list(open_captions(captions, budget=600, batch_size=None))
    for batch, other in zip(open_captions(captions, budget=600, batch_size=None, output="torch"), arrays):
        assert batch["text"].dtype == torch.uint8 and batch["text_length"].dtype == torch.int64
        assert all(np.array_equal(batch[key].numpy(), other[key]) for key in other)


@pytest.fixture(scope="module")
def groups(tmp_path_factory, captions):
    """A configuration of labelled pictures, unlabelled ones of another size, and captions."""
    file = tmp_path_factory.mktemp("groups") / "groups.toml"
    file.write_text(f"""
[run]
seed = 5
[val]
every = 0
[[data.source]]
name = "labelled"
dataset = "shapes"
samples = 37
rows = 4
[[data.source]]
name = "unlabelled"
dataset = "shapes"
samples = 50
rows = 8
[[data.source]]
name = "captions"
dataset = "manifest"
path = "{captions}"
rows = 2
[[field]]
name = "image"
as = "image"
size = 12
source = "labelled"
[[field]]
name = "label"
as = "label"
source = "labelled"
[[field]]
name = "image"
as = "image"
size = 20
source = "unlabelled"
[[field]]
name = "text"
from = "caption"
as = "bytes"
max = 64
source = "captions"
""")
    return file


def group_rows(loaders):
    """The rows of each field, over all ranks, of each batch of an epoch."""
    for batches in zip(*loaders):
        yield {name: [row.tobytes() for batch in batches for row in batch[name]] for name in batches[0]
               if name != "captions.text"}


@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_the_fields_of_a_group_have_its_rows(groups, output):
    if output == "torch":
        pytest.importorskip("torch")
    batch = next(iter(ft.Loader.config(groups, output=output, ids=True)))
    assert {name: tuple(array.shape) for name, array in batch.items() if name != "captions.text"} == {
        "labelled.image": (4, 3, 12, 12), "labelled.label": (4,), "unlabelled.image": (8, 3, 20, 20),
        "captions.text_length": (2,), "ids": (14,)}
    assert tuple(batch["captions.text"].shape) == (2, int(batch["captions.text_length"].max()))


def test_groups_are_the_same_in_any_world_and_after_a_state(groups):
    whole = list(group_rows([ft.Loader.config(groups, output="numpy")]))
    assert len(whole) == 150  # until each caption was there
    ranks = [ft.Loader.config(groups, output="numpy", rank=rank, world_size=3) for rank in range(3)]
    assert list(group_rows(ranks)) == whole
    first = ft.Loader.config(groups, output="numpy")
    batches = iter(first)
    for _ in range(20):
        next(batches)
    state = json.loads(json.dumps(first.state_dict()))
    later = [ft.Loader.config(groups, output="numpy", rank=rank, world_size=2) for rank in range(2)]
    for loader in later:
        loader.load_state_dict(state)
    assert list(group_rows(later)) == whole[20:]


def refusal(captions, **changes):
    with pytest.raises(ft.ConfigError) as error:
        open_captions(captions, **changes)
    return str(error.value)


def test_what_does_not_fit_is_refused_with_the_way_out(captions):
    assert "the data set has no part 'captoin'" in refusal(
        captions, fields={"text": {"from": "captoin", "as": "bytes", "max": 9}})
    assert "did you mean 'caption'" in refusal(captions, fields={"text": {"from": "captoin", "as": "bytes", "max": 9}})
    assert "no transform is called 'byte'" in refusal(captions, fields={"text": {"from": "caption", "as": "byte"}})
    assert "the field 'label' has no free axis" in refusal(captions, pack=True)
    assert "no field has a free axis" in refusal(captions, fields={"label": "label"}, budget=100)
    assert "loader.budget is given, too" in refusal(captions, fields=TEXT, budget=100, pack=True)
    assert "order.name" in refusal(captions, fields=TEXT, budget=100, order="class_balanced")
    assert "the part 'caption' is of text, but 'array' takes an array" in refusal(
        captions, fields={"text": {"from": "caption", "as": "array"}})
