"""Batches in the layout of transformers give its models' own losses. Skipped without transformers."""

import json

import numpy as np
import pytest
from test_ecosystem import example

import flowtrain as ft

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = ["".join(chr(97 + letter) for letter in np.random.default_rng(number).integers(0, 26, 20 + number % 30))
         for number in range(40)]


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    file = tmp_path_factory.mktemp("lines") / "lines.jsonl"
    rows = [{"text": text, "label": number % 3} for number, text in enumerate(TEXTS)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def open_lines(file, **changes):
    return ft.Loader.jsonl(file, **{"text": "text", "max_length": 64, "batch_size": 8, "train": False, "ids": True,
                                    "layout": "transformers", **changes})


def gpt2():
    torch.manual_seed(1)
    sizes = {"n_positions": 128, "n_embd": 32, "n_layer": 2, "n_head": 2}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=257, **sizes)).eval()


def own_loss(model, texts, unpredicted=()):
    """Returns the sum of transformers' own loss over texts that go through the model alone, and the terms.

    unpredicted: numbers of texts whose last id is at the end of a row, where no model of transformers counts it.
    """
    total, terms = 0.0, 0
    for number, text in enumerate(texts):
        ids = torch.tensor([list(text.encode())])
        ids = ids[:, :-1] if number in unpredicted else ids
        total += model(ids, labels=ids).loss.item() * (ids.shape[1] - 1)
        terms += ids.shape[1] - 1
    return total, terms


@torch.no_grad()
def test_the_loss_of_gpt2_is_that_of_its_own_shift(lines):
    model, total, terms = gpt2(), 0.0, 0
    for batch in open_lines(lines):
        texts = [TEXTS[identity] for identity in batch.pop("ids")]
        longest = max(map(len, texts))
        theirs, count = own_loss(model, texts, [number for number, text in enumerate(texts) if len(text) == longest])
        loss = model(**batch).loss.item()
        assert (batch["labels"][:, 1:] != -100).sum() == count
        assert loss == pytest.approx(theirs / count, rel=1e-5)
        total, terms = total + theirs, terms + count
    assert terms > 1000


@torch.no_grad()
def test_packed_documents_do_not_see_each_other(lines):
    model = gpt2()
    for batch in open_lines(lines, train=True, pack=True, max_length=128, batch_size=2):
        total, terms = own_loss(model, [TEXTS[identity] for identity in batch.pop("ids")])
        full_rows = int((batch["position_ids"][:, -1] > 0).sum())  # their last label is left out
        assert (batch["labels"][:, 1:] != -100).sum() == terms - full_rows
        if full_rows == 0:
            assert model(**batch).loss.item() == pytest.approx(total / terms, rel=1e-5)


@torch.no_grad()
def test_labels_of_other_tasks_are_not_moved(lines):
    loader = open_lines(lines, task="tokens", fields={"label": "label"})
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = transformers.BertForSequenceClassification(
        transformers.BertConfig(vocab_size=257, num_labels=3, **sizes)).eval()
    for batch in loader:
        ids = batch.pop("ids")
        assert batch["labels"].tolist() == [int(identity) % 3 for identity in ids]
        logits = model(**batch).logits
        for row, identity in enumerate(ids):
            alone = model(torch.tensor([list(TEXTS[identity].encode())])).logits[0]
            assert torch.allclose(logits[row], alone, atol=1e-5)


@pytest.mark.parametrize("name, package", [("train_hf_text", "accelerate"), ("train_torchtitan_text", "torchtitan")])
def test_the_examples_go_on_from_a_checkpoint_exactly(tmp_path, name, package):
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text("\n\n".join(text * 3 for text in TEXTS))
    train = example(name, package).main
    whole = train(str(folder), str(tmp_path / "whole"), 13)
    for end in (7, 13):
        model = train(str(folder), str(tmp_path / "run"), end)
    assert all(torch.equal(one, other) for one, other in zip(whole.parameters(), model.parameters()))


def test_a_torchtitan_state_goes_on_with_other_ranks(tmp_path):
    (tmp_path / "a.txt").write_text("\n\n".join(text * 3 for text in TEXTS * 6))
    config = example("train_torchtitan_text", "torchtitan").TextLoader.Config(folder=str(tmp_path))

    def of_rank(rank, world):
        return config.build(dp_world_size=world, dp_rank=rank, tokenizer=None, seq_len=128, local_batch_size=8 // world)

    def rows(batches):
        return sorted(row.numpy().tobytes() for inputs, _ in batches for row in inputs["input"])

    one = of_rank(0, 1)
    batches = iter(one)
    next(batches)
    state = json.loads(json.dumps(one.state_dict()))
    whole = [rows([next(batches)]) for _ in range(3)]
    ranks = [of_rank(rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.load_state_dict(state)
    iterators = [iter(rank) for rank in ranks]
    assert [rows(next(each) for each in iterators) for _ in range(3)] == whole
