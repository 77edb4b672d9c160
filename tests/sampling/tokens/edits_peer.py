"""Prints jiwer's counts of edits of words and of characters for pairs of texts, and both rates of all pairs together.

    edits_peer.py TEXTS     reference and hypothesis in turn, which NULs end
"""
import sys

import jiwer

with open(sys.argv[1], encoding="utf-8", newline="") as file:
    texts = file.read().split("\0")[:-1]
references, hypotheses = texts[::2], texts[1::2]


def edits(output):
    return output.substitutions + output.deletions + output.insertions


for reference, hypothesis in zip(references, hypotheses):
    print(edits(jiwer.process_words(reference, hypothesis)), edits(jiwer.process_characters(reference, hypothesis)))
print(repr(jiwer.wer(references, hypotheses)), repr(jiwer.cer(references, hypotheses)))
