"""flowtrain.Run and flowtrain.train: what the native program trains. Skipped where that is not built."""

import io
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import flowtrain as ft
from flowtrain import _safetensors

PROGRAM = os.environ.get("FLOWTRAIN") or Path(ft.__file__).parents[2] / "bin" / "flowtrain"
pytestmark = pytest.mark.skipif(not shutil.which(PROGRAM), reason="the native program is not built")

CONFIG = """
name = "small"
[run]
max_iter = 12
device = "cpu"
threads = 1
[data]
dataset = "shapes"
samples = 64
val_samples = 32
[loader]
batch = 16
[net]
name = "mlp"
[optim]
name = "sgd"
lr = 0.01
[val]
every = 4
[snapshot]
every = 4
keep_last = 99
[display]
every = 1
"""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(CONFIG)
    return file


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of 12 iterations, and the lines that train() has yielded."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "small.toml").write_text(CONFIG)
    with ft.train(folder / "small.toml", {"ema.decay": 0.5}, run_dir=folder / "run") as training:
        lines = list(training)
    return training.run, lines


def test_metrics_come_as_dicts(trained):
    run, lines = trained
    assert [line["iter"] for line in lines if line["kind"] == "train"] == list(range(1, 13))
    assert [line["iter"] for line in lines if line["kind"] == "val"] == [4, 8, 12]
    assert {"end", "epoch", "snapshot"} <= {line["kind"] for line in lines}
    assert run.path.name == "run"


def test_metrics_are_columns(trained):
    run, lines = trained
    columns = run.metrics()
    assert columns["iter"].tolist() == list(range(1, 13)) and columns["iter"].dtype == np.int64
    assert columns["loss"].dtype == np.float64
    assert columns["loss"].tolist() == [line["loss"] for line in lines if line["kind"] == "train"]
    assert len({len(column) for column in columns.values()}) == 1
    assert set(run.metrics("val")) == {"iter", "loss", "accuracy"}
    assert run.metrics("end")["params_xxh64"].dtype.kind == "U"
    with pytest.raises(ValueError, match="no metrics of kind 'vall'; there are: end, epoch, .*train, val"):
        run.metrics("vall")


def test_columns_of_a_run_that_is_being_written(tmp_path):
    (tmp_path / "config.toml").write_text("")
    run = ft.Run(tmp_path)
    with pytest.raises(ValueError, match="there are: none yet"):
        run.metrics()
    (tmp_path / "metrics.jsonl").write_text(
        '{"kind":"train","iter":1,"loss":null,"n":[1,2],"ok":true}\n'
        '{"kind":"train","iter":2,"loss":1,"lr":1,"ok":false}\n'
        '{"kind":"val","iter":2,"name":"a\u2028b\x85c"}\n'
        '{"kind":"train","it')
    columns = run.metrics()
    np.testing.assert_array_equal(columns["loss"], [np.nan, 1])
    np.testing.assert_array_equal(columns["lr"], [np.nan, 1])
    assert columns["n"].tolist() == [[1, 2], None] and columns["ok"].tolist() == [True, False]
    assert columns["ok"].dtype == bool
    assert run.metrics("val")["name"].tolist() == ["a\u2028b\x85c"]


def test_columns_for_pandas(trained):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(trained[0].metrics())
    assert len(frame) == 12 and frame["iter"].is_monotonic_increasing


def test_config_and_snapshots(trained):
    run, _ = trained
    assert run.config["net"]["name"] == "mlp" and run.config["loader"]["batch"] == 16
    assert run.config["optim"]["weight_decay"] == 0.0  # a default
    assert [each.iteration for each in run.snapshots] == [4, 8, 12]
    best = min(zip(run.metrics("val")["loss"], run.metrics("val")["iter"]))[1]
    assert [each.iteration for each in run.snapshots if each.best] == [best]
    assert "3 snapshots, the last of iteration 12" in repr(run)
    (run.path / "snapshots" / "iter-00000099.tmp-1-1").mkdir()
    assert len(run.snapshots) == 3


def test_a_state_dict_is_what_export_writes(trained, tmp_path):
    run, _ = trained
    weights = run.state_dict(12, output="numpy")
    assert weights["layers.0.weight"].dtype == np.float32 and weights["layers.0.weight"].ndim == 2
    for flags, ours in (((), run.state_dict(output="numpy")), (("--iter", "8"), run.state_dict(8, output="numpy")),
                        (("--average",), run.state_dict(average=True, output="numpy"))):
        file = tmp_path / "export.safetensors"
        subprocess.run([PROGRAM, "export", run.path, "--out", file, *flags], check=True, stdout=subprocess.DEVNULL)
        theirs = ft.run.read_tensors(file, "numpy")
        assert list(ours) == list(theirs) and all(np.array_equal(ours[name], theirs[name]) for name in ours)
    best = next(each for each in run.snapshots if each.best)
    assert np.array_equal(run.state_dict(best, output="numpy")["layers.0.bias"],
                          run.state_dict(output="numpy")["layers.0.bias"])
    assert not np.array_equal(run.state_dict(12, average=True, output="numpy")["layers.0.bias"],
                              weights["layers.0.bias"])
    with pytest.raises(ValueError, match="no snapshot of iteration 5; there are: 4, 8, 12"):
        run.state_dict(5)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8 + b"{", b"\2" + b"\0" * 7 + b"[]"])
def test_a_damaged_header_of_weights_is_a_value_error(content):
    with pytest.raises(ValueError):
        _safetensors.read_metadata(io.BytesIO(content))
    with pytest.raises(ValueError, match="net is not a complete safetensors file"):
        _safetensors.tensors_from(content, "net", "numpy")


def test_damaged_weights_and_missing_runs_are_named(trained, tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run: it has no config.toml"):
        ft.Run(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(trained[0].path, copy, symlinks=True)
    file = copy / "snapshots" / "iter-00000012" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(ValueError, match="iter-00000012/model.safetensors is not a complete .*: .*3 bytes"):
        ft.Run(copy).state_dict(12, output="numpy")
    shutil.rmtree(copy / "snapshots")
    with pytest.raises(ValueError, match="no snapshot yet"):
        ft.Run(copy).state_dict()


def test_errors_are_the_programs_own(config, tmp_path, monkeypatch):
    with pytest.raises(ft.ConfigError, match="net.name: no net is called 'foo'\n  hint: known: "):
        list(ft.train(config, {"net.name": "foo"}, run_dir=tmp_path / "a"))
    with pytest.raises(ft.DataError, match="data.path"):
        list(ft.train(config, {"data.dataset": "idx", "data.path": str(tmp_path / "none")}, run_dir=tmp_path / "b"))
    with pytest.raises(ft.ConfigError, match="already holds a run"):
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "config.toml").write_text("")
        ft.train(config, run_dir=tmp_path / "c").run
    with pytest.raises(ValueError, match="flags: --quiet hides the lines"):
        ft.train(config, flags=["--quiet"])
    with pytest.raises(FileNotFoundError, match="/no/such is no program"):
        ft.train(config, program="/no/such")
    monkeypatch.setenv("FLOWTRAIN", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="none is no program"):
        ft.train(config)


def test_another_end_of_the_program_is_an_error(config, tmp_path):
    training = ft.train(config, {"run.max_iter": 1_000_000}, run_dir=tmp_path / "run")
    next(training)
    os.kill(training._process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="ended by signal 9"):
        list(training)


def endless(config, folder):
    return ft.train(config, {"run.max_iter": 1_000_000, "val.every": 0, "snapshot.every": 0}, run_dir=folder)


def test_close_ends_it_with_a_snapshot_and_resume_goes_on(config, tmp_path):
    with endless(config, tmp_path / "run") as training:
        for line in training:
            if line["iter"] >= 5:
                break
    run = training.run
    last = run.snapshots[-1].iteration
    assert last >= 5 and training._process.returncode == 143
    rest = list(training)  # what was written before the end; no error
    assert max(line["iter"] for line in rest) == last
    with ft.train(run.path, {"run.max_iter": last + 3, "val.every": 0, "snapshot.every": 0},
                  flags=["--accept-changes"]) as training:
        lines = list(training)
    assert [line["iter"] for line in lines if line["kind"] == "train"] == list(range(1, last + 4))
    assert training.run.path.samefile(run.path) and run.snapshots[-1].iteration == last + 3


def test_ctrl_c_ends_it_with_a_snapshot(config, tmp_path):
    training = endless(config, tmp_path / "run")
    next(training)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in training:
            pass
    timer.join()
    training.close()
    assert training._process.returncode == 143 and len(training.run.snapshots) == 1


def test_a_training_that_is_dropped_ends(config, tmp_path):
    training = endless(config, tmp_path / "run")
    next(training)
    process = training._process
    del training
    assert process.returncode == 143


def test_the_folder_is_known_where_the_program_names_it(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("small", "small-2"):
        with ft.train("small.toml", {"run.dir": "runs", "run.max_iter": 1}) as training:
            assert training.run.path == tmp_path / "runs" / name
            list(training)
