"""Prints the ids that a reference makes of the texts in a file, which NULs end: a line of ids for each text.

    encode_peer.py tokenizers TOKENIZER.json TEXTS [special]
    encode_peer.py tiktoken RANKS TEXTS PATTERN      ranks as tiktoken's files have them
    encode_peer.py sentencepiece MODEL TEXTS
"""
import sys

kind, model, texts, *more = sys.argv[1:]
with open(texts, encoding="utf-8", newline="") as file:
    parts = file.read().split("\0")[:-1]
if kind == "tokenizers":
    import tokenizers
    encoder = tokenizers.Tokenizer.from_file(model)
    encoder.encode_special_tokens = not more
    ids = [encoder.encode(part, add_special_tokens=False).ids for part in parts]
elif kind == "tiktoken":
    import base64
    import tiktoken
    import tiktoken_ext.openai_public as public
    lines = open(model, "rb").read().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    public.load_tiktoken_bpe = lambda *_, **__: ranks
    public.data_gym_to_mergeable_bpe_ranks = lambda *_, **__: ranks
    patterns = {"gpt2": public.r50k_pat_str, "cl100k_base": public.cl100k_base()["pat_str"],
                "o200k_base": public.o200k_base()["pat_str"]}
    encoder = tiktoken.Encoding("own", pat_str=patterns[more[0]], mergeable_ranks=ranks, special_tokens={})
    ids = [encoder.encode_ordinary(part) for part in parts]
else:
    import sentencepiece
    encoder = sentencepiece.SentencePieceProcessor(model_file=model)
    ids = [encoder.encode(part) for part in parts]
for part in ids:
    print(*part)
