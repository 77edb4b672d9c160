#!/usr/bin/env python3
"""Writes a mixed text, the same one for equal files and seeds: Bibles and guides in many languages, sources, emoji,
drawn characters, broken UTF-8 and long runs of spaces.

    tokens_mix.py OUT [--mb 100] [--seed 1] --packages FOLDER

FOLDER holds unpacked packages of Debian 12: sword-text-kjv, sword-text-sparv, sword-text-web, installation-guide-amd64,
fortunes-{bg,cs,de,pl,ru,zh}, debian-reference-{ja,zh-cn} (apt-get download NAME; dpkg -x NAME.deb FOLDER).
"""
import argparse
import gzip
import pathlib
import random
import struct
import subprocess
import zlib

SHARES = {"bible": 0.3, "guides": 0.25, "sources": 0.33, "emoji": 0.03, "drawn": 0.03, "broken": 0.03, "runs": 0.03}
BLOCKS = [(0x80, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0x1100, 0x1200), (0x3040, 0x3100),
          (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x2000, 0x2100), (0xA640, 0xAB60), (0x10000, 0x10FFF),
          (0x1D400, 0x1D7FF), (0x300, 0x36F), (0x20, 0x7F)]
EMOJI = [chr(c) for c in range(0x1F300, 0x1F650)] + [chr(c) for c in range(0x1F900, 0x1FA00)] + [
    "🤦🏼‍♂️", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "👍🏽", "❤️", "☃️", "1️⃣"]


def sword(folder):
    """The texts of a SWORD module: blocks of zlib, whose places are in an index."""
    text = b""
    for path in sorted(folder.rglob("*.bzz")):
        blocks = path.read_bytes()
        for begin, size, _ in struct.iter_unpack("<3I", path.with_suffix(".bzs").read_bytes()):
            text += zlib.decompress(blocks[begin:begin + size])
    return text


def sources(repository):
    names = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True).stdout
    paths = [repository / name for name in names.splitlines()]
    for folder in ("/usr/include", "/usr/lib/python3.11", "/usr/share/perl"):
        paths += sorted(path for path in pathlib.Path(folder).rglob("*")
                        if path.suffix in (".h", ".hpp", ".py", ".pm", ".pl", ""))
    return [path.read_bytes() for path in paths if path.is_file() and path.stat().st_size < 1 << 20]


def is_text(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return bool(data) and b"\0" not in data


def pieces(text, size):
    return [text[at:at + size] for at in range(0, len(text), size)]


class Drawn:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def words(self, count):
        letters = "abcdefghijklmnopqrstuvwxyz"
        return " ".join("".join(self.random.choices(letters, k=self.random.randrange(2, 9))) for _ in range(count))

    def emoji(self):
        return " ".join(self.words(self.random.randrange(1, 6)) + " " + "".join(
            self.random.choices(EMOJI, k=self.random.randrange(1, 4))) for _ in range(50)).encode()

    def drawn(self):
        lines = []
        for _ in range(40):
            first, last = self.random.choice(BLOCKS)
            lines.append("".join(chr(self.random.randrange(first, last)) if self.random.random() < 0.8 else
                                 self.random.choice(" \n\r\t'’sSrRe1٣Aaſ") for _ in range(self.random.randrange(60))))
        return "\n".join(lines).encode("utf-8", "ignore")

    def broken(self):
        data = bytearray(self.emoji() + self.words(300).encode() + self.drawn())
        for _ in range(len(data) // 40):
            data[self.random.randrange(len(data))] = self.random.randrange(0x80, 0x100)
        return bytes(data)

    def runs(self):
        return b"".join(self.words(3).encode() + self.random.choice([b" ", b" ", b"\n", b"\t", b" \n", b"=", b"9"]) *
                        self.random.randrange(1, 2000) for _ in range(4))


def documents(packages, seed):
    repository = pathlib.Path(__file__).resolve().parent.parent
    bibles = b"\n".join(sword(folder) for folder in sorted(packages.glob("usr/share/sword/modules/texts/ztext/*")))
    guides = [gzip.decompress(path.read_bytes()) for path in sorted(packages.rglob("*.txt.gz"))]
    guides += [path.read_bytes() for path in sorted(packages.glob("usr/share/games/fortunes/**/*")) if path.is_file()]
    draw = Drawn(seed)
    kinds = {"bible": pieces(bibles, 20000), "sources": [part for text in sources(repository) if is_text(text)
                                                        for part in pieces(text, 40000)],
             "guides": [part for text in guides if is_text(text) for part in pieces(text, 20000)]}
    for texts in kinds.values():
        draw.random.shuffle(texts)
    return draw, kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--mb", type=float, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw, kinds = documents(given.packages, given.seed)
    counts = dict.fromkeys(SHARES, 0)
    used = dict.fromkeys(SHARES, 0)
    with given.out.open("wb") as file:
        while sum(counts.values()) < given.mb * 1e6:
            kind = min(SHARES, key=lambda name: counts[name] / SHARES[name])  # the one that is most behind
            if kind in kinds:
                text = kinds[kind][used[kind] % len(kinds[kind])]
                # A piece may end within a character.
                text = text.decode("utf-8", "ignore").encode()
            else:
                text = getattr(draw, kind)()
            used[kind] += 1
            counts[kind] += file.write(text + b"\n")
    for name, count in counts.items():
        times = f", each {used[name] / len(kinds[name]):.2f} times" if name in kinds else ""
        print(f"{name}: {count / 1e6:.1f} MB{times}")


if __name__ == "__main__":
    main()
