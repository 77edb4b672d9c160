"""Learns a vocabulary by a reference from a file, and writes it where it says.

    learn_peer.py KIND CORPUS OUT    KIND: pairs, characters, word_pieces or unigram (PyPI's tokenizers)
    learn_peer.py KIND CORPUS OUT    KIND: sp_bpe or sp_unigram (PyPI's sentencepiece)
    learn_peer.py ranks TOKENIZER.json OUT    a rank file of a vocabulary of bytes
"""
import base64
import json
import sys

kind, corpus, out = sys.argv[1:]


def save(tokenizer, trainer):
    with open(corpus, encoding="utf-8", newline="") as file:
        tokenizer.train_from_iterator(file.read().split("\nand\n"), trainer)
    tokenizer.save(out)


def byte_names():
    """The character of each byte in GPT-2's alphabet."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + i): byte for i, byte in enumerate(others)}


if kind == "ranks":
    with open(corpus, encoding="utf-8") as file:
        merges = json.load(file)["model"]["merges"]
    names = byte_names()
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [bytes(names[character] for character in left + right) for left, right in merges]
    with open(out, "wb") as file:
        file.writelines(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
elif kind.startswith("sp_"):
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        input=corpus, model_prefix=out.removesuffix(".model"), model_type=kind.removeprefix("sp_"), vocab_size=6500,
        byte_fallback=True, hard_vocab_limit=False, character_coverage=0.98, minloglevel=2, num_threads=1,
        user_defined_symbols=["▁and", "e▁", "in"])
else:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    if kind == "pairs":
        model = Tokenizer(models.BPE())
        model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        save(model, trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                        show_progress=False))
    elif kind == "characters":
        model = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        model.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        save(model, trainers.BpeTrainer(vocab_size=1200, limit_alphabet=300, show_progress=False,
                                        special_tokens=["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]))
    elif kind == "word_pieces":
        model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        model.normalizer = normalizers.BertNormalizer()
        model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        model.decoder = decoders.WordPiece()
        save(model, trainers.WordPieceTrainer(vocab_size=2000, show_progress=False, special_tokens=["[UNK]"]))
    else:
        model = Tokenizer(models.Unigram())
        model.pre_tokenizer = pre_tokenizers.Metaspace()
        save(model, trainers.UnigramTrainer(vocab_size=8000, show_progress=False, unk_token="<unk>",
                                            special_tokens=["<unk>"]))
