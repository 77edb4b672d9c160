#!/usr/bin/env python3
"""Draws small sets of texts, so that the recipes for text can be tried without a download.

    python examples/draw_texts.py [FOLDER]

FOLDER (data/texts) gets reviews/train.csv and val.csv, texts with a label for configs/classify_text.toml, and
entities/train.jsonl and val.jsonl, words with a tag each for configs/tag.toml: people, places and times in the usual
BIO scheme. Names are made of syllables, so that those of validation are mostly new.
"""
import csv
import json
import random
import sys
from pathlib import Path

GOOD = ["lovely", "bright", "warm", "careful", "clever", "honest", "quick", "moving"]
BAD = ["dull", "cold", "careless", "slow", "noisy", "broken", "boring", "flat"]
THINGS = ["film", "meal", "room", "book", "song", "walk", "phone", "service"]
SYLLABLES = ["ka", "ri", "mo", "len", "ta", "shi", "vor", "na", "bel", "du"]
SENTENCES = ["{person} left for {place} {time} .", "{time} , {person} met {person} in {place} .",
             "the road from {place} to {place} was closed {time} .", "nobody saw {person} {time} .",
             "in {place} it rains , said {person} ."]
TIMES = [["on", "Monday"], ["in", "March"], ["at", "noon"], ["in", "1987"], ["at", "seven", "o'clock"]]


def name(draw, syllables):
    return "".join(draw.choice(SYLLABLES) for _ in range(syllables)).capitalize()


def entity(draw, kind):
    if kind == "person":
        title = draw.choice(["Mr", "Mrs", "Dr"]) if draw.random() < 0.5 else name(draw, 2)
        return [title, name(draw, 2)]
    if kind == "place":
        return [name(draw, 2) + draw.choice(["ville", "ford", "stan"])]
    return draw.choice(TIMES)


def tagged(draw):
    """Returns the words of a sentence and their tags."""
    words, tags = [], []
    for word in draw.choice(SENTENCES).split():
        kind = word.strip("{}")
        own = entity(draw, kind) if word.startswith("{") else [word]
        words += own
        tags += (["B-" + kind] + ["I-" + kind] * (len(own) - 1)) if word.startswith("{") else ["O"]
    return words, tags


def review(draw):
    """Returns a text and its label. A "not" turns a word's meaning, so that words alone do not tell."""
    good, negated = draw.random() < 0.5, draw.random() < 0.3
    word = draw.choice(GOOD if good != negated else BAD)
    text = f"The {draw.choice(THINGS)} was {'not ' if negated else ''}{word}"
    if draw.random() < 0.5:
        text += f", and the {draw.choice(THINGS)} was {draw.choice(GOOD if good else BAD)}"
    return text + ".", "good" if good else "bad"


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "data/texts")
    for split, seed, count in (("train", 1, 4000), ("val", 2, 500)):
        draw = random.Random(seed)
        (folder / "reviews").mkdir(parents=True, exist_ok=True)
        with open(folder / f"reviews/{split}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["text", "label"])
            table.writerows(review(draw) for _ in range(count))
        (folder / "entities").mkdir(parents=True, exist_ok=True)
        with open(folder / f"entities/{split}.jsonl", "w", encoding="utf-8") as file:
            for _ in range(count):
                words, tags = tagged(draw)
                file.write(json.dumps({"words": " ".join(words), "tags": " ".join(tags)}) + "\n")


if __name__ == "__main__":
    main()
