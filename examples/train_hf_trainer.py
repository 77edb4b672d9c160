"""The Trainer of Hugging Face's transformers: the loader's state is part of trainer_state.json in each checkpoint.

    python train_hf_trainer.py FOLDER RUN STEPS

trains up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it goes on from the last checkpoint.
`ignore_data_skip=True`: the Trainer would skip by itself what an epoch has had; the loader's state has done it.
"""

import sys

import flowtrain as ft
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import get_last_checkpoint


class LoaderState(TrainerCallback, ExportableState):
    """Saves the state of a loader with the Trainer's, and loads it when training begins."""

    def __init__(self, loader):
        self.loader = loader

    def state(self):
        return {"args": {}, "attributes": self.loader.state_dict()}

    def on_train_begin(self, args, state, control, **_):
        if state.global_step:
            self.loader.load_state_dict(state.stateful_callbacks["LoaderState"]["attributes"])


class Classification(Trainer):
    def __init__(self, net, arguments, loader):
        super().__init__(net, arguments, callbacks=[LoaderState(loader)])
        self.loader = loader

    def get_train_dataloader(self):
        return self.loader

    def compute_loss(self, model, inputs, **_):
        images, labels = inputs
        return nn.functional.cross_entropy(model(images), labels)


def main(folder, run, steps):
    set_seed(1)
    loader = ft.Loader.image_folder(folder, batch_size=8, size=24, workers=2, seed=1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 24, 10))
    arguments = TrainingArguments(run, max_steps=steps, save_steps=5, ignore_data_skip=True, learning_rate=0.01,
                                  lr_scheduler_type="constant",
                                  per_device_train_batch_size=8, report_to="none", disable_tqdm=True)
    Classification(net, arguments, loader).train(resume_from_checkpoint=get_last_checkpoint(run))
    return net


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
