"""flowtrain.export: the compiled graphs, run by torch's own loader, against eager PyTorch."""

import copy
import ctypes
import json
import subprocess
import sys
from pathlib import Path

import flowtrain as ft
import pytest
import torch
from conftest import NIGHTLY
from export_nets import Corners, corners_batch, corners_loss
from flowtrain._export._torch import read_record
from flowtrain._safetensors import tensors_from

pytestmark = pytest.mark.skipif(not torch.__version__.startswith("2.11."), reason="export is made for torch 2.11")


class Opened:
    """One of a package's graphs, with its tensors."""

    def __init__(self, path, name):
        # The code leaves torch's symbols to the program.
        ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
        from torch._inductor.package import load_package

        self.package = metadata(path)
        self.outputs = next(graph for graph in graphs(self.package) if graph["name"] == name)["outputs"]
        self.tensors = weights(path)
        self.graph = load_package(str(path), name)
        self.graph.load_constants({name: self.tensors[name] for name in self.graph.get_constant_fqns()},
                                  check_full_update=True, user_managed=True)

    def __call__(self, batch):
        return self.graph(*(batch[field["field"]] for field in self.package["inputs"]))

    def of(self, kind, values):
        return {output["name"]: value for output, value in zip(self.outputs, values) if output["kind"] == kind}


def graphs(package):
    return [*package["train"], package["eval"]]


def metadata(path):
    return json.loads(read_record(path, "extra/flowtrain.json"))


def weights(path):
    return tensors_from(read_record(path, "weights.safetensors"), str(path), "torch")


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    return Corners()


@pytest.fixture(scope="module")
def package(net, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "net.pt2"
    net.eval()
    before = copy.deepcopy(net.state_dict())
    ft.export(net, path, corners_batch(4), corners_loss, lambda net, batch: net(batch["image"]))
    assert not any(module.training for module in net.modules())  # as they were
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    net.train()
    return path


def test_the_file_says_what_the_program_has_to_know(package):
    told = metadata(package)
    assert list(told) == ["version", "torch", "device", "instruction_set", "amp", "command", "inputs", "train",
                          "eval"]
    assert told["version"] == 5 and told["device"] == "cpu" and told["amp"] is None
    assert told["torch"] == torch.__version__.split("+")[0]
    assert told["instruction_set"] == torch.backends.cpu.get_cpu_capability()
    assert told["command"] == f"python -m flowtrain export {package} -o {package}"
    assert told["inputs"] == [
        {"field": "image", "dtype": "float32", "shape": [-1, 3, 12, 12], "values": []},
        {"field": "label", "dtype": "int64", "shape": [-1],
         "values": [{"least": 0, "end": 6, "ignored": -100, "part": []}]}]
    train, = told["train"]
    assert train["name"] == "train_loss" and train["counters"] == ["norm.num_batches_tracked"]
    assert told["eval"]["name"] == "eval" and told["eval"]["counters"] == []
    trained = ["temperature", "conv.weight", "conv.bias", "norm.weight", "norm.bias", "first.weight", "last.weight",
               "last.bias"]
    assert sorted(train["parameters"]) == sorted([*trained, "frozen"])
    assert sorted(train["buffers"]) == ["norm.running_mean", "norm.running_var", "seen"]
    assert train["changed"] == ["norm.running_mean", "norm.running_var", "seen"] and told["eval"]["changed"] == []
    assert sorted(train["constants"]) == ["mask", "train_loss_constants.0", "train_loss_constants.1"]
    assert train["outputs"][:3] == [{"name": "loss", "kind": "loss", "of": None},
                                    {"name": "confidence", "kind": "metric", "of": None},
                                    {"name": "noise", "kind": "metric", "of": None}]
    assert train["outputs"][3:] == [{"name": name, "kind": "gradient", "of": name} for name in trained]
    assert [(output["name"], output["kind"]) for output in told["eval"]["outputs"]] == [
        ("loss", "loss"), ("confidence", "metric"), ("noise", "metric"), ("logits", "output")]


def test_weights_have_the_nets_names_each_tensor_once(net, package):
    stored, own = weights(package), net.state_dict()
    assert set(own) - set(stored) == {"second.weight"}
    constants = {f"train_loss_constants.{number}" for number in range(2)}
    constants |= {f"eval_constants.{number}" for number in range(3)}
    assert set(stored) - set(own) == constants | {"mask"}
    assert all(torch.equal(tensor, own[name]) for name, tensor in stored.items() if name in own)


def test_training_is_eager_pytorchs(net, package):
    net, step = copy.deepcopy(net), Opened(package, "train_loss")
    names = [output["of"] for output in step.outputs if output["kind"] == "gradient"]
    ours = torch.optim.SGD([step.tensors[name] for name in names], lr=0.05, momentum=0.9)
    theirs = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for iteration in range(50):
        batch = corners_batch(rows=(4, 9, 1)[iteration % 3] if iteration else 4, seed=iteration)
        theirs.zero_grad()
        losses = corners_loss(net, batch)
        losses["loss"].backward()
        values = step(batch)
        assert values[0].item() == pytest.approx(losses["loss"].item(), rel=1e-6 if iteration == 0 else 1e-3)
        assert values[1].item() == pytest.approx(losses["confidence"].item(), rel=1e-3)
        gradients = step.of("gradient", values)
        for name, parameter in net.named_parameters():
            if name in gradients:
                torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-3, atol=1e-4)
                step.tensors[name].grad = gradients[name]
        theirs.step()
        ours.step()
    state = net.state_dict()
    for name in ("norm.running_mean", "norm.running_var", "first.weight", "temperature", "last.bias"):
        torch.testing.assert_close(step.tensors[name], state[name], rtol=1e-2, atol=1e-3)
    assert torch.equal(step.tensors["seen"], state["seen"]) and state["seen"].tolist() == [0, 50, 100]
    assert step.tensors["norm.num_batches_tracked"] == 0  # the program counts
    assert torch.equal(step.tensors["frozen"], state["frozen"])


def test_a_loss_that_is_a_sum_over_a_count_is_their_mean_in_the_graphs(tmp_path):
    net = torch.nn.Linear(4, 3)

    def loss(net, batch):
        logits, known = net(batch["image"]), batch["label"] >= 0
        total = torch.nn.functional.cross_entropy(logits, batch["label"], ignore_index=-100, reduction="sum")
        hits = ((logits.argmax(1) == batch["label"]) & known).float().sum()
        return {"loss": (total, known.sum()), "hits": (hits, known.sum()), "size": logits.detach().square().mean()}

    def batch_of(known):
        return {"image": torch.randn(len(known), 4), "label": torch.tensor(known)}

    path = tmp_path / "net.pt2"
    ft.export(net, path, batch_of([0, 1, -100, 2]), loss)
    kinds = [("loss", "loss"), ("hits", "metric"), ("size", "metric"), ("loss.count", "count"), ("hits.count", "count")]
    for graph in graphs(metadata(path)):
        assert [(each["name"], each["kind"]) for each in graph["outputs"] if each["kind"] != "gradient"] == kinds
    step = Opened(path, "train_loss")
    for known in ([2, 0, -100, 1, 1], [-100, 1], [-100, -100, -100]):
        batch = batch_of(known)
        (total, count), (hits, _) = (loss(net, batch)[name] for name in ("loss", "hits"))
        values = step(batch)
        assert values[0].item() == pytest.approx(total.item() / max(count.item(), 1), rel=1e-6)
        assert step.of("count", values) == {"loss.count": count, "hits.count": count}
        assert step.of("metric", values)["hits"].item() == pytest.approx(hits.item() / max(count.item(), 1))
        expected, = torch.autograd.grad(total / count.clamp(min=1), [net.bias])
        torch.testing.assert_close(step.of("gradient", values)["bias"], expected)


def test_evaluation_is_eager_pytorchs_in_evaluation_mode(net, package):
    net, evaluate = copy.deepcopy(net).eval(), Opened(package, "eval")
    for rows in (1, 4, 33):
        batch = corners_batch(rows)
        values = evaluate(batch)
        expected = corners_loss(net, batch)
        assert values[0].item() == pytest.approx(expected["loss"].item(), rel=1e-5)
        assert values[2].item() == 64  # no dropout
        torch.testing.assert_close(evaluate.of("output", values)["logits"], net(batch["image"]), rtol=1e-4, atol=1e-5)
    assert torch.equal(evaluate.tensors["norm.running_mean"], net.norm.running_mean)


@pytest.mark.skipif(not NIGHTLY, reason="it compiles")
def test_pictures_may_have_their_channels_last_as_those_of_a_gpu_do(net, tmp_path):
    def last(batch):
        return batch | {"image": batch["image"].contiguous(memory_format=torch.channels_last)}

    def picture(net, batch):  # the product is compiled code, which goes by the layout that it was made for
        return {"loss": net(batch["image"] * 2).square().mean()}

    path, again = tmp_path / "last.pt2", tmp_path / "again.pt2"
    ft.export(net, path, last(corners_batch(4)), picture)
    assert [field.get("channels_last") for field in metadata(path)["inputs"]] == [True, None]
    # The check has brought in what code for a GPU takes from the process that opens it.
    assert torch.version.cuda is None or hasattr(ctypes.CDLL(None), "aoti_torch_get_current_cuda_stream")
    subprocess.run([sys.executable, "-m", "flowtrain", "export", path, "-o", again], check=True, capture_output=True)
    for rows in (4, 9, 1):
        batch = corners_batch(rows)
        expected = picture(copy.deepcopy(net), batch)["loss"].item()
        for made in (path, again):
            assert Opened(made, "train_loss")(last(batch))[0].item() == pytest.approx(expected, rel=1e-5)


def test_random_numbers_follow_the_seed(package):
    step, noise = Opened(package, "train_loss"), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        noise.append(step(corners_batch(4))[2].item())
    assert noise[0] == noise[1] != noise[2]


@pytest.mark.skipif(not NIGHTLY, reason="it compiles")
def test_a_package_is_made_anew_from_itself(package):
    again = package.with_name("again.pt2")
    command = [sys.executable, "-m", "flowtrain", "export", package, "-o", again]
    subprocess.run(command, check=True, capture_output=True)
    assert metadata(again) == metadata(package) | {"command": f"python -m flowtrain export {again} -o {again}"}
    assert read_record(again, "weights.safetensors") == read_record(package, "weights.safetensors")
    values, expected = (Opened(path, "train_loss")(corners_batch(5)) for path in (again, package))
    assert torch.equal(values[0], expected[0]) and torch.equal(values[5], expected[5])
    damaged = package.with_name("damaged.pt2")
    damaged.write_bytes(package.read_bytes()[:-3000])
    ran = subprocess.run([*command[:4], damaged, "-o", again], capture_output=True, text=True)
    assert ran.returncode == 2 and "damaged.pt2 is not a complete package" in ran.stderr
