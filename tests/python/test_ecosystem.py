"""The examples for Lightning, Accelerate, transformers' Trainer and torchtitan: their checkpoints hold the loader's
place, and the samples and the training go on from it exactly. What is not installed is skipped."""

import hashlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NIGHTLY

import flowtrain as ft

torch = pytest.importorskip("torch")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BATCHES = 8  # of 8 pictures, in an epoch of 61


def example(name, *packages):
    for package in packages:
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def pixels(images):
    return [hashlib.sha1(image.numpy().tobytes()).hexdigest() for image in images]


@pytest.fixture(scope="module")
def stream(pictures):
    """For each batch of the first six epochs the hashes of its pictures; and the ids of all pictures, by their hash."""
    loader = ft.Loader.image_folder(str(pictures), batch_size=8, size=24, workers=1, seed=1, ids=True)
    batches, ids = [], {}
    for _ in range(6):
        for images, _, numbers in loader:
            batches.append(pixels(images))
            ids.update(zip(batches[-1], numbers.tolist()))
    return batches, ids


@pytest.fixture
def seen():
    """What nets get while they train: hashes of the pictures of each batch."""
    batches = []

    def watch(module, inputs):
        if isinstance(module, torch.nn.Flatten):
            batches.append(pixels(inputs[0]))

    hook = torch.nn.modules.module.register_module_forward_pre_hook(watch)
    yield batches
    hook.remove()


@pytest.mark.parametrize(
    "name, packages, saves_the_last_step",
    [("train_lightning", ["lightning"], False), ("train_accelerate", ["accelerate"], False),
     ("train_hf_trainer", ["transformers", "accelerate"], True), ("train_torchtitan", ["torchtitan"], True)],
)
def test_training_goes_on_from_a_checkpoint(pictures, tmp_path, stream, seen, name, packages, saves_the_last_step):
    batches, ids = stream
    train = example(name, *packages).main
    whole = train(str(pictures), str(tmp_path / "whole"), 46)
    assert seen == batches[:46]
    begin = 0
    for end in (7, 13, 5 * BATCHES, 46):  # in the first epoch, in the second one, at the end of the fifth
        seen.clear()
        net = train(str(pictures), str(tmp_path / "run"), end)
        assert [[ids[row] for row in batch] for batch in seen] == [[ids[row] for row in batch]
                                                                   for batch in batches[begin:end]]
        assert seen == batches[begin:end]
        begin = end if saves_the_last_step else end - end % 5
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), net.parameters()))


def test_a_torchtitan_checkpoint_goes_on_with_other_ranks(pictures, stream):
    batches, _ = stream
    image_loader = example("train_torchtitan", "torchtitan").ImageLoader

    def of_rank(rank, world):
        return image_loader.Config(folder=str(pictures), batch_size=8 // world, size=24).build(
            dp_world_size=world, dp_rank=rank, tokenizer=None, max_context_length=1, num_tokens_per_batch=1)

    one = of_rank(0, 1)
    taken = iter(one)
    for batch in batches[:3]:
        assert pixels(next(taken)[0]["input"]) == batch
    state = json.loads(json.dumps(one.state_dict()))
    ranks = [of_rank(rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.load_state_dict(state)
    iterators = [iter(rank) for rank in ranks]
    for batch in batches[3:7]:
        assert [row for each in iterators for row in pixels(next(each)[0]["input"])] == batch


@pytest.mark.skipif(not NIGHTLY, reason="tier nightly: processes that import PyTorch")
def test_accelerate_goes_on_with_other_processes(pictures, tmp_path):
    """One process up to step 10, two up to step 15, one up to step 20: nearly the net of one process."""
    pytest.importorskip("accelerate")

    def train(run, steps, world):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        script = [sys.executable, str(EXAMPLES / "train_accelerate.py"), str(pictures), str(tmp_path / run), str(steps)]
        place = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                 "ACCELERATE_USE_CPU": "true"} if world > 1 else {}
        ranks = [subprocess.Popen(script, env={**os.environ, **place, **({"RANK": str(r), "LOCAL_RANK": str(r)}
                                                                         if world > 1 else {})})
                 for r in range(world)]
        assert [rank.wait(timeout=120) for rank in ranks] == [0] * world

    train("whole", 20, 1)
    for steps, world in ((10, 1), (15, 2), (20, 1)):
        train("run", steps, world)
    safetensors = pytest.importorskip("safetensors.torch")
    whole, run = (safetensors.load_file(tmp_path / name / "20" / "model.safetensors") for name in ("whole", "run"))
    for name, value in whole.items():
        torch.testing.assert_close(run[name], value, rtol=1e-4, atol=1e-5)
