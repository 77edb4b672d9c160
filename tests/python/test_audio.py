"""Loader.audio: recordings by classes and with transcripts, and the layout of transformers."""

import json
import wave

import numpy as np
import pytest

import flowtrain as ft

TEXTS = ["a", "bee", "see the dee", "é"]
RATE = 16000


def samples_of(number):
    """A quarter of a second and more of noise, which differs by its number, as 16-bit numbers."""
    return np.random.default_rng(number).integers(-9000, 9000, 4000 + 700 * number).astype(np.int16)


def write_wav(path, samples):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(samples.tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """classes/{high,low}/N.wav; table.jsonl of them with texts; libri/ as LibriSpeech has them."""
    place = tmp_path_factory.mktemp("recordings")
    rows = []
    for number, text in enumerate(TEXTS * 2):
        file = f"classes/{'high' if number % 2 else 'low'}/{number}.wav"
        write_wav(place / file, samples_of(number))
        write_wav(place / f"libri/train-clean/7/1/7-1-{number:04}.wav", samples_of(number))
        rows.append({"audio": file, "text": text, "kind": f"kind {number % 4}"})
    (place / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "libri/train-clean/7/1/7-1.trans.txt").write_text(
        "".join(f"7-1-{number:04} {row['text']}\n" for number, row in enumerate(rows)))
    return place


def texts_of(loader):
    return {int(identity): bytes(row[row >= 0].astype("u1")).decode()
            for batch in loader for row, identity in zip(batch["label"], batch["ids"])}


def test_folders_of_classes_give_features_and_classes(folder):
    loader = ft.Loader.audio(folder / "classes", bins=40, batch_size=4, output="numpy", ids=True, shuffle=False)
    assert loader.classes == ["high", "low"]
    for batch in loader:
        assert set(batch) == {"features", "features_length", "label", "ids"}
        assert batch["features"].dtype == np.float32 and batch["features"].shape[2] == 40
        assert batch["features"].shape[1] == batch["features_length"].max()
        assert [loader.describe(identity).split("/")[-2] for identity in batch["ids"]] == [
            loader.classes[label] for label in batch["label"]]


def test_a_tokenizer_makes_the_transcripts_labels(folder):
    loader = ft.Loader.audio(folder / "table.jsonl", tokenizer="bytes", batch_size=3, output="numpy", ids=True)
    assert texts_of(loader) == dict(enumerate(TEXTS * 2))
    ended = ft.Loader.audio(folder / "table.jsonl", label={"end": "<|endoftext|>"}, batch_size=8, output="numpy")
    for batch in ended:
        assert ((batch["label"] == 256).sum(1) == 1).all()


def test_labels_are_those_that_were_asked_for(folder):
    def opened(**arguments):
        return ft.Loader.audio(folder / "table.jsonl", batch_size=8, output="numpy", **arguments)

    assert set(next(iter(opened(tokenizer="bytes", label=False)))) == {"features", "features_length"}
    assert opened(label="kind").classes == [f"kind {number}" for number in range(4)]
    with pytest.raises(TypeError, match="takes label, a column of classes, or tokenizer"):
        opened(tokenizer="bytes", label="kind")
    with pytest.raises(TypeError, match="makes labels of text with a tokenizer"):
        opened(text="text")


def test_the_kind_of_the_path_decides_the_data_set(folder, tmp_path):
    libri = ft.Loader.audio(folder / "libri", features="mfcc", batch_size=3, output="numpy", ids=True)
    assert sorted(texts_of(libri).values()) == sorted(TEXTS * 2)
    classes = ft.Loader.audio(folder / "table.jsonl", label="kind", output="numpy")
    assert classes.classes == [f"kind {number}" for number in range(4)]
    silent = ft.Loader.audio(folder / "classes", labels="none", output="numpy")
    assert set(next(iter(silent))) == {"features", "features_length"}
    with pytest.raises(ft.ConfigError, match="no part 'sound'"):
        ft.Loader.audio(folder / "table.jsonl", audio="sound", tokenizer="bytes")
    with pytest.raises(ValueError, match="expected 'logmel', 'mfcc', 'wave'"):
        ft.Loader.audio(folder / "classes", features="mel")
    with pytest.raises(ValueError, match="dataset = 'folder': expected "):
        ft.Loader.audio(folder / "classes", dataset="folder")
    with pytest.raises(TypeError, match=r"^Loader.audio\(\) has no argument 'binz': did you mean bins\?$"):
        ft.Loader.audio(folder / "classes", binz=3)
    with pytest.raises(TypeError, match=r"^Loader.audio\(\) has no argument 'xyzzy': help\(flowtrain.Loader.audio\)"):
        ft.Loader.audio(folder / "table.jsonl", tokenizer="bytes", xyzzy=3)


def test_waves_are_the_samples_themselves(folder):
    loader = ft.Loader.audio(folder / "table.jsonl", features="wave", tokenizer="bytes", batch_size=3, output="numpy",
                             ids=True, layout="transformers")
    rows = 0
    for batch in loader:
        assert set(batch) == {"input_values", "attention_mask", "labels", "ids"}
        for row, mask, identity in zip(batch["input_values"], batch["attention_mask"], batch["ids"]):
            own = samples_of(int(identity)) / 32768
            assert mask.sum() == len(own) and mask.dtype == np.int64
            assert np.array_equal(row[: len(own)], own.astype(np.float32)) and not row[len(own):].any()
            rows += 1
    assert rows == 8


def test_whispers_features_have_their_bins_first(folder):
    loader = ft.Loader.audio(folder / "table.jsonl", values="whisper", bins=80, pad=1, max=1, tokenizer="bytes",
                             batch_size=4, output="numpy", ids=True, layout="transformers", shuffle=False)
    plain = ft.Loader.audio(folder / "table.jsonl", values="whisper", bins=80, pad=1, max=1, tokenizer="bytes",
                            batch_size=4, output="numpy", ids=True, shuffle=False)
    for batch, other in zip(loader, plain):
        assert batch["input_features"].shape == (4, 80, 100) and batch["attention_mask"].shape == (4, 100)
        assert np.array_equal(batch["input_features"], other["features"].swapaxes(1, 2))
        assert np.array_equal(batch["labels"], other["label"])
    kaldi = ft.Loader.audio(folder / "table.jsonl", values="kaldi", bins=23, tokenizer="bytes", batch_size=4,
                            output="numpy", layout="transformers")
    assert next(iter(kaldi))["input_features"].shape[2] == 23


def test_a_state_goes_on_with_other_workers(folder):
    def open_one(**changes):
        return ft.Loader.audio(folder / "table.jsonl", tokenizer="bytes", speed=[0.9, 1.1], frequency_masks=1,
                               batch_size=3, output="numpy", seed=3, **changes)

    whole = [batch["features"].tobytes() for batch in open_one()]
    first = open_one()
    next(iter(first))
    resumed = open_one(workers=3)
    resumed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert [batch["features"].tobytes() for batch in resumed] == whole[1:]


def test_help_names_the_arguments():
    assert "features: \"logmel\"" in ft.Loader.audio.__doc__
