"""What the package shows of itself, and errors of arguments and of a torch that does not work."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flowtrain as ft


def python(*arguments, **environment):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def with_torch(folder, text):
    """PYTHONPATH with a torch of this text before all others."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


BROKEN = "raise {}('libcufile.so.0: cannot open shared object file')"


def test_dir_shows_the_public_names_alone():
    assert dir(ft) == sorted(ft.__all__)
    assert all(hasattr(ft, name) for name in ft.__all__)
    found = python("-c", "from flowtrain import *; print(sorted(n for n in dir() if n[:2] != '__'))")
    assert found.stdout.strip() == str(sorted(name for name in ft.__all__ if name[:2] != "__"))


def test_the_command_line_explains_itself():
    shown = python("-m", "flowtrain", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    for part in ("export", "compile a net", "--version", "examples:", "python -m flowtrain export --help"):
        assert part in shown.stdout
    assert python("-m", "flowtrain", "--version").stdout == f"flowtrain {ft.__version__}\n"
    nothing = python("-m", "flowtrain")
    assert (nothing.returncode, nothing.stdout) == (2, "") and "examples:" in nothing.stderr
    wrong = python("-m", "flowtrain", "exprot", "x")
    assert (wrong.returncode, wrong.stderr) == (2, "error: no command 'exprot': did you mean export?\n")
    assert "python -m flowtrain --help lists the commands" in python("-m", "flowtrain", "zzz").stderr


def test_wrong_arguments_get_the_nearest_one():
    images, labels = np.zeros((4, 8, 8, 3), np.uint8), np.zeros(4, int)
    for call, match in [
        (lambda: ft.Loader.shapes(batchsize=3), r"shapes\(\) has no argument 'batchsize': did you mean batch_size\?"),
        (lambda: ft.Loader.arrays(images, labels, num_worker=3), "did you mean workers"),
        (lambda: ft.Loader.shapes(train=False, prefetch=3), "with train=False has no argument 'prefetch': it is of"),
        (lambda: ft.Loader.config("c.toml", batchsize=3), r"Loader.config\(\) has .* did you mean batch_size"),
        (lambda: ft.Loader.python([1, 2], shufle=True), r"Loader.python\(\) has .* did you mean shuffle"),
        (lambda: ft.DataLoader([1, 2], num_worker=2, python="threads"), "did you mean num_workers"),
        (lambda: ft.Loader.shapes(zzzz=3), r"no argument 'zzzz': help\(flowtrain.Loader.shapes\) lists them"),
    ]:
        with pytest.raises(TypeError, match=match) as raised:
            call()
        assert len(str(raised.value)) < 150


@pytest.mark.parametrize("kind", ["ImportError", "OSError", "ValueError"])
def test_a_torch_that_cannot_be_imported_is_not_called_missing(tmp_path, kind):
    around = with_torch(tmp_path, BROKEN.format(kind))
    shown = python("-m", "flowtrain", "export", "timm:resnet18", "-o", "net.pt2", **around)
    assert shown.returncode == 2 and "Traceback" not in shown.stderr
    assert f"{tmp_path}/torch/__init__.py cannot be imported: libcufile.so.0: cannot open" in shown.stderr
    loader = ("import flowtrain as ft; loader = ft.Loader.shapes(batch_size=4, size=8{}); "
              "print(type(next(iter(loader))[0]))")
    arrays = python("-c", loader.format(""), **around)
    assert "numpy.ndarray" in arrays.stdout
    assert "UserWarning: arrays of NumPy in place of tensors: " in arrays.stderr and "libcufile" in arrays.stderr
    assert "ImportError" in (refused := python("-c", loader.format(", output='torch'"), **around).stderr)
    assert "libcufile" in refused
    assert python("-c", loader.format(", output='numpy'"), **around).stderr == ""


def test_without_torch_nothing_is_said(tmp_path):
    around = with_torch(tmp_path, "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    shown = python("-m", "flowtrain", "export", "timm:resnet18", "-o", "net.pt2", **around)
    assert (shown.returncode, shown.stderr) == (2, "error: export needs PyTorch: pip install torch==2.11.0\n")
    silent = python("-c", "import flowtrain as ft; next(iter(ft.Loader.shapes(batch_size=4, size=8)))", **around)
    assert (silent.returncode, silent.stderr) == (0, "")


def test_the_programs_export_says_why_a_torch_cannot_be_imported(tmp_path):
    script = str(Path(__file__).resolve().parents[2] / "pipeline" / "inference" / "export" / "convert.py")
    ended = python(script, "onnx", "script", "samples", "out", **with_torch(tmp_path, BROKEN.format("ImportError")))
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert f"cannot import {tmp_path}/torch/__init__.py: libcufile.so.0: cannot open" in ended.stderr
    assert "has no torch" not in ended.stderr
