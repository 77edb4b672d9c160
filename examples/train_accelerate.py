"""Accelerate: the loader's state is saved and loaded with the net and the optimizer.

    accelerate launch train_accelerate.py FOLDER RUN STEPS

trains up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it goes on from the last checkpoint,
with other numbers of processes, too. Make the loader after the Accelerator: it takes its rank and world from there.
`prepare()` leaves it as it is, so batches go to the device by `.to()`.
"""

import sys
from pathlib import Path

import flowtrain as ft
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn


def main(folder, run, steps):
    accelerator = Accelerator()
    set_seed(1)
    loader = ft.Loader.image_folder(folder, global_batch_size=8, size=24, workers=2, seed=1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 24, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    accelerator.register_for_checkpointing(loader)
    step = max((int(path.name) for path in Path(run).glob("[0-9]*")), default=0)
    if step:
        accelerator.load_state(f"{run}/{step}")
    while step < steps:
        for images, labels in loader:
            images, labels = images.to(accelerator.device), labels.to(accelerator.device)
            loss = nn.functional.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            step += 1
            if step % 5 == 0:
                accelerator.save_state(f"{run}/{step}")
            if step == steps:
                break
    accelerator.end_training()
    return accelerator.unwrap_model(net)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
