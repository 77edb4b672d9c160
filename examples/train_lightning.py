"""Lightning: each checkpoint holds the loader's state, and training goes on from it in the middle of an epoch.

    python train_lightning.py FOLDER RUN STEPS

trains up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it goes on from the last checkpoint.
Lightning takes the loader as it is: it calls its state_dict() and load_state_dict() by itself. Leave sampling to the
loader (`use_distributed_sampler=False`), and make it after the processes were started: in `train_dataloader()`.
"""

import sys

import flowtrain as ft
import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn


class Classifier(lightning.LightningModule):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 24, 10))

    def train_dataloader(self):
        return ft.Loader.image_folder(self.folder, batch_size=8, size=24, workers=2, seed=1)

    def training_step(self, batch, _):
        images, labels = batch
        return nn.functional.cross_entropy(self.net(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)


def main(folder, run, steps):
    lightning.seed_everything(1)
    net = Classifier(folder)
    checkpoints = ModelCheckpoint(run, every_n_train_steps=5, save_last=True)
    trainer = lightning.Trainer(max_steps=steps, callbacks=[checkpoints], use_distributed_sampler=False,
                                accelerator="auto", logger=False, enable_progress_bar=False)
    trainer.fit(net, ckpt_path="last")
    return net.net


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
