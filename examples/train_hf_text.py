"""A language model of Hugging Face's transformers, trained by its Trainer on the texts of a folder.

    python train_hf_text.py FOLDER RUN STEPS

trains a small GPT-2 of random weights up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it
goes on from the last checkpoint with the next batch. FOLDER may be a pattern, "docs/**/*.md". The loader stands in
place of a data set, its tokenizer and its collator:

    train_dataset=load_dataset("text", …).map(tokenize).map(group), data_collator=default_data_collator

`layout="transformers"` gives batches the names that the model takes. The model shifts the labels itself.
"""

import sys

import flowtrain as ft
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import get_last_checkpoint

LENGTH = 128


class LoaderState(TrainerCallback, ExportableState):
    """Saves the state of a loader with the Trainer's, and loads it when training begins."""

    def __init__(self, loader):
        self.loader = loader

    def state(self):
        return {"args": {}, "attributes": self.loader.state_dict()}

    def on_train_begin(self, args, state, control, **_):
        if state.global_step:
            self.loader.load_state_dict(state.stateful_callbacks["LoaderState"]["attributes"])


class LanguageModelling(Trainer):
    def __init__(self, model, arguments, loader):
        super().__init__(model, arguments, callbacks=[LoaderState(loader)])
        self.loader = loader

    def get_train_dataloader(self):
        return self.loader


def main(folder, run, steps):
    set_seed(1)
    # Bytes are the tokens; tokenizer="tokenizer.json" reads the file of a model instead.
    loader = ft.Loader.text(folder, window=LENGTH, batch_size=8, workers=2, seed=1, layout="transformers")
    model = GPT2LMHeadModel(GPT2Config(vocab_size=257, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4))
    arguments = TrainingArguments(run, max_steps=steps, save_steps=5, ignore_data_skip=True, learning_rate=0.003,
                                  lr_scheduler_type="constant", per_device_train_batch_size=8, logging_steps=5,
                                  report_to="none", disable_tqdm=True)
    LanguageModelling(model, arguments, loader).train(resume_from_checkpoint=get_last_checkpoint(run))
    return model


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
