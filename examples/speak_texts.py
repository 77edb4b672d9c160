#!/usr/bin/env python3
"""Makes small sets of recordings by espeak-ng, so that the recipes for speech can be tried without a download.

    python examples/speak_texts.py [FOLDER] [--text FILE] [--sentences N] [--voices N]

FOLDER (data/speech) gets sentences/train.jsonl, voices.jsonl and val.jsonl for configs/ctc_espeak.toml: sentences of a
text, the same ones in two voices that no one hears in training, and other sentences in these two voices. It gets
digits/train and digits/val, a folder for each digit, the latter in the two voices. With Debian's packages
asterisk-core-sounds-*-wav, it gets prompts, a folder for each language, for configs/spoken_words.toml.

Needs the programs espeak-ng and, without --text, bible (Debian: bible-kjv).
"""
import argparse
import json
import random
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VOICES = ["en-us+m1", "en-us+m2", "en-us+m3", "en-us+m4", "en-us+f1", "en-us+f2", "en-us+f3", "en-gb+m1", "en-gb+f1",
          "en-gb-x-rp+m3", "en-us+m7", "en-us+f4"]
HEARD, UNHEARD = VOICES[:-2], VOICES[-2:]
DIGITS = "zero one two three four five six seven eight nine".split()
PROMPTS = Path("/usr/share/asterisk/sounds")


def speak(job):
    """Writes one recording: (file, text, voice, words a minute, pitch)."""
    file, text, voice, speed, pitch = job
    if not file.exists():
        partial = file.with_suffix(".partial")
        subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", partial, text], check=True)
        partial.rename(file)


def manner(draw, voice):
    """Draws how a voice speaks."""
    return voice, draw.randint(130, 200), draw.randint(35, 65)


def sentences_of(text):
    """Returns the text's sentences of 20 to 60 letters, each once, in lower case and without punctuation."""
    found = {}
    for sentence in re.split(r"[.:;?!]", text.lower()):
        words = re.sub(r"[^a-z' ]", " ", sentence).split()
        if 20 <= len(joined := " ".join(words)) <= 60:
            found[joined] = True
    return list(found)


def spoken(folder, name, texts, voices, draw):
    """Writes a list of recordings, a text in each of the voices, and returns what there is to speak."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    jobs = []
    with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as rows:
        for number, text in enumerate(texts):
            for voice in voices(draw):
                file = folder / name / f"{number:05}-{voice}.wav"
                jobs.append((file, text, *manner(draw, voice)))
                row = {"audio": f"{name}/{file.name}", "text": text, "speaker": voice}
                rows.write(json.dumps(row) + "\n")
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("data/speech"), help="folder to write")
    parser.add_argument("--text", type=Path, help="text to read aloud; default: the King James Bible")
    parser.add_argument("--sentences", type=int, default=2000, help="number of sentences to train on")
    parser.add_argument("--voices", type=int, default=3, help="number of voices, drawn from ten, that speak each one")
    options = parser.parse_args()
    if options.text:
        text = options.text.read_text(encoding="utf-8")
    else:
        verses = ["bible", "-f", "gen1:1-rev22:99"]
        text = re.sub(r"^\S+ ", "", subprocess.run(verses, check=True, capture_output=True, text=True).stdout,
                      flags=re.MULTILINE)
    draw = random.Random(1)
    texts = sentences_of(text)
    draw.shuffle(texts)
    held_out = options.sentences // 10
    train, other = texts[held_out:held_out + options.sentences], texts[:held_out]

    folder = options.folder / "sentences"
    jobs = spoken(folder, "train", train, lambda draw: draw.sample(HEARD, options.voices), draw)
    jobs += spoken(folder, "voices", train[:held_out], lambda draw: UNHEARD, draw)
    jobs += spoken(folder, "val", other, lambda draw: UNHEARD, draw)
    (folder / "train.txt").write_text("".join(text + "\n" for text in train), encoding="utf-8")
    for split, voices in (("train", HEARD), ("val", UNHEARD)):
        for digit in DIGITS:
            place = options.folder / "digits" / split / digit
            place.mkdir(parents=True, exist_ok=True)
            for voice in voices:
                jobs += [(place / f"{voice}-{n}.wav", digit, *manner(draw, voice)) for n in range(12)]
    with ThreadPoolExecutor() as threads:
        list(threads.map(speak, jobs))
    for language in ("en", "es", "fr", "it", "ru"):
        if (PROMPTS / language).is_dir():
            shutil.copytree((PROMPTS / language).resolve(), options.folder / "prompts" / language,
                            ignore=shutil.ignore_patterns("silence"), dirs_exist_ok=True)
    print(f"{len(jobs)} recordings in {options.folder}")


if __name__ == "__main__":
    main()
