"""torchtitan: its data loader interface, and checkpoints that hold the loader's state.

    python train_torchtitan.py FOLDER RUN STEPS

trains up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it goes on from the last checkpoint.
In a torchtitan configuration: `dataloader=ImageLoader.Config(folder=FOLDER, batch_size=64)`. All ranks save the same
state, and a checkpoint may be loaded with another number of ranks, which torchtitan's own loaders refuse.

Fits torchtitan 0.3.0 and its main branch of August 2026, in which loaders and checkpoints have moved.
"""

import importlib.util
import sys
from dataclasses import dataclass

import flowtrain as ft
import torch
from torch import nn

if importlib.util.find_spec("torchtitan.components.data"):
    from torchtitan.components.checkpointer import CheckpointManager
    from torchtitan.components.data.loader import BaseDataLoader
else:  # 0.3.0
    from torchtitan.components.checkpoint import CheckpointManager
    from torchtitan.components.dataloader import BaseDataLoader


class ImageLoader(BaseDataLoader):
    """Endless batches of a folder of images: {"input": f32 (batch, 3, size, size)}, i64 (batch,)."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        folder: str
        batch_size: int  # of one rank
        size: int = 224
        workers: int = 2
        seed: int = 1

    def __init__(self, config, *, dp_world_size, dp_rank, **_):  # the rest is for text
        self.loader = ft.Loader.image_folder(
            config.folder, batch_size=config.batch_size, size=config.size, workers=config.workers, seed=config.seed,
            rank=dp_rank, world_size=dp_world_size)

    def __iter__(self):
        while True:
            for images, labels in self.loader:
                yield {"input": images}, labels

    def state_dict(self):
        return self.loader.state_dict()

    def load_state_dict(self, state):
        self.loader.load_state_dict(state)

    def close(self):
        self.loader.close()


def main(folder, run, steps):
    if not torch.distributed.is_initialized():  # torchtitan's trainer does this, by torchrun's environment
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    torch.manual_seed(1)
    loader = ImageLoader.Config(folder=folder, batch_size=8, size=24).build(dp_world_size=1, dp_rank=0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 24, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    checkpoints = CheckpointManager.Config(enable=True, folder=run, interval=5, last_save_model_only=False).build(
        dataloader=loader, model_parts=[net], optimizers=optimizer, lr_schedulers=schedule, states={},
        sd_adapter=None)
    checkpoints.load()
    for inputs, labels in loader:
        nn.functional.cross_entropy(net(inputs["input"]), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        checkpoints.save(schedule.last_epoch, last_step=schedule.last_epoch == steps)
        if schedule.last_epoch == steps:
            return net


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
