"""Batches of recordings in the layout of transformers give its models' own results. Skipped without transformers."""

import json

import numpy as np
import pytest
from test_audio import RATE, TEXTS, samples_of, write_wav
from test_ecosystem import example

import flowtrain as ft

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    place = tmp_path_factory.mktemp("recordings")
    for number in range(24):
        write_wav(place / f"{number}.wav", samples_of(number))
    file = place / "table.jsonl"
    file.write_text("".join(json.dumps({"audio": f"{number}.wav", "text": TEXTS[number % 4]}) + "\n"
                            for number in range(24)))
    return file


def test_features_are_those_of_whispers_extractor(table):
    extractor = transformers.WhisperFeatureExtractor()
    loader = ft.Loader.audio(table, values="whisper", bins=80, pad=30, max=30, tokenizer="bytes", batch_size=4,
                             ids=True, layout="transformers")
    for batch in loader:
        theirs = extractor([samples_of(int(identity)) / np.float32(32768) for identity in batch["ids"]],
                           sampling_rate=RATE, return_tensors="pt").input_features
        assert batch["input_features"].shape == theirs.shape == (4, 80, 3000)
        assert torch.allclose(batch["input_features"], theirs, atol=1e-4)


@torch.no_grad()
def test_wav2vec2_has_the_loss_of_each_recording_alone(table):
    torch.manual_seed(1)
    model = transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(
        vocab_size=257, pad_token_id=256, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, conv_dim=(16,) * 7, feat_extract_norm="layer", num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4, ctc_loss_reduction="sum")).eval()
    for batch in ft.Loader.audio(table, features="wave", tokenizer="bytes", batch_size=4, ids=True,
                                 layout="transformers"):
        ids = batch.pop("ids")
        waves = [torch.from_numpy(samples_of(int(identity)) / np.float32(32768)) for identity in ids]
        alone = sum(model(wave[None], labels=labels[labels >= 0][None]).loss.item()
                    for wave, labels in zip(waves, batch["labels"]))
        assert model(**batch).loss.item() == pytest.approx(alone, rel=1e-4)


def test_the_example_goes_on_from_a_checkpoint_exactly(table, tmp_path):
    train = example("train_hf_speech", "accelerate").main
    whole = train(str(table), str(tmp_path / "whole"), 13)
    for end in (7, 13):
        model = train(str(table), str(tmp_path / "run"), end)
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), model.parameters()))
