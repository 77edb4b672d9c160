"""Type checkers accept a user's script: mypy --strict. Skipped without mypy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flowtrain as ft

pytest.importorskip("mypy")

SCRIPT = """
import numpy as np
from torch import Tensor
import flowtrain as ft

def step(images: Tensor, labels: Tensor) -> None: ...

loader = ft.Loader.image_folder("pictures", batch_size=64, size=224)
for images, labels in loader:
    reveal_type(images)
    step(images, labels)
for _, _, ids in ft.Loader.image_folder("pictures", batch_size=64, ids=True):
    reveal_type(ids)
for pixels, classes in ft.Loader.shapes(batch_size=64, output="numpy"):
    reveal_type(pixels)
for row in ft.Loader.coco("coco", batch_size=8, sampler="cornernet"):
    reveal_type(row)
for images, labels in ft.Loader.arrays(np.zeros((8, 32, 32, 3), np.uint8), np.zeros(8, np.int64), batch_size=4):
    step(images, labels)
for images, labels in ft.DataLoader(object(), batch_size=64, shuffle=True):
    step(images, labels)
reveal_type(ft.Loader("x.toml"))
reveal_type(ft.DataLoader(object(), 64, python="threads", ids=True, output="numpy"))
for pixels, classes in ft.DataLoader(object(), 64, output="numpy"):
    reveal_type(classes)
for first, second, numbers in ft.DataLoader(object(), 64, output="numpy", ids=True):
    reveal_type(numbers)
for _, _, ids in ft.DataLoader(object(), 64, ids=True):
    reveal_type(ids)
with ft.train("x.toml", {"optim.lr": 0.1}) as training:
    for line in training:
        print(line["kind"])
reveal_type(training.run.metrics("val")["loss"])
reveal_type(training.run.snapshots[0].path)
"""
EXPECTED = ["torch.Tensor", "torch.Tensor", "numpy.ndarray", "dict[str, Any]",
            "flowtrain.loader.Loader[Any]", "flowtrain.data_loader.DataLoader[Any]", "numpy.ndarray", "numpy.ndarray",
            "torch.Tensor", "numpy.ndarray", "pathlib.Path"]


def test_batches_are_tensors_for_a_users_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "step(loader, labels)\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.pyi").write_text("class Tensor: ...\n")  # a name: all of torch takes mypy a minute
    path = f"{tmp_path}:{Path(ft.__file__).parents[1]}"
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", str(script)], text=True,
                         capture_output=True, check=False, env={**os.environ, "MYPYPATH": path})
    lines = ran.stdout.splitlines()
    revealed = [line.partition('Revealed type is "')[2] for line in lines if "Revealed" in line]
    assert len(revealed) == len(EXPECTED), ran.stdout + ran.stderr
    assert all(found.startswith(kind) for found, kind in zip(revealed, EXPECTED)), revealed
    errors = [line for line in lines if " error: " in line]
    assert len(errors) == 1 and '"step" has incompatible type "Loader[tuple[Tensor, Tensor]]"' in errors[0], errors
