"""The example scripts: with PyTorch's loader and with ours, which differ in one line."""

import difflib
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torchvision")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def accuracy(script, folder):
    command = [sys.executable, EXAMPLES / script, str(folder), "3"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(ran.stdout.split()[-1])


def test_one_line_replaces_the_loader_and_the_net_learns_as_well(tmp_path):
    scripts = [(EXAMPLES / name).read_text().splitlines() for name in ("train_torch.py", "train_flowtrain.py")]
    changed = [line for line in difflib.ndiff(*(script[1:] for script in scripts)) if line[0] in "+-"]
    assert changed == ["- from torch.utils.data import DataLoader", "+ from flowtrain import DataLoader"]
    subprocess.run([sys.executable, EXAMPLES / "pictures.py", str(tmp_path)], check=True)
    theirs, ours = accuracy("train_torch.py", tmp_path), accuracy("train_flowtrain.py", tmp_path)
    assert theirs > 0.5 and ours > 0.5  # a sixth is chance
