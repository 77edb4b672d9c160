"""Several iterators of one loader, in nested loops, in threads and after forks."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import hashes

import flowtrain as ft


class Numbers:
    def __len__(self):
        return 61

    def __getitem__(self, index):
        return index


def native(**changes):
    images = np.random.default_rng(0).integers(0, 255, (61, 8, 8, 3), dtype=np.uint8)
    return ft.Loader.arrays(images, np.arange(61), batch_size=8, size=8, crop="none", ids=True, output="numpy", seed=5,
                            workers=2, **changes)


def in_python(workers=2):
    return ft.Loader.python(Numbers(), batch_size=8, workers=workers, ids=True, output="numpy", seed=5)


@pytest.fixture(params=["native", "python", "no threads"])
def opened(request):
    return {"native": native, "python": in_python, "no threads": lambda: in_python(0)}[request.param]


def ids(batch):
    return batch[-1].tolist()


def epochs_of(loader, count):
    return [[ids(batch) for batch in loader] for _ in range(count)]


def test_nested_loops_see_whole_epochs(opened):
    epochs = epochs_of(opened(), 9)
    loader = opened()
    outer, inner = [], []
    for batch in loader:
        outer.append(ids(batch))
        inner.append([ids(each) for each in loader])
    assert outer == epochs[0]
    assert inner == epochs[1:]


def test_zip_of_a_loader_with_itself_gives_two_epochs_side_by_side(opened):
    epochs = epochs_of(opened(), 3)
    loader = opened()
    pairs = [(ids(one), ids(other)) for one, other in zip(loader, loader)]
    assert pairs == list(zip(epochs[0], epochs[1]))
    assert [ids(batch) for batch in loader] == epochs[2]


def test_iterators_take_turns_and_may_be_dropped_half_way(opened):
    epochs = epochs_of(opened(), 5)
    loader = opened()
    one, other = iter(loader), iter(loader)
    assert ids(next(other)) == epochs[0][0]  # the first one that is asked takes the next epoch
    assert ids(next(one)) == epochs[1][0]
    assert ids(next(other)) == epochs[0][1]
    del other
    gc.collect()
    assert [ids(batch) for batch in one] == epochs[1][1:]
    assert list(one) == []
    assert [ids(next(iter(loader))) for _ in range(2)] == [epochs[2][0], epochs[3][0]]
    assert [ids(batch) for batch in loader] == epochs[4]
    assert len(loader) == 8


def test_a_state_is_that_of_the_iterator_that_was_used_last(opened):
    epochs = epochs_of(opened(), 2)
    loader, later = opened(), opened()
    one, other = iter(loader), iter(loader)
    next(one), next(one), next(other)
    assert loader.state_dict() == other.state_dict()
    next(one)
    assert loader.state_dict() == one.state_dict()
    for iterator, rest in ((one, epochs[0][3:]), (other, epochs[1][1:])):
        later.load_state_dict(iterator.state_dict())
        assert [ids(batch) for batch in later] == rest
    assert iter(loader).state_dict()["epoch"] == 2


def test_close_and_a_loaded_state_end_all_iterators(opened):
    epochs = epochs_of(opened(), 3)
    loader = opened()
    one, other, unasked = iter(loader), iter(loader), iter(loader)
    next(one), next(other)
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert list(one) == list(other) == []
    assert [ids(batch) for batch in unasked] == epochs[1][1:]
    third = iter(loader)
    next(third)
    loader.close()
    assert list(third) == []


def test_set_epoch_leaves_running_iterators_alone(opened):
    epochs = epochs_of(opened(), 6)
    loader = opened()
    one = iter(loader)
    next(one)
    loader.set_epoch(5)
    assert [ids(batch) for batch in loader] == epochs[5]
    assert [ids(batch) for batch in one] == epochs[0][1:]


def test_threads_may_iterate_one_loader_each_its_own_epoch(opened):
    epochs = epochs_of(opened(), 4)
    loader = opened()
    seen = []
    threads = [threading.Thread(target=lambda: seen.append([ids(batch) for batch in loader])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(epochs)


def test_iterators_share_the_data_and_keep_no_more_threads_than_one_loader():
    loader = native()
    for _ in zip(loader, loader, loader):
        pass
    gc.collect()
    plain = native()
    list(plain)
    assert len(loader._streams.all()) == len(plain._streams.all()) == 1


def test_held_batches_of_two_iterators_are_not_overwritten():
    loader = native()
    held = [batch for pair in zip(loader, loader) for batch in pair]
    before = [hashes(batch) for batch in held]
    for _ in zip(loader, loader):
        pass
    assert before == [hashes(batch) for batch in held]


def test_torchs_signature_has_independent_iterators_too():
    loader = ft.DataLoader(list(range(10)), 2, python="threads", output="numpy")
    assert [(one.tolist(), other.tolist()) for one, other in zip(loader, loader)] == [
        ([first, first + 1],) * 2 for first in range(0, 10, 2)]


FORKS = """
import multiprocessing, os, sys, threading
import numpy as np
import flowtrain as ft

def opened():
    return ft.Loader.arrays(np.zeros((32, 8, 8, 3), np.uint8), np.zeros(32, int), batch_size=8, size=8, crop="none",
                            output="numpy", workers=2)

def refused(call):
    try:
        call()
    except RuntimeError as error:
        return "made before a fork" in str(error) and "'spawn' or 'forkserver'" in str(error)
    return False

def in_child(call):
    child = os.fork()
    if child == 0:
        os._exit(0 if call() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def count():
    return sum(1 for _ in opened())

in_child(lambda: count() == 4)  # there was no loader before
loader = opened()
running = iter(loader)
batch = next(running)
in_child(lambda: refused(lambda: next(running)) and refused(lambda: next(iter(loader))))
in_child(lambda: refused(loader.close) and refused(lambda: loader.load_state_dict(loader.state_dict())))
in_child(lambda: refused(opened))
in_child(lambda: len(list(ft.Loader.python([0, 1, 2], batch_size=1))) == 3)
in_child(lambda: batch[1].sum() == 0 and len(loader) == 4)
thread = threading.Thread(target=in_child, args=(lambda: refused(opened),))
thread.start()
thread.join()
stop = threading.Event()

def iterate():
    while not stop.is_set():
        for _ in opened():
            pass

busy = threading.Thread(target=iterate)
busy.start()
for _ in range(20):
    in_child(lambda: refused(opened))
stop.set()
busy.join()

def worker(results):
    results.put(refused(opened))

results = multiprocessing.get_context("fork").Queue()
process = multiprocessing.get_context("fork").Process(target=worker, args=(results,))
process.start()
assert results.get()
process.join()
assert process.exitcode == 0
assert sum(1 for _ in running) == 3
child = os.fork()
if child == 0:
    sys.exit(0)  # the interpreter ends with the parent's loader
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_forked_processes_are_told_to_spawn_and_never_hang():
    ended = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=False, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")

