"""python_ddp.py PROGRAM: two ranks of flowtrain and two of PyTorch's DistributedDataParallel, on the same weights and
the same batch, must have the same averaged gradients. Exits 77 where this Python has no torch."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    import torch.multiprocessing as processes
except Exception as error:  # a torch whose libraries are not all there raises anything
    print(f"skipped: [python-torch] this python3 cannot import torch ({error}); "
          "FLOWTRAIN_TEST_PYTHONPATH may name a folder")
    sys.exit(77)

WORLD, ROWS, SIDE, CLASSES, HIDDEN = 2, 16, 12, 5, 32
CONFIG = f"""
name = "one_step"
[run]
max_iter = 1
threads = 1
[data]
dataset = "idx"
path = "data"
[sampler]
crop = "pad"
padding = 0
flip = 0.0
mean = [0.5]
stddev = [0.25]
[order]
name = "sequential"
[loader]
batch = {ROWS}
[net]
name = "mlp"
hidden = [{HIDDEN}]
[optim]
name = "sgd"
lr = 1.0
[val]
every = 0
"""


def write_data(folder):
    folder.mkdir()
    pictures = torch.randint(0, 256, (ROWS, SIDE, SIDE), dtype=torch.uint8)
    labels = torch.arange(ROWS, dtype=torch.uint8) % CLASSES
    for name in ("train", "t10k"):
        images = struct.pack(">IIII", 0x803, ROWS, SIDE, SIDE) + bytes(pictures.flatten().tolist())
        (folder / f"{name}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, ROWS) + bytes(labels.tolist()))
    return (pictures.float() / 255 - 0.5) / 0.25, labels.long()


def parameters_after(program, folder, run, *more):
    """Name to tensor, of a run's last snapshot."""
    file = folder / f"{run}.safetensors"
    words = [program, "one_step.toml", "--quiet", "--run-dir", run, *more]
    subprocess.run(words, cwd=folder, check=True)
    subprocess.run([program, "export", run, "--out", file], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    content = file.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    tensors = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(content[begin:end]), dtype=torch.float32).reshape(entry["shape"])
    return tensors


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(SIDE * SIDE, HIDDEN), torch.nn.Linear(HIDDEN, CLASSES)])

    def forward(self, x):
        return self.layers[1](torch.relu(self.layers[0](x.flatten(1))))


def python_rank(rank, folder, weights, pictures, labels):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=WORLD)
    net = Mlp()
    net.load_state_dict(weights)
    parallel = torch.nn.parallel.DistributedDataParallel(net)
    mine = slice(rank * ROWS // WORLD, (rank + 1) * ROWS // WORLD)
    torch.nn.functional.cross_entropy(parallel(pictures[mine]), labels[mine]).backward()
    if rank == 0:
        torch.save({name: value.grad for name, value in net.named_parameters()}, f"{folder}/gradients.pt")
    torch.distributed.destroy_process_group()


def main():
    program = os.path.realpath(sys.argv[1])
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one_step.toml").write_text(CONFIG)
        pictures, labels = write_data(folder / "data")
        before = parameters_after(program, folder, "before", "--initialize")
        after = parameters_after(program, folder, "after", "--distributed", "--world-size", str(WORLD))
        processes.spawn(python_rank, (name, before, pictures, labels), nprocs=WORLD)
        gradients = torch.load(folder / "gradients.pt")
    assert gradients.keys() == before.keys(), (gradients.keys(), before.keys())
    worst = 0.0
    for key, theirs in gradients.items():
        ours = before[key] - after[key]  # one step of SGD with a learning rate of 1
        worst = max(worst, ((ours - theirs).abs().max() / theirs.abs().max()).item())
    print(f"the largest difference of a gradient, relative to the largest of its tensor: {worst:.2g}")
    sys.exit(0 if worst < 1e-5 else 1)


if __name__ == "__main__":
    main()
