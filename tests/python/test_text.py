"""Loader.text, .tokens, .jsonl and .parquet: rows of tokens, by name and in the layout of transformers."""

import json
import struct

import numpy as np
import pytest

import flowtrain as ft

TEXTS = [f"line {number}: " + "abc " * (number % 9) + "é" for number in range(60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of three files of lines; lines.jsonl, beside it, has the same lines."""
    place = tmp_path_factory.mktemp("texts")
    (place / "files").mkdir()
    for part in range(3):
        (place / "files" / f"{part}.txt").write_text("\n".join(TEXTS[part * 20 : part * 20 + 20]) + "\n")
    with open(place / "lines.jsonl", "w") as out:
        for number, text in enumerate(TEXTS):
            out.write(json.dumps({"body": text, "label": "ab"[number % 2]}) + "\n")
    return place


def open_text(folder, **changes):
    return ft.Loader.text(folder / "files", **{"unit": "line", "max_length": 40, "batch_size": 8, "output": "numpy",
                                               "ids": True, "train": False, **changes})


def rows_of(loader, name="tokens"):
    """(id, ids of the row without padding, the whole row's other arrays) of an epoch."""
    for batch in loader:
        for row, identity in enumerate(batch["ids"]):
            length = batch[f"{name}_length"][row]
            yield int(identity), batch[name][row][:length], {key: batch[key][row] for key in batch}


def test_each_label_is_the_id_that_follows(folder):
    seen = set()
    for identity, ids, row in rows_of(open_text(folder)):
        text = list(TEXTS[identity].encode())[:41]
        assert ids.tolist() == text[:-1] and row["label"][: len(ids)].tolist() == text[1:]
        assert (row["label"][len(ids):] == -100).all()
        seen.add(identity)
    assert len(seen) == len(TEXTS)


def test_texts_that_are_cut_are_told(folder, capfd):
    next(iter(open_text(folder, max_length=4)))
    assert "field.0.max: texts of more than 4 tokens are cut" in capfd.readouterr().err
    next(iter(open_text(folder, max_length=400)))
    assert "are cut" not in capfd.readouterr().err


def test_windows_are_rows_of_one_length(folder):
    loader = open_text(folder, unit="file", window=32, max_length=None)
    windows = [batch["tokens"] for batch in loader]
    assert all(window.shape[1] == 32 for window in windows[:-1])
    assert np.concatenate([window.ravel() for window in windows[:1]])[:32].tobytes() == (
        np.frombuffer("\n".join(TEXTS[:20]).encode()[:32], np.uint8).astype(np.int64).tobytes())


def test_windows_of_other_tasks_are_not_cut(folder, capfd):
    loader = open_text(folder, unit="file", window=32, max_length=None, task="tokens")
    assert all(batch["tokens"].shape[1] == 32 for batch in list(loader)[:-1])
    assert "are cut" not in capfd.readouterr().err
    with pytest.raises(ValueError, match="window = 1: rows of 'tokens' have 2 ids at least"):
        open_text(folder, unit="file", window=1, max_length=None, task="tokens")


def test_keys_of_the_transform_go_to_the_field(folder):
    loader = open_text(folder, task="tokens", end="<|endoftext|>", max_length=400)
    assert all(ids[-1] == 256 and bytes(ids[:-1].astype("u1")).decode() == TEXTS[identity]
               for identity, ids, _ in rows_of(loader))
    assert list(loader.free_axes["tokens"].values()) == [400]
    with pytest.raises(TypeError, match="no argument 'ende'"):
        open_text(folder, ende="<|endoftext|>")


def test_columns_of_tables_are_texts_with_more_fields_beside(folder):
    loader = ft.Loader.jsonl(folder / "lines.jsonl", text="body", task="tokens", max_length=400, ids=True,
                             fields={"label": "label"}, batch_size=8, output="numpy", train=False)
    for identity, ids, row in rows_of(loader):
        assert bytes(ids.astype("u1")).decode() == TEXTS[identity] and row["label"] == identity % 2
    plain = ft.Loader.jsonl(folder / "lines.jsonl", fields={"body": {"from": "body", "as": "bytes", "max": 9}},
                            batch_size=8)
    assert list(next(iter(plain))) == ["body", "body_length"]


def test_shards_of_tokens_are_windows_of_ids(tmp_path):
    ids = np.arange(100, dtype="<u2") % 50
    places = np.array([0, 60, 100], "<u8")  # two documents
    header = struct.pack("<8sIIQQQIIQQQ", b"flowtoks", 1, 2, 100, 2, 50, 0xFFFFFFFF, 0, 0, 2, 100)
    (tmp_path / "a.tokens").write_bytes(header + places.tobytes() + ids.tobytes())
    arguments = {"vocabulary": 50, "batch_size": 16, "train": False, "output": "numpy"}
    (batch,) = ft.Loader.tokens(tmp_path / "a.tokens", window=10, **arguments)
    assert batch["tokens"][:9].tolist() == ids[:90].reshape(9, 10).tolist()
    assert batch["label"][:9].tolist() == ids[1:91].reshape(9, 10).tolist()
    (documents,) = ft.Loader.tokens(tmp_path / "a.tokens", task="tokens", max_length=64, **arguments)
    assert documents["tokens_length"].tolist() == [60, 40]


@pytest.mark.parametrize("changes, message", [
    ({"max_length": None}, "lacks max_length"), ({"task": "gpt"}, "task = 'gpt': expected 'lm', 'tokens', 'masked_lm'"),
    ({"layout": "torchtitan"}, "layout = 'torchtitan': expected 'transformers'"),
])
def test_wrong_arguments_are_named(folder, changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        open_text(folder, **changes)
    with pytest.raises(TypeError, match=r"Loader.jsonl\(\) with max_length lacks text, the column of the text"):
        ft.Loader.jsonl(folder / "lines.jsonl", max_length=9)
    with pytest.raises(TypeError, match=r"Loader.text\(\) with max_length lacks task"):
        open_text(folder, task=None)
    with pytest.raises(ft.ConfigError, match="needs a field `tokens` or `features`, but batches have image, label"):
        ft.Loader.shapes(layout="transformers")


def test_the_layout_of_transformers_has_the_ids_themselves_as_labels(folder):
    named = list(open_text(folder))
    for batch, ours in zip(open_text(folder, layout="transformers"), named):
        assert list(batch) == ["input_ids", "labels", "attention_mask", "ids"]
        assert np.array_equal(batch["input_ids"], ours["tokens"])
        assert batch["attention_mask"].sum(1).tolist() == ours["tokens_length"].tolist()
        inside = batch["attention_mask"].astype(bool)
        inside[:, 0] = False
        assert np.array_equal(batch["labels"][inside], batch["input_ids"][inside])
        assert (batch["labels"][:, 0] == -100).all()


def test_packed_documents_have_positions_and_labels_of_their_own(folder):
    arguments = {"train": True, "pack": True, "max_length": 128, "batch_size": 4}
    for batch, ours in zip(open_text(folder, layout="transformers", **arguments), open_text(folder, **arguments)):
        assert list(batch) == ["input_ids", "labels", "position_ids", "use_cache", "ids"] and not batch["use_cache"]
        assert batch["position_ids"].dtype == np.int64
        assert np.array_equal(batch["labels"][:, 1:], ours["label"][:, :-1])
        begins = np.flatnonzero(ours["segment"][0][1:] > ours["segment"][0][:-1]) + 1
        last_of_each = [TEXTS[int(identity)].encode()[-1] for identity in ours["ids"][: len(begins)]]
        assert batch["labels"][0, begins].tolist() == last_of_each  # and not the first id of the next document


def test_states_go_on_in_any_layout(folder):
    whole = [batch["input_ids"].tobytes() for batch in open_text(folder, train=True, layout="transformers")]
    first = open_text(folder, train=True)
    batches = iter(first)
    for _ in range(3):
        next(batches)
    resumed = open_text(folder, train=True, layout="transformers", workers=3)
    resumed.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert [batch["input_ids"].tobytes() for batch in resumed] == whole[3:]


def test_help_lists_the_keys_of_data_and_tokens():
    for name in ("text", "tokens", "jsonl", "parquet"):
        text = getattr(ft.Loader, name).__doc__
        assert "max_length:" in text and "Of the sampler" not in text and "path:" in text
    assert "text: the column" in ft.Loader.parquet.__doc__ and "text: the column" not in ft.Loader.text.__doc__
