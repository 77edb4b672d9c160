"""torchtitan: texts by its data loader interface, and checkpoints that hold the loader's state.

    python train_torchtitan_text.py FOLDER RUN STEPS

trains a small model of language up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it goes on
from the last checkpoint with the next batch. In a torchtitan configuration:
`dataloader=TextLoader.Config(folder=FOLDER, tokenizer_file="tokenizer.json")`; torchtitan gives the length of a row
and the rows of a batch. Labels are the ids that follow, as torchtitan takes them. All ranks save the same state,
and a checkpoint may be loaded with another number of ranks, which torchtitan's own loaders refuse.

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


class TextLoader(BaseDataLoader):
    """Endless batches of packed documents: {"input": i64 (batch, length), "positions": i64 (batch, length)}, and labels
    i64 (batch, length), -100 where nothing follows."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        folder: str
        tokenizer_file: str = "bytes"
        unit: str = "paragraph"
        workers: int = 2
        seed: int = 1

    def __init__(self, config, *, dp_world_size, dp_rank, seq_len=None, local_batch_size=None,
                 max_context_length=None, num_tokens_per_batch=None, **_):
        length = seq_len or max_context_length  # the latter two are the main branch's
        self.loader = ft.Loader.text(
            config.folder, unit=config.unit, tokenizer=config.tokenizer_file, max_length=length, pack=True,
            batch_size=local_batch_size or num_tokens_per_batch // length, workers=config.workers, seed=config.seed,
            rank=dp_rank, world_size=dp_world_size)

    def __iter__(self):
        while True:
            for batch in self.loader:
                yield {"input": batch["tokens"], "positions": batch["position"].long()}, batch["label"]

    def state_dict(self):
        return self.loader.state_dict()

    def load_state_dict(self, state):
        self.loader.load_state_dict(state)

    def close(self):
        self.loader.close()


class Bigrams(nn.Module):
    """Predicts an id by the one before it, and its place in the document."""

    def __init__(self, length, width=32):
        super().__init__()
        self.tokens = nn.Embedding(257, width)
        self.places = nn.Embedding(length, width)
        self.head = nn.Linear(width, 257)

    def forward(self, input, positions):
        return self.head(torch.relu(self.tokens(input) + self.places(positions)))


def main(folder, run, steps, length=128):
    if not torch.distributed.is_initialized():  # torchtitan's trainer does this, by torchrun's environment
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    torch.manual_seed(1)
    loader = TextLoader.Config(folder=folder).build(dp_world_size=1, dp_rank=0, tokenizer=None, seq_len=length,
                                                    local_batch_size=8)
    net = Bigrams(length)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    checkpoints = CheckpointManager.Config(enable=True, folder=run, interval=5, last_save_model_only=False).build(
        dataloader=loader, model_parts=[net], optimizers=optimizer, lr_schedulers=schedule, states={},
        sd_adapter=None)
    checkpoints.load()
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(net(**inputs).flatten(0, 1), labels.flatten(), ignore_index=-100)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        checkpoints.save(schedule.last_epoch, last_step=schedule.last_epoch == steps)
        if schedule.last_epoch == steps:
            return net


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
