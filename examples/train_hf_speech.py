"""A Whisper of Hugging Face's transformers, trained by its Trainer on the recordings of a table or of LibriSpeech.

    python train_hf_speech.py DATA RUN STEPS

trains a small Whisper of random weights up to STEPS steps, with a checkpoint in RUN every 5 steps. Called again, it
goes on from the last checkpoint with the next batch. DATA is a table with the columns `audio` (paths) and `text`, or
the folder of another data set (docs/speech.md). The loader stands in place of a data set, its feature extractor, its
tokenizer and its collator:

    train_dataset=load_dataset("audiofolder", …).cast_column("audio", Audio(16000)).map(prepare), data_collator=…

`values="whisper"` has the values of WhisperFeatureExtractor, and `layout="transformers"` the model's names.
"""

import sys

import flowtrain as ft
from transformers import (
    Trainer,
    TrainerCallback,
    TrainingArguments,
    WhisperConfig,
    WhisperForConditionalGeneration,
    set_seed,
)
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import get_last_checkpoint

SECONDS = 6  # of each recording; Whisper's own weights take 30
END = 256  # the id of the end of a text, where bytes are the tokens


class LoaderState(TrainerCallback, ExportableState):
    """Saves the state of a loader with the Trainer's, and loads it when training begins."""

    def __init__(self, loader):
        self.loader = loader

    def state(self):
        return {"args": {}, "attributes": self.loader.state_dict()}

    def on_train_begin(self, args, state, control, **_):
        if state.global_step:
            self.loader.load_state_dict(state.stateful_callbacks["LoaderState"]["attributes"])


class SpeechRecognition(Trainer):
    def __init__(self, model, arguments, loader):
        super().__init__(model, arguments, callbacks=[LoaderState(loader)])
        self.loader = loader

    def get_train_dataloader(self):
        return self.loader


def main(data, run, steps):
    set_seed(1)
    # For the weights of a Whisper: pad=30, max=30, tokenizer="tokenizer.json", and its start and end of a text.
    loader = ft.Loader.audio(data, values="whisper", bins=80, pad=SECONDS, max=SECONDS, tokenizer="bytes",
                             label={"max": 128, "end": "<|endoftext|>"}, speed=[0.9, 1.0, 1.1], frequency_masks=2,
                             batch_size=8, workers=2, seed=1, layout="transformers")
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=257, num_mel_bins=80, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=50 * SECONDS,
        max_target_positions=128, decoder_start_token_id=END, bos_token_id=END, eos_token_id=END, pad_token_id=END))
    arguments = TrainingArguments(run, max_steps=steps, save_steps=5, ignore_data_skip=True, learning_rate=0.001,
                                  lr_scheduler_type="constant", per_device_train_batch_size=8, logging_steps=5,
                                  report_to="none", disable_tqdm=True)
    SpeechRecognition(model, arguments, loader).train(resume_from_checkpoint=get_last_checkpoint(run))
    return model


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
