#!/usr/bin/env python3
"""Reports links of the pages (*.md) that lead nowhere: to a file or a heading that does not exist.

    tests/docs/links.py            pages of the tree that git knows, and those of docs/ that sources name
"""
import functools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def listed(*patterns):
    words = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def prose(page):
    """Yields the numbered lines of a page outside of code blocks."""
    fenced = False
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


@functools.cache
def anchors(page):
    """Returns the anchors that GitHub gives to the headings of a page."""
    names = set()
    for _, line in prose(page):
        if heading := re.match(r"#+ (.*)", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
            names.add(name if name not in names else f"{name}-1")
    return names


def mistakes(page):
    for number, line in prose(page):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            place = (ROOT / page).parent / path if path else ROOT / page
            if not place.exists():
                yield f"{page}:{number}: {target}: there is no such file"
            elif anchor and anchor not in anchors(place.resolve().relative_to(ROOT).as_posix()):
                yield f"{page}:{number}: {target}: the page has no such heading"


def main():
    found = [mistake for page in listed("*.md") for mistake in mistakes(page)]
    for name in listed():
        if name.startswith("docs/") or (ROOT / name).suffix in (".png", ".svg"):
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for path in re.findall(r"(?<![\w/.])docs/[\w-]+\.md", text):
            if not (ROOT / path).exists():
                found.append(f"{name}: it names {path}, which does not exist")
    print("\n".join(found) if found else "links: every link of a page leads to a file and a heading")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
