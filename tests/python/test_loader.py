"""flowtrain.Loader: batches, epochs, state, ranks, memory, errors."""

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import hashes, png

import flowtrain as ft


def open_pictures(folder, **changes):
    arguments = {"batch_size": 8, "size": 24, "seed": 5, "workers": 2, "ids": True, "output": "numpy"}
    return ft.Loader.image_folder(str(folder), **{**arguments, **changes})


def epoch_of(loader):
    return [row for batch in loader for row in hashes(batch)]


def test_batches_of_images_and_labels(pictures):
    loader = open_pictures(pictures, ids=False)
    batches = list(loader)
    assert len(batches) == len(loader) == 8
    images, labels = batches[0]
    assert images.shape == (8, 3, 24, 24) and images.dtype == np.float32
    assert labels.shape == (8,) and labels.dtype == np.int64
    assert len(batches[-1][0]) == 61 - 7 * 8
    assert loader.classes == ["cat", "dog", "emu"]
    assert len(list(open_pictures(pictures, drop_last=True))) == 7


def test_bytes_are_what_floats_are_made_of(pictures):
    plain = {"mean": [0.5, 0.25, 0.125], "stddev": [0.5, 0.25, 1.0], "shuffle": False}
    floats, _, _ = next(iter(open_pictures(pictures, **plain)))
    bytes_, _, _ = next(iter(open_pictures(pictures, dtype="uint8", **plain)))
    assert bytes_.shape == (8, 24, 24, 3) and bytes_.dtype == np.uint8
    expected = (bytes_.astype(np.float64) / 255 - plain["mean"]) / plain["stddev"]
    np.testing.assert_allclose(floats, expected.transpose(0, 3, 1, 2), atol=2e-6)


def test_each_iter_is_the_next_epoch_and_workers_change_nothing(pictures):
    one, other = open_pictures(pictures, workers=1), open_pictures(pictures, workers=4, prefetch=1)
    first, second = epoch_of(one), epoch_of(one)
    assert sorted(i for i, _ in first) == sorted(i for i, _ in second) == list(range(61))
    assert first != second
    assert first == epoch_of(other) and second == epoch_of(other)


def test_the_next_iter_is_another_epoch_where_one_is_left(pictures):
    whole, left = open_pictures(pictures), open_pictures(pictures)
    epochs = [epoch_of(whole) for _ in range(3)]
    iterator = iter(left)
    next(iterator)
    assert epoch_of(left) == epochs[1]
    assert [row for batch in iterator for row in hashes(batch)] == epochs[0][8:]
    left.set_epoch(2)
    assert epoch_of(left) == epochs[2]
    left.set_epoch(0)
    assert epoch_of(left) == epochs[0]


def test_an_epoch_of_which_nothing_was_asked_is_not_over(pictures):
    """Lightning calls iter() twice before it trains."""
    whole, tried = open_pictures(pictures), open_pictures(pictures)
    epochs = [epoch_of(whole) for _ in range(4)]
    iter(tried)
    assert epoch_of(tried) == epochs[0]
    iter(tried)
    tried.close()
    assert epoch_of(tried) == epochs[1]
    iter(tried)
    tried.set_epoch(2)
    assert epoch_of(tried) == epochs[2]
    iter(tried)
    tried.set_epoch(1)
    assert epoch_of(tried) == epochs[1]
    asked = iter(tried)
    tried.set_epoch(3)
    assert [row for batch in asked for row in hashes(batch)] == epochs[2]
    assert epoch_of(tried) == epochs[3]


def test_set_epoch_as_scripts_call_it_changes_nothing(pictures):
    plain, called = open_pictures(pictures), open_pictures(pictures)
    for epoch in range(3):
        called.set_epoch(epoch)
        assert epoch_of(called) == epoch_of(plain)


def test_set_epoch_after_a_state_goes_on_where_it_stood(pictures):
    straight, begun, later = (open_pictures(pictures) for _ in range(3))
    stream = [row for _ in range(3) for row in epoch_of(straight)]
    epoch_of(begun)
    next(iter(begun))
    later.load_state_dict(begun.state_dict())
    later.set_epoch(1)
    assert epoch_of(later) == stream[61 + 8:122]
    later.set_epoch(2)
    assert epoch_of(later) == stream[122:]


def test_validation_is_in_stored_order(pictures):
    loader = open_pictures(pictures, train=False)
    rows = epoch_of(loader)
    assert [i for i, _ in rows] == list(range(7))
    assert rows == epoch_of(loader)
    assert loader.describe(3).endswith(".png")


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("position", [0, 1, 3, 7, 8])
def test_state_goes_on_exactly_with_any_batch_and_workers(pictures, position, drop_last):
    straight = open_pictures(pictures, batch_size=1, drop_last=drop_last)
    stream = [row for _ in range(3) for row in epoch_of(straight)]
    loader = open_pictures(pictures, drop_last=drop_last)
    taken = 0
    for _, batch in zip(range(position), loader):
        taken += len(batch[2])
    if drop_last and position >= 7:
        taken = 61  # what the epoch leaves out is behind it
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["samples"] == taken
    for batch_size, workers in ((8, 1), (5, 3), (1, 2)):
        later = open_pictures(pictures, batch_size=batch_size, workers=workers)
        later.load_state_dict(state)
        rest = epoch_of(later) if 0 < taken < 61 else []
        assert rest == (stream[taken:61] if rest else [])
        if taken == 0:
            assert epoch_of(later) == stream[:61]
        assert epoch_of(later) == stream[61:122]


@pytest.mark.parametrize("change", [{"samples": 10**30}, {"epoch": 2**64}, {"epoch": 2**63}])
def test_a_state_with_numbers_that_no_stream_has_is_a_value_error(pictures, change):
    loader = open_pictures(pictures)
    with pytest.raises(ValueError, match=f"{next(iter(change))} = .*expected a number from 0 to"):
        loader.load_state_dict({**loader.state_dict(), **change})
    with pytest.raises(ValueError, match="epoch = "):
        loader.set_epoch(2**64)
    assert len(epoch_of(loader)) == 61


def test_a_state_is_loaded_three_times_in_a_row(pictures):
    stream = [row for _ in range(2) for row in epoch_of(open_pictures(pictures))][:61]
    state, seen = None, []
    for _ in range(4):
        loader = open_pictures(pictures)
        if state:
            loader.load_state_dict(state)
        for _, batch in zip(range(2), loader):
            seen += hashes(batch)
        state = loader.state_dict()
    assert seen == stream[:len(seen)]


def test_a_state_is_loaded_while_it_runs(pictures):
    loader = open_pictures(pictures)
    first = epoch_of(loader)
    start = open_pictures(pictures).state_dict()
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(start)
    assert list(iterator) == []
    assert epoch_of(loader) == first


def test_ranks_take_the_parts_of_one_stream_and_other_worlds_go_on(pictures):
    straight = open_pictures(pictures, batch_size=6)
    stream = [row for _ in range(2) for row in epoch_of(straight)]

    def of_world(world, batches, state):
        loaders = [open_pictures(pictures, batch_size=6 // world, rank=r, world_size=world) for r in range(world)]
        if state:
            for loader in loaders:
                loader.load_state_dict(state)
        iterators = [iter(loader) for loader in loaders]
        rows = [row for _ in range(batches) for iterator in iterators for row in hashes(next(iterator))]
        states = [loader.state_dict() for loader in loaders]
        assert all(state == states[0] for state in states)
        return rows, states[0]

    one, state = of_world(1, 2, None)
    three, state = of_world(3, 4, state)
    two, state = of_world(2, 3, state)
    assert one + three + two == stream[:54]


def test_a_state_of_other_data_or_keys_is_refused_with_the_difference(pictures):
    state = open_pictures(pictures).state_dict()
    with pytest.raises(ft.ConfigError, match=r"run.seed: 6, was 5"):
        open_pictures(pictures, seed=6).load_state_dict(state)
    with pytest.raises(ft.ConfigError, match=r"sampler.flip: 0.25, was 0.5"):
        open_pictures(pictures, flip=0.25).load_state_dict(state)
    (pictures / "train" / "cat" / "more.png").write_bytes(b"")
    try:
        with pytest.raises(ft.ConfigError, match=r"records: \w+, was \w+; samples: 62, was 61"):
            open_pictures(pictures).load_state_dict(state)
    finally:
        (pictures / "train" / "cat" / "more.png").unlink()


def test_data_may_move(pictures, tmp_path):
    link = tmp_path / "elsewhere"
    link.symlink_to(pictures)
    open_pictures(link).load_state_dict(open_pictures(pictures).state_dict())


def test_held_batches_are_not_overwritten_and_memory_is_reused(pictures):
    loader = open_pictures(pictures)
    held = [batch for _ in range(4) for batch in loader]
    before = [hashes(batch) for batch in held]
    for _ in range(6):
        epoch_of(loader)
    assert before == [hashes(batch) for batch in held]
    blocks = loader.stats()["memory_blocks"]
    assert blocks >= len(held)
    del held
    gc.collect()
    for _ in range(20):
        epoch_of(loader)
    assert loader.stats()["memory_blocks"] == blocks
    fresh = open_pictures(pictures)
    for _ in range(20):
        epoch_of(fresh)
    assert fresh.stats()["memory_blocks"] <= 3


def test_batches_outlive_their_loader(pictures):
    loader = open_pictures(pictures)
    batch = next(iter(loader))
    before = hashes(batch)
    loader.close()
    del loader
    gc.collect()
    assert hashes(batch) == before


def test_pickled_loaders_go_on(pictures):
    loader = open_pictures(pictures)
    iterator = iter(loader)
    next(iterator)
    copy = pickle.loads(pickle.dumps(loader))
    assert epoch_of(copy) == [row for batch in iterator for row in hashes(batch)]


def test_an_interrupt_loses_nothing(pictures):
    """The batch that was on its way when Ctrl-C came is the next one of the state."""
    stream = epoch_of(open_pictures(pictures))
    loader = open_pictures(pictures)
    iterator = iter(loader)
    seen = hashes(next(iterator))
    loader._output.finish = lambda started: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    later = open_pictures(pictures)
    later.load_state_dict(loader.state_dict())
    assert seen + epoch_of(later) == stream


@pytest.mark.parametrize("taken", [0, 3])
def test_an_interrupt_of_the_first_wait_leaves_the_epoch(pictures, taken):
    stream = epoch_of(open_pictures(pictures))
    begun, loader = open_pictures(pictures), open_pictures(pictures)
    rows = [row for _, batch in zip(range(taken), begun) for row in hashes(batch)]
    loader.load_state_dict(begun.state_dict())
    finish = loader._output.finish
    loader._output.finish = lambda started: (_ for _ in ()).throw(KeyboardInterrupt)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            next(iter(loader))
    loader._output.finish = finish
    assert loader.state_dict() == begun.state_dict()
    loader.set_epoch(0)
    assert rows + epoch_of(loader) == stream
    assert epoch_of(loader) != stream


def test_set_epoch_is_obeyed_at_an_epochs_end(pictures):
    loader, later = open_pictures(pictures), open_pictures(pictures)
    first = epoch_of(loader)
    later.load_state_dict(loader.state_dict())
    later.set_epoch(0)
    assert epoch_of(later) == first


def test_values_of_numpy_and_names_of_any_script(pictures, tmp_path):
    place = tmp_path / "päth 😀"
    place.symlink_to(pictures)
    loader = open_pictures(place, flip=np.float64(0.5), size=np.int64(24), workers=np.int32(1))
    assert epoch_of(loader) == epoch_of(open_pictures(pictures))


def test_a_last_batch_of_fewer_rows_than_ranks(pictures):
    ids = [[i for i, _ in epoch_of(open_pictures(pictures, batch_size=2, rank=r, world_size=3))] for r in range(3)]
    assert [len(each) for each in ids] == [21, 21, 21]  # 10 batches of 6, and one row
    assert ids[0][-1] == ids[1][-1] == ids[2][-1]
    with pytest.raises(ft.ConfigError, match="a batch of 2 rows for 3 ranks"):
        ft.Loader.image_folder(str(pictures), size=24, train=False, global_batch_size=2, rank=0, world_size=3)


def test_validation_takes_its_own_arguments(pictures):
    loader = open_pictures(pictures, train=False, batch_size=3, workers=2)
    assert loader._core.sizes()["batch_size"] == 3 and loader._core.sizes()["workers"] == 2
    with pytest.raises(TypeError, match="no argument 'prefetch'"):
        open_pictures(pictures, train=False, prefetch=3)


def test_an_order_that_contradicts_itself_is_refused(pictures):
    with pytest.raises(TypeError, match="shuffle=True with train=False: validation is in stored order"):
        open_pictures(pictures, train=False, shuffle=True)
    with pytest.raises(TypeError, match='shuffle=True with order="sequential"'):
        open_pictures(pictures, shuffle=True, order="sequential")
    assert epoch_of(open_pictures(pictures, shuffle=True)) == epoch_of(open_pictures(pictures))
    assert len(open_pictures(pictures, train=False, shuffle=False)) == 1


def test_sources_in_whole_batches_want_their_batch_size(tmp_path):
    source = '[[data.source]]\ndataset = "shapes"\nsamples = {}\nname = "{}"\n'
    file = tmp_path / "c.toml"
    file.write_text('[data]\nbatches = "one_source"\n' + source.format(64, "one") + source.format(32, "other"))

    def of(batch):
        return ft.Loader.config(file, batch_size=batch)

    state = of(8).state_dict()
    of(8).load_state_dict(state)
    with pytest.raises(ft.ConfigError, match="loader.batch: 4, was 8"):
        of(4).load_state_dict(state)


def test_a_thread_in_the_loader_does_not_break_the_interpreters_end(pictures):
    script = (
        "import sys, threading, time, flowtrain as ft\n"
        "class Slow:\n"
        "    def __del__(self, sleep=time.sleep): sleep(1)\n"
        "slow = Slow()\n"
        "loader = ft.Loader.shapes(batch_size=64, size=256, workers=1)\n"
        "def run():\n"
        "    while True:\n"
        "        for batch in loader: pass\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        "time.sleep(0.5)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_configuration_file(pictures, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(
        f'[data]\ndataset = "image_folder"\npath = "{pictures}"\n[sampler]\nsize = 24\n[loader]\nbatch = 8\n')
    loader = ft.Loader.config(file, overrides={"run.seed": 5}, ids=True, output="numpy")
    assert epoch_of(loader) == epoch_of(open_pictures(pictures))
    assert str(file) in repr(loader)


def test_the_configuration_of_a_run(pictures, tmp_path):
    (tmp_path / "config.toml").write_text(f'[data]\ndataset = "image_folder"\npath = "{pictures}"\n')
    run = ft.Run(tmp_path)
    assert os.fspath(run) == str(tmp_path)
    for place in (run, tmp_path, str(tmp_path)):
        loader = ft.Loader.config(place, batch_size=4, overrides={"sampler.size": 24})
        assert str(tmp_path / "config.toml") in repr(loader)


def test_validation_has_the_labels_of_the_training_data(tmp_path):
    for split, classes in (("train", "abc"), ("val", "bc")):
        for name in classes:
            (tmp_path / split / name).mkdir(parents=True)
            (tmp_path / split / name / "0.png").write_bytes(png(9, 9, name))
    for loader in (ft.Loader.image_folder(tmp_path, train=False, size=8, batch_size=4, output="numpy"),
                   ft.Loader.config("", split="val", batch_size=4, output="numpy", overrides={
                       "data.dataset": "image_folder", "data.path": str(tmp_path), "sampler.size": 8})):
        assert loader.classes == ["a", "b", "c"]
        assert next(iter(loader))[1].tolist() == [1, 2]
    named = ft.Loader.image_folder(tmp_path, train=False, split="val", size=8, batch_size=4, output="numpy")
    assert next(iter(named))[1].tolist() == [1, 2]


def test_val_share_holds_out_samples_of_both_loaders(pictures):
    flat = {"path": str(pictures / "train"), "size": 24, "output": "numpy", "ids": True, "val_share": 0.2}
    names = [{loader.describe(identity) for batch in loader for identity in batch[2]}
             for loader in (ft.Loader.image_folder(**flat), ft.Loader.image_folder(**flat, train=False))]
    assert not names[0] & names[1] and len(names[1]) > 5


def test_a_pair_is_one_in_any_order_of_the_fields(pictures):
    picture = {"from": "image", "as": "image", "size": 24}
    for fields in ({"image": picture, "label": "label"}, {"label": "label", "image": picture}):
        loader = ft.Loader.image_folder(str(pictures), fields=fields, batch_size=4, output="numpy")
        images, labels = next(iter(loader))
        assert images.shape == (4, 3, 24, 24) and labels.shape == (4,)


def test_a_state_knows_the_contents_of_files_and_not_their_place(pictures, tmp_path):
    count = open_pictures(pictures)._core.sizes()["samples"]

    def weighted(name, weights):
        (tmp_path / name).write_text("".join(f"{weight}\n" for weight in weights))
        return open_pictures(pictures, order="weighted", overrides={"order.weights_file": str(tmp_path / name)})

    state = weighted("a.txt", [1] * count).state_dict()
    weighted("b.txt", [1] * count).load_state_dict(state)
    with pytest.raises(ft.ConfigError, match="order.weights_file: contents "):
        weighted("a.txt", range(1, count + 1)).load_state_dict(state)
    open_pictures(pictures, overrides={"data.max_bad": 3}).load_state_dict(open_pictures(pictures).state_dict())


def test_named_constructors_reach_all_keys(pictures):
    loader = open_pictures(pictures, seed=3, overrides={"run.seed": 5, "data.max_bad": 7})
    assert loader._arguments["overrides"]["data.max_bad"] == 7
    assert epoch_of(loader) == epoch_of(open_pictures(pictures))
    with pytest.raises(ft.ConfigError, match="sampler.flip"):
        open_pictures(pictures, overrides={"sampler.flip": 2.0})
    rows = ft.DataLoader([0, 1, 2], 3, shuffle=True, output="numpy", python="threads",
                         overrides={"order.name": "sequential"})
    assert next(iter(rows)).tolist() == [0, 1, 2]


def test_arguments_of_torchs_loader_that_ours_lacks():
    class DistributedSampler:
        pass

    def of(**arguments):
        return ft.DataLoader([0, 1, 2], 2, python="threads", output="numpy", **arguments)

    defaults = {"sampler": None, "batch_sampler": None, "timeout": 0, "worker_init_fn": None, "in_order": True,
                "multiprocessing_context": None, "pin_memory_device": "", "persistent_workers": False}
    assert len(of(**defaults)) == len(of(timeout=0.0)) == 2
    for arguments, match in [({"in_order": False}, "no in_order: batches come in order"),
                             ({"sampler": DistributedSampler()}, "leave it out: each rank takes its part by itself"),
                             ({"sampler": [2, 1]}, "no sampler: .*order.name"),
                             ({"batch_sampler": [[2, 1]]}, "no batch_sampler: .*order.name"),
                             ({"worker_init_fn": print}, "no worker_init_fn: .*sample_rng"),
                             ({"timeout": 5}, "no timeout"), ({"pin_memory_device": "cuda"}, "no pin_memory_device"),
                             ({"suffle": None}, "no argument 'suffle'")]:
        with pytest.raises(TypeError, match=match):
            of(**arguments)


def test_errors_name_the_key_and_the_way_out(pictures, tmp_path):
    with pytest.raises(ft.DataError, match="no such folder|cannot|not found|does not exist"):
        open_pictures(tmp_path / "nothing")
    with pytest.raises(ft.ConfigError, match="sampler.flip"):
        open_pictures(pictures, flip=2.0)
    with pytest.raises(TypeError, match=r"no argument 'flipp': did you mean flip\?"):
        open_pictures(pictures, flipp=0.5)
    with pytest.raises(ValueError, match="rank = 2 and world_size = 2"):
        open_pictures(pictures, rank=2, world_size=2)
    with pytest.raises(ft.ConfigError, match="drop_last leaves no batch"):
        open_pictures(pictures, batch_size=100, drop_last=True)
    with pytest.raises(ft.ConfigError, match="run.seed: expected a number"):
        open_pictures(pictures, seed="random")
    with pytest.raises(IndexError, match="no sample 61: there are 61"):
        open_pictures(pictures).describe(61)
    with pytest.raises(TypeError, match="batch_size"):
        open_pictures(pictures, global_batch_size=3)
    values = {"data.dataset": "image_folder", "data.path": str(pictures), "sampler.size": 24, "sampler.process": True}
    with pytest.raises(ft.ConfigError, match="sampler.process: only the program `flowtrain` can run"):
        ft.Loader.config("", overrides=values)


def test_help_of_a_constructor_has_the_arguments():
    text = ft.Loader.image_folder.__doc__
    for start in ("path: where it is", "batch_size: rows", "workers: threads", "seed: ", "flip: ", "overrides: "):
        assert f"\n    {start}" in text
    assert "path: where" not in ft.Loader.arrays.__doc__
    assert ft.Loader.shapes.__doc__.count("    seed:") == 1  # the loader's


def test_one_plugin_needs_no_list(pictures):
    for plugins in ("./nothing.so", ["./nothing.so"]):
        with pytest.raises(ft.ConfigError, match="nothing.so"):
            open_pictures(pictures, sampler="mine", plugins=plugins)


def test_errors_of_calls_name_the_argument(pictures):
    loader = open_pictures(pictures)
    with pytest.raises(ValueError, match="epoch = -1: expected a whole number of at least 0"):
        loader.set_epoch(-1)
    with pytest.raises(ValueError, match="epoch = 'x'"):
        loader.set_epoch("x")
    with pytest.raises(IndexError, match="no sample -1: there are 61"):
        loader.describe(-1)
    state = loader.state_dict()
    for change, match in [({"epoch": "a"}, "has 'a' as epoch, expected a whole number"),
                          ({"samples": -1}, "has -1 as samples"),
                          ({"basis": 3}, "has 3 as basis, expected a dict"), ({"version": 9}, "version 9, expected 1")]:
        with pytest.raises(ft.ConfigError, match=match):
            loader.load_state_dict({**state, **change})
    for name in ("epoch", "samples", "basis"):
        with pytest.raises(ft.ConfigError, match=f"nothing as {name}"):
            loader.load_state_dict({key: value for key, value in state.items() if key != name})
    with pytest.raises(ft.ConfigError, match="version none, a list"):
        loader.load_state_dict([])
    with pytest.raises(TypeError, match="data.path: a NoneType cannot be a value"):
        ft.Loader(overrides={"data.path": None})


def test_ranks_of_the_environment_are_checked(pictures, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    open_pictures(pictures)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ValueError, match="RANK=1 alone: RANK and WORLD_SIZE go together"):
        open_pictures(pictures)
    monkeypatch.delenv("RANK")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="WORLD_SIZE=2 alone"):
        open_pictures(pictures)
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(ValueError, match="RANK=x WORLD_SIZE=2: expected whole numbers"):
        open_pictures(pictures)
    monkeypatch.setenv("RANK", "1")
    assert "rank 1 of 2" in open_pictures(pictures, batch_size=2).explain()


def test_a_decorator_takes_the_keys_of_what_it_decorates(pictures):
    plain = epoch_of(open_pictures(pictures))
    assert epoch_of(open_pictures(pictures, sampler="check", inner="slow, classify", slow_us=1)) == plain
    explained = open_pictures(pictures, sampler="check", inner="slow, classify").explain().splitlines()
    assert "sampler: classify, on each sample, in order; decorated by check, slow" in explained
    of_classify = open_pictures(pictures).explain().splitlines()
    assert [line for line in explained if "sampler:" not in line] == [
        line for line in of_classify if "sampler:" not in line]
    with pytest.raises(TypeError, match="lacks inner, .*'check' decorates: sampler=\"check\", inner=\"classify\""):
        open_pictures(pictures, sampler="check")
    with pytest.raises(TypeError, match="'slow' decorates: sampler=\"check\", inner=\"slow, classify\""):
        open_pictures(pictures, sampler="check", inner="slow")
    with pytest.raises(TypeError, match="no argument 'slow_us'"):
        open_pictures(pictures, sampler="check", inner="classify", slow_us=1)


def test_a_damaged_picture_is_replaced_or_ends_the_epoch(pictures, tmp_path):
    (tmp_path / "train" / "cat").mkdir(parents=True)
    for number in range(3):
        source = pictures / "train" / "cat" / f"{3 * number}.png"
        (tmp_path / "train" / "cat" / f"{number}.png").write_bytes(source.read_bytes())
    for number in (3, 4):
        (tmp_path / "train" / "cat" / f"{number}.png").write_bytes(b"no picture")
    keys = {"data.dataset": "image_folder", "data.path": str(tmp_path), "sampler.size": 24, "loader.batch": 2}
    loader = ft.Loader(overrides={**keys, "data.max_bad": 1}, ids=True, output="numpy")
    for _ in range(2):  # the next epoch is no better
        with pytest.raises(ft.DataError, match=r"more than data.max_bad = 1 allows; the bad samples are .*3\.png"):
            epoch_of(loader)
    loader = ft.Loader(overrides=keys, ids=True, output="numpy")  # a small set may have ten
    assert len(epoch_of(loader)) == 5


def test_another_thread_may_not_be_in_it_but_may_drop_batches(pictures):
    loader = open_pictures(pictures)
    dropped = []
    thread = threading.Thread(target=lambda: [dropped.append(len(b[0])) for b in loader])
    thread.start()
    thread.join()
    assert sum(dropped) == 61


def test_loaders_side_by_side_take_no_threads_from_each_other(pictures):
    script = (
        "import sys, flowtrain as ft\n"
        "def of(workers, train): return ft.Loader.image_folder(\n"
        "    sys.argv[1], batch_size=4, size=24, workers=workers, train=train)\n"
        "loaders = [of(7, True), of(1, False), of(5, True)]\n"
        "for one, other, third in zip(*loaders): pass\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(pictures)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")  # oneTBB warns where threads are limited


def test_ctrl_c_ends_a_wait():
    script = (
        "import signal, flowtrain as ft\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it\n"
        "loader = ft.Loader.shapes(batch_size=256, size=512, workers=1)  # a second a batch\n"
        "try:\n"
        "    print('begun', flush=True)\n"
        "    while True:\n"
        "        for batch in loader: pass\n"
        "except KeyboardInterrupt:\n"
        "    print('ended', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "ended\n"
    process.stdout.close()
    process.wait()


def test_an_interpreter_may_end_in_the_middle(pictures):
    script = (
        "import sys, flowtrain as ft\n"
        "loader = ft.Loader.image_folder(sys.argv[1], batch_size=4, size=24)\n"
        "held = next(iter(loader))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(pictures)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
