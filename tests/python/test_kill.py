"""Processes that SIGKILL ends, again and again: what the next ones get goes on exactly, ids and pixels.

In tier nightly (FLOWTRAIN_TEST_TIER=nightly) at 20 random points each, else at a few; all points follow from seeds."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NIGHTLY, png
from stream import hashes

import flowtrain as ft

WORKER = Path(__file__).with_name("kill_worker.py")
POINTS = range(20 if NIGHTLY else 2)
SEED = {"run.seed": 5, "sampler.size": 24}


class Job:
    """Lives of a training job one after another: the rows that were trained on, of those that were not lost again."""

    def __init__(self, folder, file, overrides):
        self.folder, self.file, self.overrides = folder, str(file), overrides
        self.checkpoint, self.rows, self.lives = None, [], 0

    def live(self, kill, *, workers, world=1, epochs=None, torchrun=False, **arguments):
        """One life, of `world` processes, up to the moment of `kill`: see kill_worker.py."""
        self.lives += 1
        folder = self.folder / str(self.lives)
        folder.mkdir()
        task = {"file": self.file, "overrides": {**self.overrides, "loader.workers": workers}, "arguments": arguments,
                "load": self.checkpoint and str(self.checkpoint), "folder": str(folder), "kill": kill, "epochs": epochs}
        words = [str(WORKER), json.dumps(task)]
        expected = -signal.SIGKILL if kill else 0
        if torchrun:
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
            ran = subprocess.run(command + words, capture_output=True, text=True, timeout=120)
            assert ran.returncode == (1 if kill else 0) and (not kill or "SIGKILL" in ran.stderr), ran.stderr
        else:
            ranks = [subprocess.Popen([sys.executable, *words],
                                      env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world)})
                     for rank in range(world)]
            assert [rank.wait(timeout=120) for rank in ranks] == [expected] * world
        files = [folder / f"rank{rank}.json" for rank in range(world)]
        if not files[0].exists():
            assert not any(file.exists() for file in files)
            return
        checkpoints = [json.loads(file.read_text()) for file in files]
        assert all(checkpoint["loader"] == checkpoints[0]["loader"] for checkpoint in checkpoints)
        for parts in zip(*(checkpoint["seen"] for checkpoint in checkpoints), strict=True):
            self.rows += [tuple(row) for part in parts for row in part]
        self.checkpoint = files[0]


def stream_of(file, overrides, epochs):
    """The rows of a loader that nobody ends, with another batch size and one worker."""
    loader = ft.Loader(str(file), {**overrides, "loader.workers": 1}, batch_size=6, ids=True, output="numpy")
    return [row for _ in range(epochs) for batch in loader for row in hashes(batch)]


@pytest.fixture
def of_pictures(pictures):
    return "", {"data.dataset": "image_folder", "data.path": str(pictures), **SEED}


@pytest.fixture
def of_two_sources(pictures, tmp_path):
    """Three in four of the 61 pictures, one in four of 25 others: 100 in an epoch."""
    for number in range(25):
        picture = tmp_path / "others" / "train" / ("cat", "dog", "emu")[number % 3] / f"{number}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(png(44, 40, f"other{number}"))
    file = tmp_path / "two_sources.toml"
    source = '[[data.source]]\nname = "{}"\ndataset = "image_folder"\npath = "{}"\nratio = {}\n'
    file.write_text('[data]\nepoch = "longest"\n' + source.format("pictures", pictures, 0.75)
                    + source.format("others", tmp_path / "others", 0.25))
    return file, SEED


def check(job, epochs_at_least=2):
    """Until the epoch's end, and another one: the stream is that of a loader that nobody ended."""
    job.live(None, batch_size=4, workers=2, epochs=2)
    epoch = stream_of(job.file, job.overrides, 1)
    epochs, rest = divmod(len(job.rows), len(epoch))
    assert rest == 0 and epochs >= epochs_at_least
    assert job.rows == stream_of(job.file, job.overrides, epochs)


def test_killed_before_the_first_batch_at_an_epochs_last_one_and_after_it(of_pictures, tmp_path):
    job = Job(tmp_path, *of_pictures)
    job.live(["begun", 1], batch_size=8, workers=2)
    assert job.checkpoint is None
    job.live(["saved", 8], batch_size=8, workers=3)  # the first epoch's last batch
    assert len(job.rows) == 61
    job.live(["taken", 16], batch_size=4, workers=1)  # the second one's is lost
    assert len(job.rows) == 61 + 60
    job.live(["ended", 1], batch_size=3, workers=2)
    assert len(job.rows) == 61 + 61
    job.live(["begun", 1], batch_size=3, workers=1)
    assert len(job.rows) == 61 + 61
    check(job, epochs_at_least=4)


@pytest.mark.parametrize("seed", POINTS)
def test_killed_three_times_with_other_batches_and_workers(of_pictures, tmp_path, seed):
    draw = random.Random(seed)
    job = Job(tmp_path, *of_pictures)
    for _ in range(3):
        kill = [draw.choice(("taken", "written", "saved")), draw.randint(1, 12)]
        job.live(kill, batch_size=draw.choice((1, 3, 5, 8, 16)), workers=draw.randint(1, 4))
    check(job)


@pytest.mark.parametrize("seed", POINTS)
def test_worlds_of_one_three_and_two_with_two_sources(of_two_sources, tmp_path, seed):
    draw = random.Random(seed)
    job = Job(tmp_path, *of_two_sources)
    for world in (1, 3, 2):
        kill = [draw.choice(("taken", "written", "saved")), draw.randint(1, 12)]
        job.live(kill, global_batch_size=draw.choice((6, 12)), workers=draw.randint(1, 3), world=world)
    check(job)


@pytest.mark.skipif(not NIGHTLY, reason="tier nightly: torchrun starts slowly")
@pytest.mark.parametrize("seed", range(3))
def test_worlds_under_torchrun(of_two_sources, tmp_path, seed):
    if not importlib.util.find_spec("torch"):
        pytest.skip("this Python has no PyTorch")
    draw = random.Random(100 + seed)
    job = Job(tmp_path, *of_two_sources)
    for world in (1, 3, 2):
        job.live(["saved", draw.randint(1, 12)], global_batch_size=6, workers=1, world=world, torchrun=True)
    check(job)
