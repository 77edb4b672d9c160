"""Samplers and data sets in Python: order, state, ranks, errors, threads, plugins."""

import gc
import hashlib
import json
import os
import pickle
import random
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import flowtrain as ft

BUILT_PLUGINS = Path(ft._core.__file__).parents[2] / "plugins"


@ft.sampler
def noisy(record, rng):
    """A corner of the picture, and a number that is drawn; threads finish in any order."""
    time.sleep((record.id % 3) * 0.0005)
    return {"image": record.image()[:8, :8], "label": record.label, "drawn": rng.random(), "id": record.id}


@ft.sampler
def pair(record, rng):
    return {"label": record.label, "image": record.image()[:24, :24]}


@ft.sampler
def drawn(record, rng):
    return {"id": record.id, "drawn": rng.random()}


@ft.sampler
def whole(record, rng):
    return {"image": record.image(), "label": record.label}


def write_digits(folder):
    """20 pictures of 6 × 5 as MNIST has them; u8 (20, 6, 5)."""
    pixels = np.random.default_rng(0).integers(0, 256, (20, 6, 5), np.uint8)
    (folder / "train-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, *pixels.shape) + pixels.tobytes())
    (folder / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, 20) + bytes(i % 10 for i in range(20)))
    return pixels


class Numbers:
    """A data set: a row is its number and a draw of its own."""

    def __init__(self, size=61, slow=()):
        self.size, self.slow = size, slow

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        time.sleep((index % 3) * 0.0005 + (0.05 if index in self.slow else 0))
        return {"id": index, "drawn": ft.sample_rng().random(), "again": ft.sample_rng().random()}


class Broken(Numbers):
    def __init__(self, bad, **kwargs):
        super().__init__(**kwargs)
        self.bad = bad

    def __getitem__(self, index):
        if index in self.bad:
            raise KeyError("boom")
        return super().__getitem__(index)


def of_pictures(folder, **changes):
    arguments = {"sampler": noisy, "batch_size": 8, "seed": 5, "workers": 2, "output": "numpy"}
    return ft.Loader.image_folder(str(folder), **{**arguments, **changes})


def of_numbers(dataset=None, **changes):
    arguments = {"batch_size": 8, "seed": 5, "workers": 2, "output": "numpy"}
    return ft.Loader.python(Numbers() if dataset is None else dataset, **{**arguments, **changes})


@pytest.fixture(params=["sampler", "dataset"])
def opened(request, pictures):
    """Opens a loader of either kind; both have fields `id` and `drawn`."""
    return (lambda **changes: of_pictures(pictures, **changes)) if request.param == "sampler" else of_numbers


def rows_of(batch):
    pixels = [hashlib.sha1(image.tobytes()).hexdigest() for image in batch["image"]] if "image" in batch else []
    return [*zip(batch["id"].tolist(), batch["drawn"].tolist(), *([pixels] if pixels else []))]


def epoch_of(loader):
    return [row for batch in loader for row in rows_of(batch)]


def threads_of_loaders():
    return [thread for thread in threading.enumerate() if thread.name.startswith("flowtrain")]


def run(script, *arguments, **more):
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False,
                          env=place, timeout=60, **more)


# --- Order and state ---

def test_the_order_is_the_native_one(pictures, opened):
    native = ft.Loader.image_folder(str(pictures), batch_size=8, size=24, seed=5, ids=True, output="numpy")
    ours = opened(ids=True)
    for _ in range(2):
        pairs = [(batch["ids"].tolist(), ids.tolist()) for batch, (_, _, ids) in zip(ours, native, strict=True)]
        assert len(pairs) == len(ours) == 8 and all(one == other for one, other in pairs)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_positions_are_the_native_ones_on_all_ranks(pictures, opened, world, drop_last):
    for rank in range(world):
        more = {"ids": True, "drop_last": drop_last, "rank": rank, "world_size": world, "batch_size": 9}
        native = ft.Loader.image_folder(str(pictures), size=24, seed=5, output="numpy", **more)
        ours = opened(**more)
        for _ in range(2):
            for (_, _, ids), batch in zip(native, ours, strict=True):
                states = native.state_dict(), ours.state_dict()
                assert batch["ids"].tolist() == ids.tolist()
                assert all(states[0][key] == states[1][key] for key in ("epoch", "samples"))


def test_validation_is_in_stored_order(pictures):
    loader = of_pictures(pictures, train=False)
    assert [row[0] for row in epoch_of(loader)] == [*range(7)]
    assert [row[0] for row in epoch_of(of_numbers(shuffle=False))] == [*range(61)]


def test_workers_change_nothing(opened):
    loaders = [opened(workers=workers, prefetch=prefetch) for workers, prefetch in ((1, 1), (4, 3), (3, 1))]
    streams = [[row for _ in range(3) for row in epoch_of(loader)] for loader in loaders]
    assert len(set(streams[0])) == len(streams[0]) == 183
    assert streams[0] == streams[1] == streams[2]


def test_no_workers_make_the_same():
    assert epoch_of(of_numbers(workers=0)) == epoch_of(of_numbers(workers=3))


def test_the_generator_of_a_sample_goes_on_within_it():
    batch = next(iter(of_numbers()))
    assert not set(batch["drawn"]) & set(batch["again"])
    ft.sample_rng().random()  # outside of a loader: a new one


def test_a_loader_within_a_sample_leaves_its_generator():
    class Outer(Numbers):
        def __getitem__(self, index):
            first = ft.sample_rng().random()
            if self.slow:
                next(iter(ft.Loader.python(Numbers(4), batch_size=2, workers=0, output="numpy")))
            return {"first": first, "second": ft.sample_rng().random()}

    plain, nesting = (next(iter(ft.Loader.python(Outer(8, slow), batch_size=8, workers=0, output="numpy")))
                      for slow in ((), (99,)))
    assert plain["second"].tolist() == nesting["second"].tolist()


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("position", [0, 1, 7, 8])
def test_a_state_goes_on_exactly_with_any_batch_and_workers(opened, position, drop_last):
    stream = [row for loader in [opened(batch_size=1)] for _ in range(3) for row in epoch_of(loader)]
    loader = opened(drop_last=drop_last)
    taken = sum(len(batch["id"]) for _, batch in zip(range(position), loader))
    if drop_last and position >= 7:
        taken = 61  # what the epoch leaves out is behind it
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["samples"] == taken
    for batch_size, workers in ((5, 3), (8, 1)):
        later = opened(batch_size=batch_size, workers=workers)
        later.load_state_dict(state)
        assert epoch_of(later) == (stream[taken:61] if taken < 61 else stream[61:122])


def test_a_state_is_loaded_three_times_in_a_row(opened):
    stream = epoch_of(opened())
    state, seen = None, []
    for _ in range(4):
        loader = opened()
        if state:
            loader.load_state_dict(state)
        for _, batch in zip(range(2), loader):
            seen += rows_of(batch)
        state = json.loads(json.dumps(loader.state_dict()))
        loader.close()
    assert len(seen) == 61 and seen == stream


def test_worlds_of_one_three_and_two_ranks_are_one_stream(opened):
    straight = opened(batch_size=6)
    stream = [row for _ in range(2) for row in epoch_of(straight)]

    def of_world(world, batches, state):
        loaders = [opened(batch_size=6 // world, rank=rank, world_size=world) for rank in range(world)]
        if state:
            for loader in loaders:
                loader.load_state_dict(state)
        iterators = [iter(loader) for loader in loaders]
        rows = [row for _ in range(batches) for iterator in iterators for row in rows_of(next(iterator))]
        states = [loader.state_dict() for loader in loaders]
        assert all(each == states[0] for each in states)
        return rows, states[0]

    one, state = of_world(1, 2, None)
    three, state = of_world(3, 4, state)
    two, state = of_world(2, 3, state)
    assert one + three + two == stream[:54]


def test_a_last_batch_of_fewer_rows_than_ranks():
    ids = [[row[0] for row in epoch_of(of_numbers(batch_size=2, rank=rank, world_size=3))] for rank in range(3)]
    assert [len(each) for each in ids] == [21, 21, 21]  # 10 batches of 6, and one row
    assert ids[0][-1] == ids[1][-1] == ids[2][-1]


def test_a_state_of_another_stream_is_refused(pictures):
    state = of_numbers().state_dict()
    with pytest.raises(ft.ConfigError, match="samples: 60, was 61"):
        of_numbers(Numbers(60)).load_state_dict(state)
    with pytest.raises(ft.ConfigError, match=r"dataset: .*Broken, was .*Numbers"):
        of_numbers(Broken(())).load_state_dict(state)
    with pytest.raises(ft.ConfigError, match=r"sampler: .*pair, was .*noisy"):
        of_pictures(pictures, sampler=pair).load_state_dict(of_pictures(pictures).state_dict())
    with pytest.raises(ft.ConfigError, match="run.seed: 6, was 5"):
        of_numbers(seed=6).load_state_dict(state)


def test_the_next_iter_is_another_epoch_where_one_is_left_and_its_state_goes_on(opened):
    whole, left, later = opened(), opened(), opened()
    epochs = [epoch_of(whole) for _ in range(3)]
    iterator = iter(left)
    first = rows_of(next(iterator))
    later.load_state_dict(left.state_dict())
    assert epoch_of(left) == epochs[1]
    assert [row for batch in iterator for row in rows_of(batch)] == epochs[0][8:]
    assert first + epoch_of(later) == epochs[0]
    left.set_epoch(0)
    assert epoch_of(left) == epochs[0]


def test_an_interrupt_loses_nothing():
    stream = epoch_of(of_numbers())
    for workers in (0, 2):
        loader = of_numbers(workers=workers)
        iterator = iter(loader)
        seen = rows_of(next(iterator))
        loader._output.finish = lambda started: (_ for _ in ()).throw(KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        later = of_numbers()
        later.load_state_dict(loader.state_dict())
        assert seen + epoch_of(later) == stream


def test_two_sources_in_worlds_of_one_three_and_two_ranks(tmp_path):
    source = '[[data.source]]\ndataset = "shapes"\nsamples = {}\nname = "{}"\nratio = {}\n'
    file = tmp_path / "c.toml"
    file.write_text(source.format(40, "one", 2) + source.format(30, "other", 1))

    def opened(world, rank):
        return ft.Loader.config(file, sampler=drawn, batch_size=6 // world, rank=rank, world_size=world,
                                output="numpy", overrides={"run.seed": 3})

    straight = opened(1, 0)
    stream = [row for _ in range(2) for row in epoch_of(straight)]
    assert {row[0] < 40 for row in stream} == {True, False}
    state, seen = None, []
    for world, batches in ((1, 2), (3, 4), (2, 3)):
        loaders = [opened(world, rank) for rank in range(world)]
        for loader in loaders if state else []:
            loader.load_state_dict(state)
        iterators = [iter(loader) for loader in loaders]
        seen += [row for _ in range(batches) for iterator in iterators for row in rows_of(next(iterator))]
        state = loaders[-1].state_dict()
    assert seen == stream[:54]


def test_orders_of_the_registry(tmp_path):
    weights = tmp_path / "weights.txt"
    weights.write_text("".join("1\n" if index < 5 else "0\n" for index in range(61)))
    loader = of_numbers(overrides={"order.name": "weighted", "order.weights_file": weights})
    assert {row[0] for row in epoch_of(loader)} == {0, 1, 2, 3, 4}
    with pytest.raises(ft.DataError, match="class_balanced needs labels"):
        of_numbers(overrides={"order.name": "class_balanced"})


# --- Rows ---

def test_what_a_record_has(pictures):
    seen = {}

    @ft.sampler
    def look(record, rng):
        seen[record.id] = (record.label, record.description, record.data, record.image())
        return record.id

    batch = next(iter(of_pictures(pictures, sampler=look, shuffle=False)))
    assert batch.tolist() == [*range(8)]
    label, description, data, image = seen[0]
    assert label == 0 and description.endswith(".png") and Path(description).exists()
    assert isinstance(data, bytes) and data == Path(description).read_bytes()
    pixels = b"".join(hashlib.shake_128(f"train0/{y}".encode()).digest(40 * 3) for y in range(36))  # of cat/0.png
    assert description.endswith("cat/0.png") and image.dtype == np.uint8 and image.shape == (36, 40, 3)
    assert image.tobytes() == pixels


def test_records_of_stored_and_drawn_pictures(tmp_path):
    pixels = write_digits(tmp_path)
    images, labels = next(iter(ft.Loader.idx(tmp_path, sampler=whole, batch_size=20, shuffle=False, output="numpy")))
    assert np.array_equal(images[..., 0], pixels) and labels.tolist() == [i % 10 for i in range(20)]
    images, _ = next(iter(ft.Loader.shapes(sampler=whole, batch_size=4, output="numpy")))
    assert images.ndim == 4 and images.dtype == np.uint8 and images.any()


def test_image_and_label_are_a_pair_as_natively(pictures):
    images, labels = next(iter(of_pictures(pictures, sampler=pair, shuffle=False)))
    assert images.shape == (8, 24, 24, 3) and labels.dtype == np.int64
    images, labels, ids = next(iter(of_pictures(pictures, sampler=pair, ids=True)))
    assert ids.shape == labels.shape == (8,)
    loader = of_pictures(pictures, sampler=pair)
    assert loader.classes == ["cat", "dog", "emu"] and loader.describe(0).endswith(".png")


def test_rows_of_other_forms():
    class Form(Numbers):
        def __init__(self, form):
            super().__init__(8)
            self.form = form

        def __getitem__(self, index):
            return self.form(index)

    def batch_of(form, **more):
        return next(iter(of_numbers(Form(form), shuffle=False, **more)))

    numbers, halves = batch_of(lambda index: (index, np.float32(index / 2)))
    assert numbers.tolist() == [*range(8)] and halves.dtype == np.float32
    assert batch_of(lambda index: np.full((2, 3), index, np.uint8)).shape == (8, 2, 3)
    assert [each.tolist() for each in batch_of(lambda index: index, ids=True)] == [[*range(8)], [*range(8)]]
    for form, expected in (
        (lambda index: {"x": np.zeros(2 + (index == 5))}, r"x of sample 5 \(.*\[5\]\) is float64 \(3,\), .*sample 0"),
        (lambda index: {"x": 1.0 if index == 5 else 1}, r"field x of sample 5 .* is float64 \(\), .* is int64"),
        (lambda index: {"y" if index == 5 else "x": 1}, r"sample 5 .* is a dict of y, but sample 0 .* a dict of x"),
        (lambda index: (1, 2) if index == 5 else (1,), r"sample 5 .* is a tuple of 2, but sample 0 .* tuple of 1"),
        (lambda index: None, r"field row of sample 0 .* is a builtins.NoneType"),
    ):
        with pytest.raises(ft.DataError, match=expected):
            batch_of(form)


def test_global_generators_are_seeded_and_put_back_without_threads():
    class Drawing(Numbers):
        def __getitem__(self, index):
            return {"id": index, "drawn": random.random() + np.random.random()}

    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first = epoch_of(of_numbers(Drawing(), workers=0))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    random.seed(2)
    assert epoch_of(of_numbers(Drawing(), workers=0, batch_size=3)) == first
    assert len({drawn for _, drawn in first}) == 61


# --- Errors ---

@pytest.mark.parametrize("workers", [0, 1, 3])
def test_an_error_is_raised_in_the_place_of_its_batch_and_names_the_sample(workers):
    loader = of_numbers(Broken({19}), workers=workers, shuffle=False)
    iterator = iter(loader)
    assert [next(iterator)["id"][0] for _ in range(2)] == [0, 8]
    state = loader.state_dict()
    with pytest.raises(ft.DataError, match=r"sample 19 \(.*Broken\[19\]\) of epoch 0: KeyError: 'boom'") as error:
        next(iterator)
    assert isinstance(error.value.__cause__, KeyError)
    assert [*iterator] == [] and loader.state_dict() == state
    assert rows_of(next(iter(loader)))[0][0] == 0  # the next epoch
    later = of_numbers(Broken({19}), workers=workers, shuffle=False)
    later.load_state_dict(state)
    with pytest.raises(ft.DataError, match="sample 19"):
        epoch_of(later)


def test_damaged_pictures_are_named_and_may_be_caught(pictures, tmp_path):
    (tmp_path / "train" / "cat").mkdir(parents=True)
    for number in range(3):
        source = (pictures / "train" / "cat" / "0.png").read_bytes()
        (tmp_path / "train" / "cat" / f"{number}.png").write_bytes(source if number != 1 else b"no picture")
    with pytest.raises(ft.DataError, match=r"sample 1 \(.*1\.png\) of epoch 0: DataError: the picture cannot be"):
        [*of_pictures(tmp_path, batch_size=1, shuffle=False)]

    @ft.sampler
    def patient(record, rng):
        try:
            return record.image()[:24, :24]
        except ft.DataError:
            return np.zeros((24, 24, 3), np.uint8)

    batches = [*of_pictures(tmp_path, sampler=patient, batch_size=1, shuffle=False)]
    assert [bool(batch.any()) for batch in batches] == [True, False, True]


def test_arguments_are_checked(pictures):
    with pytest.raises(TypeError, match="a function after @ft.sampler"):
        of_pictures(pictures, sampler=lambda record, rng: None)
    with pytest.raises(TypeError, match="in host memory: leave out device"):
        of_numbers(device="cuda")
    with pytest.raises(TypeError, match="Loader.arrays takes native samplers"):
        ft.Loader.arrays(np.zeros((2, 3, 3), np.uint8), [0, 1], sampler=whole, batch_size=2)
    with pytest.raises(TypeError, match="no argument 'size'"):
        of_pictures(pictures, size=24)
    with pytest.raises(TypeError, match="no data set with __len__"):
        of_numbers(iter(()))
    with pytest.raises(ft.DataError, match="the data set is empty"):
        of_numbers(Numbers(0))
    with pytest.raises(ft.ConfigError, match="drop_last leaves no batch"):
        of_numbers(batch_size=100, drop_last=True)
    for workers in (-1, 2.5, "3"):
        with pytest.raises(ValueError, match="workers = .*: expected a whole number of at least 0"):
            of_numbers(workers=workers)
        with pytest.raises(ValueError, match="num_workers = .*: expected a whole number of at least 0"):
            ft.DataLoader(Numbers(), 8, num_workers=workers, python="threads")
    with pytest.raises(ValueError, match="prefetch_factor = 0: expected a whole number of at least 1"):
        ft.DataLoader(Numbers(), 8, prefetch_factor=0, python="threads")
    with pytest.raises(TypeError, match="give workers=3"):
        of_numbers(overrides={"loader.workers": 3})
    with pytest.raises(TypeError, match="give num_workers=3"):
        ft.DataLoader(Numbers(), 8, overrides={"loader.workers": 3}, python="threads")
    with pytest.raises(IndexError, match="no sample 61: there are 61"):
        of_numbers().describe(61)
    assert "Numbers" in repr(of_numbers()) and "61 samples" in repr(of_numbers())


class Corners:
    def __init__(self, side):
        self.side = side

    def cut(self, record, rng):
        return {"image": record.image()[:self.side, :self.side], "label": record.label}


def test_methods_are_samplers(pictures):
    loader = of_pictures(pictures, sampler=ft.sampler(Corners(6).cut))
    assert next(iter(loader))[0].shape == (8, 6, 6, 3) and "Corners.cut" in loader.explain()
    assert next(iter(pickle.loads(pickle.dumps(loader))))[0].shape == (8, 6, 6, 3)
    with pytest.raises(TypeError, match="expected a function"):
        ft.sampler("classify")


def test_a_data_set_under_torchs_signature():
    loader = ft.DataLoader(Numbers(), batch_size=8, shuffle=True, num_workers=2, seed=5, python="threads",
                           output="numpy")
    assert epoch_of(loader) == epoch_of(of_numbers())
    assert "threads of Python" in loader.explain()
    listed = ft.DataLoader(Numbers(), batch_size=8, num_workers=2, python="threads", collate_fn=lambda rows: rows,
                           ids=True)
    rows, ids = next(iter(listed))[:-1], next(iter(listed))[-1]
    assert [row["id"] for row in rows] == ids.tolist()
    with pytest.raises(ft.DataError, match=r"the batch of samples 0, 1, 2, … .*ZeroDivisionError"):
        next(iter(ft.DataLoader(Numbers(), 8, python="threads", collate_fn=lambda rows: 1 / 0)))
    with pytest.raises(TypeError, match=r'collate_fn.*python="threads"'):
        ft.DataLoader(Numbers(), 8, collate_fn=lambda rows: rows)
    with pytest.raises(TypeError, match=r'does not know the data set .*Numbers: python="threads"'):
        ft.DataLoader(Numbers(), 8)
    with pytest.raises(ValueError, match="python = 'processes'"):
        ft.DataLoader(Numbers(), 8, python="processes")


# --- Threads ---

def test_prefetching_is_bounded():
    made = []

    class Counted(Numbers):
        def __getitem__(self, index):
            made.append(index)
            return index

    loader = of_numbers(Counted(1000), workers=4, prefetch=3)
    iterator = iter(loader)
    next(iterator)
    time.sleep(0.2)
    assert len(made) <= 8 * (1 + 3)
    loader.close()


def test_explain_says_that_python_makes_the_rows(opened):
    told = opened().explain()
    assert "2 threads of Python, which share the GIL" in told and "order: shuffle, seed 5; 8 batches of 8" in told


def test_explain_names_the_rank():
    loader = ft.Loader.python(Numbers(), batch_size=4, rank=1, world_size=2, output="numpy")
    assert "batches of 8 an epoch, of which rank 1 of 2 takes its part" in loader.explain()


def test_stats_name_the_gil():
    loader = of_numbers(Numbers(8, slow=range(8)), workers=1)
    epoch_of(loader)
    stats = loader.stats()
    assert stats["batches"] == 1 and "share the GIL" in stats["verdict"] and stats["busy"]["sample"] > 0


def test_it_need_not_wait():
    core = of_numbers(Numbers(slow={0}), shuffle=False)._core
    core.begin_epoch()
    assert core.next(wait=False) is False and core.position()["samples"] == 0
    _, ids = core.next()
    assert ids.tolist() == [*range(8)] and core.position()["samples"] == 8


def test_a_slow_sample_does_not_change_the_order():
    assert epoch_of(of_numbers(Numbers(slow={0, 1}), workers=4, shuffle=False)) == epoch_of(of_numbers(shuffle=False))


def test_a_consumer_that_stops_early_leaves_no_thread(opened):
    for _ in range(20):
        for _ in opened():
            break
    loader = opened()
    next(iter(loader))
    loader.close()
    loader.close()
    assert len(epoch_of(loader)) == 61  # the next epoch has new threads
    with opened() as last:
        next(iter(last))
    del loader, last
    deadline = time.monotonic() + 20
    while threads_of_loaders() and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert threads_of_loaders() == []


def test_one_thread_at_a_time():
    loader = of_numbers(Numbers(slow=range(61)), workers=1)
    iterator = iter(loader)
    other = threading.Thread(target=lambda: next(iterator))
    other.start()
    time.sleep(0.1)  # a batch takes 0.4 s
    with pytest.raises(RuntimeError, match="another thread uses this loader"):
        loader.close()
    other.join()


def test_pickled_loaders_go_on(opened):
    loader = opened()
    iterator = iter(loader)
    next(iterator)
    copy = pickle.loads(pickle.dumps(loader))
    assert epoch_of(copy) == [row for batch in iterator for row in rows_of(batch)]


def test_a_forked_process_is_told(opened):
    loader = opened()
    next(iter(loader))
    child = os.fork()
    if child == 0:
        try:
            next(iter(loader))
        except RuntimeError as error:
            os._exit(0 if "before a fork" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_interpreter_may_end_with_the_threads_alive(pictures):
    script = (
        "import sys, test_python_samplers as t\n"
        "slow = t.Numbers(10**6, slow=range(10**6))\n"
        "held = [t.of_pictures(sys.argv[1]), t.of_numbers(slow, prefetch=500)]  # that take 100 s\n"
        "batches = [next(iter(loader)) for loader in held]\n"
        "print('ends')\n"
    )
    ended = run(script, str(pictures))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ends\n", "")


def test_a_thread_in_the_loader_does_not_break_the_interpreters_end():
    script = (
        "import threading, time, test_python_samplers as t\n"
        "loader = t.of_numbers(t.Numbers(10**6, slow=range(10**6)))\n"
        "def consume():\n"
        "    try:\n"
        "        for batch in loader: pass\n"
        "    except (RuntimeError, t.ft.DataError): pass\n"
        "threading.Thread(target=consume, daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    ended = run(script)
    assert (ended.returncode, ended.stderr) == (0, "")


# --- Plugins ---

def test_a_plugin_of_the_c_interface(tmp_path):
    if not (BUILT_PLUGINS / "edges.so").exists():
        pytest.skip("edges.so was not built")
    pixels = write_digits(tmp_path)
    loader = ft.Loader.idx(tmp_path, plugins=[BUILT_PLUGINS / "edges.so"], sampler="edges", gain=2.0, batch_size=20,
                           shuffle=False, dtype="uint8", output="numpy")
    images, labels = next(iter(loader))
    wide = np.pad(pixels.astype(float), ((0, 0), (1, 1), (1, 1)), "edge")
    across, down = wide[:, 1:-1, 2:] - wide[:, 1:-1, :-2], wide[:, 2:, 1:-1] - wide[:, :-2, 1:-1]
    expected = np.minimum(255, 2 * np.hypot(across, down)).astype(np.uint8)
    assert np.array_equal(images[..., 0], expected) and labels.tolist() == [i % 10 for i in range(20)]
    with pytest.raises(ft.ConfigError, match="gane"):
        ft.Loader.idx(tmp_path, plugins=[BUILT_PLUGINS / "edges.so"], sampler="edges", gane=2.0, batch_size=20)
    config = {"data.dataset": "idx", "data.path": tmp_path, "run.plugins": [BUILT_PLUGINS / "edges.so"],
              "sampler.name": "edges", "loader.batch": 20, "order.name": "sequential"}
    again, _ = next(iter(ft.Loader(overrides=config, dtype="uint8", output="numpy")))
    assert np.array_equal(again[..., 0], np.minimum(255, np.hypot(across, down)).astype(np.uint8))


def test_a_plugin_of_the_program_is_refused_with_the_way_out(pictures):
    if not (BUILT_PLUGINS / "own_parts.so").exists():
        pytest.skip("own_parts.so was not built")
    with pytest.raises(ft.ConfigError, match=r"own_parts.so: cannot be loaded: .*undefined symbol.*\n.*C interface"):
        ft.Loader.image_folder(str(pictures), plugins=[BUILT_PLUGINS / "own_parts.so"], batch_size=4)
    with pytest.raises(ft.ConfigError, match="no such file"):
        ft.Loader.image_folder(str(pictures), plugins=["nothing.so"], batch_size=4)
