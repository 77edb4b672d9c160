"""make_package.py FOLDER VERSION: small packages, as the tests of nets that come as packages train them.

full.pt2: a convolution, batch normalisation, dropout and a linear layer, for RGB pictures of 16 x 16 and 6 classes.
plain.pt2: the same without batch normalisation and dropout. Exits with 77 where torch for Python is not there, or is
not of this version.
"""

import json
import pathlib
import struct
import sys
import tempfile

try:
    import torch
    from torch.export.experimental import _export_forward_backward
    from torch.export.pt2_archive._package import PT2ArchiveWriter
except ImportError as error:
    print(f"torch for Python cannot be imported: {error}")
    sys.exit(77)
import torch.nn.functional as F


class Net(torch.nn.Module):
    def __init__(self, plain):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.norm = torch.nn.Identity() if plain else torch.nn.BatchNorm2d(16)
        self.drop = torch.nn.Dropout(0.0 if plain else 0.3)
        self.fc = torch.nn.Linear(16 * 16, 6)

    def forward(self, image):
        hidden = F.relu(self.norm(self.conv(image)))
        return self.fc(self.drop(F.max_pool2d(hidden, 2).flatten(1)))


class Trained(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, image, label):
        logits = self.net(image)
        return F.cross_entropy(logits, label), (logits.detach().argmax(1) == label).float().mean()


class Evaluated(Trained):
    def forward(self, image, label):
        logits = self.net(image)
        return logits, F.cross_entropy(logits, label)


def compiled(program, example):
    options = {
        "aot_inductor.package": True,
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.link_libtorch": False,
        "always_keep_tensor_constants": True,
        "cpp.dynamic_threads": True,
    }
    return torch._inductor.aot_compile(program.module(), example, options=options)


def safetensors(tensors):
    names = {torch.float32: "F32", torch.int64: "I64"}
    header, data = {}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().contiguous().numpy().tobytes()
        place = [len(data), len(data) + len(values)]
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        data += values
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write(out, plain):
    torch.manual_seed(1)
    net = Net(plain)
    example = (torch.randn(4, 3, 16, 16), torch.randint(6, (4,)))
    rows = torch.export.Dim("rows", min=1, max=4096)
    shapes = ({0: rows}, {0: rows})
    trained = torch.export.export(Trained(net).train(), example, dynamic_shapes=shapes)
    joint = _export_forward_backward(trained, joint_loss_index=0)
    evaluated = torch.export.export(Evaluated(net).eval(), example, dynamic_shapes=shapes)
    state = {
        "parameters": [f"net.{name}" for name, _ in net.named_parameters()],
        "buffers": [f"net.{name}" for name, buffer in net.named_buffers() if buffer.is_floating_point()],
        "constants": [],
    }
    learned = joint.graph_signature.backward_signature.gradients_to_parameters.values()
    results = [{"name": "loss", "kind": "loss", "of": None}, {"name": "hits", "kind": "metric", "of": None}]
    description = {
        "version": 1,
        "torch": torch.__version__,
        "device": "cpu",
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
        "amp": None,
        "random": not plain,
        "command": "python -m flowtrain export net.pt2 -o net.pt2",
        "inputs": [
            {"field": "image", "dtype": "float32", "shape": [-1, 3, 16, 16]},
            {"field": "label", "dtype": "int64", "shape": [-1]},
        ],
        "train": {
            **state,
            "outputs": results + [{"name": name, "kind": "gradient", "of": name} for name in learned],
            "final_order": list(learned),
        },
        "eval": {**state, "outputs": [{"name": "logits", "kind": "output"}, {"name": "loss", "kind": "loss"}]},
        "tied": {},
        "counters": [f"net.{name}" for name, buffer in net.named_buffers() if not buffer.is_floating_point()],
    }
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        made = pathlib.Path(folder) / "net.pt2"
        with PT2ArchiveWriter(str(made)) as archive:
            for name, program in {"train": joint, "eval": evaluated}.items():
                for file in compiled(program, example):
                    archive.write_file(f"data/aotinductor/{name}/{pathlib.Path(file).name}", file)
            archive.write_string("extra/flowtrain.json", json.dumps(description))
            weights = {f"net.{name}": tensor for name, tensor in net.state_dict().items()}
            archive.write_bytes("weights.safetensors", safetensors(weights))
        made.rename(out)


def main():
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    if torch.__version__.split("+")[0] != version:
        print(f"torch for Python is {torch.__version__}, and the program has LibTorch {version}")
        sys.exit(77)
    torch.set_num_threads(1)
    for name in ("plain", "full"):
        write(folder / f"{name}.pt2", plain=name == "plain")


main()
