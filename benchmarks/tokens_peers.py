#!/usr/bin/env python3
"""Measures tiktoken and Hugging Face's tokenizers on what bench_tokens measures, and compares the ids.

    benchmarks/tokens_peers.py BENCH_TOKENS TOKENIZER.json|RANKS.tiktoken FILE [PATTERN]

Needs PyPI's tiktoken and tokenizers on the PYTHONPATH. Times are CPU seconds of one thread.
"""
import array
import base64
import os
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"


def peer(path, pattern):
    """Returns the function that encodes a text as the reference does."""
    if path.endswith(".json"):
        import tokenizers
        encoder = tokenizers.Tokenizer.from_file(path)
        encoder.encode_special_tokens = True
        return lambda text: encoder.encode(text, add_special_tokens=False).ids
    import tiktoken
    import tiktoken_ext.openai_public as public
    with open(path, "rb") as file:
        ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file if line.strip())}
    public.load_tiktoken_bpe = lambda *_, **__: ranks
    patterns = {"gpt2": lambda: public.r50k_pat_str, "cl100k_base": lambda: public.cl100k_base()["pat_str"],
                "o200k_base": lambda: public.o200k_base()["pat_str"]}
    encoder = tiktoken.Encoding("own", pat_str=patterns[pattern](), mergeable_ranks=ranks, special_tokens={})
    return encoder.encode_ordinary


def main(bench, path, file, *pattern):
    # The references read characters, so both get U+FFFD for bytes that are none.
    with open(file, encoding="utf-8", errors="replace", newline="") as stream:
        text = stream.read()
    with tempfile.NamedTemporaryFile() as ids, tempfile.NamedTemporaryFile() as whole:
        whole.write(text.encode())
        whole.flush()
        ran = subprocess.run([bench, path, whole.name, *pattern, "--ids", ids.name], check=True, text=True,
                             stdout=subprocess.PIPE)
        print("flowtrain:", ran.stdout.strip().replace("\n", "; "))
        ours = array.array("I", ids.read()).tolist()
    encode = peer(path, *pattern or [""])
    begin = time.process_time()
    theirs = encode(text)
    seconds = time.process_time() - begin
    print(f"reference: {len(theirs)} ids; {len(text.encode()) / 1e6 / seconds:.1f} MB/s")
    print("the same ids" if ours == theirs else "other ids")
    return ours != theirs


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
