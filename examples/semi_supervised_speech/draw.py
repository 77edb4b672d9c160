#!/usr/bin/env python3
"""Draws recordings for semi_supervised.toml: words of letters, each of which is a tone of its own.

    python examples/semi_supervised_speech/draw.py [FOLDER]

FOLDER (data/semi_supervised_speech) gets the tables labelled.csv (few), unlabelled.csv (many, without transcripts) and
val.csv, and their WAV files. Each recording has a pitch, a speed and noise of its own.
"""
import array
import csv
import math
import random
import sys
import wave
from pathlib import Path

RATE = 8000


def sound(draw, text):
    """Returns the samples of a text, 16 bits each."""
    pitch, noise, samples = draw.uniform(0.97, 1.03), draw.uniform(100, 1500), []
    for letter in text:
        tone, length = pitch * 300 * 1.22 ** (ord(letter) - ord("a")), draw.randint(700, 1300)
        loud = draw.uniform(3000, 9000)
        samples += [loud * math.sin(2 * math.pi * tone * i / RATE) for i in range(length)]
        samples += [0.0] * draw.randint(200, 500)
    return array.array("h", [int(sample + draw.gauss(0, noise)) for sample in samples])


def write_table(folder, name, count, draw, with_texts=True):
    (folder / name).mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["audio", "text"] if with_texts else ["audio"])
        for number in range(count):
            text = "".join(draw.choice("abcdefgh") for _ in range(draw.randint(3, 8)))
            path = f"{name}/{number}.wav"
            with wave.open(str(folder / path), "wb") as sounds:
                sounds.setparams((1, 2, RATE, 0, "NONE", ""))
                sounds.writeframes(sound(draw, text).tobytes())
            table.writerow([path, text] if with_texts else [path])


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "data/semi_supervised_speech")
    draw = random.Random(1)
    write_table(folder, "labelled", 24, draw)
    write_table(folder, "unlabelled", 400, draw, with_texts=False)
    write_table(folder, "val", 100, draw)


if __name__ == "__main__":
    main()
