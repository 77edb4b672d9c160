"""Writes spans.txt: what seqeval says of 1,000 random pairs of tag sequences (made with seqeval 1.2.2).

    python3 tests/nets/golden/spans.py

A line for each case with its F1, and at last one with precision, recall and F1 over all of them.
tests/nets/metric_test.cpp draws the same cases.
"""

import pathlib

from seqeval.metrics import f1_score, precision_score, recall_score

state = 1


def draw(count):
    """A number below `count`, of a linear congruential generator."""
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return (state >> 16) % count


def name(tag):
    return "O" if tag == 0 else f"{'B' if tag % 2 else 'I'}-{(tag + 1) // 2}"


def case():
    """Tags of 1 to 3 kinds; about half of the predicted ones are right."""
    tags = 2 * (1 + draw(3)) + 1
    true = [draw(tags) for _ in range(1 + draw(24))]
    return true, [tag if draw(2) else draw(tags) for tag in true]


all_true, all_found = [], []
with open(pathlib.Path(__file__).parent / "spans.txt", "w") as file:
    for _ in range(1000):
        true, found = ([[name(tag) for tag in tags]] for tags in case())
        file.write(f"{f1_score(true, found, zero_division=0):.6f}\n")
        all_true += true
        all_found += found
    scores = [score(all_true, all_found) for score in (precision_score, recall_score, f1_score)]
    file.write(" ".join(f"{score:.9f}" for score in scores) + "\n")
