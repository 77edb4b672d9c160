"""flowtrain.Run.state_dict: the native resnet18 is torchvision's, with the same outputs."""

import os
import shutil
from pathlib import Path

import flowtrain as ft
import pytest
import torch

models = pytest.importorskip("torchvision.models")
PROGRAM = os.environ.get("FLOWTRAIN") or Path(ft.__file__).parents[2] / "bin" / "flowtrain"
pytestmark = pytest.mark.skipif(not shutil.which(PROGRAM), reason="the native program is not built")

CONFIG = """
[run]
max_iter = 2
device = "cpu"
[data]
dataset = "shapes"
samples = 16
val_samples = 16
[loader]
batch = 4
[net]
name = "resnet18"
[optim]
name = "sgd"
lr = 0.01
momentum = 0.9
[val]
every = 2
batch = 8
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resnet")
    (folder / "resnet.toml").write_text(CONFIG)
    with ft.train(folder / "resnet.toml", run_dir=folder / "run") as training:
        list(training)
    return training.run


def test_torchvisions_model_takes_the_weights_and_gives_the_same_loss(run):
    """The validation loss of the native run is a mean over all outputs, in double precision."""
    model = models.resnet18(num_classes=6)
    model.load_state_dict(run.state_dict())
    model.eval()
    total, right = 0.0, 0
    with torch.no_grad():
        for images, labels in ft.Loader.config(run.path / "config.toml", split="val"):
            outputs = model(images)
            total += torch.nn.functional.cross_entropy(outputs, labels, reduction="sum").double().item()
            right += int((outputs.argmax(1) == labels).sum())
    native = run.metrics("val")
    assert abs(total / 16 - native["loss"][-1]) < 1e-5
    assert right / 16 == pytest.approx(native["accuracy"][-1])


def test_tensors_own_their_memory_and_have_their_types(run):
    weights = run.state_dict()
    assert weights["conv1.weight"].shape == (64, 3, 7, 7) and weights["conv1.weight"].dtype == torch.float32
    weights["conv1.weight"].zero_()
    assert run.state_dict()["conv1.weight"].abs().sum() > 0
    assert all(isinstance(tensor, torch.Tensor) for tensor in weights.values())


def test_bfloat16_is_read_as_it_is(tmp_path):
    values = torch.tensor([1.0, -2.5, 3e-3], dtype=torch.bfloat16)
    header = b'{"w":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}'
    file = tmp_path / "w.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + values.view(torch.int16).numpy().tobytes())
    assert torch.equal(ft.run.read_tensors(file, "torch")["w"], values)
    with pytest.raises(ValueError, match="w is bfloat16, which NumPy lacks"):
        ft.run.read_tensors(file, "numpy")
